"""Links calls on unknown objects by the method's name: where few methods of the project have it, and torch has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from torchlint.facts.code.callers import Caller, answers
from torchlint.facts.code.model import FUNCTIONS, Bind, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.facts.code.relaying import NAMING, meant
from torchlint.facts.code.structure import ObjectUse, Shape, Structures, fits, shape_of
from torchlint.facts.code.tree import arguments_of, walk
from torchlint.facts.values import torch_table
from torchlint.facts.values.signatures import starred
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Kind

if TYPE_CHECKING:
    from torchlint.facts.code.graph import CallGraph

MANY = 6
"""With more methods of one name, a call of it proves nothing."""
_MANY_CLASSES = 16
# Names that containers, files and the standard library also have: not linked by name alone, unless a call gives more
# than these take.
_COMMON = frozenset(
    """add append clear close copy count dump dumps extend format get index insert items join keys load loads log open
    pop popitem print put read remove render replace reset reverse run save seed send set setdefault size sort
    split start step stop strip to to_dict to_json update values write info debug warning error __init__
    shape""".split()
)


_OF_LIBRARIES = method_names()
_FEW_ARGUMENTS = 2
# Those that take nothing where others have them.
_ALONE = frozenset({"reset"})
_DISTINCTIVE = 2  # how many names of several words identify a family of classes

_Like = tuple[frozenset[str], str, Shape, bool]
"""What calls have in common that may mean the same methods.

