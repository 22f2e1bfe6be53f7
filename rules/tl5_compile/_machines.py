"""Whether anything on the way to a compilation asks which machine the program runs on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.compiling.compiled import Compilation, Compilations
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Spot
from torchlint.late import dataclass, regex
from torchlint.rule.site import Site

# Words of conditions that ask for the device or the platform.
_MACHINE = regex(
    r"cuda|\bmps\b|_mps|gpu|\bxpu\b|\btpu\b|device|platform|darwin|apple|triton|capability|win32|windows|linux"
    r"|os\.name|machine|accelerator|inductor|get_arch|uname"
)
_TARGETS = regex(rb"\bmps\b|is_available\(\)\s*(?:and[^\n]*)?else\s*[\"'(]|is_available\(\) else torch\.device\(.cpu")
_DEEP = 4
_GENERATING = "inductor"


@dataclass(eq=False, slots=True)
class Machines(Fact):
    """Climbs from a compilation through conditions and callers."""

    project: Project
    graph: CallGraph
    sources: Sources
    compilations: Compilations
    _targets: dict[frozenset[str], bool] = field(default_factory=dict)
    _asked: dict[ast.AST, bool] = field(default_factory=dict)

    def unguarded(self, node: ast.expr) -> bool:
        """Return whether a compilation happens on every machine, in a project that also runs where there is no CUDA.

        Of several in one function only the first counts.
        """
        compilation = self.compilations.at(node)
        if compilation is None or not self._is_first(compilation):
            return False
        if not self._elsewhere(compilation.facts):
            return False
        options = compilation.call.keywords if compilation.call is not None else []
        given = [keyword.value for keyword in options if keyword.arg not in ("mode", "dynamic", "fullgraph")]
        if any(not _is_generating(value) for value in given):
            return False
        return not self._guarded(compilation.facts, compilation.place)

    def _elsewhere(self, facts: FileFacts) -> bool:
        """Whether a connected file mentions Apple's device, or falls back to the CPU."""
        group = self.graph.groups[facts.path]
        if group not in self._targets:
            texts = (self.project.files[path].source.utf8 for path in group)
            self._targets[group] = any(_TARGETS.search(text) for text in texts)
        return self._targets[group]

    def _is_first(self, compilation: Compilation) -> bool:
        facts, function = compilation.facts, _function(compilation)
        here = (each for each in self.compilations.all() if each.facts is facts and _function(each) is function)
        return all(each.place.lineno >= compilation.place.lineno for each in here)

    def _guarded(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether a condition in the function decides about a node, or one on a way to it asks for the machine."""
        if not all(self._asks_presence(facts, test) for test in _conditions(facts, node)):
            return True
        level, seen = [facts.scope_of(node).function], set[Scope]()
        for _ in range(_DEEP):
            places = [place for scope in level if scope.kind == "function" for place in self.graph.places(scope)]
            if any(self._asks_machine(where, place) for where, place in places):
                return True
            seen.update(level)
            above = dict.fromkeys(where.scope_of(place).function for where, place in places)
            level = [scope for scope in above if scope not in seen]
        return False

    def _asks_presence(self, facts: FileFacts, test: ast.expr) -> bool:
        """Whether a condition only asks whether torch has ``compile``."""
        match test:
            case ast.Call(func=ast.Name(id="hasattr")):
                return True
            case ast.BoolOp(values=parts):
                return all(self._asks_presence(facts, part) for part in parts)
            case ast.Name() | ast.Attribute():
                values = list(self._bound(facts, test))
                return bool(values) and all(self._asks_presence(*value) for value in values)
            case ast.Compare():
                return "version" in ast.unparse(test)
        return False

    def _asks_machine(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether a condition around a node asks which machine this is."""
        if node not in self._asked:
            texts = self._texts(facts, list(_conditions(facts, node)))
            self._asked[node] = any(_MACHINE.search(text.lower()) for text in texts)
        return self._asked[node]

    def _texts(self, facts: FileFacts, tests: list[ast.expr]) -> Iterator[str]:
        """The source of conditions, with what the names in them are bound to and the functions that they call do."""
        for test in tests:
            yield "\n".join([ast.unparse(test), *self._behind(facts, test, 0)])

    def _behind(self, facts: FileFacts, node: ast.expr, depth: int) -> Iterator[str]:
        if depth >= 3:
            return
        for part in walk(node):
            if isinstance(part, ast.Call):
                for target in self.graph.callees.get(part, ()):
                    yield ast.unparse(target.node)
            elif isinstance(part, (ast.Name, ast.Attribute)):
                for where, value in self._bound(facts, part):
                    yield ast.unparse(value)
                    yield from self._behind(where, value, depth + 1)

    def _bound(self, facts: FileFacts, node: ast.expr) -> Iterator[tuple[FileFacts, ast.expr]]:
        """What a name or an attribute stands for."""
        sources = self.sources.of(Spot(facts, node))
        return ((source.facts, source.node) for source in sources if isinstance(source, Spot))


def _function(compilation: Compilation) -> Scope:
    return compilation.facts.scope_of(compilation.place).function


def _is_generating(value: ast.expr) -> bool:
    """Whether an option leaves the default backend in charge, on every machine."""
    return isinstance(value, ast.Constant) and value.value in (None, _GENERATING)


def _conditions(facts: FileFacts, node: ast.AST) -> Iterator[ast.expr]:
    """The conditions around a node in its function, and those that leave the function before it."""
    child, above = node, facts.parent.get(node)
    while True:
        if isinstance(child, ast.stmt) and child in facts.places:
            block, index = facts.places[child]
            for stmt in block[:index]:
                if isinstance(stmt, ast.If) and _leaves(stmt):
                    yield stmt.test
        if above is None or isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return
        if isinstance(above, (ast.If, ast.IfExp, ast.While)) and child is not above.test:
            yield above.test
        elif isinstance(above, ast.BoolOp) and child is not above.values[0]:
            yield above.values[0]
        child, above = above, facts.parent.get(above)


def _leaves(stmt: ast.If) -> bool:
    """Whether a branch leaves the function in a run that goes on: an error counts where it is about the machine."""
    last = stmt.body[-1]
    machine = isinstance(last, ast.Raise) and bool(_MACHINE.search(ast.unparse(stmt.test).lower()))
    return isinstance(last, ast.Return) or machine


def compiles_anywhere(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a ``torch.compile`` runs on every machine, in a project that also runs without CUDA.

    No condition guards it, or one that only asks whether torch has ``compile``. The first in a function counts.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Machines).unguarded(twin)
