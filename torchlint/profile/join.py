"""Findings and measured cost brought together: what each finding costs, by the line, the operators or the function."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import field, replace

from torchlint.late import dataclass, regex
from torchlint.profile.definitions import MODULE, Definition, definitions
from torchlint.profile.model import Attribution, Effect, FunctionCost, Operator, OperatorCost, Profile
from torchlint.profile.model import ProfileSource as Tool
from torchlint.profile.names import called_name, module_of
from torchlint.profile.pace import ProfilePace, counts_all, pace_of
from torchlint.profile.smells import Smell, shown, smell_of
from torchlint.profile.sole import Shared, Unplaced
from torchlint.rule import Basis, Finding, Measured
from torchlint.sources.text import Source

Ran = Operator | OperatorCost
"""Calls of an operator, in one context or in all of a function."""
UNMEASURED = frozenset({Basis.NEVER, Basis.UNSEEN, Basis.ELSEWHERE})
"""What a finding is told to rest on where there is no time to tell."""
_WORD = regex(r"\w+")
# Of the profiled time so much at least is not an import: threads import at once.
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class Group:
    """The findings of one rule in one function, and what they cost together.

    Attributes:
        nouns: what to count them as, one and several: ``check``, ``checks``.
        function: qualified; ``<module>`` for a file's own code.
        runs: how often the function ran, 0 where that is not known.
        weight: what to rank by: the share, of an upper bound the part that falls on the lines of the findings.
        named: without stacks the operators that are the group's because no other line of the project names them.
        copies, syncs, launches: of what the findings show as, where that was recorded.
    """

    code: str
    name: str
    nouns: tuple[str, str]
    path: str
    function: str
    findings: tuple[Finding, ...]
    measured: Measured
    runs: int = 0
    weight: float = 0.0
    copies: int = 0
    syncs: int = 0
    launches: int = 0
    named: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of the findings, each once."""
        return tuple(sorted({finding.start.row for finding in self.findings}))


