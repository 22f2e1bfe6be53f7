"""``make fuzz``: random programs, killed runs and random inputs, until the time or the programs are used up.

Prints the seed, each failure with the command that shows it again, and figures; ``--write`` puts these into a page.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from itertools import count
from pathlib import Path

from fuzz import kills
from fuzz.execution import differences
from fuzz.pages import between
from fuzz.properties import linted
from fuzz.runs import Failure, failures, program

_BATCH = 100
_SHARES = ("loop",) * 8 + ("mutant",) * 2 + ("agent",)


def main(arguments: Sequence[str]) -> int:
    """Run; 1 when something failed."""
    parser = argparse.ArgumentParser(prog="make fuzz ARGS=...", description=__doc__)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**9)))
    parser.add_argument("--programs", type=int, default=1_000_000, help="how many at most (default: a million)")
    parser.add_argument("--seconds", type=float, default=3600, help="for how long at most (default: an hour)")
    parser.add_argument("--kills", type=int, default=200, help="how many runs to kill first")
    parser.add_argument("--inputs", type=int, default=20, help="how many random inputs for each example first")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kind", choices=["loop", "mutant", "agent"])
    parser.add_argument("--number", type=int, help="show one program and what is wrong with it")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the figures into a page")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    if options.number is not None:
        return _show(options.seed, options.kind or "loop", options.number)
    begin = time.monotonic()
    killed, kept = _killed(options.seed, options.kills)
    inputs, unequal = differences(options.seed, options.inputs)
    for line in unequal:
        print(line, flush=True)
    tried, failed = _programs(options.seed, options.programs, begin + options.seconds, options.jobs, options.kind)
    minutes = (time.monotonic() - begin) / 60
    figures = {
        "random programs": sum(tried.values()),
        **{f"of these, kind {kind!r}": tried[kind] for kind in sorted(tried)},
        "programs with something wrong": failed,
        "random inputs run before and after fixes": inputs,
        "of these, with other results": len(unequal),
    }
    if options.kills:
        figures["runs of --fix over 200 files that were killed"] = options.kills
        figures["runs that were killed while they kept results"] = options.kills
        figures["killed runs with something wrong after them"] = killed + kept
    for name, value in figures.items():
        print(f"{value:>9,}  {name}")
    print(f"{minutes:.0f} minutes; seed {options.seed}")
    if options.write:
        _write(options.write, figures, options.seed, minutes)
    return int(bool(failed or killed or kept or unequal))


def _show(seed: str, kind: str, number: int) -> int:
    text = program(seed, kind, number)
    print(text)
    for fixed in linted(text, unsafe=number % 2 == 1).fixed.values():
        print(f"fixed:\n{fixed.after.text}")
    found = list(failures(seed, kind, [number]))
    print("\n".join(failure.wrong for failure in found))
    return int(bool(found))


def _killed(seed: str, runs: int) -> tuple[int, int]:
    """Kill runs of ``--fix``, and runs that keep results; how many of each left something wrong."""
    if not runs or not kills.supported():
        return 0, 0
    choice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        fixing = kills.wrong(runs, choice, kills.Fixing.measure(Path(name, "fixed")))
        print("\n".join([*fixing, f"{runs} runs of --fix killed"]), flush=True)
        keeping = kills.wrong(runs, choice, kills.Keeping.measure(Path(name, "kept")))
        print("\n".join([*keeping, f"{runs} runs that keep results killed"]), flush=True)
    return len(fixing), len(keeping)


def _batch(seed: str, kind: str, first: int) -> list[Failure]:
    return list(failures(seed, kind, range(first, first + _BATCH)))


def _programs(seed: str, most: int, deadline: float, jobs: int, only: str | None) -> tuple[Counter[str], int]:
    """Try programs in several processes; how many of each kind, and how many with something wrong."""
    tried: Counter[str] = Counter()
    failed = 0
    with ProcessPoolExecutor(jobs) as pool:
        for turn in count():
            if sum(tried.values()) >= most or time.monotonic() >= deadline:
                return tried, failed
            kinds = [only or _SHARES[(turn * jobs + job) % len(_SHARES)] for job in range(jobs)]
            firsts = [tried[kind] + _BATCH * kinds[:place].count(kind) for place, kind in enumerate(kinds)]
            for kind, found in zip(kinds, pool.map(_batch, [seed] * jobs, kinds, firsts), strict=True):
                tried[kind] += _BATCH
                failed += len(found)
                for failure in found:
                    print(failure, flush=True)
    return tried, failed


def _write(page: Path, figures: dict[str, int], seed: str, minutes: float) -> None:
    """Put the figures between the marks of a page."""
    rows = "".join(f"| {name} | {value:,} |\n" for name, value in figures.items())
    python = f"Python {platform.python_version()} on {platform.system()}"
    told = f"\nSeed {seed}, {minutes:.0f} minutes, {python}, {date.today().isoformat()}.\n\n"
    between(page, "<!-- figures -->\n", "<!-- end of figures -->\n", f"{told}| what | how many |\n|---|---|\n{rows}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
