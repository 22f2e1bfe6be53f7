"""Score torchlint against labelled lines, count what was read, and write the tables of docs/accuracy.md.

    accuracy.py [SCORE LABELS CHECKOUTS]

SCORE is a script that takes LABELS and CHECKOUTS, and the options ``--torchlint COMMAND``, ``--codes REGEX`` and
``--args ARGUMENTS`` (more arguments for ``torchlint check``); it prints a table: a header line, then one line per rule
and a line ``all``, in columns parted by blanks; then a summary. It runs once over the rules that are on by default and
once over those in preview. Without arguments only the other tables are
written: the verdicts of docs/accuracy.csv, and the traps that fixtures hold.
"""

from __future__ import annotations

import argparse
import ast
import csv
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from marked import written

from torchlint.engine.rules import load_rules
from torchlint.rule import RuleSet

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
READ = ROOT / "docs" / "accuracy.csv"
COMMAND = "make accuracy SCORE=score.py LABELS=labels.json CHECKOUTS=checkouts"
MENDED = "mended: "


def codes(which: RuleSet) -> list[str]:
    """The codes of the rules that run by default, or in preview."""
    return [rule.code for rule in load_rules() if rule.set is which]


def score(arguments: Sequence[str], rules: Iterable[str], *options: str) -> str:
    """What the scoring script prints about some rules. Exits with its message when it fails."""
    command = [sys.executable, *arguments, "--codes", f"({'|'.join(rules)})$", *options]
    command += ["--torchlint", f"{shlex.quote(sys.executable)} -m torchlint"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    sys.stderr.write(run.stderr)
    if run.returncode:
        sys.exit(f"{arguments[0]} ended with status {run.returncode}")
    return run.stdout


def table(text: str) -> str:
    """The printed table as Markdown, with the summary below it."""
    lines = text.strip().splitlines()
    last = next(index for index, line in enumerate(lines) if line.startswith("all"))
    header, *rows = (line.split() for line in lines[: last + 1])
    return "\n".join([markdown(header, rows), "", *lines[last + 1 :]])


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def verdicts() -> str:
    """How many findings were read, by rule and verdict."""
    with READ.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        kind = "right" if row["verdict"] == "right" else "gone" if row["why"].startswith(MENDED) else "there"
        counts.update([(row["rule"], kind), ("all", kind)])
    names = [*sorted({row["rule"] for row in rows}), "all"]
    cells = [[code, *(str(counts[code, kind]) for kind in ("right", "gone", "there"))] for code in names]
    return markdown(["rule", "right", "wrong, gone since", "wrong, still there"], cells)


def traps() -> str:
    """What looks like a smell and must stay silent: the first lines of the fixtures that hold such code."""
    cells = []
    for path in sorted((ROOT / "tests" / "fixtures").glob("TL*/trap_*.py")):
        if path.stem.endswith((".accepted", ".fixed")):  # another fixture after its fix
            continue
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        name = path.relative_to(PAGE.parent.parent).as_posix()
        cells.append([path.parent.name, text.splitlines()[0], f"[{path.name}](../{name})"])
    return markdown(["rule", "what must stay silent", "fixture"], cells)


def main() -> None:
    """Read the arguments, score, write, and show the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="*", metavar="SCORE LABELS CHECKOUTS")
    inputs = parser.parse_args().inputs
    if len(inputs) not in (0, 3):
        parser.error("give SCORE, LABELS and CHECKOUTS, or nothing")
    page = written(PAGE.read_text(encoding="utf-8"), "reading", verdicts())
    page = written(page, "traps", traps())
    if inputs:
        default = score(inputs, codes(RuleSet.DEFAULT))
        preview = score(inputs, codes(RuleSet.PREVIEW), "--args=--preview")
        print(default, preview, sep="\n", end="")
        parts = (f"```\n{COMMAND}\n```", table(default), "Rules in preview, which are off by default:", table(preview))
        page = written(page, "table", "\n\n".join(parts))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
