"""Which rules are about which waits of the host, by the operators that wait (``waits.json``)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from torchlint.late import dataclass

_OURS = "TL"  # the built-in rules; which waits those of other packages are about is not known


@dataclass(frozen=True, slots=True)
class WaitKind:
    """A kind of wait: in words, the operators that wait in this way, and the codes of the rules that are about it."""

    what: str
    operators: frozenset[str]
    codes: frozenset[str]


def kinds_of(waiting: Iterable[str]) -> list[WaitKind]:
    """Return the kinds of waits that some rule is about, given the names of the operators that wait."""
    names = frozenset(waiting)
    return [kind for kind in _kinds() if not names.isdisjoint(kind.operators)]


def is_about_waits(code: str) -> bool:
    """Return whether a rule may be about a wait: those of other packages all may."""
    return not code.startswith(_OURS) or any(code in kind.codes for kind in _kinds())


@cache
def _kinds() -> tuple[WaitKind, ...]:
    text = files("torchlint.count").joinpath("waits.json").read_text(encoding="utf-8")
    return tuple(
        WaitKind(row["what"], frozenset(row["operators"]), frozenset(row["codes"])) for row in json.loads(text).values()
    )
