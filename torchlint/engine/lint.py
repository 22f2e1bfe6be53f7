"""One file from its facts to plain findings: sites, LibCST on their statements, rules, text edits."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from torchlint.cache.digest import fingerprint
from torchlint.cst import load
from torchlint.engine.analysis import proven
from torchlint.engine.figures import Figures
from torchlint.engine.insertion import lines_in, with_lines
from torchlint.engine.mishap import kept_going, mishap
from torchlint.engine.result import Problem
from torchlint.engine.sights import observed
from torchlint.engine.sites import Triggers
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import children
from torchlint.late import dataclass
from torchlint.rule import Applicability, Change, Edit, Finding, Fix, InFile, PlainFix, Report, Rule
from torchlint.rule.versions import Target, Version
from torchlint.sources.text import Source

if TYPE_CHECKING:
    from torchlint.engine.site import PairedSite

_GUESS = "methods and environments are what their names say"


@dataclass(eq=False, slots=True)
class Linter:
    """The selected rules, ready to look at files; ``known`` are all rules, selected or not.

    ``target`` is what the files are written for: what does not hold for it is not said. ``width`` is how long their
    rows may be, where the project says it. ``fixes``: whether findings are to come with fixes.
    """

    rules: Sequence[Rule]
    figures: Figures = field(default_factory=Figures)
    known: Sequence[type[Rule]] = ()
    problems: list[Problem] = field(default_factory=list)
    unpaired: int = 0
    target: Target = field(default_factory=Target)
    width: int | None = None
    fixes: bool = True
    _triggers: Triggers = field(init=False)
    _stronger: Mapping[str, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._triggers = Triggers(self.rules)
        self._stronger = stronger_codes((*self.known, *(type(rule) for rule in self.rules)))

    def lint(
        self, analyses: Analyses, facts: FileFacts, shown: Callable[[Finding], bool] = lambda _: True
    ) -> list[Finding]:
        """Return the findings of one file to show, sorted by place, without those that yield to other rules.

        A finding that is not shown wins against none.
        """
        drafts = [draft for some in self.by_site(analyses, facts) for draft in some if shown(draft.finding)]
        return finish(drafts, facts) if drafts else []

    def by_site(self, analyses: Analyses, facts: FileFacts) -> Iterator[list[Draft]]:
        """Yield the reports of each rule at each of its sites in a file, before they are compared with each other."""
        wanted = list(self._triggers.sites(analyses, facts))
        if wanted:
            yield from self._by_site(analyses, facts, wanted)

    def _by_site(
        self, analyses: Analyses, facts: FileFacts, wanted: Iterable[tuple[ast.AST, list[Rule]]]
    ) -> Iterator[list[Draft]]:
        load()
        from torchlint.engine.pair import PairingError, pair
        from torchlint.engine.site import PairedSite
        from torchlint.engine.snippets import parse_statements

        by_statement: dict[ast.stmt, list[tuple[ast.AST, list[Rule]]]] = {}
        for node, rules in wanted:
            statement = facts.statement(node)
            if statement is not None:
                by_statement.setdefault(statement, []).append((node, rules))
        snippets = parse_statements(facts.source, facts.table, list(by_statement))
        for snippet, sites in zip(snippets, by_statement.values(), strict=True):
            if snippet is None:
                self.unpaired += 1
                continue
            try:
                pairs = pair(snippet.statement, snippet.node, snippet.header_only)
            except PairingError:
                self.unpaired += 1
                continue
            for node, rules in sites:
                analyses.checkpoint()
                twin = pairs.cst_of(node)
                if twin is None:
                    self.unpaired += 1
                    continue
                site = PairedSite(analyses, facts, pairs, twin, node)
                for rule in rules:
                    yield self.apply(rule, site)

    def apply(self, rule: Rule, site: PairedSite) -> list[Draft]:
        """Run one rule at one site; if the rule fails, report an internal problem and go on."""
        found: list[Draft] = []
        with kept_going(lambda error: self._tell(rule, site, error)):
            reports = self._reports(rule, site)
            if not reports:
                return found
            drafts = [self._draft(rule, site, report) for report in reports]
            found.extend(self._observed(rule, site, self._proven(rule, site, drafts)) if self.fixes else drafts)
        return found

    def _reports(self, rule: Rule, site: PairedSite) -> list[Report]:
        """What a rule reports at a site that concerns the versions of the project."""
        return [r for r in rule.check(site) if self.target.concerned_by(r.torch or rule.torch, r.deprecated)]

    def _observed(self, rule: Rule, site: PairedSite, drafts: list[Draft]) -> list[Draft]:
        """The same drafts, with the fixes that are right by what a run of the user's program showed."""
        from torchlint.engine.site import PairedSite

        if all(draft.is_settled for draft in drafts) or (analyses := observed(site.analyses)) is None:
            return drafts
        seeing = PairedSite(analyses, site.file, site.pairs, site.node, site.twin)
        reports = self._reports(rule, seeing)
        seen = {(draft.start, draft.end): draft for draft in (self._draft(rule, seeing, each) for each in reports)}
        return [draft.beside(seen.get((draft.start, draft.end))) for draft in drafts]

    def _proven(self, rule: Rule, site: PairedSite, drafts: list[Draft]) -> list[Draft]:
        """The same drafts; a fix that the rule offers only because of a guess says that it rests on one.

        What the rule offers there without guesses is offered behind it.
        """
        from torchlint.engine.site import PairedSite

        analyses = proven(site.analyses)
        if analyses is site.analyses or not any(draft.claims_proof for draft in drafts):
            return drafts
        strict = PairedSite(analyses, site.file, site.pairs, site.node, site.twin)
        reports = self._reports(rule, strict)
        proofs = {(each.start, each.end): each for each in (self._draft(rule, strict, report) for report in reports)}
        return [draft.checked(proofs.get((draft.start, draft.end))) for draft in drafts]

    def _tell(self, rule: Rule, site: PairedSite, error: Exception) -> None:
        problem = replace(
            mishap(site.file.path, f"rule {rule.code}", error, rule.code),
            message=f"rule {rule.code} failed at {site!r}: {type(error).__name__}: {error}",
        )
        if not any(known.message == problem.message for known in self.problems):
            self.problems.append(problem)

    def _draft(self, rule: Rule, site: PairedSite, report: Report) -> Draft:
        from torchlint.engine.edits import span

        table = site.file.table
        start, end = span(report.node, site.pairs, site.file.source, table)
        figures = (report.figure,) if isinstance(report.figure, str) else report.figure
        finding = Finding(
            code=rule.code,
            name=rule.name,
            message=report.message,
            level=report.level or rule.level,
            path=site.file.path,
            start=table.position(start),
            end=table.position(end),
            rows=_rows(site),
            hot=site.hot.here,
            cost=self.figures.cost(rule.code, figures),
            events=self.figures.events(rule.code, figures) if site.device.may_be_cuda() else None,
            figures=figures,
            fix=self._fix(report.fix, site, report.torch or rule.torch),
            cuda_only=rule.cuda_only,
            flow=report.flow,
        )
        function = site.file.scope_of(site.twin).function.qualname
        arms = _arms(site) if report.shared else {}
        stronger = frozenset() if report.apart else self._stronger[rule.code]
        return Draft(finding, start, end, report.shared, function, stronger, arms)

    def _fix(self, fix: Fix | None, site: PairedSite, torch: Version) -> PlainFix | None:
        """The fix as edits; ``None`` where the project may run with versions that do not understand the new code."""
        if fix is None or not self.fixes or not self.target.has(max(fix.torch, torch), fix.python, stated=fix.stated):
            return None
        return plain_fix(fix, site, self.width)


