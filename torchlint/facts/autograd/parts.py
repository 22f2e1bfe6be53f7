"""Which modules of torch a module is made of, at any depth."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.additions import Additions
from torchlint.facts.code.callers import methods
from torchlint.facts.code.hierarchy import is_external_module
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of, walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import INSIDE, Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.values.containers import HOLDING
from torchlint.facts.values.torch_objects import KEEPING
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import Kind

_WALKING = function_names("builtins", elements=("all", "pairs"))
_CHILDREN = frozenset({"values", "items", "children", "modules"})
_PLAIN = frozenset({"Module", "LightningModule"})
_WORDS = frozenset({"int", "float", "bool", "str", "list", "tuple", "Sequence", "List", "Tuple", "Optional"})
_MODULES = (Kind.MODULE, Kind.LIST)
_WRITTEN = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)
_LOST = frozenset({""})
_DATA = frozenset({Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.TENSOR, Kind.NDARRAY, Kind.DEVICE, Kind.DTYPE, Kind.SIZE})


@dataclass(eq=False, slots=True)
class Parts(Fact):
    """Answers what modules are made of."""

    project: Project
    values: Values
    sources: Sources
    additions: Additions = field(init=False)
    _flow: ValueFlow[str] = field(init=False)
    _whole: dict[ast.expr, frozenset[str] | None] = field(default_factory=dict)
    _known: dict[ast.expr, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.additions = Additions(self.project, self.sources.graph, self.values)
        self._flow = ValueFlow(self._step, lost="")

    def of(self, facts: FileFacts, node: ast.expr) -> frozenset[str] | None:
        """Return the qualified names of all library modules in a module, ``None`` if some part is not known."""
        found = self.classes(facts, node)
        return None if found is None else frozenset(filter(is_external_module, found)) - self.project.classes.keys()

    def classes(self, facts: FileFacts, node: ast.expr) -> frozenset[str] | None:
        """Return the same as ``of``, with the project's own classes, and functions of torch that are kept as layers."""
        if node not in self._whole:
            found = frozenset(self._flow.trace(Spot(facts, node, (INSIDE,)), stop=_LOST).ends)
            self._whole[node] = None if "" in found or not found else found
        return self._whole[node]

    def known(self, facts: FileFacts, node: ast.expr) -> frozenset[str]:
        """Return the known ones of ``classes``, where other parts may be unknown."""
        if node not in self._known:
            self._known[node] = frozenset(self._flow.ends(facts, node, INSIDE)) - _LOST
        return self._known[node]

    def _step(self, spot: Spot) -> Iterator[Spot | str]:
        """From a module to what it is made of; an empty word for what is not known."""
        facts, node = spot.facts, spot.node
        if isinstance(node, ast.Call):
            yield from self._called(spot, node)
        elif not isinstance(node, (ast.Name, ast.Attribute)):
            yield from self._held(spot)
        elif (name := self.project.qualified(facts, node) or "") in self.project.classes:
            yield from self._instance(name)
        elif name.startswith("torch.") and (is_external_module(name) or name.rpartition(".")[2].islower()):
            yield name
        elif not name.startswith(("torch.", "builtins.", "numpy.", "math.")):
            yield from self._held(spot)

    def _held(self, spot: Spot) -> Iterator[Spot | str]:
        """What an expression of no known name holds; one that gives no module holds nothing."""
        found = list(self.sources.of(spot))
        for source in found:
            if isinstance(source, Spot):
                yield source
            elif isinstance(source, Binding) and source.how is Bind.PARAM and source.scope is not None:
                yield from self._parameter(source, source.scope)
            else:
                yield ""
        if isinstance(spot.node, ast.Attribute):
            owner = self.values.of(spot.facts, spot.node.value)
            for cls in owner.name.split("|") if found else ():
                yield from (_content(*given) for given in self.additions.to(cls, spot.node.attr))
        if not found and not isinstance(spot.node, _WRITTEN):
            yield from self._unknown(spot)

    def _parameter(self, binding: Binding, function: Scope) -> Iterator[Spot | str]:
        """What a parameter is made of that no argument gives."""
        if function.self_name == binding.target and function.method_of is not None:
            owner = function.method_of.dotted
            for cls in (owner, *(derived.dotted for derived in self.project.descendants(owner))):
                if self.project.inherits(cls, function):
                    yield from self._instance(cls)
        elif binding.value is None and not _promises_data(binding.annotation) and not self._called_with(function):
            yield ""

    def _called_with(self, function: Scope) -> bool:
        return bool(self.sources.graph.callers.get(function))

    def _called(self, spot: Spot, call: ast.Call) -> Iterator[Spot | str]:
        facts, func = spot.facts, call.func
        name = self.project.qualified(facts, func) or ""
        callee = self.values.of(facts, func)
        if name in self.project.classes:
            yield from self._instance(name)
        elif is_external_module(name) and name.startswith("torch.nn."):
            yield name
            yield from self._wrapped(spot, call, name)
        elif name in ("copy.deepcopy", "torch.compile") and call.args:
            yield spot.same(call.args[0])
        elif isinstance(func, ast.Attribute) and (func.attr in KEEPING or (func.attr in _CHILDREN and not call.args)):
            yield spot.same(func.value, Label.RECEIVER)
        elif name in _WALKING:
            yield from (spot.same(each, Label.ELEMENT) for each in call.args)
        elif any(isinstance(source, Spot) for source in self.sources.of(spot)):
            yield from self._held(spot)
        elif callee.kind is Kind.CLASS and callee.name in self.project.classes:
            yield from self._instance(callee.name)
        elif isinstance(func, (ast.Name, ast.Subscript)):
            yield spot.same(func)  # ``activation()`` of a parameter that names a class of torch
        else:
            yield from self._unknown(spot)

    def _unknown(self, spot: Spot) -> Iterator[str]:
        """The empty word, unless the value of an expression is not a module."""
        if self.values.of(spot.facts, spot.node).kind not in _DATA:
            yield ""

    def _wrapped(self, spot: Spot, call: ast.Call, name: str) -> Iterator[Spot]:
        """What a module of torch is given; wrappers and containers are made of that."""
        for given in arguments_of(call):
            if name.rpartition(".")[2] in HOLDING or self.values.of(spot.facts, given).kind in _MODULES:
                yield spot.same(given, Label.ARGUMENT)

    # classes --------------------------------------------------------------------------------------------------------

    def _instance(self, cls: str) -> Iterator[Spot | str]:
        """All parts of an instance: what its attributes hold, what is added by name, and its foreign bases."""
        yield cls
        for base in self.project.ancestry(cls):
            scope = self.project.classes.get(base)
            if scope is not None:
                for name in scope.stores:
                    yield from self._kept(scope, name)
                for call in (call for method in methods(scope) for call in method.calls):
                    if isinstance(call.func, ast.Attribute) and call.func.attr in ("add_module", "register_module"):
                        yield from (_content(scope.file, given) for given in call.args[1:2])
                    elif isinstance(call.func, ast.Name) and call.func.id == "setattr":
                        yield ""
            elif not base.startswith(("builtins.", "abc.", "typing.")) and base.rpartition(".")[2] not in _PLAIN:
                yield base if base.startswith("torch.nn.") else ""

    def _kept(self, scope: Scope, name: str) -> Iterator[Spot]:
        """What an attribute is made of, where it may be a module at all."""
        value = self.values.attribute(scope.dotted, name)
        if value.kind not in (*_MODULES, Kind.TUPLE, Kind.DICT) and (value.known or not _is_called(scope, name)):
            return
        given = [(scope.file, store.binding.value) for store in scope.stores[name]]
        if value.kind is Kind.MODULE:
            given += self.additions.to(scope.dotted, name)
        yield from (_content(file, node) for file, node in given if node is not None)


def _content(facts: FileFacts, node: ast.expr) -> Spot:
    """What an attribute holds, at any depth."""
    return Spot(facts, node, (INSIDE,), label=Label.FIELD)


def _is_called(scope: Scope, name: str) -> bool:
    """Whether a class calls an attribute, or goes through what it holds."""
    for call in (call for method in methods(scope) for call in method.calls):
        func = call.func.value if isinstance(call.func, ast.Subscript) else call.func
        if isinstance(func, ast.Attribute) and func.attr == name:
            return True
    return False


def _promises_data(annotation: ast.expr | None) -> bool:
    """Whether an annotation names numbers or texts."""
    words = {part.id for part in walk(annotation) if isinstance(part, ast.Name)} if annotation is not None else set()
    return bool(words) and words <= _WORDS
