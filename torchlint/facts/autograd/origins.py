"""Which module an expression means: followed through names, parameters, attributes and wrappers to where it is made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import part_of, stores_of, unpacked
from torchlint.facts.code.decorating import is_property
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.reach import MOST_BINDINGS, Reaching
from torchlint.facts.code.solver import Solver
from torchlint.facts.code.tree import forms_of, receiver_of
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import MOST_KEYS, Spot
from torchlint.facts.values.torch_objects import KEEPING
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import last_names
from torchlint.rule import Kind

# Methods that give the parts of a module, and functions that wrap one.
_CHILDREN = frozenset({"values", "children", "modules"})
_WRAPPERS = last_names(wraps="module")
# More origins than any module has: they multiply where a function calls itself with the parts of its argument.
_MOST = 128


@dataclass(frozen=True, slots=True)
class ModuleOrigin:
    """A module by where it comes from.

    Attributes:
        root: the class whose instance it belongs to (``self``), the binding or the expression that makes it.
        path: attributes and constant keys from there to the module.
        facts: the file of the root. made: the expression that makes the root, where there is one.
    """

    root: Scope | Binding | ast.expr
    path: tuple[str, ...]
    facts: FileFacts
    made: ast.expr | None = None

    def part(self, name: str) -> ModuleOrigin:
        """Return the origin of an attribute or key of this module."""
        return ModuleOrigin(self.root, (*self.path, name), self.facts, self.made)

    @property
    def deep(self) -> bool:
        """Whether its access path is longer than any that is followed: only what contains itself has such ones."""
        return len(self.path) > MOST_KEYS


Origins = frozenset[ModuleOrigin]
NOWHERE: Origins = frozenset()
"""Of a module that comes from somewhere unknown."""


@dataclass(eq=False, slots=True)
class Tracer(Fact):
    """Answers where modules come from, with a memory."""

    project: Project
    graph: CallGraph
    values: Values
    sources: Sources
    _solver: Solver[tuple[FileFacts, ast.expr | Reaching | Binding], Origins] = field(init=False)
    _views: dict[ModuleOrigin, tuple[tuple[str, tuple[str, ...]], ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._solver = Solver(lambda question: self._limited(*question), NOWHERE)

    def of(self, facts: FileFacts, node: ast.expr) -> Origins:
        """Return all origins that an expression may have; none if one is not known."""
        return self._solver.ask((facts, node)) or NOWHERE

    def _all(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> Origins:
        return NOWHERE.union(*(self.of(facts, node) for node in nodes))

    def _limited(self, facts: FileFacts, node: ast.expr | Reaching | Binding) -> Origins:
        found = self._answer(facts, node)
        return found if len(found) <= _MOST else NOWHERE

    def _answer(self, facts: FileFacts, node: ast.expr | Reaching | Binding) -> Origins:
        if isinstance(node, Reaching):
            return self._bound(facts, node)
        if isinstance(node, Binding):
            return self._parameter(node)
        if isinstance(node, ast.Name):
            return self._name(facts, node)
        if isinstance(node, ast.Attribute):
            return self._attribute(facts, node)
        if isinstance(node, ast.Subscript):
            return self._item(facts, node)
        if isinstance(node, ast.Call):
            return self._call(facts, node)
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._all(facts, node.elts)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self.of(facts, node.elt)
        return self._all(facts, forms_of(node))

    def bound(self, facts: FileFacts, node: ast.Call) -> Origins:
        """Return what a call that makes a module is bound to, perhaps through methods that return the module."""
        made = receiver_of(node, KEEPING)
        top: ast.AST = node
        parent = facts.parent.get(top)
        while isinstance(parent, ast.Attribute) and parent.attr in KEEPING:
            top = facts.parent[parent]
            parent = facts.parent.get(top)
        if not isinstance(made, ast.Call) or not isinstance(parent, ast.Assign) or parent.value is not top:
            return NOWHERE
        found = NOWHERE
        for target in parent.targets:
            if isinstance(target, ast.Attribute):
                found |= self.of(facts, target)
            elif isinstance(target, ast.Name):
                bindings = facts.scope_of(target).function.bindings.get(target.id, ())
                own = (self._binding(facts, binding) for binding in bindings if binding.stmt is parent)
                found = found.union(*own)
        return found

    # names ----------------------------------------------------------------------------------------------------------

    def _name(self, facts: FileFacts, node: ast.Name) -> Origins:
        reach = self.project.reaching(facts, node)
        if len(reach.bindings) > MOST_BINDINGS:  # many uses have them in common
            return self._solver.ask((facts, reach)) or NOWHERE
        return self._bound(facts, reach)

    def _bound(self, facts: FileFacts, reach: Reaching) -> Origins:
        return NOWHERE.union(*(self._binding(facts, binding) for binding in reach.bindings))

    def _binding(self, facts: FileFacts, binding: Binding) -> Origins:
        if binding.how is Bind.PARAM:  # all reads of it have the calls in common
            return self._solver.ask((facts, binding)) or NOWHERE
        if binding.how is Bind.IMPORT:
            return self._imported(facts, binding)
        if binding.value is None:
            return NOWHERE
        if binding.how is Bind.ELEMENT:
            return self.element(facts, binding)
        if binding.how is not Bind.ASSIGN:
            return NOWHERE
        if binding.path:
            return self._unpacked(facts, binding, binding.value)
        return self._assigned(facts, binding, binding.value)

    def _assigned(self, facts: FileFacts, binding: Binding, value: ast.expr) -> Origins:
        """What is bound to a new object comes from the binding; another name for an old one from there."""
        made = receiver_of(value, KEEPING)
        if isinstance(made, ast.Call) and not _wraps(made):
            return self._returned(made) | {ModuleOrigin(binding, (), facts, value)} | self._beside(facts, binding)
        if isinstance(made, ast.Constant):
            return NOWHERE
        if isinstance(made, (ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.DictComp)):
            return self.of(facts, made) | {ModuleOrigin(binding, (), facts, value)}
        return self.of(facts, value)

    def _beside(self, facts: FileFacts, binding: Binding) -> Origins:
        """The attributes that are bound to the same object: ``self.actor = self.critic = Net()``."""
        stmt = binding.stmt
        targets = stmt.targets if isinstance(stmt, ast.Assign) and len(stmt.targets) > 1 and not binding.path else ()
        return self._all(facts, [target for target in targets if isinstance(target, ast.Attribute)])

    def _unpacked(self, facts: FileFacts, binding: Binding, value: ast.expr) -> Origins:
        """``a, b = x, y`` or ``a, b = accelerator.prepare(x, y)``, else a part of what a call gives."""
        whole: ast.expr = value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "prepare":
            whole = ast.Tuple(value.args)
        part = part_of(whole, binding.path)
        return frozenset({ModuleOrigin(binding, (), facts)}) if part is None else self._assigned(facts, binding, part)

    def element(self, facts: FileFacts, binding: Binding) -> Origins:
        """Return the elements of what is iterated: ``for q, target in zip(self.qs, self.targets)``."""
        assert binding.value is not None
        spot = self.sources.drawn(Spot(facts, binding.value, (None, *binding.path)))
        over, path = spot.node, spot.path[1:]
        if isinstance(over, ast.Call):
            method = over.func if isinstance(over.func, ast.Attribute) else None
            pairs = method is not None and method.attr == "items" and path == (1,)
            if method is None or not (pairs or (method.attr in _CHILDREN and not path)):
                return NOWHERE
            return self.of(facts, method.value)
        return NOWHERE if path else self.of(facts, over)

    def _parameter(self, binding: Binding) -> Origins:
        function = binding.scope
        if function is None:
            return NOWHERE
        if function.self_name == binding.target and "classmethod" not in function.decorator_names:
            owner = function.method_of
            return frozenset({ModuleOrigin(owner, (), owner.file)}) if owner is not None else NOWHERE
        calls = self.graph.arguments(function, binding.target)
        found = NOWHERE.union(*(self.of(caller.facts, node) for caller, node in calls if node is not None))
        return found or frozenset({ModuleOrigin(binding, (), function.file)})

    def _imported(self, facts: FileFacts, binding: Binding) -> Origins:
        found = self.sources.imported(facts, binding)
        return NOWHERE.union(*(self._binding(file, each) for file, each in found if each.how is Bind.ASSIGN))

    # attributes and items -------------------------------------------------------------------------------------------

    def _attribute(self, facts: FileFacts, node: ast.Attribute) -> Origins:
        base = self.of(facts, node.value)
        if node.attr in ("module", "unwrapped"):
            return base  # of a wrapper for data parallel training
        value = self.values.of(facts, node.value)
        found = set(_parts(base, node.attr))
        if value.kind in (Kind.INSTANCE, Kind.MODULE) and value.name:
            for cls in value.name.split("|"):
                found.update(self._aliases(cls, node.attr))
        return frozenset(found)

    def _aliases(self, cls: str, attr: str) -> Iterator[ModuleOrigin]:
        """What an attribute holds that was made elsewhere: handed to the class, or given by a property."""
        for store in stores_of(self.project, cls, attr):
            value, scope = store.binding.value, store.scope
            if value is None or store.binding.how is not Bind.ASSIGN:
                continue
            value = unpacked(value, store.binding.path)
            if isinstance(receiver_of(value, KEEPING), (ast.Name, ast.Attribute, ast.Subscript)) or _wraps(value):
                yield from self.of(scope.file, value)
            yield from self._beside(scope.file, store.binding)
        for method in self.project.implementations(cls, attr):
            if is_property(method):
                yield from self._all(method.file, method.results)

    def _item(self, facts: FileFacts, node: ast.Subscript) -> Origins:
        base = self.of(facts, node.value)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, (str, int)):
            return frozenset(_parts(base, f"[{node.slice.value}]"))
        return base

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self, facts: FileFacts, node: ast.Call) -> Origins:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in KEEPING:
            return self.of(facts, func.value)
        if _wraps(node):
            return self.of(facts, node.args[0])
        return self._returned(node) | {ModuleOrigin(node, (), facts, node)}

    def _returned(self, node: ast.Call) -> Origins:
        """What a project function hands out that belongs to someone: ``return self.model``."""
        targets = [target for target in self.graph.sure(node) if target.name != "__init__"]
        given = ((target.file, value) for target in targets for value in target.results)
        return NOWHERE.union(*(self.of(file, value) for file, value in given if isinstance(value, ast.Attribute)))

    # comparing ------------------------------------------------------------------------------------------------------

    def views(self, origin: ModuleOrigin) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return an origin as a part of an instance of a class: class and path, for every class on the way to it."""
        found = self._views.get(origin)
        if found is None:
            cuts = range(len(origin.path) + 1)
            found = tuple((cls, origin.path[cut:]) for cut in cuts for cls in self.classes(origin, cut))
            self._views[origin] = found
        return found

    def made(self, origin: ModuleOrigin) -> list[tuple[FileFacts, ast.expr | None]]:
        """Return the expressions that make a module: its own, or those stored in the attribute that it is."""
        if not origin.path:
            return [(origin.facts, origin.made)]
        return [
            (store.scope.file, store.binding.value)
            for cls, rest in self.views(origin)
            if len(rest) == 1
            for store in stores_of(self.project, cls, rest[0])
        ]

    def classes(self, origin: ModuleOrigin, cut: int) -> list[str]:
        """Return the qualified names of the project's classes of the first ``cut`` steps of an origin."""
        if isinstance(origin.root, Scope):
            names = [origin.root.dotted]
        elif origin.made is not None:
            names = self.values.of(origin.facts, origin.made).name.split("|")
        else:
            names = []
        for step in origin.path[:cut]:
            names = [part for name in names if name for part in self.values.attribute(name, step).name.split("|")]
        return [name for name in names if name in self.project.classes]


def _parts(base: Origins, name: str) -> Iterator[ModuleOrigin]:
    """The origins of an attribute or key of a module, as far as access paths are followed."""
    return (part for origin in base if not (part := origin.part(name)).deep)


def _wraps(node: ast.expr) -> bool:
    """Whether a call gives its argument in another dress: ``torch.compile(net)``."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    func = node.func
    last = last_name(func)
    return last in _WRAPPERS and isinstance(
        receiver_of(node.args[0], KEEPING), (ast.Name, ast.Attribute, ast.Subscript)
    )
