"""The nodes and edges of the value-flow graph: expressions with access paths and call strings, and kinds of edges.

How long access paths and call strings may be is said here and nowhere else.
"""

from __future__ import annotations

import ast
import enum
import sys
from collections.abc import Sequence
from dataclasses import field

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.tree import inserted
from torchlint.late import dataclass

Key = str | int | None
"""A key of a dict, a position in a tuple or list; ``None`` where any may be meant."""

_REST = "*"
"""The part of a key that is not known: ``train/*`` of ``"train/" + name``, ``*/loss`` of ``f"{name}/loss"``."""

INSIDE = "**"
"""The key that stands for any way into an object, also for none: the value is the object or anything in it."""

MOST_KEYS = 6
_MOST_CALLS = 5


class Label(enum.Enum):
    """How a value comes from one expression to the next."""

    COPY = "another name or form of the same object"
    FIELD = "an attribute of an object"
    ITEM = "an item of a container, under a key or at a position"
    ELEMENT = "what iteration gives, or what a loop adds"
    ARGUMENT = "an argument of a call, as a parameter"
    RETURN = "what a function returns, as the value of a call"
    OPERAND = "an operand of an operation, as its result"
    RECEIVER = "the object whose method is called"
    STORE = "what is put into a container or an attribute"


@dataclass(frozen=True, slots=True)
class FollowedCall:
    """A call that was followed into the function, and whether autograd was off already before it.

    ``total += x`` calls ``__iadd__`` of an object that has it.
    """

    facts: FileFacts
    call: ast.Call | ast.AugAssign
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """One expression that holds the value.

    Attributes:
        path: the keys that lead from the expression's value to the value that is followed; empty: it is that itself.
        calls: the calls through which the value came into the function, the last one last; empty: not through a call.
        put: the value was put into the object that the expression names, so whoever reads that object has it.
        quiet: autograd is off in all that these calls run.
        label: how the value came here from the spot before; two spots that differ in nothing else are one.
        past: the function of the expression had returned when the value was put into what it gave.
        named: the name that a loop gives to a key, and the key under which the value was, as long as one expression
            holds both.
    """

    facts: FileFacts
    node: ast.expr
    path: tuple[Key, ...] = ()
    calls: tuple[FollowedCall, ...] = ()
    put: bool = False
    quiet: bool = False
    past: bool = False
    named: tuple[str, str] | None = None
    label: Label = field(default=Label.COPY, compare=False)

    def __hash__(self) -> int:
        """Take what tells spots apart: an expression belongs to one file; in recursion the calls alone differ."""
        return hash((self.node, self.path, *[each.call for each in self.calls]))

    def at(self, node: ast.expr, *path: Key, label: Label = Label.OPERAND) -> Spot:
        """Return the value in another expression of the same function."""
        return Spot(self.facts, node, path, self.calls, quiet=self.quiet, named=self.named, label=label)

    def same(self, node: ast.expr, label: Label = Label.COPY) -> Spot:
        """Return another expression that has the same value."""
        return Spot(self.facts, node, self.path, self.calls, quiet=self.quiet, named=self.named, label=label)

    def inside(self, node: ast.expr, *path: Key) -> Spot:
        """Return the value put into what an expression names."""
        named = self.named
        return Spot(self.facts, node, path, self.calls, True, self.quiet, self.past, named, label=Label.STORE)

    def elsewhere(self, facts: FileFacts, node: ast.expr, label: Label = Label.FIELD) -> Spot:
        """Return the same value in an expression of any function, with an empty call string."""
        return Spot(facts, node, self.path, label=label)

    def entering(self, call: ast.Call | ast.AugAssign) -> tuple[FollowedCall, ...]:
        """Return the call string with one more call, without its outermost call if it is full."""
        return (*self.calls, FollowedCall(self.facts, call, self.quiet))[-_MOST_CALLS:]

    @property
    def deep(self) -> bool:
        """Whether it lies deeper in containers than is followed."""
        return len(self.path) > MOST_KEYS


def picked(path: tuple[Key, ...], key: Key) -> tuple[Key, ...] | None:
    """Return the path inside the element that a key reads, ``None`` when that is not the followed element."""
    if not path:
        return ()
    if path[0] == INSIDE:
        return path
    if key is None or path[0] is None or path[0] == key:
        return path[1:]
    texts = isinstance(key, str) and isinstance(path[0], str)
    return path[1:] if texts and _may_be_one(str(key), str(path[0])) else None


def cut(path: tuple[Key, ...], part: ast.Slice) -> tuple[Key, ...] | None:
    """Return the path inside what a slice takes, ``None`` where it leaves the followed element out."""
    first, end = _bound(part.lower, 0), _bound(part.upper, sys.maxsize)
    place = path[0]
    if not isinstance(place, int) or place < 0 or first is None or end is None or part.step is not None:
        return (None, *path[1:])
    return (place - first, *path[1:]) if first <= place < end else None


def _bound(node: ast.expr | None, default: int) -> int | None:
    """A bound of a slice that is written out and counted from the beginning, else ``None``."""
    if node is None:
        return default
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _may_be_one(one: str, other: str) -> bool:
    """Whether two texts may be the same, of which at most the beginnings and the ends are known."""
    if _REST not in one:
        one, other = other, one
    begun, unknown, ended = one.partition(_REST)
    if not unknown:
        return False
    head, unknown, tail = other.partition(_REST)
    if not unknown:
        return len(other) >= len(begun) + len(ended) and other.startswith(begun) and other.endswith(ended)
    heads, tails = (head.startswith(begun) or begun.startswith(head)), (tail.endswith(ended) or ended.endswith(tail))
    return heads and tails


def iterated(path: tuple[Key, ...]) -> tuple[Key, ...] | None:
    """Return the path inside the elements of an iteration, ``None`` for a dict, which gives keys."""
    return None if path and isinstance(path[0], str) else path[1:]


def key_of(index: ast.expr, name: str = "", text: str = _REST) -> Key:
    """Return the key that a subscript spells out, ``None`` when it is neither a literal nor a text.

    Of a text that is put together the beginning and the end, as far as they are known: ``"train/" + key``,
    ``f"{split}/loss"``. There ``text`` is what one name stands for, as ``"loss"`` in a loop that has it from a dict.
    """
    if isinstance(index, ast.Name) and index.id == name:
        return text
    if isinstance(index, ast.JoinedStr):
        return _joined([_spelled(part, name, text) for part in index.values])
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add):
        parts = [_spelled(index.left, name, text), _spelled(index.right, name, text)]
        return _joined(parts) if set(parts) != {_REST} else None
    literal = index.value if isinstance(index, ast.Constant) else None
    return literal if isinstance(literal, (str, int)) and not isinstance(literal, bool) else None


def _spelled(part: ast.expr, name: str, text: str) -> str:
    """The text of a part of a text: of a literal, or of a name that is known."""
    plain = inserted(part)
    if isinstance(plain, ast.Name) and plain.id == name:
        return text
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else _REST


def _joined(parts: Sequence[str]) -> str:
    """The beginning and the end of a text of several parts, or all of it where each part is known."""
    begun, unknown, ended = "".join(parts).partition(_REST)
    return begun + unknown + ended.rpartition(_REST)[2]
