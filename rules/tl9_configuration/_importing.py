"""What was imported, and whether CUDA was used, before a line runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.room import roomy
from torchlint.facts.code.solver import Solver
from torchlint.facts.values import torch_table
from torchlint.late import dataclass
from torchlint.rule.site import Site

Place = tuple[FileFacts, int]
_Question = tuple[Scope | FileFacts, str]
# Of code that a run may come to before it has imported torch.
_NOWHERE: tuple[()] = ()


@dataclass(eq=False, slots=True)
class Importing(Fact):
    """Follows imports in the order in which modules run them."""

    project: Project
    graph: CallGraph
    _loads: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _solver: Solver[_Question, Place | tuple[()]] = field(init=False)
    _importers: dict[FileFacts, list[tuple[FileFacts, ast.AST]]] | None = None

    def __post_init__(self) -> None:
        self._solver = Solver(self._answer, _NOWHERE)

    def torch_before(self, facts: FileFacts, node: ast.AST, variable: str) -> Place | None:
        """Return an import that has loaded torch whenever a node runs: file and row.

        The result is ``None`` where one run may have none.

        An import in another file does not count where that file names the variable above it: torch has read it.
        """
        scope = facts.scope_of(node).function
        row = getattr(node, "lineno", 1)
        if scope.kind == "function":
            return self._in_function(facts, scope, row, variable)
        own = [load for load in self._rows(facts) if load < row]
        return (facts, own[0]) if own else self._whenever(facts, variable)

    def _in_function(self, facts: FileFacts, scope: Scope, row: int, variable: str) -> Place | None:
        inner = [stmt.lineno for stmt in _imports(facts, scope) if self._loads_torch(facts, stmt) and stmt.lineno < row]
        if inner:
            return facts, inner[0]
        places = self.graph.places(scope)
        early = any(where is facts and where.scope_of(node).function.kind == "module" for where, node in places)
        rows = self._rows(facts)
        return (facts, rows[0]) if rows and not early else self._whenever(scope, variable)

    def _whenever(self, what: Scope | FileFacts, variable: str) -> Place | None:
        """The import of torch that comes before every call of a function, or before every import of a file."""
        return self._solver.ask((what, variable)) or None

    def _answer(self, question: _Question) -> Place | tuple[()]:
        """The same; of what leads to itself nothing is said."""
        what, variable = question
        first: Place | None = None
        for facts, node in self.graph.places(what) if isinstance(what, Scope) else self._importing(what):
            found = self._elsewhere(facts, node, variable)
            if found is None:
                return _NOWHERE
            first = first or found
        return first or _NOWHERE

    def _importing(self, facts: FileFacts) -> list[tuple[FileFacts, ast.AST]]:
        """The statements of other files that import a file."""
        if self._importers is None:
            self._importers = {}
            for other in self.project.files.values():
                for stmt in _all_imports(other):
                    for file in dict.fromkeys(self._files(other, stmt)):
                        self._importers.setdefault(file, []).append((other, stmt))
        return self._importers.get(facts, [])

    def _elsewhere(self, facts: FileFacts, node: ast.AST, variable: str) -> Place | None:
        """The import before a node that leads to the setting, where torch did not find the variable set already."""
        place = self.torch_before(facts, node, variable)
        return None if place is not None and _named_above(*place, variable) else place

    def _rows(self, facts: FileFacts) -> tuple[int, ...]:
        """Rows of the imports at the top of a file that load torch, also through other files of the project."""
        found = self._loads.get(facts.path)
        if found is None:
            self._loads[facts.path] = ()  # a circle of imports loads nothing by itself
            stmts = _imports(facts, facts.top)
            found = tuple(sorted(stmt.lineno for stmt in stmts if self._loads_torch(facts, stmt)))
            self._loads[facts.path] = found
        return found

    @roomy
    def _loads_torch(self, facts: FileFacts, stmt: ast.Import | ast.ImportFrom) -> bool:
        if any(self._rows(file) for file in self._files(facts, stmt)):
            return True
        names = [alias.name for alias in stmt.names] if isinstance(stmt, ast.Import) else [stmt.module or ""]
        if isinstance(stmt, ast.ImportFrom) and stmt.level:
            return False
        roots = {name.partition(".")[0] for name in names if self.project.module(facts, name) is None}
        return bool(roots & torch_table.loading())

    def _files(self, facts: FileFacts, stmt: ast.Import | ast.ImportFrom) -> Iterator[FileFacts]:
        """The project's files that an import statement runs."""
        for name in _names(facts, stmt):
            file = self.project.module(facts, name)
            if file is not None and file is not facts:
                yield file

    def cuda_before(self, facts: FileFacts, node: ast.AST) -> int | None:
        """Return the row of a call before a node in its function or module that starts CUDA, or ``None``."""
        row = getattr(node, "lineno", 1)
        rows = [
            call.lineno
            for call in facts.scope_of(node).function.calls
            if call.lineno < row and self._starts_cuda(facts, call)
        ]
        return min(rows, default=None)

    def _starts_cuda(self, facts: FileFacts, call: ast.Call) -> bool:
        name = self.project.qualified(facts, call.func) or ""
        if name in torch_table.starting_cuda():
            return True
        if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda" and not name:
            return True
        return name.startswith("torch.") and any(
            keyword.arg == "device" and isinstance(keyword.value, ast.Constant) and _is_cuda(keyword.value.value)
            for keyword in call.keywords
        )


