"""``make fuzz-fixes``: random programs around every rule with a safe fix, run before and after the fix.

Prints the seed, each difference with the command that shows it again, and a table; ``--write`` puts it into a page.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path

import torch

from fuzz.fixes.campaign import Task, Told, campaign, further, missing, show, tasks
from fuzz.fixes.shrinking import shrunk
from fuzz.pages import between

_BATCH = 50
_REPORTED = 20
_LEAST = 100
_WANTED = 10_000
_COLUMNS = (
    *("rule", "programs", "fixes applied", "of these safe", "inputs run"),
    *("differences", "exceptions met", "refused before alone"),
)
_HEAD = f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|\n"
_MARKS = ("<!-- safe fixes -->\n", "<!-- end of safe fixes -->\n")


def main(arguments: Sequence[str]) -> int:
    """Run; 1 when something was different, or a rule was hardly reached."""
    parser = argparse.ArgumentParser(prog="make fuzz-fixes ARGS=...", description=__doc__)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**9)))
    parser.add_argument("--programs", type=int, default=_WANTED, help=f"how many (default: {_WANTED:,})")
    parser.add_argument("--inputs", type=int, default=6, help="how many random inputs for each program (default: 6)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rule", action="append", default=[], help="only programs around this rule")
    parser.add_argument("--show", metavar="CODE:N", help="print one program before and after its fixes")
    parser.add_argument("--shrink", action="store_true", help="with --show: the smallest program that still differs")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the table into a page")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    if options.show:
        return _show(options.seed, options.show, options.inputs, options.shrink)
    begin = time.monotonic()
    told = _run(list(tasks(options.seed, options.programs, options.inputs, options.rule)), options.jobs)
    least = _LEAST if options.programs >= _WANTED else 1
    while more := [] if options.rule else further(options.seed, told, least, options.inputs):
        told.add(_run(more, options.jobs))
    minutes = (time.monotonic() - begin) / 60
    wrong = [] if options.rule else missing(told, least)
    print("\n".join([_table(told), *wrong, f"{minutes:.0f} minutes; seed {options.seed}"]))
    if options.write:
        python = f"Python {platform.python_version()}, torch {torch.__version__.partition('+')[0]}"
        words = f"\nSeed {options.seed}, {minutes:.0f} minutes, {python}, {date.today().isoformat()}.\n\n"
        between(options.write, *_MARKS, f"{words}{_table(told)}\n")
    return int(bool(told.differences or wrong))


def _run(every: list[Task], jobs: int) -> Told:
    """Try all programs in several processes, and print what is different as soon as it is known."""
    told = Told()
    batches = [every[start : start + _BATCH] for start in range(0, len(every), _BATCH)]
    with ProcessPoolExecutor(jobs, initializer=_quiet) as pool:
        for number, found in enumerate(pool.map(campaign, batches), 1):
            told.add(found)
            for line in found.differences:
                print(line, flush=True)
            if not number % _REPORTED:
                print(f"{number * _BATCH:,} programs, {len(told.differences)} differences", flush=True)
    return told


def _quiet() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")


def _table(told: Told) -> str:
    rows = [(code, told.rows[code]) for code in sorted(told.rows)]
    lines = [_line(code, *vars(row).values()) for code, row in rows]
    total = [sum(column) for column in zip(*(vars(row).values() for _, row in rows), strict=True)]
    return f"{_HEAD}{''.join(lines)}{_line('all', *total)}"


def _line(name: str, *figures: int) -> str:
    return f"| {name} | {' | '.join(f'{figure:,}' for figure in figures)} |\n"


def _show(seed: str, which: str, inputs: int, shrink: bool) -> int:
    _quiet()
    code, _, number = which.partition(":")
    task = Task(seed, code, int(number), inputs)
    if shrink:
        print(shrunk(task).text)
    before, after, differences = show(task)
    print(f"{before}\n# fixed:\n{after}")
    print("\n".join(differences))
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
