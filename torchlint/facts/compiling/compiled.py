"""What the project compiles: every ``torch.compile``, as a call, a decorator or a module's own ``compile``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.hotness.coldness import cold_file
from torchlint.facts.values.join import PARTIAL
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Kind, Value

COMPILE = "torch.compile"
_CROSSED = frozenset({Label.COPY, Label.ARGUMENT})


@dataclass(frozen=True, eq=False, slots=True)
class Compilation:
    """One place that compiles something.

    Attributes:
        facts: its file. place: the expression that stands for what is compiled: the call, or the decorator.
        call: the call that holds the options, ``None`` for a bare decorator.
        given: what is compiled; ``None`` under a decorator.
        entries: the functions of the project that run compiled because of it.
        holds: whether the place gives the compiled object (``net.compile()`` changes the module itself).
    """

    facts: FileFacts
    place: ast.expr
    call: ast.Call | None
    given: ast.expr | None
    entries: tuple[Scope, ...]
    holds: bool = True

    def option(self, name: str) -> ast.expr | None:
        """Return the value of a keyword argument, ``None`` where it is not given."""
        given = self.call.keywords if self.call is not None else ()
        return next((keyword.value for keyword in given if keyword.arg == name), None)

    def switched_on(self, name: str) -> bool:
        """Return whether a keyword argument is the literal true."""
        value = self.option(name)
        return isinstance(value, ast.Constant) and value.value is True


@dataclass(eq=False, slots=True)
class Compilations(Fact):
    """Finds all that the project compiles, once."""

    project: Project
    values: Values
    sources: Sources
    _flow: ValueFlow[Scope | None] = field(init=False)
    _all: tuple[Compilation, ...] | None = None
    _by_place: dict[ast.expr, Compilation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=None)

    def all(self) -> tuple[Compilation, ...]:
        """Return every compilation, in order of files and scopes, but those of tests and benchmarks."""
        if self._all is None:
            files = (facts for facts in self.project.files.values() if b"compile" in facts.source.utf8)
            found = (each for facts in files if not cold_file(facts) for each in self._of_file(facts))
            self._all = tuple(each for each in found if not each.switched_on("disable"))
            self._by_place.update({each.call or each.place: each for each in self._all})
        return self._all

    def at(self, node: ast.expr) -> Compilation | None:
        """Return the compilation that a call (or a bare decorator) makes."""
        self.all()
        return self._by_place.get(node)

    def names(self, compilation: Compilation) -> Iterator[str]:
        """Yield the qualified names of the class or function that is compiled, and of the attribute that holds it."""
        facts, given = compilation.facts, compilation.given
        value = self.values.of(facts, given) if given is not None else UNKNOWN
        for name in value.name.split("|"):
            if name in self.project.classes or name in self.project.functions:
                yield name
        stmt, owner = facts.parent.get(compilation.place), facts.scope_of(compilation.place).owner
        for target in stmt.targets if isinstance(stmt, ast.Assign) else ():
            if isinstance(target, ast.Attribute) and owner is not None:
                yield f"{owner.dotted}.{target.attr}"

    def _of_file(self, facts: FileFacts) -> Iterator[Compilation]:
        for scope in facts.scopes:
            for decorator in getattr(scope.node, "decorator_list", ()):
                if scope.kind == "function" and self._decorates(facts, decorator):
                    call = decorator if isinstance(decorator, ast.Call) else None
                    yield Compilation(facts, decorator, call, None, (scope,))
            for node in scope.calls:
                yield from self._of_call(facts, node)

    def _decorates(self, facts: FileFacts, node: ast.expr) -> bool:
        """``@torch.compile``, ``@torch.compile(...)`` and ``@partial(torch.compile, ...)``."""
        if not isinstance(node, ast.Call):
            return self.project.qualified(facts, node) == COMPILE
        name = self.project.qualified(facts, node.func)
        return name == COMPILE or (name == PARTIAL and self._is_compile(facts, node.args[:1]))

    def _is_compile(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> bool:
        return any(self.project.qualified(facts, node) == COMPILE for node in nodes)

    def _of_call(self, facts: FileFacts, node: ast.Call) -> Iterator[Compilation]:
        if self.project.qualified(facts, node.func) == COMPILE:
            given, place = _given(node), node
            above = facts.parent.get(node)
            if given is None and isinstance(above, ast.Call) and above.func is node and above.args:
                given, place = above.args[0], above  # torch.compile(mode=...)(f)
            if given is not None:
                yield Compilation(facts, place, node, given, self._entries(facts, given))
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "compile" and not node.args:
            value = self.values.of(facts, node.func.value)
            if value.kind is Kind.MODULE and not self.project.implementations(value.name, "compile"):
                entries = self._entries(facts, node.func.value)
                yield Compilation(facts, node, node, node.func.value, entries, holds=False)

    def _entries(self, facts: FileFacts, node: ast.expr) -> tuple[Scope, ...]:
        """The functions that a call of what is compiled runs; of a parameter what its callers pass for it."""
        return tuple(found for found in self._flow.ends(facts, node) if found is not None)

    def _step(self, spot: Spot) -> Iterator[Spot | Scope | None]:
        found = self._run_by(self.values.of(spot.facts, spot.node))
        yield from found or self.sources.crossing(spot, _CROSSED, None)

    def _run_by(self, value: Value) -> tuple[Scope, ...]:
        names = [name for name in value.name.split("|") if name]
        if value.kind is Kind.FUNCTION:
            return tuple(self.project.functions[name] for name in names if name in self.project.functions)
        if value.kind not in (Kind.MODULE, Kind.INSTANCE):
            return ()
        module = value.kind is Kind.MODULE
        return tuple(dict.fromkeys(scope for name in names for scope in self.project.called(name, module=module)))


def _given(call: ast.Call) -> ast.expr | None:
    """The first argument of ``torch.compile``, by position or keyword."""
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    return next((keyword.value for keyword in call.keywords if keyword.arg == "model"), None)