def _named_above(facts: FileFacts, row: int, variable: str) -> bool:
    """Whether the rows of a module above a row hold the name of a variable."""
    nodes = (node for stmt in facts.tree.body if stmt.lineno < row for node in ast.walk(stmt))
    return any(variable in (getattr(node, "value", None), getattr(node, "arg", None)) for node in nodes)


def _is_cuda(value: object) -> bool:
    return isinstance(value, str) and value.startswith("cuda")


def _all_imports(facts: FileFacts) -> list[ast.Import | ast.ImportFrom]:
    """The import statements of a file."""
    return [stmt for stmt in facts.places if isinstance(stmt, (ast.Import, ast.ImportFrom))]


def _imports(facts: FileFacts, scope: Scope) -> list[ast.Import | ast.ImportFrom]:
    """The import statements that a scope runs itself, not those for type checkers alone."""
    return [
        stmt for stmt in _all_imports(facts) if facts.scope_of(stmt).function is scope and not _for_types(facts, stmt)
    ]


def _for_types(facts: FileFacts, stmt: ast.stmt) -> bool:
    """Whether a statement stands under ``if TYPE_CHECKING``."""
    above = facts.parent.get(stmt)
    return isinstance(above, ast.If) and "TYPE_CHECKING" in ast.dump(above.test)


def _names(facts: FileFacts, stmt: ast.Import | ast.ImportFrom) -> list[str]:
    """The dotted names that a statement imports, modules or things in them."""
    if isinstance(stmt, ast.Import):
        return [alias.name for alias in stmt.names]
    base = facts.absolute(stmt.level, stmt.module or "")
    return [base, *(f"{base}.{alias.name}" for alias in stmt.names if alias.name != "*")]


def cuda_before(site: Site) -> int | None:
    """Return the row of a call before the node, in the same function, that starts CUDA.

    The result is ``None`` where there is none.
    """
    return site.fact(Importing).cuda_before(site.file, site.twin)


def torch_before(site: Site, variable: str) -> str | None:
    """Return where torch was imported before the variable was set, as ``path:row``; ``None`` if not in all runs."""
    place = site.fact(Importing).torch_before(site.file, site.twin, variable)
    return f"{place[0].path}:{place[1]}" if place is not None else None


def threads_set_before(site: Site) -> bool:
    """Return whether the function of the node has called ``torch.set_num_threads`` above the node."""
    calls = site.file.scope_of(site.twin).function.calls
    row = getattr(site.twin, "lineno", 1)
    project = site.fact(Project)
    return any(
        call.lineno < row and project.qualified(site.file, call.func) == "torch.set_num_threads" for call in calls
    )