@dataclass(frozen=True, slots=True)
class Draft:
    """A finding before it is compared with the others of its file; findings of the codes in ``stronger`` beat it."""

    finding: Finding
    start: int
    end: int
    shared: str
    function: str
    stronger: frozenset[str]
    arms: Mapping[ast.AST, bool]

    @property
    def is_settled(self) -> bool:
        """Whether it has a fix that changes nothing and assumes nothing."""
        fix = self.finding.fix
        return fix is not None and fix.applicability is not Applicability.UNSAFE

    def beside(self, seen: Draft | None) -> Draft:
        """Return the draft with the fix of what was seen, where that assumes or changes less than its own."""
        own, other = self.finding.fix, seen.finding.fix if seen is not None else None
        if other is None or other.loses_comment or (own is not None and not _asks_less(other, own)):
            return self
        return replace(self, finding=replace(self.finding, seen=_resting(other)))

    @property
    def claims_proof(self) -> bool:
        """Whether it has a fix that assumes nothing, also one in the place of another."""
        return self.finding.fix is not None and any(not fix.assumes for fix in self.finding.fix.ways())

    def checked(self, strict: Draft | None) -> Draft:
        """Return the draft with fixes that say that they rest on a guess, where the strict one has none like them.

        Fixes of the strict draft that assume nothing stand behind them.
        """
        own = list(self.finding.fix.ways()) if self.finding.fix is not None else []
        proofs = list(strict.finding.fix.ways()) if strict is not None and strict.finding.fix is not None else []
        told = [fix if fix.assumes or fix in proofs else replace(fix, assumes=_GUESS) for fix in own]
        told += [fix for fix in proofs if own and not fix.assumes and fix not in own]
        found: PlainFix | None = None
        for fix in reversed(told):
            found = replace(fix, instead=found)
        return self if found == self.finding.fix else replace(self, finding=replace(self.finding, fix=found))

    def runs_with(self, other: Draft) -> bool:
        """Return whether one run of the function may reach both nodes: no condition separates them."""
        return all(other.arms.get(branch, arm) is arm for branch, arm in self.arms.items())


