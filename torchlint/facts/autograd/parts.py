"""Which modules of torch a module is made of, at any depth."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.additions import Additions
from torchlint.facts.autograd.origins import SAME
from torchlint.facts.code.callers import methods, passed, stores_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import AttributeStore, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.project import Project, is_external_module
from torchlint.facts.code.solver import Solver
from torchlint.facts.code.tree import walk
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, last_names
from torchlint.rule import Kind

_Question = str | tuple[FileFacts, ast.expr]
_Found = frozenset[str]
_NOTHING: _Found = frozenset()
_UNKNOWN: _Found = frozenset({""})
_CONTAINERS = last_names(holds="modules")
_WALKING = function_names("builtins", elements=("all", "pairs"))
_GOING_THROUGH = frozenset({"values", "items", "children", "modules"})
_PLAIN = frozenset({"Module", "LightningModule"})
_DATA = frozenset({Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.TENSOR, Kind.NDARRAY, Kind.DEVICE, Kind.DTYPE, Kind.SIZE})


@dataclass(eq=False, slots=True)
class Parts(Fact):
    """Answers what modules are made of, with a memory."""

    project: Project
    graph: CallGraph
    values: Values
    additions: Additions = field(init=False)
    _solver: Solver[_Question, _Found] = field(init=False)

    def __post_init__(self) -> None:
        self.additions = Additions(self.project, self.graph, self.values)
        self._solver = Solver(self._answer, _UNKNOWN)

    def of(self, facts: FileFacts, node: ast.expr) -> frozenset[str] | None:
        """Qualified names of all library modules in a module, ``None`` if some part is not known."""
        found = self.classes(facts, node)
        return None if found is None else frozenset(filter(is_external_module, found)) - self.project.classes.keys()

    def classes(self, facts: FileFacts, node: ast.expr) -> frozenset[str] | None:
        """As ``of``, with the project's own classes, and functions of torch that are kept as layers."""
        found = self._solver.ask((facts, node)) or _UNKNOWN
        return None if "" in found else found

    def known(self, facts: FileFacts, node: ast.expr) -> frozenset[str]:
        """As ``classes``, where some parts may be unknown: those that are not."""
        return (self._solver.ask((facts, node)) or _UNKNOWN) - _UNKNOWN

    def _answer(self, question: _Question) -> _Found:
        if isinstance(question, str):
            return self._class(question)
        return self._expression(*question)

    def _ask(self, facts: FileFacts, node: ast.expr) -> _Found:
        return self._solver.ask((facts, node)) or _NOTHING

    def _all(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> _Found:
        return _NOTHING.union(*(self._ask(facts, node) for node in nodes))

    # expressions ----------------------------------------------------------------------------------------------------

    def _expression(self, facts: FileFacts, node: ast.expr) -> _Found:
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._all(facts, node.elts)
        if isinstance(node, ast.Dict):
            return self._all(facts, node.values)
        if isinstance(node, ast.DictComp):
            return self._ask(facts, node.value)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._ask(facts, node.elt)
        if isinstance(node, ast.BinOp):
            return self._all(facts, [node.left, node.right])
        if isinstance(node, (ast.Starred, ast.Subscript, ast.NamedExpr)):
            return self._ask(facts, node.value)
        if isinstance(node, ast.IfExp):
            return self._all(facts, [node.body, node.orelse])
        if isinstance(node, ast.Call):
            return self._call(facts, node)
        if isinstance(node, ast.Attribute):
            return self._attribute(facts, node)
        if isinstance(node, ast.Name):
            return self._name(facts, node)
        return _NOTHING if isinstance(node, (ast.Constant, ast.JoinedStr)) else self._by_value(facts, node)

    def _by_value(self, facts: FileFacts, node: ast.expr) -> _Found:
        """What is left is no module, or nobody knows."""
        return _NOTHING if self.values.of(facts, node).kind in _DATA else _UNKNOWN

    def _call(self, facts: FileFacts, node: ast.Call) -> _Found:
        name = self.project.qualified(facts, node.func) or ""
        if name in self.project.classes:
            return self._solver.ask(name) or _NOTHING
        if is_external_module(name) and name.startswith("torch.nn."):
            return self._library(facts, name, node)
        if name in ("copy.deepcopy", "torch.compile") and node.args:
            return self._ask(facts, node.args[0])
        if isinstance(node.func, ast.Attribute) and node.func.attr in SAME:
            return self._ask(facts, node.func.value)
        if name in _WALKING:
            return self._all(facts, node.args)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _GOING_THROUGH and not node.args:
            return self._ask(facts, node.func.value)
        targets = self.graph.callees.get(node, ())
        if targets and node not in self.graph.weak and all(target.returns for target in targets):
            given = [(target.file, part.value) for target in targets for part in target.returns]
            return _NOTHING.union(*(self._ask(file, value) for file, value in given if value is not None))
        callee = self.values.of(facts, node.func)
        if callee.kind is Kind.CLASS and callee.name in self.project.classes:
            return self._solver.ask(callee.name) or _NOTHING
        return self._made_of_class(facts, node)

    def _made_of_class(self, facts: FileFacts, node: ast.Call) -> _Found:
        """``activation()`` of a parameter that names a class of torch, or anything else that is no module."""
        if isinstance(node.func, (ast.Name, ast.Subscript)):
            return self._ask(facts, node.func)
        return self._by_value(facts, node)

    def _library(self, facts: FileFacts, name: str, node: ast.Call) -> _Found:
        """A module of torch with those it is given; wrappers and containers are made of these."""
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if name.rpartition(".")[2] not in _CONTAINERS:
            given = [part for part in given if self.values.of(facts, part).kind in (Kind.MODULE, Kind.LIST)]
        return self._all(facts, given) | {name}

    def _name(self, facts: FileFacts, node: ast.Name) -> _Found:
        name = self.project.qualified(facts, node) or ""
        if is_external_module(name) and name.startswith("torch.nn."):
            return frozenset({name})
        if name in self.project.classes:
            return self._solver.ask(name) or _NOTHING
        if name.startswith("torch.") and name.rpartition(".")[2].islower():
            return frozenset({name})
        if name.startswith(("torch.", "builtins.", "numpy.", "math.")):
            return _NOTHING
        reach = self.project.reaching(facts, node)
        if not reach.bindings:
            return _UNKNOWN
        found = _NOTHING.union(*(self._binding(facts, binding) for binding in reach.bindings))
        grown = facts.scope_of(node).function.appends.get(node.id, ())
        return found | self._all(facts, [value for _, value in grown])

    def _binding(self, facts: FileFacts, binding: Binding) -> _Found:
        if binding.how is Bind.PARAM and binding.scope is not None:
            return self._parameter(facts, binding, binding.scope)
        if binding.how in (Bind.ASSIGN, Bind.ELEMENT, Bind.AUGMENT) and binding.value is not None:
            return self._ask(facts, _unpacked(binding, binding.value))
        if binding.how is Bind.IMPORT:
            return self._imported(facts, binding)
        return _UNKNOWN

    def _imported(self, facts: FileFacts, binding: Binding) -> _Found:
        module, _, last = self.project.canonical(facts, binding.target).rpartition(".")
        file = self.project.modules.get(module)
        if file is None:
            return _UNKNOWN
        return _NOTHING.union(*(self._binding(file, bound) for bound in file.top.bindings.get(last, ())))

    def _parameter(self, facts: FileFacts, binding: Binding, function: Scope) -> _Found:
        if function.self_name == binding.target and function.method_of is not None:
            return self._solver.ask(function.method_of.dotted) or _NOTHING
        callers = self.graph.callers.get(function, ())
        given = [(caller.facts, passed(function, binding.target, caller)) for caller in callers]
        if not callers and binding.value is None:
            return _NOTHING if _promises_data(binding.annotation) else _UNKNOWN
        found = _NOTHING.union(*(self._ask(file, node) for file, node in given if node is not None))
        if binding.value is not None and (not callers or any(node is None for _, node in given)):
            found |= self._ask(facts, binding.value)
        return found

    def _attribute(self, facts: FileFacts, node: ast.Attribute) -> _Found:
        name = self.project.qualified(facts, node) or ""
        if is_external_module(name) and name.startswith("torch.nn."):
            return frozenset({name})
        if name in self.project.classes:
            return self._solver.ask(name) or _NOTHING
        if name.startswith("torch.") and name.rpartition(".")[2].islower():
            return frozenset({name})
        owner = self.values.of(facts, node.value)
        if owner.kind not in (Kind.INSTANCE, Kind.MODULE) or not owner.name:
            return self._by_value(facts, node)
        stores = [store for cls in owner.name.split("|") for store in stores_of(self.project, cls, node.attr)]
        values = [(store.scope.file, _stored(store)) for store in stores]
        if not values:
            return self._by_value(facts, node)
        added = [given for cls in owner.name.split("|") for given in self.additions.to(cls, node.attr)]
        return _NOTHING.union(*(self._ask(file, value) for file, value in [*values, *added] if value is not None))

    # classes --------------------------------------------------------------------------------------------------------

    def _class(self, cls: str) -> _Found:
        """All parts of an instance: what its attributes hold, what is added by name, and its foreign bases."""
        found = {cls}
        for base in self.project.ancestry(cls):
            scope = self.project.classes.get(base)
            if scope is not None:
                found.update(*(self._held(scope, name) for name in scope.stores))
                found.update(*(self._added(scope, method) for method in methods(scope)))
            elif not base.startswith(("builtins.", "abc.", "typing.")) and base.rpartition(".")[2] not in _PLAIN:
                found.add(base if base.startswith("torch.nn.") else "")
        return frozenset(found)

    def _held(self, scope: Scope, name: str) -> _Found:
        """What an attribute is made of, where it may be a module at all."""
        value = self.values.attribute(scope.dotted, name)
        if value.kind in _DATA or (not value.known and not self._called(scope, name)):
            return _NOTHING
        if value.known and value.kind not in (Kind.MODULE, Kind.LIST, Kind.TUPLE, Kind.DICT):
            return _NOTHING
        values = [(scope.file, _stored(store)) for store in scope.stores[name]]
        if value.kind is Kind.MODULE:
            values += self.additions.to(scope.dotted, name)
        return _NOTHING.union(*(self._ask(file, part) for file, part in values if part is not None))

    def _called(self, scope: Scope, name: str) -> bool:
        """Whether a class calls an attribute, or goes through what it holds."""
        for method in methods(scope):
            for call in method.calls:
                func = call.func.value if isinstance(call.func, ast.Subscript) else call.func
                if isinstance(func, ast.Attribute) and func.attr == name:
                    return True
        return False

    def _added(self, scope: Scope, method: Scope) -> _Found:
        """``self.add_module(name, module)``; what ``setattr`` puts there may be anything."""
        found: set[str] = set()
        for call in method.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("add_module", "register_module"):
                found.update(self._all(scope.file, call.args[1:2]))
            elif isinstance(call.func, ast.Name) and call.func.id == "setattr":
                found.add("")
        return frozenset(found)


def _stored(store: AttributeStore) -> ast.expr | None:
    """What an attribute is given: of a tuple that is unpacked its own element."""
    return _unpacked(store.binding, store.binding.value) if store.binding.value is not None else None


def _unpacked(binding: Binding, value: ast.expr) -> ast.expr:
    for step in binding.path if binding.how is Bind.ASSIGN else ():
        if isinstance(value, (ast.Tuple, ast.List)) and -1 < step < len(value.elts):
            value = value.elts[step]
    return value


def _promises_data(annotation: ast.expr | None) -> bool:
    """Whether an annotation names numbers or texts."""
    words = {part.id for part in walk(annotation) if isinstance(part, ast.Name)} if annotation is not None else set()
    return bool(words) and words <= {
        "int",
        "float",
        "bool",
        "str",
        "list",
        "tuple",
        "Sequence",
        "List",
        "Tuple",
        "Optional",
    }
