"""Count which findings in projects of others have a fix, and whether a maintainer would take what it writes.

    fixable.py [CHECKOUTS]

CHECKOUTS is a folder of folders called ``owner+name@commit``. Each is linted with the rules that run by default, and
docs/fixable.csv gets a row for each finding: the kind of its fix, and the verdict of the reader of the diff, which is
kept where the row was there before; ``?``: not read yet. Without CHECKOUTS only the table in docs/fixes.md is written.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from linted import findings
from marked import written

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "fixable.csv"
PAGE = ROOT / "docs" / "fixes.md"
FIELDS = ("repository", "rule", "file", "line", "fix", "may_change", "assumes", "taken")
NONE, SAFE = "none", "safe"

Row = dict[str, str]


def rows_of(checkout: Path) -> Iterator[Row]:
    """The findings in a project, with the kinds of their fixes."""
    for found in findings(checkout):
        fix = found["fix"] or {"applicability": NONE, "may_change": [], "assumes": None}
        shown = fix["applicability"] != "display"
        yield {
            "repository": checkout.name.replace("+", "/", 1),
            "rule": found["code"],
            "file": found["filename"],
            "line": str(found["location"]["row"]),
            "fix": fix["applicability"] if shown else NONE,
            "may_change": " ".join(fix["may_change"]),
            "assumes": fix["assumes"] or "",
            "taken": "?" if shown and fix["applicability"] != NONE else "",
        }


def judged(rows: Iterable[Row], before: Iterable[Row]) -> list[Row]:
    """The rows with the verdicts that rows of the same finding and kind of fix had before."""
    known = {key(row): row["taken"] for row in before}
    return [{**row, "taken": known.get(key(row), row["taken"])} for row in rows]


def key(row: Row) -> tuple[str, ...]:
    """What makes a row that of one finding and one kind of fix."""
    return tuple(row[field] for field in FIELDS[:5])


def page(rows: list[Row]) -> str:
    """The table by rule and what it sums up to."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for rule in (row["rule"], "all"):
            counts.setdefault(rule, Counter()).update((row["fix"], "taken " + row["taken"]))
    last = counts.pop("all")
    ordered = sorted(counts.items(), key=lambda item: (-sum(_kinds(item[1])), item[0]))
    lines = ["| Rule | Findings | With a fix | Safe |", "|---|---|---|---|"]
    for rule, count in (*ordered, ("all", last)):
        every = sum(_kinds(count))
        lines.append(f"| {rule} | {every} | {every - count[NONE]} | {count[SAFE]} |")
    every, read = sum(_kinds(last)), max(1, last["taken yes"] + last["taken no"])
    projects = len({row["repository"] for row in rows})
    summary = (
        f"Of {every} findings in {projects} projects {100 * (every - last[NONE]) / every:.1f}% have a fix and "
        f"{100 * last[SAFE] / every:.1f}% a safe one. Of {read} diffs that were read a maintainer would take "
        f"{last['taken yes']} ({last['taken yes'] / read:.3f}); `docs/fixable.csv` lists all of them."
    )
    return "\n".join([summary, "", *lines, ""])


def _kinds(count: Counter[str]) -> Iterator[int]:
    return (number for kind, number in count.items() if not kind.startswith("taken "))


def main() -> None:
    """Write the rows, where projects are given, and the table."""
    with DATA.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    if len(sys.argv) > 1:
        folders = sorted(folder for folder in Path(sys.argv[1]).resolve().iterdir() if folder.is_dir())
        rows = judged([row for folder in folders for row in rows_of(folder)], rows)
        with DATA.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), "fixable", page(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