Files they are connected with, the name, the arguments, and whether the calls are relayed to other processes.
"""


def link_by_name(project: Project, graph: CallGraph, values: Values, pending: list[tuple[FileFacts, ast.Call]]) -> None:
    """Link calls on unknown receivers, and note them as weak."""
    _Linker(project, graph, values).link(pending)


def _is_plain(call: ast.Call, name: str) -> bool:
    """Whether a call gives no more than methods of containers and files take, unlike ``agent.update(obs, act, r)``."""
    few = 0 if name in _ALONE else _FEW_ARGUMENTS
    return len(call.args) + len(call.keywords) <= few or starred(call)


@dataclass(frozen=True, slots=True)
class _Near:
    """The methods that a call may mean, whether they are few, and the objects that have them and all that is asked.

    ``identified``: the attributes that code asks for belong to one family of classes, and to no known library.
    """

    methods: list[Scope]
    few: bool
    receivers: tuple[Receiver, ...]
    identified: bool


@dataclass(eq=False, slots=True)
class _Linker:
    project: Project
    graph: CallGraph
    values: Values
    switched: dict[FileFacts, frozenset[str]] = field(default_factory=dict)
    fitting: dict[_Like, list[Scope]] = field(default_factory=dict)
    near: dict[tuple[_Like, ObjectUse, bool], _Near] = field(default_factory=dict)
    structures: Structures = field(init=False)

    def __post_init__(self) -> None:
        self.structures = Structures(self.project)

    def link(self, pending: list[tuple[FileFacts, ast.Call]]) -> None:
        """Link each call to the few methods of its name in files connected by imports."""
        for facts, call in pending:
            func = meant(self.project, call)
            if not isinstance(func, ast.Attribute):
                continue
            if func.attr in NAMING and self._link_named(facts, call):
                continue
            relays = func is not call.func
            self.graph.unlinked.add(func.attr)
            if (func.attr in _COMMON and not relays and _is_plain(call, func.attr)) or func.attr.startswith("__"):
                continue
            if func.attr == "train" and not relays and self._switches(facts, call, func):
                continue
            like = (self.graph.groups[facts.path], func.attr, shape_of(call), relays)
            if not self._fitting(like):
                continue
            use = self.structures.use(facts, call, func.value)
            near = self._near(like, use, not relays and torch_table.may_call(func.attr, call))
            if near.few:
                self.graph.weak.add(call)
                self.graph.add(facts, call, suiting(facts, call, [(m, 1) for m in near.methods]))
                self.graph.receivers[call] = near.receivers
                if len(near.receivers) == 1 and near.receivers != (ANY,):
                    self.graph.sole.add(call)
                if near.identified:
                    self.graph.identified.add(call)
            elif near.methods:
                self.graph.open.add(func.attr)
        for facts, call in pending:
            func = meant(self.project, call)
            if isinstance(func, ast.Call) and self.project.qualified(facts, func.func) == "builtins.getattr":
                self._link_looked_up(facts, call, func)

    def _link_named(self, facts: FileFacts, call: ast.Call) -> bool:
        """Link ``engine.collective_rpc("update_weights", args=(...))`` to the methods of workers of that name."""
        name = call.args[0] if call.args else None
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            return False
        found = self._named(facts, name.value)
        for method in found:
            self.graph.callers.setdefault(method, []).append(Caller(facts, call, 1, starts=True))
        if found:
            self.graph.callees[call] = tuple(found)
            self.graph.weak.add(call)
        return bool(found)

    def _link_looked_up(self, facts: FileFacts, call: ast.Call, func: ast.Call) -> None:
        """Link ``getattr(worker, name)(...)`` to the methods of the names that calls give the function around it."""
        name = func.args[1] if len(func.args) > 1 else None
        if name is None or call in self.graph.callees:
            return
        shape, targets = shape_of(call), list[tuple[Scope, int]]()
        for method in self._spelled(facts, func, name):
            if fits(method, shape):
                targets.append((method, 1))
        for binding in self.project.reaching(facts, name).bindings:
            scope = binding.scope if binding.how is Bind.PARAM else None
            for caller, given in list(self.graph.arguments(scope, binding.target)):
                if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
                    continue
                for method in (each for each in self._named(facts, given.value) if fits(each, shape)):
                    targets.append((method, 1))
                    self.graph.via.setdefault((call, method), []).append(caller)
        if targets:
            self.graph.weak.add(call)
            self.graph.add(facts, call, list(dict.fromkeys(targets)))

    def _spelled(self, facts: FileFacts, func: ast.Call, name: ast.expr) -> Iterator[Scope]:
        """The methods of an object of a known class, or of a class that derives from it, that a made text may name."""
        owner = self.values.of(facts, func.args[0])
        if isinstance(name, ast.Name) or owner.kind not in (Kind.INSTANCE, Kind.MODULE) or not owner.name:
            return
        for text in sorted(self.values.spelled(facts, name)):
            for cls in owner.name.split("|"):
                yield from self.project.implementations(cls, text)

    def _named(self, facts: FileFacts, name: str) -> list[Scope]:
        """The methods of a name in connected files, where they are few."""
        near = [m for m in self.project.methods.get(name, ()) if m.file.path in self.graph.groups[facts.path]]
        return near if len(near) <= MANY else []

    def _fitting(self, like: _Like) -> list[Scope]:
        """The methods that calls of a name may mean as far as their arguments tell."""
        found = self.fitting.get(like)
        if found is None:
            group, name, shape, relays = like
            near = [m for m in self.project.methods.get(name, ()) if m.file.path in group]
            found = self.fitting[like] = [m for m in near if fits(m, shape) and (relays or not _is_remote(m))]
        return found

    def _near(self, like: _Like, use: ObjectUse, ambiguous: bool) -> _Near:
        """Those of objects that have all that is asked of the object, and whether they are few enough to be linked."""
        found = self.near.get((like, use, ambiguous))
        if found is None:
            having = {method: self.structures.having(method, use) for method in self._fitting(like)}
            near = [method for method, classes in having.items() if classes]
            if ambiguous:  # a method of torch may be meant
                near = [method for method in near if self._has_more(method, use.methods)]
            tops = {self._topmost(m) for m in near}
            few = 0 < len(near) <= MANY or len(tops) == 1
            identified = len(tops) == 1 and self._identifies(tops.pop(), use)
            objects = dict.fromkeys(cls.dotted for method in near for cls in having[method])
            receivers = (
                tuple(Receiver(name, derived=False) for name in objects) if len(objects) <= _MANY_CLASSES else (ANY,)
            )
            found = self.near[like, use, ambiguous] = _Near(near, few, receivers, identified)
        return found

    def _switches(self, facts: FileFacts, call: ast.Call, func: ast.Attribute) -> bool:
        """Whether ``x.train(...)`` sets the mode of a module: it says a mode, or the file also calls ``x.eval()``."""
        if self.values.of(facts, func.value).kind is Kind.MODULE or _is_mode(call):
            return True
        if facts not in self.switched:
            calls = [c for scope in facts.scopes for c in scope.calls if isinstance(c.func, ast.Attribute)]
            switching = [c.func for c in calls if isinstance(c.func, ast.Attribute) and _is_mode(c)]
            self.switched[facts] = frozenset(ast.unparse(switch.value) for switch in switching)
        return ast.unparse(func.value) in self.switched[facts]

    def _has_more(self, method: Scope, used: frozenset[str]) -> bool:
        """Whether the class of a method defines another method that is called on the object and that torch has not.

        By its own name alone the method may as well be one of torch: of a module, an optimizer, a distribution.
        """
        owner = method.method_of
        assert owner is not None
        own = {name for name in used - _COMMON if not name.startswith("__") and not torch_table.is_method(name)}
        family = [*self.project.family(owner.dotted), *self.project.descendants(owner.dotted)]
        return bool(own) and all(any(name in scope.bindings for scope in family) for name in own)

    def _identifies(self, method: Scope, use: ObjectUse) -> bool:
        """Whether what code asks of an object identifies the class of a method, of which all attributes are known.

        What code asks for must be a name of several words that neither torch nor a library of the models has.
        """
        owner = method.method_of
        known = self.structures.names(owner.dotted) if owner is not None else None
        asked = use.read | use.methods
        return known is not None and sum(name in known and _is_distinctive(name) for name in asked) >= _DISTINCTIVE

    def _topmost(self, method: Scope) -> Scope:
        """The method of the farthest ancestor that a method overrides, itself where it overrides none."""
        owner = method.method_of
        assert owner is not None
        found = method
        for family in self.project.family(owner.dotted):
            for binding in family.bindings.get(method.name, ()):
                found = binding.scope or found
        return found


def suiting(facts: FileFacts, call: ast.Call, targets: list[tuple[Scope, int]]) -> list[tuple[Scope, int]]:
    """Return the methods that take the arguments of a call and return what the call uses or unpacks.

    Each method comes with how many of its leading parameters the call itself fills. All of them where none suits.
    """
    if len(targets) < 2:
        return targets
    shape = shape_of(call)
    fitting = [(method, skip) for method, skip in targets if skip != 1 or method.decorator_names or fits(method, shape)]
    if not isinstance(facts.parent.get(call), ast.Expr):
        fitting = [(method, skip) for method, skip in fitting if _answers(method)] or fitting
        parts = _parts_taken(facts, call)
        if parts is not None:
            fitting = [(method, skip) for method, skip in fitting if _gives(method, parts)] or fitting
    return fitting or targets


def _is_distinctive(name: str) -> bool:
    """Whether a name has several words, and neither torch nor a library of the models has it."""
    if "_" not in name.strip("_") or name in _COMMON:
        return False
    return not torch_table.is_method(name) and name not in _OF_LIBRARIES


@dataclass(frozen=True, slots=True)
class _Parts:
    """How many values the code around a call takes apart: of what it returns, or of each item that it yields."""

    number: int
    of_items: bool


def _parts_taken(facts: FileFacts, call: ast.Call) -> _Parts | None:
    """``a, b, c = call()``, ``for a, b in call()``, and ``for item in call()`` with ``a, b = item`` in the loop.

    A generator may have a name first: ``items = call()``, ``for item in items``.
    """
    parent = facts.parent.get(call)
    match parent:
        case ast.Assign(targets=[ast.Tuple() | ast.List() as target]):
            return _number(target, of_items=False)
        case ast.Assign(targets=[ast.Name(id=name)]):
            loops = (node for node in walk(facts.scope_of(call).function.node) if isinstance(node, ast.For))
            found = {_taken_by(loop) for loop in loops if isinstance(loop.iter, ast.Name) and loop.iter.id == name}
            return found.pop() if len(found) == 1 else None
        case ast.For(iter=source) if source is call:
            return _taken_by(parent)
    return None


def _taken_by(loop: ast.For) -> _Parts | None:
    """How many values a loop takes each item apart into."""
    match loop.target:
        case ast.Tuple() | ast.List() as target:
            return _number(target, of_items=True)
        case ast.Name(id=name):
            for stmt in loop.body:
                match stmt:
                    case ast.Assign(targets=[ast.Tuple() | ast.List() as target], value=ast.Name(id=taken)):
                        return _number(target, of_items=True) if taken == name else None
    return None


def _number(target: ast.Tuple | ast.List, of_items: bool) -> _Parts | None:
    starred = any(isinstance(part, ast.Starred) for part in target.elts)
    return None if starred else _Parts(len(target.elts), of_items)


def _gives(method: Scope, parts: _Parts) -> bool:
    """Whether a function may give as many values at once as are taken apart: one display of another length does not."""
    if parts.of_items is not bool(method.yields):
        return True
    given = [_value(node) for node in (method.yields if parts.of_items else method.returns)]
    displays = [node for node in given if isinstance(node, ast.Tuple)]
    if not displays or len(displays) < len(given):
        return True
    lengths = {len(node.elts) for node in displays}
    return parts.number in lengths or any(isinstance(part, ast.Starred) for node in displays for part in node.elts)


def _value(node: ast.AST) -> ast.expr | None:
    """What a ``return`` or ``yield`` gives, ``None`` for nothing."""
    return node.value if isinstance(node, (ast.Return, ast.Yield)) else None


def _answers(method: Scope) -> bool:
    """Whether a function returns more than ``None``, or yields; an expression of a ``lambda`` does."""
    if not isinstance(method.node, FUNCTIONS):
        return True
    return bool(method.yields) or answers(method)


def _is_mode(call: ast.Call) -> bool:
    """``x.eval()``, ``x.train(False)``."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name == "eval":
        return not call.args and not call.keywords
    given = arguments_of(call)
    literal = len(given) == 1 and isinstance(given[0], ast.Constant) and isinstance(given[0].value, bool)
    return name == "train" and literal


def _is_remote(method: Scope) -> bool:
    """Whether a class runs in processes of its own, so that calls of its handles do not look like calls of methods."""
    owner = method.method_of
    return owner is not None and "remote" in owner.decorator_names
