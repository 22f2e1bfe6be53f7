"""Profiles of ``cProfile`` and ``profile``, as ``dump_stats`` writes them (``python -m cProfile -o FILE``).

Such a file holds exact times and counts for every function, and for every pair of caller and callee, but no stacks. The
contexts are worked out from the pairs: what a callee cost a caller is shared among the caller's contexts by their time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from torchlint.profile.effects import effect_of_call, is_torch_call
from torchlint.profile.errors import ProfileError
from torchlint.profile.marshalled import MarshalError, Value, loads
from torchlint.profile.model import Effect, Frame, Node, Operator, Profile, Source
from torchlint.profile.names import called_name, without_address

# Contexts beyond this many are left folded into the one above.
_MOST_NODES = 20_000
# A function counts as called from outside the profile if this share of its time is in no caller.
_OUTER_SHARE = 0.01
_SECOND = 1e6
_KEY = 3
_ENTRY = 5
_EDGE = 4


@dataclass(slots=True)
class _Edge:
    """What one callee cost one caller, in microseconds."""

    callee: int
    calls: float
    total_us: float


@dataclass(slots=True)
class _Function:
    """An entry of the file, in microseconds; ``outer`` is the share of its time with no known caller."""

    file: str
    line: int
    name: str
    calls: int
    self_us: float
    total_us: float
    outer: float = 1.0
    edges: list[_Edge] = field(default_factory=list)


@dataclass(slots=True)
class _Context:
    """A node that is still open: ``share`` is the part of the function's time that is spent in this context."""

    function: int
    parent: int
    calls: float
    self_us: float
    total_us: float
    share: float


def starts_like_stats(head: bytes) -> bool:
    """Whether bytes start like a marshalled dict with tuples as keys, and not like JSON."""
    return len(head) > 1 and head[0] & 0x7F == ord("{") and (head[1] & 0x7F) in (*b"()", ord("0"))


def read_stats(data: bytes) -> Profile:
    """A profile from the bytes of a file.

    Raises:
        ProfileError: they are cut, or no statistics of cProfile.
    """
    try:
        functions = _functions(loads(data))
    except MarshalError as error:
        raise ProfileError(f"is no readable cProfile file: {error}") from error
    if not functions:
        raise ProfileError("is a cProfile file without a single call")
    contexts = _unfold(functions)
    return Profile(
        source=Source.CPROFILE,
        total_us=sum(function.self_us for function in functions),
        steps=0,
        exact_lines=False,
        stacks=True,
        device=False,
        assumed_rate=False,
        frames=tuple(Frame(one.file, one.line, one.name, one.calls, one.self_us, one.total_us) for one in functions),
        nodes=tuple(Node(one.function, one.parent, round(one.calls), one.self_us, one.total_us) for one in contexts),
        operators=tuple(_operators(functions, contexts)),
        order=(),
        threads=(),
        slices=(),
    )


def _functions(stats: Value) -> list[_Function]:
    if not isinstance(stats, dict):
        raise MarshalError("no table of functions")
    places = {key: place for place, key in enumerate(stats)}
    functions = [_function(key, entry) for key, entry in stats.items()]
    for place, entry in enumerate(stats.values()):
        callers = entry[4] if isinstance(entry, tuple) else None
        if not isinstance(callers, dict):
            raise MarshalError("a function without a table of callers")
        _connect(functions, place, {places[key]: edge for key, edge in callers.items() if key in places})
    return functions


def _function(key: Value, entry: Value) -> _Function:
    if not isinstance(key, tuple) or len(key) != _KEY or not isinstance(entry, tuple) or len(entry) != _ENTRY:
        raise MarshalError("an entry that is no function")
    file, line, name = key
    if not isinstance(file, str) or not isinstance(line, int) or not isinstance(name, str):
        raise MarshalError("an entry that is no function")
    built_in = file == "~"
    return _Function(
        "" if built_in else file,
        0 if built_in else line,
        without_address(name) if built_in else name,
        int(_number(entry[1])),
        _number(entry[2]) * _SECOND,
        _number(entry[3]) * _SECOND,
    )


def _number(value: Value) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise MarshalError("a figure that is no number")
    return value


def _connect(functions: list[_Function], callee: int, callers: dict[int, Value]) -> None:
    """Give the callers of a function their part of its cost."""
    function = functions[callee]
    known = 0.0
    for caller, edge in callers.items():
        if isinstance(edge, tuple) and len(edge) == _EDGE:
            calls, total = _number(edge[0]), _number(edge[3]) * _SECOND
        else:  # ``profile``, the slower sibling of cProfile, counts the calls of a pair but does not time them.
            calls = _number(edge)
            total = function.total_us * calls / max(1, function.calls)
        if caller != callee:
            functions[caller].edges.append(_Edge(callee, calls, total))
            known += total
    if callers:
        outer = max(0.0, 1 - known / function.total_us) if function.total_us else 0.0
        function.outer = outer if outer > _OUTER_SHARE else 0.0


def _unfold(functions: list[_Function]) -> list[_Context]:
    """The tree of contexts, the costly ones opened first; a context that stays closed keeps all its time as its own."""
    contexts: list[_Context] = []
    closed: list[tuple[float, int]] = []

    def add(context: _Context) -> None:
        heapq.heappush(closed, (-context.total_us, len(contexts)))
        contexts.append(context)

    roots = [place for place, function in enumerate(functions) if function.outer]
    for place in roots or [max(range(len(functions)), key=lambda place: functions[place].total_us)]:
        one = functions[place]
        share = one.outer or 1.0
        add(_Context(place, -1, one.calls * share, one.total_us * share, one.total_us * share, share))
    while closed and len(contexts) < _MOST_NODES:
        _, place = heapq.heappop(closed)
        context = contexts[place]
        for edge in functions[context.function].edges:
            if edge.callee in _path(contexts, place):
                continue
            calls, total = edge.calls * context.share, edge.total_us * context.share
            context.self_us = max(0.0, context.self_us - total)
            whole = functions[edge.callee].total_us
            add(_Context(edge.callee, place, calls, total, total, total / whole if whole else 0.0))
    return contexts


def _path(contexts: list[_Context], place: int) -> set[int]:
    """The functions from a context up to its root."""
    found: set[int] = set()
    while place >= 0:
        found.add(contexts[place].function)
        place = contexts[place].parent
    return found


def _operators(functions: list[_Function], contexts: list[_Context]) -> Iterator[Operator]:
    """The built-ins of torch, as the operators of the Python code that called them."""
    for context in contexts:
        function = functions[context.function]
        if is_torch_call(function.file, function.name):
            name = called_name(function.name)
            effect = effect_of_call(name) if context.parent >= 0 else Effect.NONE
            calls = round(context.calls)
            yield Operator(name, context.parent, "", effect, calls, context.self_us, context.total_us, 0.0)
