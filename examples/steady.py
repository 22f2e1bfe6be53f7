"""Run a training script twice: steady.py [--trace FILE] SCRIPT [ARGUMENTS].

Imports and whatever else happens once are over by the second time, which is
timed in processor time, or traced by the profiler of torch with --trace.
"""

import contextlib
import runpy
import sys
import time
from pathlib import Path

from torch.profiler import ProfilerActivity, profile


def main(arguments: list[str]) -> None:
    """Run the script as Python would, both times."""
    trace = arguments[1] if arguments[0] == "--trace" else ""
    sys.argv = arguments[2:] if trace else arguments
    script = sys.argv[0]
    sys.path.insert(0, str(Path(script).resolve().parent))
    with contextlib.redirect_stdout(None):
        runpy.run_path(script, run_name="__main__")
    if trace:
        activities = [ProfilerActivity.CPU]
        with profile(activities=activities, with_stack=True) as profiler:
            runpy.run_path(script, run_name="__main__")
        profiler.export_chrome_trace(trace)
        return
    start = time.process_time()
    runpy.run_path(script, run_name="__main__")
    print(f"took {time.process_time() - start:.3f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
