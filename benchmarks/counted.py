"""What ``torchlint count`` adds to programs with small networks: CPU time and peak memory beside a plain run.

    counted.py [--rounds 5] [--steps 300] [--output FOLDER]

Each program runs plainly on the CPU and under ``torchlint count``, in turns, for so many steps and for four times as
many, in one thread. The CPU time of all processes is taken. The time of a step is the difference of the two runs by the
difference of their steps, so that neither the import of torch nor the linting afterwards counts for it. Peak memory is
that of the largest process. Writes counted.json into docs/benchmarks or the folder that is given, and the table of
docs/count.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from marked import written

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs" / "benchmarks"
PAGE = ROOT / "docs" / "count.md"
LONGER = 4
_HERE = Path(__file__).resolve().parent
_PROGRAMS = {
    "the agent of the example": (ROOT / "examples" / "agent" / "train.py", "--updates"),
    "Q-learning": (_HERE / "programs" / "dqn.py", "--steps"),
    "a soft actor-critic": (_HERE / "programs" / "sac.py", "--steps"),
}


def used(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Run a command; its CPU time in seconds and the peak memory of its largest process in MB."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def commands(script: Path, option: str, steps: int) -> dict[str, list[str]]:
    """The plain run of a program, and the counted one."""
    program = [sys.executable, str(script), option, str(steps), "--device"]
    return {
        "plain": [*program, "cpu"],
        "counted": [sys.executable, "-m", "torchlint", "count", "--isolated", "--", *program, "cuda"],
    }


def measured(script: Path, option: str, steps: int, rounds: int) -> dict[str, object]:
    """Run a program in turns; times of a step, and memory."""
    times: dict[tuple[str, int], list[float]] = {}
    peaks: dict[tuple[str, int], list[float]] = {}
    for number in range(rounds):
        runs = [(way, times_) for way in ("plain", "counted") for times_ in (1, LONGER)]
        for way, longer in runs if number % 2 else reversed(runs):
            seconds, peak = used(commands(script, option, longer * steps)[way], script.parent)
            times.setdefault((way, longer), []).append(seconds)
            peaks.setdefault((way, longer), []).append(peak)
    more = (LONGER - 1) * steps
    each = {
        way: [(long - short) / more for long, short in zip(times[way, LONGER], times[way, 1], strict=True)]
        for way in ("plain", "counted")
    }
    ratios = [counted / plain for counted, plain in zip(each["counted"], each["plain"], strict=True)]
    return {
        "steps": steps,
        "plain_ms": 1e3 * statistics.median(each["plain"]),
        "counted_ms": 1e3 * statistics.median(each["counted"]),
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "most": max(ratios),
        "plain_mb": statistics.median(peaks["plain", 1]),
        "plain_mb_longer": statistics.median(peaks["plain", LONGER]),
        "counted_mb": statistics.median(peaks["counted", 1]),
        "counted_mb_longer": statistics.median(peaks["counted", LONGER]),
    }


def machine() -> str:
    """The processor and the versions, in one line."""
    sys.path[:0] = [str(ROOT)]
    from torchlint.bench.host import processor

    return f"{processor()}, one thread, Python {platform.python_version()}, torch {version('torch')}"


def table(data: dict[str, object]) -> str:
    """The rows as Markdown."""
    rows = data["programs"]
    assert isinstance(rows, dict)
    lines = [
        f"Measured by `python benchmarks/counted.py` on {data['machine']}: medians of {data['rounds']} rounds.",
        "",
        "| program | a step, plain | counted | ratio (least to most) | memory, plain | counted | 4 times the steps |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        spread = f"{row['ratio']:.1f}x ({row['least']:.1f}-{row['most']:.1f}x)"
        memory = " | ".join(f"{row[key]:.0f} MB" for key in ("plain_mb", "counted_mb", "counted_mb_longer"))
        lines.append(f"| {name} | {row['plain_ms']:.2f} ms | {row['counted_ms']:.2f} ms | {spread} | {memory} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    programs = {}
    for name, (script, option) in _PROGRAMS.items():
        programs[name] = measured(script, option, options.steps, options.rounds)
        print(name, json.dumps(programs[name]))
    data = {"machine": machine(), "rounds": options.rounds, "programs": programs}
    (options.output / "counted.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    if options.output == OUTPUT:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), "overhead", table(data)), encoding="utf-8")


if __name__ == "__main__":
    main()
