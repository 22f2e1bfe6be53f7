"""The command line."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchlint.cli.ending import Ending

OK = 0
FOUND = 1
FAILED = 2
INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run ``torchlint`` with command line arguments (those of the process by default) and return the exit code.

    What goes wrong is told in one line on standard error: wrong usage and wrong settings as well as errors of our own.
    """
    if args is not None:
        return _run(list(args))
    from torchlint.cli.ending import Ending

    ending = Ending()
    code = INTERRUPTED
    with ending:
        _leave_folder()
        _open_streams()
        gc.disable()  # the process is short, and syntax trees, which make up its memory, have no cycles
        code = _run(sys.argv[1:], ending)
        if ending.number and code != INTERRUPTED:  # it was swallowed, and the run is done
            raise KeyboardInterrupt
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            return code
    os._exit(code if ending.status is None else ending.status)  # to free syntax trees takes longer than many a run


def _leave_folder() -> None:
    """Let no module be imported from the current folder, which may hold a stranger's ``click.py``.

    Python puts it first on the path for ``python -m``, and a ``PYTHONPATH`` with an empty part holds it, too.
    """
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        here = ""
    sys.path[:] = [path for path in sys.path if os.path.isabs(path) and os.path.realpath(path) != here]


def _open_streams() -> None:
    """Let what is written to a closed stream go nowhere, and not into the file that is opened next in its place."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  open to the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  the same


def _run(args: list[str], ending: Ending | None = None) -> int:
    """What nothing changed for is answered before anything is imported that takes time."""
    from torchlint.cli.warm import cache_path, run_key, served

    try:
        path = cache_path(args)
        os.getcwd()
    except OSError:
        from torchlint.cli.output import complain

        complain("error: cannot access the working directory")
        return FAILED
    key = None if path is None else run_key(args)
    if path is not None and key is not None:
        code = served(path, key)
        if code is not None:
            return code
    if ending is not None:
        ending.listen()  # before that there is nothing to clean up
    from torchlint.cli.errors import guarded

    return guarded(args, key, ending)
