"""Profiles of ``cProfile`` and ``profile``, as ``dump_stats`` writes them (``python -m cProfile -o FILE``).

Such a file holds exact times and counts for every function, and for every pair of caller and callee, but no stacks. The
contexts are worked out from the pairs: what a callee cost a caller is shared among the caller's contexts by their time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import field

from torchlint.late import dataclass
from torchlint.profile.effects import effect_of_call, is_torch_call
from torchlint.profile.errors import ProfileError
from torchlint.profile.marshalled import MarshalError, Value, loads
from torchlint.profile.model import Effect, Frame, Node, Operator, Pair, Profile, ProfileSource
from torchlint.profile.names import called_name, without_address

# Contexts beyond this many are left folded into the one above.
_MOST_NODES = 20_000
# A function counts as called from outside the profile if this share of its time is in no caller.
_OUTER_SHARE = 0.01
# A recursive function is followed this many times in one context: modules inside modules.
_DEEPEST = 12
_SECOND = 1e6
_LARGEST = 1e15
_KEY = 3
_ENTRY = 5
_EDGE = 4


@dataclass(slots=True)
class _Edge:
    """What one callee cost one caller, in microseconds; ``left_us`` of it has no context yet."""

    callee: int
    calls: float
    total_us: float
    left_us: float


@dataclass(slots=True)
class _Function:
    """An entry of the file, in microseconds.

    ``recursive`` is whether it was running more than once at a time, ``outer`` the share of its time without a caller.
    """

    file: str
    line: int
    name: str
    calls: int
    self_us: float
    total_us: float
    recursive: bool
    outer: float = 1.0
    edges: list[_Edge] = field(default_factory=list)


@dataclass(slots=True)
class _Context:
    """A function in a context; ``self_us`` is what its callees have not taken."""

    function: int
    parent: int
    calls: float
    self_us: float
    total_us: float


def looks_marshalled(head: bytes) -> bool:
    """Return whether bytes start like a marshalled dict with tuples as keys, and not like JSON."""
    return len(head) > 1 and head[0] & 0x7F == ord("{") and (head[1] & 0x7F) in (*b"()", ord("0"))


def read_stats(data: bytes) -> Profile:
    """Return a profile from the bytes of a file.

    Raises:
        ProfileError: they are cut, or no statistics of cProfile.
    """
    try:
        functions = _functions(loads(data))
    except MarshalError as error:
        raise ProfileError(f"is not a readable cProfile file: {error}") from error
    if not functions:
        raise ProfileError("is a cProfile file without a single call")
    unfolded = _Contexts(functions)
    unfolded.unfold()
    contexts = unfolded.all
    return Profile(
        source=ProfileSource.CPROFILE,
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
        pairs=tuple(
            Pair(caller, edge.callee, round(edge.calls), edge.total_us)
            for caller, function in enumerate(functions)
            for edge in function.edges
        ),
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
        raise MarshalError("an entry that is not a function")
    file, line, name = key
    if not isinstance(file, str) or not isinstance(line, int) or not isinstance(name, str):
        raise MarshalError("an entry that is not a function")
    built_in = file == "~"
    return _Function(
        "" if built_in else file,
        0 if built_in else line,
        without_address(name) if built_in else name,
        int(_number(entry[1])),
        _number(entry[2]) * _SECOND,
        _number(entry[3]) * _SECOND,
        recursive=entry[0] != entry[1],
    )


def _number(value: Value) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value < _LARGEST:
        raise MarshalError("a figure that is not a number")
    return value


def _connect(functions: list[_Function], callee: int, callers: dict[int, Value]) -> None:
    """Give the callers of a function their part of its cost."""
    function = functions[callee]
    known, counted = 0.0, 0.0
    for caller, edge in callers.items():
        if isinstance(edge, tuple) and len(edge) == _EDGE:
            calls, total = _number(edge[0]), _number(edge[3]) * _SECOND
        else:  # ``profile``, the slower sibling of cProfile, counts the calls of a pair but does not time them.
            calls = _number(edge)
            total = function.total_us * calls / max(1, function.calls)
        counted += calls
        if caller != callee:
            functions[caller].edges.append(_Edge(callee, calls, total, total))
            known += total
    if not callers:
        return
    if function.recursive and function.calls > counted:
        # ``exec``, which runs the program, and in it every import: the calls inside are no part beside the one around.
        function.outer = 1.0
        return
    outer = max(0.0, 1 - known / function.total_us) if function.total_us else 0.0
    function.outer = outer if outer > _OUTER_SHARE else 0.0


class _Contexts:
    """Unfolds pairs of caller and callee into contexts, those that cost most first.

    A context that stays closed keeps all its time as its own, so no time is lost. What a callee of an ordinary function
    cost is shared among the function's contexts by their time. A function that was running more than once at a time
    (``Module.__call__``, which calls the ``forward`` of every module) cannot be shared like that: its contexts lie
    inside each other. There the outer contexts take the costly callees whole, and leave the others to inner ones.
    """

    def __init__(self, functions: list[_Function]) -> None:
        self._functions = functions
        self._closed: list[tuple[float, int]] = []
        self._above: dict[int, set[int]] = {}
        self._callers: dict[int, set[int]] = {}
        for caller, function in enumerate(functions):
            for edge in function.edges:
                self._callers.setdefault(edge.callee, set()).add(caller)
        self.all: list[_Context] = []

    def unfold(self) -> None:
        functions = self._functions
        roots = [place for place, function in enumerate(functions) if function.outer]
        for place in roots or [max(range(len(functions)), key=lambda place: functions[place].total_us)]:
            share = functions[place].outer or 1.0
            self._add(place, -1, functions[place].calls * share, functions[place].total_us * share)
        while self._closed and len(self.all) < _MOST_NODES:
            self._open(heapq.heappop(self._closed)[1])

    def _open(self, place: int) -> None:
        context = self.all[place]
        function = self._functions[context.function]
        if not function.recursive:
            share = context.total_us / function.total_us if function.total_us else 0.0
            for edge in function.edges:
                self._descend(place, edge, edge.total_us * share)
            return
        kept = function.self_us * context.calls / max(1, function.calls)
        above = self._reaching(context.function)
        # What runs this function again lies around what does not: a network's ``forward`` around that of its layers.
        for edge in sorted(function.edges, key=lambda edge: (edge.callee not in above, -edge.left_us)):
            budget = max(0.0, context.self_us - kept)
            if self._functions[edge.callee].recursive:
                # Of such a pair the file has the time of the outermost calls only; inner ones are not left out of it.
                self._descend(place, edge, min(edge.total_us, budget))
            else:
                amount = min(edge.left_us, budget)
                edge.left_us -= amount
                self._descend(place, edge, amount)

    def _reaching(self, function: int) -> set[int]:
        """All functions that run a function, through others or themselves."""
        found = self._above.get(function)
        if found is None:
            found = self._above[function] = set()
            waiting = [function]
            while waiting:
                new = self._callers.get(waiting.pop(), set()) - found
                found |= new
                waiting += new
        return found

    def _descend(self, place: int, edge: _Edge, total_us: float) -> None:
        context = self.all[place]
        if total_us > 0 and self._depth(place, edge.callee) < (
            _DEEPEST if self._functions[edge.callee].recursive else 1
        ):
            context.self_us = max(0.0, context.self_us - total_us)
            self._add(edge.callee, place, edge.calls * total_us / edge.total_us, total_us)

    def _add(self, function: int, parent: int, calls: float, total_us: float) -> None:
        heapq.heappush(self._closed, (-total_us, len(self.all)))
        self.all.append(_Context(function, parent, calls, total_us, total_us))

    def _depth(self, place: int, function: int) -> int:
        """How often a function is in a context and those above it."""
        count = 0
        while place >= 0:
            count += self.all[place].function == function
            place = self.all[place].parent
        return count


def _operators(functions: list[_Function], contexts: list[_Context]) -> Iterator[Operator]:
    """The built-ins of torch, as the operators of the Python code that called them."""
    for context in contexts:
        function = functions[context.function]
        if is_torch_call(function.file, function.name):
            name = called_name(function.name)
            effect = effect_of_call(name) if context.parent >= 0 else Effect.NONE
            calls = round(context.calls)
            yield Operator(name, context.parent, "", effect, calls, context.self_us, context.total_us, 0.0)
