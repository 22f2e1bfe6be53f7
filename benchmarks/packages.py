"""Tells what ``make test-packages`` found: as a table, or with ``--write`` as ``docs/packages.md`` and its data.

    python benchmarks/packages.py [--write]

The data are the notes that the tests leave in ``.cache/packages/notes``; with ``--write`` they go to
``docs/benchmarks/packages.json``, from which the page is made.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTES = ROOT / ".cache" / "packages" / "notes"
DATA = ROOT / "docs" / "benchmarks" / "packages.json"
PAGE = ROOT / "docs" / "packages.md"
PACKAGES = {
    "stable_baselines3": "Stable-Baselines3 2.9.2",
    "sb3_contrib": "SB3-Contrib 2.9.2",
    "pfrl": "PFRL 0.4.0",
}

Notes = Mapping[str, dict]

_TOP = """\
# Fixes in the code of others

`make test-packages` downloads these published packages and runs a part of their tests, or trains with their agents
if they have none. The packages have few smells, so the command first adds some: it reverses fixes where both forms do
the same (`tests/packages/inverting.py`), and the tests must still pass. Then it runs `torchlint check --fix`, and
separately `--fix --unsafe-fixes`. After each, every test must end as it did before any change.
"""


def main(arguments: list[str]) -> int:
    """Print the page, or write it and its data. Returns 1 without notes, 2 for a wrong argument."""
    if arguments not in ([], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    notes = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(NOTES.glob("*.json"))}
    if not notes:
        print(f"no notes in {NOTES.relative_to(ROOT)}: run make test-packages first", file=sys.stderr)
        return 1
    if arguments:
        DATA.write_text(json.dumps(notes, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(notes), encoding="utf-8")
    else:
        print(page(notes))
    return 0


def page(notes: Notes) -> str:
    """The page as Markdown."""
    lines = [_TOP, "## Fixes", "", *_fixes(notes), "", "## Tests", "", *_suites(notes), "", "## Training", ""]
    lines += [*_training(notes)]
    return "\n".join(lines) + "\n"


def _fixes(notes: Notes) -> Iterator[str]:
    """A row for each package, and the sum."""
    yield (
        "Places: reversed fixes. Found: findings with a fix, including those of the published package; code that is "
        "not hot has none. Ran: fixes on lines that the tests, or training, execute."
    )
    yield ""
    yield "| Package | Places | Found | Safe fixes | Ran | Unsafe fixes | Ran |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    total = Counter[str]()
    for package, title in PACKAGES.items():
        smells = notes.get(f"smells-{package}")
        if smells is None:
            continue
        kinds = Counter(safe for *_, safe in ran(notes, package))
        found = sum(smells["found"].values())
        row = Counter(places=sum(smells["injected"].values()), found=found, safe=smells["safe"], ran=kinds[True])
        row.update(unsafe=found - smells["safe"], ran_unsafe=kinds[False])
        total.update(row)
        yield _row(title, row)
    yield _row("Together", total)
    codes = Counter[str]()
    for package in PACKAGES:
        codes.update(notes.get(f"smells-{package}", {}).get("found", {}))
    yield ""
    yield f"By rule: {', '.join(f'{code} {count}' for code, count in sorted(codes.items()))}."


def ran(notes: Notes, package: str) -> set[tuple[str, str, int, bool]]:
    """The fixes of a package on lines that its tests ran, or training with it; these are told apart by their files."""
    rows = [row for name, found in notes.items() if name == f"ran-{package}" or "trained" in name for row in found]
    return {tuple(row) for row in rows if row[1].startswith(f"{package}/")}


def _row(title: str, row: Mapping[str, int]) -> str:
    cells = (row[name] for name in ("places", "found", "safe", "ran", "unsafe", "ran_unsafe"))
    return f"| {title} | {' | '.join(map(str, cells))} |"


def _suites(notes: Notes) -> Iterator[str]:
    yield "| Package | Tests | Passed before | Other outcome with smells | After safe fixes | After all fixes |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for package, title in PACKAGES.items():
        suite = notes.get(f"suite-{package}")
        if suite is not None:
            other = (str(len(suite["other"][name])) for name in ("injected", "safe", "unsafe"))
            yield f"| {title} | {suite['tests']} | {suite['passed']} | {' | '.join(other)} |"


def _training(notes: Notes) -> Iterator[str]:
    """Which runs ended alike, and how fast they were."""
    runs = {name.removeprefix("digest-"): note for name, note in notes.items() if name.startswith("digest-")}
    alike = [name for name, run in runs.items() if len(set(run["digests"].values())) == 1]
    yield (
        f"{len(alike)} of {len(runs)} training runs from a fixed seed ended with the same parameters to the bit as "
        f"published, with smells, after safe fixes and after all fixes: {', '.join(alike)}."
    )
    speeds = {name.removeprefix("speed-"): note for name, note in notes.items() if name.startswith("speed-")}
    speeds = {name: note for name, note in speeds.items() if min(map(len, note["steps_per_cpu_second"].values())) > 1}
    yield ""
    if not speeds:
        yield "Speed was not compared: there was one round of each."
        return
    yield (
        "Steps of the environment per second of processor time, in rounds that alternate between the versions; median, "
        "lowest and highest in brackets. Differences of a few percent are noise."
    )
    yield ""
    yield "| Algorithm | Steps | Rounds | As published | With smells | After safe fixes | Safe fixes gain |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, note in speeds.items():
        found = note["steps_per_cpu_second"]
        medians = {version: statistics.median(rounds) for version, rounds in found.items()}
        cells = (
            f"{medians[v]:.0f} ({min(found[v]):.0f}-{max(found[v]):.0f})" for v in ("original", "injected", "safe")
        )
        gain = f"{medians['safe'] / medians['injected']:.2f}x"
        yield f"| {name} | {note['steps']} | {len(found['safe'])} | {' | '.join(cells)} | {gain} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
