"""Where the graph of compiled code breaks: by the table in ``tables/compile.json``, measured with torch itself."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.compiling.inside import Inside
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Break, Hop, Kind, Splits

_LOGGER = "logging.Logger"


class _BreakingName(TypedDict):
    """A name, what it is about, and how it is used: as a ``method`` of a tensor or a ``logger``, called with a tensor
    as its ``argument``, or with anything at all (``call``)."""

    kind: str
    how: str
    name: str


class _CompileTable(TypedDict):
    breaks: list[_BreakingName]
    unless: dict[str, list[str]]


@lru_cache(maxsize=1)
def _table() -> _CompileTable:
    text = (Path(__file__).parent.parent / "tables" / "compile.json").read_text(encoding="utf-8")
    table: _CompileTable = json.loads(text)
    return table


@lru_cache(maxsize=1)
def _rows() -> dict[tuple[str, str], Splits]:
    return {(row["how"], row["name"]): Splits(row["kind"]) for row in _table()["breaks"]}


@dataclass(eq=False, slots=True)
class Breaks(Fact):
    """Finds the breaks in a file."""

    project: Project
    values: Values
    graph: CallGraph
    inside: Inside
    _known: dict[str, dict[ast.expr, Break]] = field(default_factory=dict)

    def of(self, facts: FileFacts) -> dict[ast.expr, Break]:
        """Return the expressions of a file that break a graph, calls and tests."""
        if facts.path not in self._known:
            found = self._find(facts) if any(scope.file is facts for scope in self.inside.functions()) else ()
            self._known[facts.path] = dict(found)
        return self._known[facts.path]

    def _find(self, facts: FileFacts) -> Iterator[tuple[ast.expr, Break]]:
        nodes = [call for scope in facts.scopes for call in scope.calls]
        for node in [*nodes, *facts.tests]:
            compilation = self.inside.of(facts, node)
            if compilation is None:
                continue
            why = self._of_call(facts, node) if isinstance(node, ast.Call) else None
            if why is None and node in facts.tests and self._tests_tensor(facts, node):
                why = Splits.TEST
            if why is not None and not settled(self.project, self.graph.groups[facts.path], why.value):
                place = compilation.place
                yield node, Break(why, Hop(compilation.facts.path, place.lineno, ""))

    def _of_call(self, facts: FileFacts, call: ast.Call) -> Splits | None:
        rows = _rows()
        if isinstance(call.func, ast.Attribute):
            source = self.values.of(facts, call.func.value)
            if source.kind is Kind.TENSOR:
                return rows.get(("method", call.func.attr))
            if source.name == _LOGGER:
                return rows.get(("logger", call.func.attr))
        name = self.project.qualified(facts, call.func) or ""
        if ("argument", name) in rows and len(call.args) == 1:
            return rows["argument", name] if self.values.of(facts, call.args[0]).kind is Kind.TENSOR else None
        return rows.get(("call", name))

    def _tests_tensor(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether Python jumps by the truth of a tensor; a search (``x in t``) is not a jump of its own."""
        searched = isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn))
        return not searched and self.values.of(facts, node).kind is Kind.TENSOR and _jumps(facts, node)


def settled(project: Project, group: frozenset[str], what: str) -> bool:
    """Return whether connected files mention an option under which torch traces such code all the same."""
    words = [word.encode() for word in _table()["unless"].get(what, ())]
    return any(word in project.files[path].source.utf8 for path in group for word in words)


def _jumps(facts: FileFacts, node: ast.expr) -> bool:
    """Whether a branch depends on an expression; an assertion with a plain message is traced without one."""
    for child, above in facts.climb(node):
        match above:
            case ast.If() | ast.While() | ast.IfExp():
                return above.test is child
            case ast.Assert(test=test, msg=message):
                plain = message is None or isinstance(message, ast.Constant)
                return test is child and not (plain and not isinstance(child, ast.UnaryOp))
            case ast.comprehension(ifs=tests):
                return child in tests
            case ast.BoolOp(values=values) if child is not values[-1]:
                return True
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                continue
            case _:
                return False
    return False
