"""What a run showed of the project's expressions: which expression of a file each observation is about."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path

from torchlint.cache.digest import digest
from torchlint.engine.analysis import proven
from torchlint.engine.result import UnusableError
from torchlint.facts.analyses import Analyses, Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import children
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.join import join
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Kind, Value
from torchlint.rule.sight import ExpressionKey, Sight
from torchlint.sources.lines import LineTable
from torchlint.sources.observations import ObservationsError, read_observations

_DIGITS = 16
_LONGEST = 200
# In a format string Python 3.11 and older do not know the columns of expressions.
_NO_VALUES = (ast.stmt, ast.JoinedStr, ast.arg, ast.pattern)
_CLASSES = frozenset({Kind.MODULE, Kind.INSTANCE})


def keys(facts: FileFacts, table: LineTable) -> Iterator[tuple[ast.expr, ExpressionKey]]:
    """Yield the expressions of a file that a run can observe, each with its key."""
    repeats: dict[tuple[str, str], int] = defaultdict(int)
    for statement in _statements(facts.tree):
        function = facts.scope_of(statement).function.qualname
        name = digest(_squeezed(facts, table, statement))[:_DIGITS]
        repeat = repeats[function, name]
        repeats[function, name] += 1
        counts: dict[str, int] = defaultdict(int)
        for node in _expressions(statement):
            text = " ".join(_text(facts, table, node).decode().split())
            if len(text) <= _LONGEST:
                yield node, ExpressionKey(facts.path, function, name, repeat, text, counts[text])
                counts[text] += 1


def extent(table: LineTable, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return the byte offsets where a node begins and ends; of a compound statement its header."""
    body = getattr(node, "body", None)
    first = body[0] if isinstance(body, list) and body and isinstance(body[0], ast.stmt) else None
    start = table.offset(node.lineno, node.col_offset)
    if first is not None:
        return start, table.offset(first.lineno, first.col_offset)
    return start, table.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)


def sights_in(file: Path) -> tuple[Sight, ...]:
    """Return the observations of a file.

    Raises:
        UnusableError: it cannot be read.
    """
    try:
        return read_observations(file)
    except ObservationsError as error:
        raise UnusableError(str(error)) from error


def outdated(sights: Iterable[Sight], files: Iterable[FileFacts], gone: Container[str]) -> frozenset[ExpressionKey]:
    """Return the keys of observations without an expression in these files, or of files that are gone."""
    known = {facts.path: {key for _, key in keys(facts, facts.table)} for facts in files}
    return frozenset(
        sight.key
        for sight in sights
        if sight.key.path in gone or sight.key not in known.get(sight.key.path, (sight.key,))
    )


@dataclass(eq=False, slots=True)
class Sights(Fact):
    """What a run showed of the expressions of these files."""

    values: Mapping[ast.expr, Value] = field(default_factory=dict)

    @classmethod
    def build(cls, analyses: Analyses) -> Sights:
        """Find the expressions that observations are about; other observations do not count."""
        project = analyses[Project]
        seen = {sight.key: sight.saw for sight in analyses.settings.sights}
        paths = {key.path for key in seen}
        found: dict[ast.expr, Value] = {}
        for facts in project.files.values():
            if facts.path in paths:
                for node, key in keys(facts, facts.table):
                    if key in seen and (value := _joined(project, seen[key])).known:
                        found[node] = value
        return cls(found)


def observed(analyses: Analyses) -> Analyses | None:
    """Return the same facts with what a run showed, without guesses; ``None`` if it showed nothing of these files."""
    seen = analyses[Sights].values
    if not seen:
        return None
    return proven(analyses).supposing(Values, lambda values: values.seeing(seen), "seen", keeping=(CallGraph, Heat))


def _joined(project: Project, saw: tuple[Value, ...]) -> Value:
    """What holds for all values that were seen; beside ``None`` another kind says nothing of the expression."""
    if len(saw) > 1 and any(value.kind is Kind.NONE for value in saw):
        return UNKNOWN
    return join(_named(project, value) for value in saw) or UNKNOWN


def _named(project: Project, value: Value) -> Value:
    """A value with the names that classes of the project have among facts; unknown where there is no such class."""
    if value.items:
        value = replace(value, items=tuple(_named(project, item) for item in value.items))
    path, colon, qualname = value.name.partition(":")
    if value.kind not in _CLASSES or not colon:
        return value
    file = project.files.get(path)
    name = f"{file.module}.{qualname}" if file is not None else ""
    if name not in project.classes:
        return UNKNOWN
    return replace(value, name=name, kind=Kind.MODULE if project.is_module(name) else Kind.INSTANCE)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements in the order of the text."""
    for child in children(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, ast.expr):
            yield from _statements(child)


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a statement without those of statements inside, as far as their value can be looked at."""
    no_values = [
        *getattr(node, "decorator_list", ()),
        getattr(node, "returns", None),
        getattr(node, "annotation", None),
    ]
    for child in children(node):
        if isinstance(child, _NO_VALUES) or child in no_values:
            continue
        if isinstance(child, ast.expr) and _is_value(child):
            yield child
        yield from _expressions(child)


def _is_value(node: ast.expr) -> bool:
    """Whether a call may be put around an expression, and would not change what it means."""
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return False
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp, ast.IfExp))


def _text(facts: FileFacts, table: LineTable, node: ast.expr | ast.stmt) -> bytes:
    start, end = extent(table, node)
    return facts.source.utf8[start:end]


def _squeezed(facts: FileFacts, table: LineTable, statement: ast.stmt) -> bytes:
    return b"".join(_text(facts, table, statement).split())
