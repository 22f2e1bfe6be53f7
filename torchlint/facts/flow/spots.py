"""Where a value stands while it is followed: in which expression, how deep inside it, and through which calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from torchlint.facts.code.model import FileFacts, Scope
from torchlint.late import dataclass
from torchlint.rule import Use

Key = str | int | None
"""A key of a dict, a position in a tuple or list; ``None`` where any may be meant."""

_REST = "*"
"""The end of a key that is some text of which the beginning is known: ``train/*`` of ``metrics["train/" + name]``."""

_MOST_KEYS = 6
_MOST_CALLS = 3


@dataclass(frozen=True, slots=True)
class FollowedCall:
    """A call that was followed into the function, and whether autograd was off already before it."""

    facts: FileFacts
    call: ast.Call
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """One expression that holds the value.

    Attributes:
        path: the keys that lead from the expression's value to the value that is followed; empty: it is that itself.
        calls: the calls through which the value came into the function, the last one last; empty: not through a call.
        put: the value was put into the object that the expression names, so whoever reads that object has it.
        quiet: autograd is off in all that these calls run.
        past: the function of the expression had returned when the value was put into what it gave.
    """

    facts: FileFacts
    node: ast.expr
    path: tuple[Key, ...] = ()
    calls: tuple[FollowedCall, ...] = ()
    put: bool = False
    quiet: bool = False
    past: bool = False

    def at(self, node: ast.expr, *path: Key) -> Spot:
        """The value in another expression of the same function."""
        return replace(self, node=node, path=path, put=False, past=False)

    def same(self, node: ast.expr) -> Spot:
        """Another expression that has the same value."""
        return replace(self, node=node, put=False, past=False)

    def inside(self, node: ast.expr, *path: Key) -> Spot:
        """The value put into what an expression names."""
        return replace(self, node=node, path=path, put=True)

    def elsewhere(self, facts: FileFacts, node: ast.expr) -> Spot:
        """The same value in an expression of any function: nothing is known of the calls that lead there."""
        return Spot(facts, node, self.path)

    def entering(self, call: ast.Call) -> tuple[FollowedCall, ...]:
        """The calls with one more; the outermost is forgotten when they are many."""
        return (*self.calls, FollowedCall(self.facts, call, self.quiet))[-_MOST_CALLS:]

    @property
    def deep(self) -> bool:
        """Whether it lies deeper in containers than is followed."""
        return len(self.path) > _MOST_KEYS


Next = Iterator[Spot | Use]


def picked(path: tuple[Key, ...], key: Key) -> tuple[Key, ...] | None:
    """The path inside the element that a key reads, ``None`` when that is another element than the followed one."""
    if not path:
        return ()
    if key is None or path[0] is None or path[0] == key:
        return path[1:]
    texts = isinstance(key, str) and isinstance(path[0], str)
    return path[1:] if texts and _may_be_one(str(key), str(path[0])) else None


def _may_be_one(one: str, other: str) -> bool:
    """Whether two texts may be the same, of which at most the beginnings are known."""
    begun, told = one.removesuffix(_REST), other.removesuffix(_REST)
    return (begun != one and told.startswith(begun)) or (told != other and begun.startswith(told))


def iterated(path: tuple[Key, ...]) -> tuple[Key, ...] | None:
    """The path inside what iteration gives; of a dict that is its keys, so ``None``."""
    return None if path and isinstance(path[0], str) else path[1:]


def key_of(index: ast.expr) -> Key:
    """The key that a subscript spells out, ``None`` when it is neither a literal nor a text.

    Of a text that is put together the beginning, as far as it is a literal: ``"train/" + name``, ``f"{split}/loss"``.
    """
    if isinstance(index, ast.JoinedStr):
        first = index.values[0] if index.values else None
        return f"{first.value!s}{_REST}" if isinstance(first, ast.Constant) else _REST
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add) and isinstance(index.left, ast.Constant):
        begun = index.left.value
        return begun + _REST if isinstance(begun, str) else None
    literal = index.value if isinstance(index, ast.Constant) else None
    return literal if isinstance(literal, (str, int)) and not isinstance(literal, bool) else None


class Carrier(Protocol):
    """What is followed: data or an autograd graph. Says what operations on the value itself make of it.

    ``index`` and ``text`` are the ends where it is an index or a key, or is formatted or logged. The methods give the
    places where the value goes on, and the ends it comes to.
    """

    def branch(self, spot: Spot, /) -> Use:
        """The end in a condition."""

    @property
    def index(self) -> Use:
        """The end as an index or a key."""

    @property
    def text(self) -> Use:
        """The end in a text or a log."""

    def quiet(self, spot: Spot, call: ast.Call, /) -> bool:
        """Whether autograd is off in what a call runs."""

    def operation(self, spot: Spot, node: ast.expr) -> Next:
        """Arithmetic or a comparison; ``node`` is the expression with the result (of ``x += y`` the target ``x``)."""

    def attribute(self, spot: Spot, node: ast.Attribute) -> Next:
        """An attribute of it that is not called."""

    def method(self, spot: Spot, call: ast.Call, name: str) -> Next:
        """A call of its method."""

    def given(self, spot: Spot, call: ast.Call, method: str) -> Next | None:
        """It is an argument of a method of something else; ``None`` where that thing is not known."""

    def library(self, spot: Spot, call: ast.Call, name: str) -> Next | None:
        """It is an argument of a function of a library; ``None`` where that is not known."""

    def summary(self, spot: Spot, call: ast.Call, function: Scope, /) -> Next | None:
        """It is an argument of a function of the project whose work is known as a whole; ``None``: follow it inside."""

    def stored(self, spot: Spot, target: ast.Subscript) -> Next | None:
        """It is assigned to an element; ``None`` where that is one of an ordinary container."""
