"""Mutants of real programs: the fixtures of the rules with some of their rows and words changed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from fuzz.programs import Writer

_FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
_WORD = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|==|[-+*/<>=]")
_MOST_ROWS = 80


@cache
def fixtures() -> Sequence[str]:
    """The texts of the fixtures that are not long, always in the same order."""
    paths = sorted(path for path in _FIXTURES.glob("*/*.py") if path.name.count(".") == 1)
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return [text for text in texts if text.count("\n") <= _MOST_ROWS]


def mutant(seed: str) -> str:
    """A fixture with some changes; most mutants are still programs, some are not."""
    choice = random.Random(seed)
    writer = Writer(seed)
    rows = choice.choice(fixtures()).split("\n")
    for _ in range(choice.randint(1, 4)):
        choice.choice(_CHANGES)(rows, choice, writer)
    return writer._ended("\n".join(rows))


def _code_row(rows: Sequence[str], choice: random.Random) -> int:
    return choice.choice([index for index, row in enumerate(rows) if row.strip()] or [0])


def _drop(rows: list[str], choice: random.Random, writer: Writer) -> None:
    del rows[_code_row(rows, choice)]


def _double(rows: list[str], choice: random.Random, writer: Writer) -> None:
    row = _code_row(rows, choice)
    rows.insert(row, rows[row])


def _swap(rows: list[str], choice: random.Random, writer: Writer) -> None:
    row = _code_row(rows[:-1] or rows, choice)
    rows[row : row + 2] = reversed(rows[row : row + 2])


def _note(rows: list[str], choice: random.Random, writer: Writer) -> None:
    row = _code_row(rows, choice)
    rows[row] += f"  {writer.comment()}"


def _word(rows: list[str], choice: random.Random, writer: Writer) -> None:
    row = _code_row(rows, choice)
    words = [word for line in rows for word in _WORD.findall(line)]
    places = list(_WORD.finditer(rows[row]))
    if places and words:
        place = choice.choice(places)
        rows[row] = rows[row][: place.start()] + choice.choice(words) + rows[row][place.end() :]


def _borrow(rows: list[str], choice: random.Random, writer: Writer) -> None:
    """Put a row of another fixture in, as deep as its new neighbour."""
    row = _code_row(rows, choice)
    other = choice.choice(fixtures()).split("\n")
    indent = rows[row][: len(rows[row]) - len(rows[row].lstrip())]
    rows.insert(row, indent + other[_code_row(other, choice)].strip())


def _write(rows: list[str], choice: random.Random, writer: Writer) -> None:
    """Put a random statement in."""
    row = _code_row(rows, choice)
    indent = rows[row][: len(rows[row]) - len(rows[row].lstrip())]
    rows.insert(row, indent + writer.filled("x = <T>"))


def _break(rows: list[str], choice: random.Random, writer: Writer) -> None:
    """Go to a new row inside of brackets."""
    row = _code_row(rows, choice)
    rows[row] = re.sub(r"\((?=[^)\s])", lambda _: f"(  {writer.comment()}\n", rows[row], count=1)


def _join(rows: list[str], choice: random.Random, writer: Writer) -> None:
    row = _code_row(rows, choice)
    if row + 1 < len(rows) and rows[row + 1].strip():
        rows[row : row + 2] = [f"{rows[row]}; {rows[row + 1].strip()}"]


_CHANGES: tuple[Callable[[list[str], random.Random, Writer], None], ...] = (
    *(_drop, _double, _swap, _note, _note, _word, _word, _word, _borrow, _borrow, _write, _break, _break, _join),
)