@dataclass(eq=False, slots=True)
class Join:
    """Answers what findings cost; ``sources`` are the texts of the files that hold them, by name."""

    profile: Profile
    attribution: Attribution
    sources: Mapping[str, Source]
    pace: ProfilePace = field(init=False)
    _ran: dict[str, list[FunctionCost]] = field(default_factory=dict)
    _entered: dict[tuple[str, str], list[tuple[str, Operator]]] = field(default_factory=dict)
    _keys: list[str] = field(default_factory=list)
    _written: dict[str, tuple[Definition, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pace = pace_of(self.profile)
        for cost in self.attribution.functions:
            self._ran.setdefault(cost.path, []).append(cost)
        self._keys = [f"{module_of(each.file)}:{each.name}" for each in self.profile.frames]
        for operator in self.profile.operators if self.profile.source is Tool.TORCH else ():
            owner, entry = self._caller(operator.node)
            if owner >= 0:
                cost = self.attribution.functions[owner]
                self._entered.setdefault((cost.path, cost.name), []).append((entry, operator))

    @property
    def ran_us(self) -> float:
        """The time that shares are of: the profiled one but for the imports."""
        return max(self.profile.total_us - self.attribution.imports_us, _LEAST * self.profile.total_us) or 1.0

    def _caller(self, place: int) -> tuple[int, str]:
        """The innermost function of the project around a node, and what it calls of installed code on the way there.

        The first is -1 where there is none, the second empty where its own code or a built-in is the node.
        """
        entry = ""
        while place >= 0:
            node = self.profile.nodes[place]
            owner = self.attribution.owners[node.frame]
            if owner >= 0:
                return owner, entry
            entry = self.profile.frames[node.frame].name if self.profile.frames[node.frame].file else entry
            place = node.parent
        return -1, entry

    def groups(self, findings: Iterable[Finding]) -> list[Group]:
        """Return the findings by rule and function, the costliest first, those that never ran last."""
        kinds: dict[tuple[str, str, str], list[Finding]] = {}
        for finding in findings:
            kinds.setdefault((finding.path, self._function(finding), finding.code), []).append(finding)
        unplaced = None if self.profile.stacks else Unplaced(self.profile, self.attribution.mentions)
        found = [
            self._group(name, alike) if unplaced is None else self._sole(name, alike, unplaced)
            for (_, name, _), alike in kinds.items()
        ]
        return sorted(found, key=_worth)

    def shared(self, groups: Iterable[Group]) -> list[Shared]:
        """Return the operators that findings share with each other or with other code, if the profile has no stacks."""
        groups = list(groups)
        if self.profile.stacks:
            return []
        findings = [(finding, self._lines(finding)) for group in groups for finding in group.findings]
        placed = frozenset(name for group in groups for name in group.named)
        return Unplaced(self.profile, self.attribution.mentions).shared(findings, placed)

    def _function(self, finding: Finding) -> str:
        """The name of the innermost function that holds a finding."""
        path, row = finding.path, finding.start.row
        if path not in self._written:
            source = self.sources.get(path)
            self._written[path] = definitions(source.path, path) if source is not None else ()
        around = [(each.line, each.name) for each in self._written[path] if each.holds(row)]
        return max(around, default=(0, MODULE))[1]

    def _group(self, function: str, findings: Sequence[Finding]) -> Group:
        first = findings[0]
        smell = smell_of(first.code)
        cost = next((each for each in self._ran.get(first.path, ()) if each.name == function), None)
        group = Group(first.code, first.name, smell.nouns, first.path, function, (), Measured(self._missing(first)))
        if smell.elsewhere:
            there = Measured(Basis.ELSEWHERE)
            return _with(group, findings, [there] * len(findings), there)
        if cost is None:
            return _with(group, findings, [group.measured] * len(findings), group.measured)
        group = replace(group, runs=cost.calls)
        if cost.lines:
            return self._by_line(group, findings, cost)
        return self._by_calls(group, findings, cost, smell)

    def _missing(self, finding: Finding) -> Basis:
        """Whether a finding in a function that is not in the profile surely did not run."""
        known = finding.path in self._ran and counts_all(self.profile, self.attribution)
        return Basis.NEVER if known else Basis.UNSEEN

    def _by_line(self, group: Group, findings: Sequence[Finding], cost: FunctionCost) -> Group:
        times = {line.line: line.total_us for line in cost.lines}
        each = [
            self._measured(Basis.LINE, us, 0, 1) if us else Measured(Basis.UNSEEN)
            for us in (sum(times.get(row, 0.0) for row in _rows(finding)) for finding in findings)
        ]
        rows = {row for finding in findings for row in _rows(finding)}
        us = sum(times.get(row, 0.0) for row in rows)
        whole = self._measured(Basis.LINE, us, 0, len(findings)) if us else Measured(Basis.UNSEEN)
        return _with(replace(group, weight=whole.share), findings, each, whole)

    def _by_calls(self, group: Group, findings: Sequence[Finding], cost: FunctionCost, smell: Smell) -> Group:
        """The time of what the smell shows as in its function, or that of the function as an upper bound."""
        lines = [self._lines(finding) for finding in findings]
        smells = [smell.within(each) for each in lines]
        operators = {name for each in smells for name in each.operators}
        names = {name for each in smells for name in each.calls}
        words = {word for each in lines for line in each for word in _WORD.findall(line)}
        frames = self._in_frames(cost, smell)
        known = self._own_operators(cost, operators, names | words, framed=bool(frames))
        ran = [each for each in known if each.name in operators and counts(each)]
        called = [each for each in cost.callees if called_name(each.name) in names and not _is_own(each.file, cost)]
        if ran or frames:
            around = [each for each in known if each.name in operators or each.within in operators]
            copies, syncs, launches = (_count(around, effect) for effect in (Effect.COPY, Effect.SYNC, Effect.LAUNCH))
            group = replace(group, copies=copies, syncs=syncs, launches=launches)
            us, calls = frames or (sum(each.total_us for each in ran), _most_calls(ran))
        elif called:
            us, calls = sum(each.total_us for each in called), max(each.calls for each in called)
        else:
            whole = self._measured(Basis.FUNCTION, cost.own_us, cost.calls, len(findings))
            group = replace(group, weight=whole.share * _part(findings, cost))
            return _with(group, findings, [whole] * len(findings), whole)
        whole = self._measured(Basis.CALLS, us, calls, len(findings))
        return _with(replace(group, weight=whole.share), findings, [whole] * len(findings), whole)

    def _own_operators(
        self, cost: FunctionCost, names: Container[str], called: Container[str], *, framed: bool
    ) -> Sequence[Ran]:
        """The operators of a function's own code; without such a name there, of installed code that it calls.

        That is such as the lines of the findings call (``called``), or such as is called without being named; what
        an optimizer does does not concern a line that reads a loss. ``framed``: the smell is such code alone.
        """
        if self.profile.source is not Tool.TORCH:
            return cost.operators
        entered = self._entered.get((cost.path, cost.name), [])
        if framed:
            return [each for entry, each in entered if entry]
        direct = [each for entry, each in entered if not entry]
        if any(each.name in names and counts(each) for each in direct):
            return direct
        return [each for entry, each in entered if not entry or entry.startswith("_") or called_name(entry) in called]

    def _in_frames(self, cost: FunctionCost, smell: Smell) -> tuple[float, int] | None:
        """Microseconds and calls of the functions of installed code that a smell is, where a function runs them."""
        here: dict[int, float] = {}
        everywhere: dict[int, float] = {}
        us, calls = 0.0, 0
        for place, node in enumerate(self.profile.nodes if smell.frames else ()):
            if self._keys[node.frame] not in smell.frames or self._within(node.parent, smell.frames):
                continue
            owner = self._caller(place)[0]
            everywhere[node.frame] = everywhere.get(node.frame, 0.0) + node.total_us
            if owner >= 0 and self.attribution.functions[owner] is cost:
                here[node.frame] = here.get(node.frame, 0.0) + node.total_us
                us, calls = us + node.total_us, calls + node.calls
        if here and self.profile.source is Tool.CPROFILE:
            # Its contexts are shares, some of which are folded into others; the sums of a function are exact.
            frames = self.profile.frames
            parts = [(frames[place], part / everywhere[place]) for place, part in here.items() if everywhere[place]]
            us = sum(frame.total_us * part for frame, part in parts)
            calls = round(sum(frame.calls * part for frame, part in parts))
        return (us, calls) if here else None

    def _within(self, place: int, frames: Container[str]) -> bool:
        """Whether a node is in one of these functions, with no function of the project between."""
        while place >= 0:
            node = self.profile.nodes[place]
            if self._keys[node.frame] in frames:
                return True
            if self.attribution.owners[node.frame] >= 0:
                return False
            place = node.parent
        return False

    def _lines(self, finding: Finding) -> list[str]:
        source = self.sources.get(finding.path)
        lines = source.text.splitlines() if source is not None else []
        return lines[finding.start.row - 1 : finding.end.row]

    def _measured(self, basis: Basis, us: float, calls: int, alike: int) -> Measured:
        share = min(us / self.ran_us, 1.0)
        pace = calls / self.pace.units if self.pace.units else 0.0
        return Measured(basis, share, us, calls, pace, self.pace.unit, alike)

    # without stacks -------------------------------------------------------------------------------------------------

    def _sole(self, function: str, findings: Sequence[Finding], unplaced: Unplaced) -> Group:
        """The time of the operators that only the lines of these findings can have run."""
        first = findings[0]
        smell = smell_of(first.code)
        rows = {finding.start.row: self._lines(finding) for finding in findings}
        found = unplaced.sole(first.code, [line for lines in rows.values() for line in lines])
        group = Group(first.code, first.name, smell.nouns, first.path, function, (), Measured(Basis.UNSEEN))
        if not found:
            basis = Measured(Basis.ELSEWHERE if smell.elsewhere else Basis.UNSEEN)
            return _with(group, findings, [basis] * len(findings), basis)
        us, calls = sum(us for us, _ in found.values()), max(calls for _, calls in found.values())
        whole = self._measured(Basis.CALLS, us, calls, len(findings))
        group = replace(group, weight=whole.share, named=tuple(found))
        return _with(group, findings, [whole] * len(findings), whole)


def counts(operator: Ran) -> bool:
    """Return whether the time of an operator is not part of another one that a smell runs."""
    return operator.within not in shown()


def measured(groups: Iterable[Group]) -> list[Finding]:
    """Return the findings of groups, in their order."""
    return [finding for group in groups for finding in group.findings]


def _with(group: Group, findings: Sequence[Finding], each: Sequence[Measured], whole: Measured) -> Group:
    pairs = zip(findings, each, strict=True)
    told = tuple(replace(finding, measured=measure) for finding, measure in pairs)
    return replace(group, findings=told, measured=whole)


def _worth(group: Group) -> tuple[int, float, float, str, tuple[int, ...]]:
    # What is known comes before what is only bounded.
    rank = 2 if group.measured.basis in UNMEASURED else int(group.measured.basis is Basis.FUNCTION)
    return rank, -group.weight, -group.measured.share, group.path, group.rows


def _part(findings: Sequence[Finding], cost: FunctionCost) -> float:
    """The part of the lines of a function that findings take."""
    rows = {row for finding in findings for row in _rows(finding)}
    return min(len(rows) / (cost.end - cost.line + 1), 1.0)


def _rows(finding: Finding) -> range:
    return range(finding.start.row, finding.end.row + 1)


def _most_calls(operators: Iterable[Ran]) -> int:
    calls: dict[str, int] = {}
    for each in operators:
        calls[each.name] = calls.get(each.name, 0) + each.calls
    return max(calls.values())


def _count(operators: Iterable[Ran], effect: Effect) -> int:
    """How many calls of operators have an effect."""
    return sum(each.calls for each in operators if each.effect is effect)


def _is_own(file: str, cost: FunctionCost) -> bool:
    """Whether a callee is a function of the same file, which happens to be called like a method of tensors."""
    return bool(file) and file.replace("\\", "/").endswith(cost.path)
