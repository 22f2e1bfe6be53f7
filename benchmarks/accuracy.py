"""Score torchlint against lines that people labelled by reading, and write the table into docs/accuracy.md.

    accuracy.py SCORE LABELS CHECKOUTS

SCORE is a script that takes LABELS and CHECKOUTS, and the options ``--torchlint COMMAND`` and ``--codes REGEX``; it
prints a table: a header line, then one line per rule and a line ``all``, in columns parted by blanks; then a summary.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
COMMAND = "make accuracy SCORE=score.py LABELS=labels.json CHECKOUTS=checkouts"


def codes() -> str:
    """A regular expression for the codes of the built-in rules, read off the file names of their fixtures."""
    return "|".join(sorted(folder.name for folder in (ROOT / "tests" / "fixtures").glob("TL[0-9]*")))


def score(script: Path, labels: Path, checkouts: Path) -> str:
    """What the scoring script prints. Exits with its message when it fails."""
    command = [sys.executable, str(script), str(labels), str(checkouts)]
    command += ["--torchlint", f"{shlex.quote(sys.executable)} -m torchlint", "--codes", f"({codes()})$"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    sys.stderr.write(run.stderr)
    if run.returncode:
        sys.exit(f"{script.name} ended with status {run.returncode}")
    return run.stdout


def table(text: str) -> str:
    """The printed table as Markdown, with the summary below it."""
    lines = text.strip().splitlines()
    last = next(index for index, line in enumerate(lines) if line.startswith("all"))
    header, *rows = (line.split() for line in lines[: last + 1])
    head = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows), "", *lines[last + 1 :]])


def write(markdown: str) -> None:
    """Put the table between the markers of the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    middle = f"\n\n```\n{COMMAND}\n```\n\n{markdown}\n\n"
    PAGE.write_text(f"{before}{BEGIN}{middle}{END}{after}", encoding="utf-8")


def main() -> None:
    """Read the arguments, score, write, and show the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("score", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("checkouts", type=Path)
    options = parser.parse_args()
    text = score(options.score, options.labels, options.checkouts)
    print(text, end="")
    write(table(text))


if __name__ == "__main__":
    main()
