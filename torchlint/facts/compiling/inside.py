"""Which functions of the project run compiled, because something compiled calls them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import Caller
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.graph import CallGraph, method_around
from torchlint.facts.code.model import FUNCTIONS, FileFacts, Scope, decorators
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.compiling.compiled import Compilation, Compilations
from torchlint.facts.compiling.holders import Holders
from torchlint.facts.dataflow.untaken import ALL_RUN, Untaken, UntakenArms
from torchlint.facts.hotness.conditions import asks_for_tracing
from torchlint.facts.values.chosen import choices
from torchlint.facts.values.tested import arms
from torchlint.late import dataclass
from torchlint.rule import Kind

# Decorators of functions that are not traced, or not looked into.
_OUTSIDE = frozenset(
    """
    torch.compiler.disable torch.compiler.allow_in_graph torch.compiler.assume_constant_result
    torch._dynamo.disable torch._dynamo.allow_in_graph torch._dynamo.assume_constant_result
    torch.library.custom_op torch.jit.script torch.jit.ignore torch.jit.unused
    """.split()
)
# A function that runs compiled, on objects of some classes (``None``: of any that have it), and what a call leaves out.
_Seen = tuple[Scope, frozenset[str] | None, Untaken]


@dataclass(eq=False, slots=True)
class Inside(Fact):
    """Follows calls from what is compiled, once."""

    project: Project
    graph: CallGraph
    compilations: Compilations
    holders: Holders
    untaken: UntakenArms
    _reached: dict[Scope, Compilation] | None = None
    _everything: frozenset[str] | None = None

    def of(self, facts: FileFacts, node: ast.AST) -> Compilation | None:
        """Return the compilation that traces a node, ``None`` where none is known to.

        Code that asks whether it is being compiled is left out, and so is what is compiled as one whole graph
        (``fullgraph=True``): there nothing breaks without an error.
        """
        if not self.compilations.all() or _asks(facts, node):
            return None
        return self.functions().get(facts.scope_of(node).function)

    def functions(self) -> dict[Scope, Compilation]:
        """Return all functions that run compiled, each with a compilation that makes it so."""
        if self._reached is None:
            self._reached, seen = {}, set[_Seen]()
            for compilation in self.compilations.all():
                if not compilation.switched_on("fullgraph"):
                    self._spread(compilation, self._reached, seen)
        return self._reached

    def names(self) -> frozenset[str]:
        """Return the names of all functions that run compiled, of classes with such instances, and of what holds these.

        Also of what is compiled as one whole graph.
        """
        if self._everything is None:
            reached, seen = dict[Scope, Compilation](), set[_Seen]()
            found: set[str] = set()
            for compilation in self.compilations.all():
                self._spread(compilation, reached, seen)
                found.update(self.compilations.names(compilation))
            self._everything = frozenset(found | {scope.dotted for scope in reached})
        return self._everything

    def _spread(self, compilation: Compilation, reached: dict[Scope, Compilation], seen: set[_Seen]) -> None:
        classes = self._classes(compilation)
        todo = [(scope, classes, ALL_RUN) for scope in compilation.entries if self._is_traced(scope)]
        entering = self._entering(compilation)
        while todo:
            scope, classes, untaken = todo.pop()
            if not seen.isdisjoint({(scope, classes, untaken), (scope, classes, ALL_RUN), (scope, None, ALL_RUN)}):
                continue
            seen.add((scope, classes, untaken))
            reached.setdefault(scope, compilation)
            for call in scope.run_calls():
                if call in self.graph.weak or _asks(scope.file, call) or self._is_any(scope.file, call.func):
                    continue
                if untaken.holds(scope.file, call):
                    continue
                if scope in compilation.entries and self._is_left_out(scope, call, entering):
                    continue
                objects = self._objects(scope.file, call, classes)
                targets = (found for found in self.graph.callees.get(call, ()) if self._is_traced(found))
                given = (found for found in targets if self._is_given(call, found, reached))
                run = (found for found in given if self._runs_on(objects, found))
                todo += ((found, objects, self._skipped(found, call)) for found in run)

    def _skipped(self, function: Scope, call: ast.Call) -> Untaken:
        """What a call does not run of a function, by what it passes: ``self.net(obs, rollout=True)``."""
        return self.untaken.of(function, self.graph.caller(function, call), self.compilations.values)

    def _classes(self, compilation: Compilation) -> frozenset[str] | None:
        """The classes of the objects whose method is compiled; ``None``: of all that may have it.

        ``torch.compile(self.step)`` in a constructor is done for each object, in another method for those that this is
        called on. Of a method that nothing calls only its own class is known.
        """
        holder = self._compiling(compilation)
        if holder is None:
            return None
        found, todo, seen = set[str](), [holder], set[Scope]()
        while todo:
            method = todo.pop()
            if method.method_of is None or method.name == "__init__":
                return None
            if method in seen:
                continue
            seen.add(method)
            found.add(method.method_of.dotted)
            for facts, call in self.graph.places(method):
                outer = method_around(facts, call) if isinstance(call, ast.Call) else None
                if outer is not None:
                    todo.append(outer)
                elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                    found |= self._named(facts, call.func.value)
        return frozenset(found)

    def _compiling(self, compilation: Compilation) -> Scope | None:
        """The method that compiles a method of its own object."""
        given = compilation.given
        return compilation.facts.own_object(given.value) if isinstance(given, ast.Attribute) else None

    def _objects(self, facts: FileFacts, call: ast.Call, classes: frozenset[str] | None) -> frozenset[str] | None:
        """The classes of the objects whose method is called, given those of the object whose method calls it.

        Of a class that is only declared it is not known which of those that derive from it are compiled.
        """
        if method_around(facts, call) is not None:
            return classes
        if isinstance(call.func, ast.Attribute):
            bound = self._named(facts, call.func.value)
            if any(self.project.method(cls, call.func.attr) is not None for cls in bound):
                return bound
        return self._named(facts, call.func) or None

    def _named(self, facts: FileFacts, node: ast.expr) -> frozenset[str]:
        """The classes of the project that an expression is known to be an object of."""
        names = frozenset(self.compilations.values.of(facts, node).name.split("|"))
        return names.intersection(self.project.classes)

    def _runs_on(self, classes: frozenset[str] | None, method: Scope) -> bool:
        """Whether a function may run on an object of one of these classes; any that belongs to no class may."""
        if classes is None or method.method_of is None:
            return True
        return any(self.project.inherits(cls, method) for cls in classes)

    def _entering(self, compilation: Compilation) -> list[tuple[FileFacts, ast.Call]]:
        """The calls that are known to run what a compilation compiled."""
        found = ((facts, node, facts.parent.get(node)) for facts, node in self.holders.of_compiled(compilation))
        return [(facts, above) for facts, node, above in found if isinstance(above, ast.Call) and above.func is node]

    def _is_left_out(self, scope: Scope, node: ast.AST, entering: Iterable[tuple[FileFacts, ast.Call]]) -> bool:
        """Whether all calls of what is compiled leave a branch out: ``0 if cache is None else cache.at()``."""
        skip = int(scope.method_of is not None)
        callers = [Caller(facts, call, skip) for facts, call in entering]
        tests = arms(scope.file, node) if callers else ()
        found = (choice for test, truth in tests for choice in choices(self.project, scope.file, test, truth))
        values = self.compilations.values
        return any(not any(choice.allows(caller, values) for caller in callers) for choice in found)

    def _is_any(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether what is called is a module of a class that are not known: ``net: nn.Module``."""
        value = self.compilations.values.of(facts, node)
        return value.kind is Kind.MODULE and self.project.classes.keys().isdisjoint(value.name.split("|"))

    def _is_given(self, call: ast.Call, target: Scope, reached: dict[Scope, Compilation]) -> bool:
        """Of a call of a parameter, whether compiled code passes the function for it: it holds it, or calls with it."""
        callers = self.graph.via.get((call, target))
        if callers is None:
            return True
        holder = target.parent.function if target.parent is not None else None
        if holder is not None and holder.kind == "function":
            return holder in reached
        return any(caller.facts.scope_of(caller.call).function in reached for caller in callers)

    def _is_traced(self, scope: Scope) -> bool:
        """Whether a function called by compiled code is traced too."""
        if scope.kind != "function" or scope.name == "__init__":
            return False
        if any(self.project.qualified(scope.file, node) in _OUTSIDE for node in decorators(scope.node)):
            return False
        return not any(_is_off(node) for node in getattr(scope.node, "decorator_list", ()))


def _is_off(node: ast.expr) -> bool:
    """``@torch.compile(disable=True)``."""
    if not isinstance(node, ast.Call) or not dotted(node.func).endswith("compile"):
        return False
    given = (keyword.value for keyword in node.keywords if keyword.arg == "disable")
    return any(not isinstance(value, ast.Constant) or bool(value.value) for value in given)


def _asks(facts: FileFacts, node: ast.AST) -> bool:
    """Whether a condition around a node asks whether the code is being compiled."""
    for _, above in facts.climb(node, *FUNCTIONS):
        if isinstance(above, (ast.If, ast.IfExp, ast.BoolOp)):
            parts = walk(above if isinstance(above, ast.BoolOp) else above.test)
            if any(map(asks_for_tracing, parts)):
                return True
    return False
