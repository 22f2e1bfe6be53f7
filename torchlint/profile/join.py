"""Findings and measured cost brought together: what each finding costs, by the line, the operators or the function."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import field, replace

from torchlint.late import dataclass
from torchlint.profile.definitions import MODULE, Definition, definitions
from torchlint.profile.guess import Guesses
from torchlint.profile.model import Attribution, Effect, FunctionCost, Operator, OperatorCost, Profile
from torchlint.profile.model import Source as Tool
from torchlint.profile.names import called_name
from torchlint.profile.pace import Pace, counts_all, pace_of
from torchlint.profile.smells import Smell, shown, smell_of
from torchlint.rule import Basis, Finding, Measured
from torchlint.sources.text import Source

Ran = Operator | OperatorCost
"""Calls of an operator, in one context or in all of a function."""
UNMEASURED = frozenset({Basis.NEVER, Basis.UNSEEN, Basis.ELSEWHERE})
"""What a finding is told to rest on where there is no time to tell."""


@dataclass(frozen=True, slots=True)
class Group:
    """The findings of one rule in one function, and what they cost together.

    Attributes:
        nouns: what to count them as, one and several: ``check``, ``checks``.
        function: qualified; ``<module>`` for a file's own code.
        runs: how often the function ran, 0 where that is not known.
        weight: what to rank by: the share, of an upper bound the part that falls on the lines of the findings.
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
    pace: Pace = field(init=False)
    _ran: dict[str, list[FunctionCost]] = field(default_factory=dict)
    _direct: dict[tuple[str, str], list[Operator]] = field(default_factory=dict)
    _written: dict[str, tuple[Definition, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pace = pace_of(self.profile)
        for cost in self.attribution.functions:
            self._ran.setdefault(cost.path, []).append(cost)
        for operator in self.profile.operators if self.profile.source is Tool.TORCH else ():
            owner = self._caller(operator)
            if owner >= 0:
                cost = self.attribution.functions[owner]
                self._direct.setdefault((cost.path, cost.name), []).append(operator)

    def _caller(self, operator: Operator) -> int:
        """The function of the project whose own code runs an operator, itself or by a built-in; -1: installed code."""
        place = operator.node
        while place >= 0:
            node = self.profile.nodes[place]
            owner = self.attribution.owners[node.frame]
            if owner >= 0 or self.profile.frames[node.frame].file:
                return owner
            place = node.parent
        return -1

    def groups(self, findings: Iterable[Finding]) -> list[Group]:
        """The findings by rule and function, the costliest first, those that never ran last."""
        if not self.profile.stacks:
            return self._guessed(list(findings))
        kinds: dict[tuple[str, str, str], list[Finding]] = {}
        for finding in findings:
            kinds.setdefault((finding.path, self._function(finding), finding.code), []).append(finding)
        found = [self._group(name, alike) for (_, name, _), alike in kinds.items()]
        return sorted(found, key=_worth)

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
        smells = [smell.within(self._lines(finding)) for finding in findings]
        operators = {name for each in smells for name in each.operators}
        names = {name for each in smells for name in each.calls}
        known = self._own_operators(cost, operators)
        ran = [each for each in known if each.name in operators and counts(each)]
        called = [each for each in cost.callees if called_name(each.name) in names and not _is_own(each.file, cost)]
        if ran:
            around = [each for each in known if each.name in operators or each.within in operators]
            copies, syncs, launches = (_count(around, effect) for effect in (Effect.COPY, Effect.SYNC, Effect.LAUNCH))
            group = replace(group, copies=copies, syncs=syncs, launches=launches)
            us, calls = sum(each.total_us for each in ran), _most_calls(ran)
        elif called:
            us, calls = sum(each.total_us for each in called), max(each.calls for each in called)
        else:
            whole = self._measured(Basis.FUNCTION, cost.own_us, cost.calls, len(findings))
            group = replace(group, weight=whole.share * _part(findings, cost))
            return _with(group, findings, [whole] * len(findings), whole)
        whole = self._measured(Basis.CALLS, us, calls, len(findings))
        return _with(replace(group, weight=whole.share), findings, [whole] * len(findings), whole)

    def _own_operators(self, cost: FunctionCost, names: Container[str]) -> Sequence[Ran]:
        """The operators of a function's own code; where none of these names is there, with those of installed code."""
        direct = self._direct.get((cost.path, cost.name), [])
        return direct if any(each.name in names and counts(each) for each in direct) else cost.operators

    def _lines(self, finding: Finding) -> list[str]:
        source = self.sources.get(finding.path)
        lines = source.text.splitlines() if source is not None else []
        return lines[finding.start.row - 1 : finding.end.row]

    def _measured(self, basis: Basis, us: float, calls: int, alike: int) -> Measured:
        share = min(us / self.profile.total_us, 1.0) if self.profile.total_us else 0.0
        pace = calls / self.pace.units if self.pace.units else 0.0
        return Measured(basis, share, us, calls, pace, self.pace.unit, alike)

    # without stacks -------------------------------------------------------------------------------------------------

    def _guessed(self, findings: Sequence[Finding]) -> list[Group]:
        guesses = Guesses(
            self.profile, [(finding, self._lines(finding), self._around(finding)) for finding in findings]
        )
        kinds: dict[tuple[str, str, str], list[tuple[Finding, float, float]]] = {}
        for finding, (us, calls) in zip(findings, guesses.costs(), strict=True):
            key = finding.path, self._function(finding), finding.code
            kinds.setdefault(key, []).append((finding, us, calls))
        found = []
        for (path, function, code), parts in kinds.items():
            us, calls = sum(part[1] for part in parts), sum(part[2] for part in parts)
            basis = Basis.GUESS if calls else Basis.ELSEWHERE if smell_of(code).elsewhere else Basis.UNSEEN
            whole = self._measured(basis, us, round(calls), len(parts)) if calls else Measured(basis)
            each = [
                self._measured(basis, part[1], round(part[2]), 1) if part[2] else Measured(Basis.UNSEEN)
                for part in parts
            ]
            alike = [part[0] for part in parts]
            group = Group(code, alike[0].name, smell_of(code).nouns, path, function, (), whole, weight=whole.share)
            found.append(_with(group, alike, each, whole))
        return sorted(found, key=_worth)

    def _around(self, finding: Finding) -> list[str]:
        source = self.sources.get(finding.path)
        lines = source.text.splitlines() if source is not None else []
        return lines[max(0, finding.start.row - 5) : finding.end.row + 4]


def counts(operator: Ran) -> bool:
    """Whether the time of an operator is not part of that of another which a smell shows as."""
    return operator.within not in shown()


def measured(groups: Iterable[Group]) -> list[Finding]:
    """The findings of groups, in their order."""
    return [finding for group in groups for finding in group.findings]


def _with(group: Group, findings: Sequence[Finding], each: Sequence[Measured], whole: Measured) -> Group:
    pairs = zip(findings, each, strict=True)
    told = tuple(replace(finding, measured=measure) for finding, measure in pairs)
    return replace(group, findings=told, measured=whole)


def _worth(group: Group) -> tuple[bool, float, float, str, tuple[int, ...]]:
    absent = group.measured.basis in UNMEASURED
    return absent, -group.weight, -group.measured.share, group.path, group.rows


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
