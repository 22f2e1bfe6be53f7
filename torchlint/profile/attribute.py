"""Maps the functions of a profile onto those of a project, and gives each the cost of what it ran and called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from torchlint.late import dataclass
from torchlint.profile.definitions import Definition, is_nameless, meant
from torchlint.profile.errors import UnrelatedError
from torchlint.profile.model import (
    Attribution,
    Callee,
    Effect,
    FunctionCost,
    LibraryEvents,
    LineCost,
    Operator,
    OperatorCost,
    Pair,
    Profile,
)
from torchlint.profile.names import imports, module_of
from torchlint.profile.paths import ProfilePaths, ProjectFile, Where, is_foreign
from torchlint.profile.sole import mentions

_MOST_UNMATCHED = 10


def attribute(
    profile: Profile, root: Path, files: Sequence[Path], mapping: Sequence[tuple[str, str]] = ()
) -> Attribution:
    """Attribute a profile to the functions in some files of a project.

    Cost of code outside the project belongs to the innermost function of the project that called it.

    Args:
        profile: as read; one without stacks gives an attribution without functions.
        root: of the project, absolute.
        files: of the project, absolute.
        mapping: prefixes of recorded paths and what takes their place (relative to ``root``, or absolute).

    Raises:
        UnrelatedError: no function of the profile is in these files.
    """
    places = ProfilePaths(root, files, mapping)
    recorded: dict[str, list[Where]] = {}
    for frame in profile.frames:
        if frame.file:
            recorded.setdefault(frame.file, []).append((frame.name, frame.line))
    found = {path: places.find(path, where) for path, where in recorded.items()}
    matches = list(_matches(profile, places, found))
    if profile.stacks and not any(matches):
        raise _unrelated(places, recorded)
    sums = _Sums(profile, matches)
    sums.add_nodes()
    sums.add_callees()
    sums.add_operators()
    missed = {frame.file for frame, match in zip(profile.frames, matches, strict=True) if not match}
    return Attribution(
        functions=tuple(map(_finished, sums.costs)),
        outside_us=sums.outside_us,
        owners=tuple(sums.owners),
        unmatched=tuple(sorted(path for path in missed if found.get(path)))[:_MOST_UNMATCHED],
        imports_us=sums.imports_us,
        mentions={} if profile.stacks else mentions(files),
    )


@dataclass(frozen=True, slots=True)
class _Match:
    """What a frame is in the project: a function of a file, and the line that ran, 0 where it is not known."""

    path: str
    definition: Definition
    line: int


def _matches(
    profile: Profile, places: ProfilePaths, found: Mapping[str, ProjectFile | None]
) -> Iterator[_Match | None]:
    for frame in profile.frames:
        file = found.get(frame.file)
        definition = meant(places.definitions(file), frame.name, frame.line) if file else None
        if file is None or definition is None:
            yield None
            continue
        known = profile.exact_lines and definition.holds(frame.line)
        yield _Match(file.name, definition, frame.line if known else 0)


def _unrelated(places: ProfilePaths, recorded: Mapping[str, Sequence[Where]]) -> UnrelatedError:
    own = sorted(path for path in recorded if not is_foreign(path))
    if not own:
        return UnrelatedError("No function in the profile is of this project: all of them are of installed code.")
    others = f" and {len(own) - 1} other file{'s' if len(own) > 2 else ''}" if len(own) > 1 else ""
    message = f"No function in the profile is in the linted files: it names {own[0]}{others}."
    mapping = places.suggest(recorded)
    if mapping is None:
        return UnrelatedError(message)
    return UnrelatedError(f"{message} They match with --map {mapping[0]}={mapping[1]}.", mapping)


@dataclass(slots=True)
class _Time:
    """Microseconds of a line, or of a callee with its calls."""

    calls: int = 0
    own_us: float = 0.0
    total_us: float = 0.0


@dataclass(slots=True)
class _Operation:
    """Sums over the contexts of an operator."""

    calls: int = 0
    self_us: float = 0.0
    total_us: float = 0.0
    device_us: float = 0.0


@dataclass(slots=True)
class _Cost:
    """A function's cost while it is summed up."""

    path: str
    definition: Definition
    calls: int = 0
    own_us: float = 0.0
    total_us: float = 0.0
    lines: dict[int, _Time] = field(default_factory=dict)
    callees: dict[tuple[str, str, bool], _Time] = field(default_factory=dict)
    inside: dict[tuple[str, Effect], int] = field(default_factory=dict)
    operators: dict[tuple[str, str, Effect], _Operation] = field(default_factory=dict)


