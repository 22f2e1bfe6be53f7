"""Which modules optimizers move, which are frozen, and which are brought up to date by copying parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from torchlint.facts.autograd.origins import ModuleOrigin, Tracer
from torchlint.facts.code.callers import methods, passed, stores_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.models import function_names, method_names
from torchlint.rule import Kind

_OPTIMIZER = regex(r"optim|adam|sgd|rmsprop|adagrad|adadelta|lion|lamb|muon|lbfgs|soap|shampoo", re.IGNORECASE)
_GIVING = method_names(gives="parameters")
_PASSING = function_names("builtins itertools itertools.chain", elements=("all", "some"))
_COPYING = frozenset({"copy_", "lerp_", "mul_", "add_", "set_"})
_DEEPEST = 12
_GRADIENTS = ("grad", "_grad")
_WORDS = (b"parameters", b"requires_grad", b"state_dict", b"optim", b"zero_grad")

Place = tuple[FileFacts, ast.expr]


@dataclass(slots=True)
class Table:
    """What the project does with whole modules.

    ``trained`` says by which optimizer's constructor (or by what asks for its gradients, or hands them on); ``frozen``
    and ``thawed`` come from ``requires_grad``; ``copied`` says from which other modules one is loaded or averaged.
    ``open`` holds the files with an optimizer of parameters from somewhere unknown. ``wanted`` are the modules whose
    gradients the code clears or reads itself: it has a use for them, whoever moves the parameters.
    """

    trained: dict[ModuleOrigin, set[ast.AST]] = field(default_factory=dict)
    frozen: set[ModuleOrigin] = field(default_factory=set)
    thawed: set[ModuleOrigin] = field(default_factory=set)
    copied: dict[ModuleOrigin, set[ModuleOrigin]] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    wanted: set[ModuleOrigin] = field(default_factory=set)

    def train(self, origins: Iterable[ModuleOrigin], mover: ast.AST) -> None:
        """Note that something moves these modules."""
        for origin in origins:
            self.trained.setdefault(origin, set()).add(mover)

    def copy(self, origins: Iterable[ModuleOrigin], sources: Iterable[ModuleOrigin]) -> None:
        """Note that these modules are given the parameters of others."""
        given = frozenset(sources)
        for origin in origins:
            self.copied.setdefault(origin, set()).update(given)


@dataclass(eq=False, slots=True)
class Reader:
    """Reads the table off a project."""

    project: Project
    graph: CallGraph
    values: Values
    tracer: Tracer
    _held: dict[tuple[ast.expr, int], tuple[Place | None, ...]] = field(default_factory=dict)

    def table(self) -> Table:
        """What all files of the project do."""
        table = Table()
        for facts in self.project.files.values():
            text = facts.source.utf8
            relevant = any(word in text for word in _WORDS)
            for scope in facts.scopes if relevant else ():
                for call in scope.calls:
                    self._call(table, facts, call)
            for node in walk(facts.tree) if b".grad" in text and b"parameters" in text else ():
                if isinstance(node, ast.Attribute) and node.attr in _GRADIENTS and isinstance(node.value, ast.Name):
                    self._want(table, facts, node.value)
        for facts, target, store in self.project.outside.get("requires_grad", ()):
            self._requires_grad(table, (facts, target), store.binding.value)
        for facts, target, store in self.project.outside.get("data", ()):
            if isinstance(target, ast.Name) and store.binding.value is not None:
                self._copied(table, facts, target, [store.binding.value])
        for name in _GRADIENTS:
            for facts, _, store in self.project.outside.get(name, ()):
                self._handed_over(table, facts, store.binding)
        return table

    def _want(self, table: Table, facts: FileFacts, parameter: ast.expr) -> None:
        """``p.grad`` in a loop over the parameters of a module."""
        for place in self.modules(facts, parameter):
            if place is not None:
                table.wanted.update(self.tracer.of(*place))

    def _handed_over(self, table: Table, facts: FileFacts, binding: Binding) -> None:
        """``shared_param.grad = param.grad``: gradients of a worker's module that another one's optimizer applies."""
        given = [part for part in walk(binding.value) if isinstance(part, ast.Attribute)] if binding.value else []
        for part in given:
            if part.attr in _GRADIENTS and isinstance(part.value, ast.Name):
                for place in self.modules(facts, part.value):
                    if place is not None:
                        table.train(self.tracer.of(*place), binding.stmt)

    def _call(self, table: Table, facts: FileFacts, call: ast.Call) -> None:
        func = call.func
        last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if isinstance(func, ast.Attribute):
            if last == "requires_grad_":
                self._asked(table, facts, call, func.value)
                return
            if last == "load_state_dict":
                self._loaded(table, facts, func.value, call)
                return
            if last == "zero_grad" and self.values.of(facts, func.value).kind is Kind.MODULE:
                table.wanted.update(self.tracer.of(facts, func.value))
                return
            if last in _COPYING:
                self._copied(table, facts, _data_of(func.value), call.args)
                return
        if last == "grad" and self.project.qualified(facts, func) == "torch.autograd.grad":
            self._differentiated(table, facts, call)
        elif _OPTIMIZER.search(last) or isinstance(func, ast.Call):
            self._optimizer(table, facts, call, torch=(self.project.qualified(facts, func) or "").startswith("torch."))

    def _differentiated(self, table: Table, facts: FileFacts, call: ast.Call) -> None:
        """``torch.autograd.grad(loss, net.parameters())``: somebody moves them by hand, as natural gradients do."""
        given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "inputs")]
        for place in (place for argument in given for place in self.modules(facts, argument)):
            if place is not None:
                table.train(self.tracer.of(*place), call)

    def _optimizer(self, table: Table, facts: FileFacts, call: ast.Call, *, torch: bool) -> None:
        given = [*call.args, *(k.value for k in call.keywords if k.arg in ("params", None))]
        for argument in given[:2]:
            for place in self.modules(facts, argument):
                if place is None:
                    if torch and argument is given[0]:
                        table.open.add(facts.path)
                    continue
                table.train(self.tracer.of(*place), call)

    def _asked(self, table: Table, facts: FileFacts, call: ast.Call, module: ast.expr) -> None:
        """``net.requires_grad_(False)``, also where ``net`` is made in the same expression and then bound."""
        value = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
        self._requires_grad(table, (facts, module), value)
        into = self._frozen_or_thawed(table, value)
        into.update(self.tracer.bound(facts, call))

    @staticmethod
    def _frozen_or_thawed(table: Table, value: ast.expr | None) -> set[ModuleOrigin]:
        off = isinstance(value, ast.Constant) and value.value is False
        return table.frozen if off else table.thawed

    def _requires_grad(self, table: Table, place: Place, value: ast.expr | None) -> None:
        facts, node = place
        places = [place] if self.values.of(facts, node).kind is Kind.MODULE else list(self.modules(facts, node))
        into = self._frozen_or_thawed(table, value)
        for found in places:
            if found is not None:
                into.update(self.tracer.of(*found))

    def _loaded(self, table: Table, facts: FileFacts, receiver: ast.expr, call: ast.Call) -> None:
        """``target.load_state_dict(net.state_dict())`` copies; a checkpoint is no copy."""
        source = call.args[0] if call.args else None
        if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Attribute):
            return
        if source.func.attr == "state_dict" and ast.unparse(source.func.value) != ast.unparse(receiver):
            table.copy(self.tracer.of(facts, receiver), self.tracer.of(facts, source.func.value))

    def _copied(self, table: Table, facts: FileFacts, node: ast.expr, given: Iterable[ast.expr]) -> None:
        """``target_param.data.copy_(...)`` in a loop over parameters, and what is ``given``."""
        names = [part for value in given for part in walk(value) if isinstance(part, ast.Name)]
        others = [name for name in names if not isinstance(node, ast.Name) or name.id != node.id]
        sources = {origin for name in others for origin in self._looped(facts, name)}
        table.copy(self._looped(facts, node), sources)

    def _looped(self, facts: FileFacts, node: ast.expr) -> Iterator[ModuleOrigin]:
        """The modules over whose parameters the loop goes that binds a name."""
        bindings = self.project.reaching(facts, node).bindings if isinstance(node, ast.Name) else ()
        if any(binding.how is not Bind.ELEMENT for binding in bindings):
            return
        for place in (place for binding in bindings for place in self._of_binding(facts, binding, 0)):
            if place is not None:
                yield from self.tracer.of(*place)

    # parameters of modules ------------------------------------------------------------------------------------------

    def modules(self, facts: FileFacts, node: ast.expr, depth: int = 0) -> Sequence[Place | None]:
        """The modules whose parameters an expression holds; ``None`` for what is not understood."""
        found = self._held.get((node, depth))
        if found is None:
            found = self._held[node, depth] = tuple(dict.fromkeys(self._of_expression(facts, node, depth)))
        return found

    def _of_expression(self, facts: FileFacts, node: ast.expr, depth: int) -> Iterator[Place | None]:
        if depth > _DEEPEST:
            yield None
        elif isinstance(node, ast.Call):
            yield from self._of_call(facts, node, depth)
        elif isinstance(node, ast.BinOp):
            yield from self._several(facts, [node.left, node.right], depth)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            yield from self._several(facts, node.elts, depth)
        elif isinstance(node, ast.Dict):
            groups = zip(node.keys, node.values, strict=True)
            given = [value for key, value in groups if isinstance(key, ast.Constant) and key.value == "params"]
            yield from self._several(facts, given, depth)
        elif isinstance(node, (ast.Starred, ast.Subscript, ast.NamedExpr)):
            yield from self.modules(facts, node.value, depth + 1)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            yield from self.modules(facts, node.elt, depth + 1)
        elif isinstance(node, ast.IfExp):
            yield from self._several(facts, [node.body, node.orelse], depth)
        elif isinstance(node, ast.Name):
            for binding in self._bound(facts, node):
                yield from self._of_binding(facts, binding, depth)
            for _, grown in facts.scope_of(node).function.appends.get(node.id, ()):
                yield from self.modules(facts, grown, depth + 1)
        elif isinstance(node, ast.Attribute):
            yield from self._of_attribute(facts, node, depth)

    def _bound(self, facts: FileFacts, node: ast.Name) -> Iterator[Binding]:
        """The bindings that a name may have, of ``params += more`` with what ``params`` was before."""
        todo, seen = [node], set[Binding]()
        while todo:
            for binding in self.project.reaching(facts, todo.pop()).bindings:
                if binding not in seen:
                    seen.add(binding)
                    yield binding
                    if isinstance(binding.stmt, ast.AugAssign) and isinstance(binding.stmt.target, ast.Name):
                        todo.append(binding.stmt.target)

    def _several(self, facts: FileFacts, nodes: list[ast.expr], depth: int) -> Iterator[Place | None]:
        for node in nodes:
            yield from self.modules(facts, node, depth + 1)

    def _of_call(self, facts: FileFacts, node: ast.Call, depth: int) -> Iterator[Place | None]:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _GIVING:
            own = self.project.qualified(facts, func) or ""
            yield (facts, func.value) if own not in self.project.functions else None
            return
        if isinstance(func, ast.Attribute) and func.attr in ("values", "items", "copy"):
            yield from self.modules(facts, func.value, depth + 1)
            return
        if (self.project.qualified(facts, func) or "") in _PASSING:
            yield from self._several(facts, node.args, depth)
            return
        for target in self.graph.callees.get(node, ()):
            for given in target.returns:
                if given.value is not None:
                    yield from self.modules(target.file, given.value, depth + 1)
            return
        yield None

    def _of_binding(self, facts: FileFacts, binding: Binding, depth: int) -> Iterator[Place | None]:
        if binding.how is Bind.PARAM and binding.scope is not None:
            for caller in self.graph.callers.get(binding.scope, ()):
                node = passed(binding.scope, binding.target, caller)
                if node is not None:
                    yield from self.modules(caller.facts, node, depth + 1)
            return
        value = binding.value
        if value is None or binding.how not in (Bind.ASSIGN, Bind.ELEMENT, Bind.AUGMENT):
            yield None
            return
        for step in binding.path:
            if isinstance(value, ast.Call) and (self.project.qualified(facts, value.func) or "") == "builtins.zip":
                value = value.args[step] if -1 < step < len(value.args) else value
            elif isinstance(value, ast.Tuple) and -1 < step < len(value.elts):
                value = value.elts[step]
        yield from self.modules(facts, value, depth + 1)

    def _of_attribute(self, facts: FileFacts, node: ast.Attribute, depth: int) -> Iterator[Place | None]:
        """``self.params``, which a method of the class set and perhaps made longer."""
        owner = self.values.of(facts, node.value).name
        for cls in owner.split("|") if owner in self.project.classes else ():
            for store in stores_of(self.project, cls, node.attr):
                if store.binding.value is not None:
                    yield from self.modules(store.scope.file, store.binding.value, depth + 1)
            for scope in self.project.family(cls):
                for method in methods(scope):
                    for _, grown in method.appends.get(f"{method.self_name}.{node.attr}", ()):
                        yield from self.modules(method.file, grown, depth + 1)


def _data_of(node: ast.expr) -> ast.expr:
    """A parameter without its ``.data``."""
    return node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node
