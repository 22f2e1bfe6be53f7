"""Runs that get past what was compiled: results that nothing keeps, other methods, references taken before."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.callers import stores_of
from torchlint.facts.code.closure import Closure
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.mentions import holder_of
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of
from torchlint.facts.compiling.compiled import Compilation, Compilations
from torchlint.facts.compiling.holders import Held, Holders, is_before
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Bypass, BypassKind, Frequency, Hop, Kind, Taken

_MODULE = frozenset({"torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module"})
_PLAIN = ("builtins.", "abc.", "typing.", "collections.abc.")
# Functions that look at a module but do not run it.
_LOOKING = frozenset(
    f"builtins.{name}"
    for name in ("str", "repr", "print", "len", "id", "type", "isinstance", "hasattr", "getattr", "setattr", "callable")
)


@dataclass(eq=False, slots=True)
class Bypasses(Fact):
    """Looks at what is done with compiled modules, and with modules before they are compiled."""

    project: Project
    graph: CallGraph
    values: Values
    heat: Heat
    compilations: Compilations
    holders: Holders
    _taken: dict[str, dict[ast.Call, Taken]] = field(default_factory=dict)
    _computing: Closure[Scope] = field(init=False)

    def __post_init__(self) -> None:
        self._computing = Closure(self._calls_module, self.graph.called_by)

    def of(self, node: ast.expr) -> Bypass | None:
        """Return how runs bypass what a call compiles, ``None`` if they are not known to."""
        compilation = self.compilations.at(node)
        if compilation is None or not compilation.holds or compilation.given is None:
            return None
        facts, given = compilation.facts, compilation.given
        if isinstance(facts.parent.get(compilation.place), ast.Expr):
            return Bypass(BypassKind.DROPPED, "") if isinstance(given, (ast.Name, ast.Attribute)) else None
        value = self.values.of(facts, given)
        if value.kind is not Kind.MODULE or value.name not in self.project.classes:
            return None
        if not self._is_plain(value.name):
            return None
        forwards = self.project.called(value.name, module=True)
        held = self.holders.of(facts, compilation.place)
        if not forwards:
            place = self._method(value.name, held)
            return Bypass(BypassKind.NO_FORWARD, value.name.rpartition(".")[2], self._hop(place)) if place else None
        if any(self._runs(where, node) for where, node in [*held, *self._perhaps(compilation)]):
            return None
        if self._called(value.name, forwards):
            return None
        place = self._method(value.name, held)
        return Bypass(BypassKind.METHODS, _name(place[1]), self._hop(place)) if place else None

    def _is_plain(self, cls: str) -> bool:
        """Whether all that a module inherits is the project's, or is ``nn.Module`` itself."""
        return all(
            name in self.project.classes or name in _MODULE or name.startswith(_PLAIN)
            for each in [cls, *(child.dotted for child in self.project.descendants(cls))]
            for name in self.project.ancestry(each)
        )

    def _runs(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression that holds a module calls it, or may hand it to someone who does."""
        above = facts.parent.get(node)
        match above:
            case ast.Call(func=func):
                if func is node:
                    return True
                return not self.graph.callees.get(above) and self.project.qualified(facts, func) not in _LOOKING
            case ast.keyword():
                call = facts.parent.get(above)
                return not (isinstance(call, ast.Call) and self.graph.callees.get(call))
            case ast.Attribute(attr=name):
                return name in ("forward", "__call__", "module")
            case ast.Lambda():
                call = facts.parent.get(above)
                return not (isinstance(call, ast.Call) and call.func is above)
            case ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.Starred() | ast.Subscript():
                return True
            case ast.Return():
                function = facts.scope_of(above).function
                return not self.graph.is_called(function)
            case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                return True
        return False

    def _perhaps(self, compilation: Compilation) -> Iterator[Held]:
        """Reads of an attribute of the same name, of objects that are not known."""
        stmt = compilation.facts.statement(compilation.place)
        for target in stmt.targets if isinstance(stmt, ast.Assign) else ():
            if isinstance(target, ast.Attribute):
                for where, read in self.holders.uses.mentions.of_field(compilation.facts, "", target.attr):
                    if not self.values.of(where, holder_of(read)).known:
                        yield where, read

    def _called(self, cls: str, forwards: list[Scope]) -> bool:
        """Whether any code but the module's own calls it."""
        family = {scope.dotted for scope in [*self.project.family(cls), *self.project.descendants(cls)]}
        for forward in forwards:
            for facts, node in self.graph.places(forward):
                owner = facts.scope_of(node).owner
                outside = owner is None or owner.dotted not in family
                if outside and not (isinstance(node, ast.Call) and self._is_any(facts, node.func)):
                    return True
        return False

    def _is_any(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is known to be a module, but not of which class: ``net: nn.Module``."""
        return not self.project.classes.keys() & set(self.values.of(facts, node).name.split("|"))

    def _method(self, cls: str, held: list[Held]) -> tuple[FileFacts, ast.Call] | None:
        """The most frequent call of a method of the project on what holds a module; ``None``: none is hot."""
        found = [
            (where, call)
            for where, node in held
            if (call := _call_of_method(where, node)) is not None and self._computes(cls, _name(call))
        ]
        hot = [(self.heat.frequency(where, call), where, call) for where, call in found]
        best = max(hot, key=lambda item: item[0], default=None)
        return (best[1], best[2]) if best is not None and best[0] >= Frequency.UPDATE else None

    def _computes(self, cls: str, name: str) -> bool:
        """Whether a method is the project's and calls a module, itself or through its own methods."""
        return any(map(self._computing.leads, self.project.implementations(cls, name)))

    def _calls_module(self, scope: Scope) -> bool:
        return any(self.values.of(scope.file, call.func).kind is Kind.MODULE for call in scope.run_calls())

    # references taken before ------------------------------------------------------------------------------------------

    def takers(self, facts: FileFacts) -> dict[ast.Call, Taken]:
        """Return the calls of a file that keep a module which the same function compiles later."""
        if facts.path not in self._taken:
            here = [each for each in self.compilations.all() if each.facts is facts and each.holds]
            found: dict[ast.Call, Taken] = {}
            for compilation in here:
                for call, taken in self._takers(compilation):
                    old = found.get(call, taken)
                    names = dict.fromkeys([*old.names, *taken.names])
                    found[call] = Taken(tuple(names), old.compiled, old.place)
            self._taken[facts.path] = found
        return self._taken[facts.path]

    def _takers(self, compilation: Compilation) -> Iterator[tuple[ast.Call, Taken]]:
        facts, given = compilation.facts, compilation.given
        stmt = facts.statement(compilation.place)
        if not isinstance(stmt, ast.Assign) or not isinstance(given, (ast.Name, ast.Attribute)):
            return
        if not among(given, stmt.targets) or self.values.of(facts, given).kind is Kind.FUNCTION:
            return
        function = facts.scope_of(stmt).function
        for call in function.calls:
            for node in arguments_of(call):
                if not alike(node, given) or not is_before(facts, node, stmt):
                    continue
                place = self._run_later(facts, node)
                if place is not None:
                    compiled = Hop(facts.path, stmt.lineno, function.qualname)
                    yield call, Taken((ast.unparse(given),), compiled, self._hop(place))

    def _run_later(self, facts: FileFacts, node: ast.expr) -> tuple[FileFacts, ast.Call] | None:
        """A hot call of what an attribute keeps of an argument."""
        held = [(where, part) for where, part in self.holders.of(facts, node) if isinstance(part, ast.Attribute)]
        kept = [(where, part) for where, part in held if part is not node and not self._stored_again(where, part)]
        for where, part in (further for each in kept for further in self.holders.of(*each)):
            above = where.parent.get(part)
            if isinstance(above, ast.Call) and above.func is part:
                if self.heat.frequency(where, above) >= Frequency.UPDATE:
                    return where, above
        return None

    def _stored_again(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether an attribute is also set after its object is made, by a method or from outside of the class."""
        classes = self.values.of(facts, node.value).name.split("|")
        stores = (store for cls in classes for store in stores_of(self.project, cls, node.attr))
        return bool(self.project.outside.get(node.attr)) or any(store.scope.name != "__init__" for store in stores)

    def _hop(self, place: tuple[FileFacts, ast.Call]) -> Hop:
        facts, call = place
        return Hop(facts.path, call.lineno, facts.scope_of(call).function.qualname)


def _call_of_method(facts: FileFacts, node: ast.expr) -> ast.Call | None:
    """``x.name(...)`` of an ``x``."""
    above = facts.parent.get(node)
    call = facts.parent.get(above) if isinstance(above, ast.Attribute) else None
    return call if isinstance(call, ast.Call) and call.func is above else None


def _name(node: ast.AST) -> str:
    """The last name of what a call calls."""
    func = node.func if isinstance(node, ast.Call) else node
    return func.attr if isinstance(func, ast.Attribute) else ""
