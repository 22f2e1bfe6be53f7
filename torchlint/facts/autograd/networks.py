"""What is known of a module: whether it is trained, frozen, a target network, and its parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.origins import ModuleOrigin, Tracer
from torchlint.facts.autograd.parts import Parts
from torchlint.facts.autograd.ties import Grouped, ModuleTies, Tie
from torchlint.facts.autograd.training import ModuleUses, Reader
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Binding, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.rule import Kind, Network

_TARGET = regex(r"(^|_)(target|targ|tgt)(s|_|\d|$)|(^|_)(q|critic|actor|net|policy|model)(target|targ|tgt)s?$", re.I)


@dataclass(eq=False, slots=True)
class Networks(Fact):
    """What is known of a module: whether it is trained, frozen, a target network, and its parts."""

    project: Project
    graph: CallGraph
    values: Values
    tracer: Tracer
    parts: Parts
    sources: Sources
    ties: ModuleTies
    _table: ModuleUses | None = None
    _known: dict[tuple[FileFacts, ast.expr], Network] = field(default_factory=dict)
    _copied: dict[ModuleOrigin, bool] = field(default_factory=dict)
    _groups: dict[str, Grouped] = field(default_factory=dict)
    _freezing: set[ast.Call] = field(default_factory=set)
    _handed: set[ast.expr] = field(default_factory=set)
    _movers: dict[ModuleOrigin, tuple[Tie, frozenset[ast.AST]]] = field(default_factory=dict)

    def of(self, facts: FileFacts, node: ast.expr) -> Network:
        """Return what is known of the module that an expression names, or whose method it names.

        Whether it is a target is also known of an object that holds modules: of all that it holds.
        """
        found = self._known.get((facts, node))
        if found is None:
            found = self._known[facts, node] = self._answer(facts, node)
        return found

    @property
    def table(self) -> ModuleUses:
        """What the project does with whole modules, read once."""
        if self._table is None:
            self._table = Reader(self.project, self.values, self.tracer, self.sources).table()
        return self._table

    def _answer(self, facts: FileFacts, named: ast.expr) -> Network:
        node = _module_of(self.values, facts, named)
        origins = self.tracer.of(facts, node)
        parts = self.parts.of(facts, node)
        if not origins:
            return Network(parts=parts)
        trained = self._is_trained(facts, node, origins)
        frozen = not self._thawed(origins) and self._all_frozen(facts, node, origins)
        return Network(trained, frozen, self.target(facts, named), parts)

    # what is told sooner than all of it ------------------------------------------------------------------------------

    def made_of(self, facts: FileFacts, node: ast.expr) -> frozenset[str] | None:
        """Return the parts of a module (see ``Network.parts``)."""
        return self.parts.of(facts, _module_of(self.values, facts, node))

    def partly_made_of(self, facts: FileFacts, node: ast.expr) -> frozenset[str]:
        """Return the classes of those parts of a module that are known."""
        return self.parts.known(facts, _module_of(self.values, facts, node))

    def trained(self, facts: FileFacts, node: ast.expr) -> bool | None:
        """Return whether an optimizer moves the parameters of a module (see ``Network.trained``)."""
        node = _module_of(self.values, facts, node)
        origins = self.tracer.of(facts, node)
        return self._is_trained(facts, node, origins) if origins else None

    def target(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a module is a target network, or an object holds such copies.

        An object does where it is called so, or copied whole; what runs on an object's own ``self`` runs on copies too.
        """
        owner = _owner_of(self.values, facts, node)
        origins = self.tracer.of(facts, owner)
        if owner is not _module_of(self.values, facts, node):
            if facts.own_object(owner) is not None:
                return False
            made = [
                (file, value) for origin in origins for file, value in self.tracer.made(origin) if value is not None
            ]
            if not _is_called_target(owner) and not any(self._copies(file, value) for file, value in made):
                return False
        return self._is_target(owner, origins)

    def used_whole(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether what an expression names is a module, of whatever class: its parameters are moved or copied.

        An attribute of such a module may be a method of it.
        """
        origins = self.tracer.of(facts, node)
        return bool(origins) and all(
            origin in self.table.trained
            or origin in self.table.copied
            or any(value is not None and self._copies(file, value) for file, value in self.tracer.made(origin))
            for origin in origins
        )

    def frozen(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether the parameters of a module are proven not to ask for gradients."""
        module = _module_of(self.values, facts, node)
        origins = self.tracer.of(facts, module)
        return bool(origins) and not self._thawed(origins) and self._all_frozen(facts, module, origins)

    def _is_target(self, node: ast.expr, origins: Collection[ModuleOrigin]) -> bool:
        """Whether a module is called a target network, or made or kept as a copy, and nothing uses its gradients."""
        if not self.table.wanted.isdisjoint(origins) or any(map(self._may_be_frozen, origins)):
            return False
        copied = bool(origins) and (_is_called_target(node) or all(self._copy(origin) for origin in origins))
        return copied and max(map(self._trained, origins)) <= Tie.CLASS

    def _may_be_frozen(self, origin: ModuleOrigin) -> bool:
        """Whether a class freezes its module of that name, where it is not known which class the object has."""
        elsewhere = (other for other in self.table.frozen if isinstance(other.root, Scope))
        return not isinstance(origin.root, Scope) and any(other.path == origin.path for other in elsewhere)

    def _all_frozen(self, facts: FileFacts, node: ast.expr, origins: Iterable[ModuleOrigin]) -> bool:
        return all(self._is_frozen(origin) for origin in origins) or self._is_handed_frozen(facts, node)

    def _is_handed_frozen(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an attribute holds nothing but what its class is handed, and all of that is frozen."""
        if not isinstance(node, ast.Attribute) or node in self._handed:
            return False
        given = [(store.scope.file, store.binding.value) for store in self.sources.stores(facts, node)]
        self._handed.add(node)
        found = bool(given) and all(
            isinstance(value, ast.Name)
            and self.project.reaching(file, value).parameter is not None
            and self.frozen(file, value)
            for file, value in given
        )
        self._handed.discard(node)
        return found

    def _is_trained(self, facts: FileFacts, node: ast.expr, origins: Collection[ModuleOrigin]) -> bool | None:
        if self._thawed(origins):
            return None
        if max(map(self._trained, origins)) is not Tie.NONE:
            return None if self._is_target(node, origins) else True
        if any(self._is_open(origin) for origin in origins) or self.table.open & self.graph.groups[facts.path]:
            return None
        return False

    def _near(self, origin: ModuleOrigin, use: str, modules: Collection[ModuleOrigin]) -> Iterator[ModuleOrigin]:
        """The modules with some use in the project that a module may be tied to."""
        if use not in self._groups:
            self._groups[use] = Grouped(self.ties, modules)
        return self._groups[use].near(origin)

    def _trained(self, origin: ModuleOrigin) -> Tie:
        """How what optimizers were given belongs to a module."""
        return self._moved(origin)[0]

    def _moved(self, origin: ModuleOrigin) -> tuple[Tie, frozenset[ast.AST]]:
        """What is known best of what moves a module: the tie, and the constructors of the optimizers."""
        found = self._movers.get(origin)
        if found is None:
            near = self._near(origin, "trained", self.table.trained)
            ties = [(self.ties.of(origin, moved), self.table.trained[moved]) for moved in near]
            best = max((tie for tie, _ in ties), default=Tie.NONE)
            movers = frozenset(call for tie, calls in ties if tie is best and best for call in calls)
            found = self._movers[origin] = (best, movers)
        return found

    def toggled(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether the parameters of a module ask for gradients at one time and not at another."""
        return self._thawed(self.tracer.of(facts, _module_of(self.values, facts, node)))

    def _thawed(self, origins: Iterable[ModuleOrigin]) -> bool:
        thawed = self.table.thawed
        return any(self.ties.best(origin, self._near(origin, "thawed", thawed)) for origin in origins)

    def _is_frozen(self, origin: ModuleOrigin) -> bool:
        """Whether the module or one that it is part of was frozen; of a class no instance may be trained then."""
        found = {self.ties.of(origin, other) for other in self._near(origin, "frozen", self.table.frozen)}
        if Tie.WHOLE in found or (Tie.CLASS in found and self._trained(origin) is Tie.NONE):
            return True
        return self._is_made_frozen(origin)

    def _is_made_frozen(self, origin: ModuleOrigin) -> bool:
        """Whether a project function made the module and froze it before it returned it."""
        made = origin.made
        if not isinstance(made, ast.Call) or origin.path or made in self._freezing:
            return False
        given = [(target.file, each) for target in self.graph.sure(made) for each in target.results]
        self._freezing.add(made)
        found = bool(given) and all(isinstance(node, ast.Name) and self.frozen(file, node) for file, node in given)
        self._freezing.discard(made)
        return found

    def _is_open(self, origin: ModuleOrigin) -> bool:
        """Whether someone else may train a module: it was made somewhere unknown, or it is a part of any module."""
        if isinstance(origin.root, Scope):
            return self.project.is_module(origin.root.dotted)
        return isinstance(origin.root, Binding) and origin.made is None

    def _copy(self, origin: ModuleOrigin) -> bool:
        """Whether a module is made as a copy of one that is trained, or written over from one."""
        found = self._copied.get(origin)
        if found is None:
            found = self._copied[origin] = self._is_copy(origin)
        return found

    def _is_copy(self, origin: ModuleOrigin) -> bool:
        for other in self._near(origin, "copied", self.table.copied):
            tie, sources = self.ties.of(origin, other), self.table.copied[other]
            if tie not in (Tie.WHOLE, Tie.PART):
                continue
            if tie is Tie.PART and self.ties.best(origin, sources):
                continue  # what holds both a network and its copy is not a copy
            if any(self._is_same_slot(origin, source) for source in sources):
                continue  # one of two objects of a class is the copy, the other one is trained
            if self._any_trained(sources):
                return True
        return any(value is not None and self._copies(facts, value) for facts, value in self.tracer.made(origin))

    def _is_same_slot(self, origin: ModuleOrigin, source: ModuleOrigin) -> bool:
        """Whether a module and the one that it is copied from are the same attribute of objects of one class."""
        depth = len(source.path) - len(origin.path)
        if not isinstance(origin.root, Scope) or depth < 0 or source.path[depth:] != origin.path:
            return False
        owners = self.tracer.classes(source, depth)
        return not owners or any(self.project.related(owner, origin.root.dotted) for owner in owners)

    def _copies(self, facts: FileFacts, value: ast.expr) -> bool:
        calls = [part for part in walk(value) if isinstance(part, ast.Call) and part.args]
        copies = [call for call in calls if self.project.qualified(facts, call.func) == "copy.deepcopy"]
        return any(self._any_trained(self.tracer.of(facts, call.args[0])) for call in copies)

    def _any_trained(self, origins: Iterable[ModuleOrigin]) -> bool:
        return any(self._trained(origin) is not Tie.NONE for origin in origins)

    def moved_together(self, facts: FileFacts, one: ast.expr, other: ast.expr) -> bool | None:
        """Return whether one optimizer moves parameters of both modules.

        The result is ``None`` where it is not known what moves one.
        """
        first, second = self.movers(facts, one), self.movers(facts, other)
        return bool(first & second) if first and second else None

    def movers(self, facts: FileFacts, node: ast.expr) -> frozenset[ast.AST]:
        """Return the constructors of the optimizers that update a module, by the most that is known of its origin."""
        found = [self._moved(origin) for origin in self.tracer.of(facts, _module_of(self.values, facts, node))]
        best = max((tie for tie, _ in found), default=Tie.NONE)
        return frozenset(call for tie, calls in found if tie is best for call in calls)


def _module_of(values: Values, facts: FileFacts, node: ast.expr) -> ast.expr:
    """The module whose method an expression names, else the expression."""
    if isinstance(node, ast.Attribute) and values.of(facts, node).kind is not Kind.MODULE:
        return node.value if values.of(facts, node.value).kind is Kind.MODULE else node
    return node


def _owner_of(values: Values, facts: FileFacts, node: ast.expr) -> ast.expr:
    """The module, or the object that holds modules, whose method an expression names, else the expression."""
    if isinstance(node, ast.Attribute) and values.of(facts, node).kind is Kind.FUNCTION:
        if values.of(facts, node.value).kind is Kind.INSTANCE:
            return node.value
    return _module_of(values, facts, node)


def _is_called_target(node: ast.expr) -> bool:
    """Whether the last name of an expression says that it is a target network."""
    while isinstance(node, ast.Subscript):
        node = node.value
    name = last_name(node)
    if name == "module" and isinstance(node, ast.Attribute):
        return _is_called_target(node.value)
    return bool(_TARGET.search(name))
