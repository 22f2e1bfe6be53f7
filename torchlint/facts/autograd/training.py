"""Which modules optimizers move, which are frozen, and which are brought up to date by copying parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint.facts.autograd.origins import ModuleOrigin, Tracer
from torchlint.facts.code.alike import alike
from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import INSIDE, Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.models import function_names, method_names
from torchlint.rule import Kind

_OPTIMIZER = regex(r"optim|adam|sgd|rmsprop|adagrad|adadelta|lion|lamb|muon|lbfgs|soap|shampoo", re.IGNORECASE)
_GIVING = method_names(gives="parameters")
_PASSING = function_names("builtins itertools itertools.chain", elements=("all", "some"))
_COPYING = frozenset({"copy_", "lerp_", "mul_", "add_", "set_"})
_GRADIENTS = ("grad", "_grad")
_WORDS = (b"parameters", b"requires_grad", b"state_dict", b"optim", b"zero_grad")

Place = tuple[FileFacts, ast.expr]


@dataclass(slots=True)
class ModuleUses:
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
        """Record that something moves these modules."""
        for origin in origins:
            self.trained.setdefault(origin, set()).add(mover)

    def copy(self, origins: Iterable[ModuleOrigin], sources: Iterable[ModuleOrigin]) -> None:
        """Record that these modules are given the parameters of others."""
        given = frozenset(sources)
        for origin in origins:
            self.copied.setdefault(origin, set()).update(given)


@dataclass(eq=False, slots=True)
class Reader:
    """Reads the table off a project."""

    project: Project
    values: Values
    tracer: Tracer
    sources: Sources
    _flow: ValueFlow[Place | None] = field(init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=None)

    def table(self) -> ModuleUses:
        """Return the table of what all files of the project do with modules; made once."""
        table = ModuleUses()
        for facts in self.project.files.values():
            text = facts.source.utf8
            relevant = any(word in text for word in _WORDS)
            for scope in facts.scopes if relevant else ():
                for call in scope.calls:
                    self._call(table, facts, call)
            for node in facts.nodes(ast.Attribute) if b".grad" in text and b"parameters" in text else ():
                if node.attr in _GRADIENTS and isinstance(node.value, ast.Name):
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

    def _want(self, table: ModuleUses, facts: FileFacts, parameter: ast.expr) -> None:
        """``p.grad`` in a loop over the parameters of a module."""
        for place in self.modules(facts, parameter):
            if place is not None:
                table.wanted.update(self.tracer.of(*place))

    def _handed_over(self, table: ModuleUses, facts: FileFacts, binding: Binding) -> None:
        """``shared_param.grad = param.grad``: gradients of a worker's module that another one's optimizer applies."""
        given = [part for part in walk(binding.value) if isinstance(part, ast.Attribute)] if binding.value else []
        for part in given:
            if part.attr in _GRADIENTS and isinstance(part.value, ast.Name):
                for place in self.modules(facts, part.value):
                    if place is not None:
                        table.train(self.tracer.of(*place), binding.stmt)

    def _call(self, table: ModuleUses, facts: FileFacts, call: ast.Call) -> None:
        func = call.func
        last = last_name(func)
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
        elif _OPTIMIZER.search(last) or isinstance(func, (ast.Call, ast.Subscript)):  # also one out of a table
            self._optimizer(table, facts, call, torch=(self.project.qualified(facts, func) or "").startswith("torch."))

    def _differentiated(self, table: ModuleUses, facts: FileFacts, call: ast.Call) -> None:
        """``torch.autograd.grad(loss, net.parameters())``: someone moves them by hand, as natural gradients do."""
        given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "inputs")]
        for place in (place for argument in given for place in self.modules(facts, argument)):
            if place is not None:
                table.train(self.tracer.of(*place), call)

    def _optimizer(self, table: ModuleUses, facts: FileFacts, call: ast.Call, *, torch: bool) -> None:
        given = [*call.args, *(k.value for k in call.keywords if k.arg in ("params", None))]
        for argument in given[:2]:
            for place in self.modules(facts, argument):
                if place is None:
                    if torch and argument is given[0]:
                        table.open.add(facts.path)
                    continue
                table.train(self.tracer.of(*place), call)

    def _asked(self, table: ModuleUses, facts: FileFacts, call: ast.Call, module: ast.expr) -> None:
        """``net.requires_grad_(False)``, also where ``net`` is made in the same expression and then bound."""
        value = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
        self._requires_grad(table, (facts, module), value)
        into = self._frozen_or_thawed(table, value)
        into.update(self.tracer.bound(facts, call))

    @staticmethod
    def _frozen_or_thawed(table: ModuleUses, value: ast.expr | None) -> set[ModuleOrigin]:
        off = isinstance(value, ast.Constant) and value.value is False
        return table.frozen if off else table.thawed

    def _requires_grad(self, table: ModuleUses, place: Place, value: ast.expr | None) -> None:
        facts, node = place
        places = [place] if self.values.of(facts, node).kind is Kind.MODULE else list(self.modules(facts, node))
        into = self._frozen_or_thawed(table, value)
        for found in places:
            if found is not None:
                into.update(self.tracer.of(*found))

    def _loaded(self, table: ModuleUses, facts: FileFacts, receiver: ast.expr, call: ast.Call) -> None:
        """``target.load_state_dict(net.state_dict())`` copies, also by a name or an attribute."""
        for file, source in self._held(facts, call.args[0]) if call.args else ():
            match source:
                case ast.Call(func=ast.Attribute(value=module, attr="state_dict")) if not alike(module, receiver):
                    table.copy(self.tracer.of(facts, receiver), self.tracer.of(file, module))

    def _held(self, facts: FileFacts, node: ast.expr) -> Iterator[Place]:
        """What a name or an attribute may hold, else the expression itself."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            yield facts, node
            return
        for source in self.sources.of(Spot(facts, node)):
            if isinstance(source, Spot) and not source.path and isinstance(source.node, ast.expr):
                yield source.facts, source.node

    def _copied(self, table: ModuleUses, facts: FileFacts, node: ast.expr, given: Iterable[ast.expr]) -> None:
        """``target_param.data.copy_(...)`` in a loop over parameters, and what is ``given``."""
        names = [part for value in given for part in walk(value) if isinstance(part, ast.Name)]
        others = [name for name in names if not isinstance(node, ast.Name) or name.id != node.id]
        sources = {origin for name in others for origin in self._looped(facts, name)}
        table.copy(self._looped(facts, node), sources)

    def _looped(self, facts: FileFacts, node: ast.expr) -> Iterator[ModuleOrigin]:
        """The modules over whose parameters the loop goes that binds a name."""
        bindings = self.project.reaching(facts, node).bindings if isinstance(node, ast.Name) else ()
        for place in self.modules(facts, node) if all(each.how is Bind.ELEMENT for each in bindings) else ():
            if place is not None:
                yield from self.tracer.of(*place)

    # parameters of modules ------------------------------------------------------------------------------------------

    def modules(self, facts: FileFacts, node: ast.expr) -> Iterable[Place | None]:
        """Yield the modules whose parameters an expression holds; ``None`` for what is not understood."""
        return self._flow.ends(facts, node, INSIDE)

    def _step(self, spot: Spot) -> Iterator[Spot | Place | None]:
        """From what holds parameters to what they were taken from."""
        match spot.node:
            case ast.Call(func=ast.Attribute(value=module, attr=attr) as func) if attr in _GIVING:
                own = self.project.qualified(spot.facts, func) or ""
                yield (spot.facts, module) if own not in self.project.functions else None
            case ast.Call(func=func, args=given) if (self.project.qualified(spot.facts, func) or "") in _PASSING:
                yield from (spot.same(each, Label.ELEMENT) for each in given)
            case ast.Dict(keys=keys, values=values) if spot.path == (INSIDE,):
                groups = zip(keys, values, strict=True)
                yield from (spot.same(each, Label.ITEM) for key, each in groups if _is_params(key))
            case ast.Call() as call if not self.sources.graph.callees.get(call):
                yield from self.sources.crossing(spot, frozenset(Label), None)
            case _:
                for source in self.sources.of(spot):
                    if isinstance(source, Spot):
                        yield source
                    elif isinstance(source, Binding) and source.how is not Bind.PARAM:
                        yield None


def _data_of(node: ast.expr) -> ast.expr:
    """A parameter without its ``.data``."""
    return node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node


def _is_params(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == "params"