class _Sums:
    """Sums up nodes and operators by function: ``owners`` holds an index into ``costs`` for each frame, or -1."""

    def __init__(self, profile: Profile, matches: Sequence[_Match | None]) -> None:
        keys = {(match.path, match.definition) for match in matches if match}
        self.costs = [_Cost(*key) for key in sorted(keys, key=lambda key: (key[0], key[1].line, key[1].name))]
        numbers = {(cost.path, cost.definition): number for number, cost in enumerate(self.costs)}
        self.owners = [numbers[match.path, match.definition] if match else -1 for match in matches]
        self.outside_us = self.imports_us = 0.0
        # Whether a node is part of an import, and not of what the project's functions do in it.
        self._importing: list[bool] = []
        self._lines = [match.line if match else 0 for match in matches]
        self._profile = profile
        # For each node the innermost one of the project among it and those above it, -1 where there is none.
        self._nearest: list[int] = []
        for frame, owner in zip(profile.frames, self.owners, strict=True):
            if owner >= 0 and not is_nameless(frame.name):
                self.costs[owner].calls += frame.calls
                if not profile.exact_lines:
                    # Of recursion and of contexts left out only the frame knows the total.
                    self.costs[owner].total_us = max(self.costs[owner].total_us, frame.total_us)

    def add_nodes(self) -> None:
        totals = [0.0] * len(self.costs)
        for place, node in enumerate(self._profile.nodes):
            owner = self.owners[node.frame]
            outer = self._nearest[node.parent] if node.parent >= 0 else -1
            self._nearest.append(place if owner >= 0 else outer)
            around = node.parent >= 0 and self._importing[node.parent]
            self._importing.append(owner < 0 and (around or imports(self._profile.frames[node.frame].file)))
            if self._importing[place]:
                self.imports_us += node.self_us
            else:
                self._add_own(self._nearest[place], node.self_us)
            if owner >= 0:
                self._add_total(place, outer, totals)
        for cost, total in zip(self.costs, totals, strict=True):
            cost.total_us = max(cost.total_us, total)

    def _add_own(self, nearest: int, self_us: float) -> None:
        if nearest < 0:
            self.outside_us += self_us
            return
        frame = self._profile.nodes[nearest].frame
        cost = self.costs[self.owners[frame]]
        cost.own_us += self_us
        if self._lines[frame]:
            cost.lines.setdefault(self._lines[frame], _Time()).own_us += self_us

    def _add_total(self, place: int, outer: int, totals: list[float]) -> None:
        """Add a node's total to its function and line, but not again below the same function or line."""
        nodes = self._profile.nodes
        frame = nodes[place].frame
        owner, line = self.owners[frame], self._lines[frame]
        same_owner = same_line = False
        while outer >= 0 and not same_line:
            above = nodes[outer].frame
            if self.owners[above] == owner:
                same_owner = True
                same_line = self._lines[above] == line
            parent = nodes[outer].parent
            outer = self._nearest[parent] if parent >= 0 else -1
        if not same_owner:
            totals[owner] += nodes[place].total_us
        if line and not same_line:
            self.costs[owner].lines.setdefault(line, _Time()).total_us += nodes[place].total_us

    def add_callees(self) -> None:
        """Add what functions called directly."""
        nodes = self._profile.nodes
        inner = (Pair(nodes[one.parent].frame, one.frame, one.calls, one.total_us) for one in nodes if one.parent >= 0)
        for pair in self._profile.pairs or inner:
            caller = self.owners[pair.caller]
            frame, own = self._profile.frames[pair.callee], self.owners[pair.callee] >= 0
            if caller >= 0 and caller != self.owners[pair.callee] and not imports(frame.file):
                time = self.costs[caller].callees.setdefault((frame.name, frame.file, own), _Time())
                time.calls += pair.calls
                time.total_us += pair.total_us

    def add_operators(self) -> None:
        for one in self._profile.operators:
            nearest = self._nearest[one.node] if one.node >= 0 else -1
            if nearest < 0:
                continue
            cost = self.costs[self.owners[self._profile.nodes[nearest].frame]]
            sums = cost.operators.setdefault((one.name, one.within, one.effect), _Operation())
            sums.calls += one.calls
            sums.self_us += one.self_us
            sums.total_us += one.total_us
            sums.device_us += one.device_us
            where = self._inside(one) if one.effect in (Effect.COPY, Effect.SYNC) else ""
            if where:
                cost.inside[where, one.effect] = cost.inside.get((where, one.effect), 0) + one.calls

    def _inside(self, one: Operator) -> str:
        """The module of installed code that runs an operator by itself; empty: the project's own code runs it."""
        place = one.node
        while place >= 0:
            node = self._profile.nodes[place]
            file = self._profile.frames[node.frame].file
            if self.owners[node.frame] >= 0:
                break
            if file:
                return module_of(file)
            place = node.parent
        return ""


def _finished(cost: _Cost) -> FunctionCost:
    operators = [
        OperatorCost(name, within, effect, sums.calls, sums.self_us, sums.total_us, sums.device_us)
        for (name, within, effect), sums in cost.operators.items()
    ]
    callees = [Callee(name, file, time.calls, time.total_us, own) for (name, file, own), time in cost.callees.items()]
    places = sorted({where for where, _ in cost.inside})
    inside = [
        LibraryEvents(where, cost.inside.get((where, Effect.COPY), 0), cost.inside.get((where, Effect.SYNC), 0))
        for where in places
    ]

    def count(effect: Effect) -> int:
        return sum(one.calls for one in operators if one.effect is effect)

    return FunctionCost(
        path=cost.path,
        name=cost.definition.name,
        line=cost.definition.line,
        end=cost.definition.end,
        calls=cost.calls,
        own_us=cost.own_us,
        total_us=cost.total_us,
        device_us=sum(one.device_us for one in operators if not one.within),
        copies=count(Effect.COPY),
        syncs=count(Effect.SYNC),
        launches=count(Effect.LAUNCH),
        lines=tuple(LineCost(line, time.own_us, time.total_us) for line, time in sorted(cost.lines.items())),
        operators=tuple(sorted(operators, key=lambda one: (-one.total_us, one.name, one.within))),
        callees=tuple(sorted(callees, key=lambda one: (-one.total_us, one.name, one.file))),
        inside=tuple(sorted(inside, key=lambda one: (-one.syncs, -one.copies, one.where))),
    )