def _resting(fix: PlainFix) -> PlainFix:
    """A fix that says that it rests on what was seen in a run, and so does the one that is there in its place."""
    instead = None if fix.instead is None else _resting(fix.instead)
    return replace(fix, may_change=(*fix.may_change, Change.OBSERVED), instead=instead)


def _asks_less(one: PlainFix, other: PlainFix) -> bool:
    """Whether users have to agree to less for one fix than for another."""
    if bool(one.assumes) != bool(other.assumes):
        return not one.assumes
    return not one.assumes and set(one.may_change) < set(other.may_change)


def _arms(site: PairedSite) -> dict[ast.AST, bool]:
    """The conditions around a site, each with whether the site stands where it is true."""
    found: dict[ast.AST, bool] = {}
    child: ast.AST = site.twin
    for node in site.file.ancestors(site.twin):
        if isinstance(node, ast.If) and child is not node.test:
            found[node] = child in node.body
        elif isinstance(node, ast.IfExp) and child is not node.test:
            found[node] = child is node.body
        child = node
    return found


@lru_cache(maxsize=64)
def stronger_codes(rules: tuple[type[Rule], ...]) -> Mapping[str, frozenset[str]]:
    """Return for each code the codes that it yields to, directly or through others."""
    yields = {rule.code: rule.yields_to for rule in rules}
    found: dict[str, frozenset[str]] = {}
    for code, direct in yields.items():
        above: set[str] = set()
        todo = [*direct]
        while todo:
            other = todo.pop()
            if other not in above:
                above.add(other)
                todo.extend(yields.get(other, ()))
        found[code] = frozenset(above - {code})
    return found


def finish(drafts: Sequence[Draft], facts: FileFacts) -> list[Finding]:
    """Drop findings that yield to others, count those that share a function, add fingerprints, and sort."""
    kept = _winners(drafts)
    sharing: dict[tuple[str, str], list[Draft]] = {}
    for draft in kept:
        if draft.shared:
            sharing.setdefault((draft.finding.code, draft.function), []).append(draft)
    found: dict[tuple[object, ...], Finding] = {}
    for draft in kept:
        finding = draft.finding
        count = sum(map(draft.runs_with, sharing.get((finding.code, draft.function), ())))
        if draft.shared and count > 1:
            where = "function" if draft.function else "file"
            finding = replace(finding, message=finding.message + draft.shared.format(count=count, where=where))
        found.setdefault((*finding.order, finding.message), finding)
    return fingerprinted(sorted(found.values(), key=lambda finding: finding.order), facts.source)


