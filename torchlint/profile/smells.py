"""How smells show in a profile: the operators and calls that each brings, by code of its rule."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files

from torchlint.late import dataclass, regex

_WORD = regex(r"\w+")
_ATEN = "aten::"
# Operators that run although nothing in the source calls them by name.
_IMPLICIT = frozenset({"is_nonzero", "lift_fresh", "detach_", "resolve_conj", "resolve_neg"})


@dataclass(frozen=True, slots=True)
class Smell:
    """What a smell is to count as, and what it shows as.

    Attributes:
        nouns: one and several: ``check``, ``checks``.
        operators: ``aten::isnan``. calls: names as code calls them, ``isnan``.
        frames: functions of installed code that are the smell: ``torch.distributions.distribution:__init__``.
        elsewhere: the time is not lost where the smell is.
    """

    nouns: tuple[str, str] = ("place", "places")
    operators: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    frames: frozenset[str] = frozenset()
    elsewhere: bool = False

    def within(self, lines: Iterable[str]) -> Smell:
        """Return the smell with only the operators and calls that these lines name, if they name any.

        Operators that no source names are kept.
        """
        words = {word for line in lines for word in _WORD.findall(line)}
        operators, calls = self.operators, self.calls
        if any(_base(name) in words for name in operators):
            operators = frozenset(name for name in operators if _base(name) in words or is_implicit(name))
        if calls & words:
            calls &= words
        return replace(self, operators=operators, calls=calls)


def smell_of(code: str) -> Smell:
    """Return how the smell of a rule shows.

    The result is empty for rules of other packages, and if the smell runs nothing special.
    """
    return _smells().get(code, Smell())


@cache
def _smells() -> dict[str, Smell]:
    text = files("torchlint.profile").joinpath("smells.json").read_text(encoding="utf-8")
    return {
        code: Smell(elsewhere=True)
        if "elsewhere" in told
        else Smell(
            tuple(told["nouns"]),
            frozenset(told["operators"]),
            frozenset(told["calls"]),
            frozenset(told.get("frames", ())),
        )
        for code, told in json.loads(text).items()
    }


@cache
def shown() -> frozenset[str]:
    """Return the operators that any smell shows as."""
    return frozenset(name for smell in _smells().values() for name in smell.operators)


def _base(operator: str) -> str:
    return operator.removeprefix(_ATEN)


def is_implicit(operator: str) -> bool:
    """Return whether an operator runs although nothing in the source calls it by name: a test of a tensor by ``if``."""
    base = _base(operator)
    return base in _IMPLICIT or base.startswith(("_", "cuda"))
