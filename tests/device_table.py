"""What idioms do on CUDA, each with its source; ``python tests/device_table.py`` puts the table on its page."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).resolve().parent.parent
DATA = _ROOT / "docs" / "benchmarks" / "counted_device.csv"
PAGE = _ROOT / "docs" / "counted-device.md"
_BEGIN, _END = "<!-- the table begins -->\n", "<!-- the table ends -->\n"
BASES = {
    "documentation": "PyTorch's or CUDA's documentation says it",
    "source": "PyTorch's C++ source says it",
    "published": "an output of CUDA that others published shows it",
    "python": "the Python source of the installed torch says it",
    "tag": "torch tags the operator so",
    "silent": "the sources are silent; the row says what is assumed",
}


class Row(NamedTuple):
    """An idiom as code, what it does on CUDA, and how that is known."""

    group: str
    idiom: str
    setup: str
    code: str
    launches: int
    waits: int
    copies_in: int
    copies_out: int
    basis: str
    source: str

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Launches, GPU syncs, copies to the device and copies back."""
        return self.launches, self.waits, self.copies_in, self.copies_out


def rows() -> list[Row]:
    """Read the table."""
    with DATA.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    numbers = ("launches", "waits", "copies_in", "copies_out")
    return [Row(**{**line, **{name: int(line[name]) for name in numbers}}) for line in lines]  # type: ignore[arg-type]


def rendered(table: list[Row]) -> str:
    """Return the table as Markdown: how many rows rest on what, then the rows by group."""
    bases = Counter(row.basis for row in table)
    lines = [
        f"{len(table)} idioms: " + "; ".join(f"{bases[name]} where {words}" for name, words in BASES.items()) + "."
    ]
    for group in dict.fromkeys(row.group for row in table):
        lines += ["", f"**{group[0].upper()}{group[1:]}**", ""]
        lines += ["| idiom | code | launches | GPU syncs | copies in, out | source |", "|---|---|---|---|---|---|"]
        lines += [_line(row) for row in table if row.group == group]
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """Return the page with the table as it is now."""
    head, rest = page.split(_BEGIN)
    _, tail = rest.split(_END)
    return f"{head}{_BEGIN}\n{rendered(rows())}\n{_END}{tail}"


def _line(row: Row) -> str:
    cells = row.idiom, f"`{row.code}`", row.launches, row.waits, f"{row.copies_in}, {row.copies_out}"
    return "| " + " | ".join(_in_cell(str(cell)) for cell in (*cells, f"{row.basis}: {row.source}")) + " |"


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