def _winners(drafts: Sequence[Draft]) -> list[Draft]:
    """The findings that no stronger one beats at the same place; what is beaten itself beats none."""
    kept: list[Draft] = []
    for draft in sorted(drafts, key=lambda draft: (len(draft.stronger), draft.finding.code)):
        if not any(
            other.finding.code in draft.stronger and other.start < draft.end and draft.start < other.end
            for other in kept
        ):
            kept.append(draft)
    return kept


def fingerprinted(findings: Sequence[Finding], source: Source) -> list[Finding]:
    """Add fingerprints: rule, path, normalised code of the row, and occurrence.

    They stay when lines move.
    """
    rows = source.utf8.splitlines()
    seen: dict[str, int] = {}
    result = []
    for finding in findings:
        code = b" ".join(rows[finding.start.row - 1].split()) if finding.start.row <= len(rows) else b""
        path = finding.path.encode("utf-8", "surrogateescape")
        key = fingerprint(b"\0".join([finding.code.encode(), path, code]))[:16]
        occurrence = seen.get(key, 0)
        seen[key] = occurrence + 1
        result.append(replace(finding, fingerprint=f"{key}{occurrence:x}" if occurrence else key))
    return result


def _rows(site: PairedSite) -> tuple[int, int]:
    """First and last row of the statement; of a compound statement of its header."""
    statement = site.file.statement(site.twin)
    if statement is None:
        return 1, 1
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        last = max(first, body[0].lineno - 1 if body[0].lineno > statement.lineno else statement.lineno)
        header = [part for part in children(statement) if not isinstance(part, ast.stmt)]
        ends = [end for part in header if (end := getattr(part, "end_lineno", None)) is not None]
        return first, min(last, max([statement.lineno, *ends]))
    return first, statement.end_lineno or first


def plain_fix(fix: Fix, site: PairedSite, width: int | None = None) -> PlainFix | None:
    """Return a fix as text edits; ``None`` when a node or a line has no place where it could go, or nothing changes.

    The fix that is there ``instead`` takes the place of one that cannot be made.
    """
    instead = plain_fix(fix.instead, site, width) if fix.instead is not None else None
    own = _own_edits(fix, site, width)
    others = [(part.path, _edits_in(part, site)) for part in fix.in_files]
    if own is None or not (own[0] or others) or any(not edits for _, edits in others):
        return instead
    return PlainFix(
        message=fix.message,
        edits=own[0],
        may_change=fix.may_change,
        assumes=fix.assumes,
        loses_comment=own[1],
        in_files=tuple((path, edits) for path, edits in sorted(others) if edits),
        instead=instead,
        less=fix.less,
    )


def _own_edits(fix: Fix, site: PairedSite, width: int | None) -> tuple[tuple[Edit, ...], bool] | None:
    """The edits of a fix in the file of its site, and whether they take a comment away."""
    from torchlint.engine.edits import edit_elsewhere, edit_for, loses_comment
    from torchlint.engine.layout import Layouts

    source, table = site.file.source, site.file.table
    edits: list[Edit] = []
    wanted = [
        *(edit_for(old, new, site.pairs, source, table) for old, new in fix.replace),
        *(edit_elsewhere(old, new, site.file, table) for old, new in fix.elsewhere),
    ]
    for edit in wanted:
        if edit is None:
            return None
        edits.append(edit)
    whole = with_lines(site.file, table, site.twin, fix, edits)
    if whole is None:
        return None
    layouts = site.analyses[Layouts]
    statement = site.file.statement(site.twin)
    laid = layouts.fitted(site.file, whole, layouts.width_in(site.file, width), statement) if whole else []
    return tuple(laid), any(loses_comment(source, edit) for edit in edits)


def _edits_in(part: InFile, site: PairedSite) -> tuple[Edit, ...] | None:
    """The edits of a fix in another file; ``None`` where one has no place, or would take a comment away."""
    from torchlint.engine.edits import edit_elsewhere, loses_comment

    file = site.analyses[Project].files[part.path]
    table = file.table
    edits: list[Edit] = []
    for old, new in part.elsewhere:
        edit = edit_elsewhere(old, new, file, table)
        if edit is None or loses_comment(file.source, edit):
            return None
        edits.append(edit)
    whole = lines_in(file, table, part, edits)
    return None if whole is None else tuple(whole)
