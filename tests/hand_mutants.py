"""Mistakes that somebody may make in mechanisms that follow values and hotness, each with the tests that notice it.

``make mutants ARGS=--by-hand`` puts them in one at a time. Where a table of random mutants says how much the tests
notice in general, this one says that they notice what a change of these mechanisms is likely to get wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class HandMutant:
    """One changed place.

    Attributes:
        mistake: what becomes wrong, in words. path: the file. old, new: the text, on one row, and what takes its place.
        tests: the tests that fail then, as pytest names them below ``tests``.
    """

    mistake: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file, and what becomes wrong in it."""
        return f"{self.path}: {self.mistake}"

    @property
    def text(self) -> str:
        """The file as it is."""
        return (ROOT / self.path).read_text(encoding="utf-8")

    def codes(self) -> Iterator[CodeType]:
        """The code of the functions that become other ones."""
        file = str(ROOT / self.path)
        before, after = (
            compile(text, file, "exec", dont_inherit=True)
            for text in (self.text, self.text.replace(self.old, self.new))
        )
        known = set(within(before))
        yield from (code for code in within(after) if code not in known and code.co_name != "<module>")


def within(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that lie in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from within(constant)
