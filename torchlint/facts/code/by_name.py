"""Links calls on unknown objects by the method's name: where few methods of the project have it, and torch has none."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import TYPE_CHECKING

from torchlint.facts.code.callers import answers, methods
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.values import torch_table
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind

if TYPE_CHECKING:
    from torchlint.facts.code.graph import CallGraph

MANY = 6
"""With more methods of one name, a call of it proves nothing."""
_BARE = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
# Names that containers, files and the standard library also have: never linked by name alone.
_COMMON = frozenset(
    """add append clear close copy count dump dumps extend format get index insert items join keys load loads log open
    pop popitem print put read remove render replace reset reverse run save seed send set setdefault size sort
    split start step stop strip to update values write info debug warning error __init__ shape""".split()
)


_Shape = tuple[int, frozenset[str]]
"""How many positional arguments a call has, -1 where a star hides it, and its keywords."""
_Like = tuple[frozenset[str], str, _Shape]
"""What calls have in common that may mean the same methods: files they hang together with, the name, arguments."""


def link_by_name(project: Project, graph: CallGraph, values: Values, pending: list[tuple[FileFacts, ast.Call]]) -> None:
    """Link calls on unknown receivers, and note them as weak."""
    _Linker(project, graph, values).link(pending)


@dataclass(eq=False, slots=True)
class _Linker:
    project: Project
    graph: CallGraph
    values: Values
    switched: dict[FileFacts, frozenset[str]] = field(default_factory=dict)
    closed: dict[Scope, bool] = field(default_factory=dict)
    fitting: dict[_Like, list[Scope]] = field(default_factory=dict)
    near: dict[tuple[_Like, frozenset[str], bool], tuple[list[Scope], bool]] = field(default_factory=dict)

    def link(self, pending: list[tuple[FileFacts, ast.Call]]) -> None:
        """Link each call to the few methods of its name in files connected by imports."""
        for facts, call in pending:
            func = call.func
            if not isinstance(func, ast.Attribute):
                continue
            self.graph.unlinked.add(func.attr)
            if func.attr in _COMMON or func.attr.startswith("__"):
                continue
            if func.attr == "train" and self._switches(facts, call, func):
                continue
            like = (self.graph.groups[facts.path], func.attr, _shape_of(call))
            if not self._fitting(like):
                continue
            near, few = self._near(like, _used(facts, func.value), torch_table.may_call(func.attr, call))
            if few:
                self.graph.weak.add(call)
                self.graph.add(facts, call, suiting(facts, call, [(m, 1) for m in near]))
            elif near:
                self.graph.open.add(func.attr)

    def _fitting(self, like: _Like) -> list[Scope]:
        """The methods that calls of a name may mean as far as their arguments tell."""
        found = self.fitting.get(like)
        if found is None:
            group, name, shape = like
            near = [m for m in self.project.methods.get(name, ()) if m.file.path in group]
            found = self.fitting[like] = [m for m in near if _fits(m, shape) and not _is_remote(m)]
        return found

    def _near(self, like: _Like, used: frozenset[str], ambiguous: bool) -> tuple[list[Scope], bool]:
        """Those that also have all that is called on the object, and whether they are few enough to be linked."""
        found = self.near.get((like, used, ambiguous))
        if found is None:
            near = [m for m in self._fitting(like) if self._may_have(m, used)]
            if ambiguous:  # a method of torch may be meant
                near = [m for m in near if self._has_more(m, used)]
            few = 0 < len(near) <= MANY or len({self._topmost(m) for m in near}) == 1
            found = self.near[like, used, ambiguous] = (near, few)
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

    def _may_have(self, method: Scope, used: frozenset[str]) -> bool:
        """Whether an object of a method's class may have all these methods too: a class whose bases are all known."""
        owner = method.method_of
        assert owner is not None
        family = [*self.project.family(owner.dotted), *self.project.descendants(owner.dotted)]
        if not all(self._is_closed(scope) for scope in family):
            return True
        return all(any(name in scope.bindings or name in scope.stores for scope in family) for name in used)

    def _has_more(self, method: Scope, used: frozenset[str]) -> bool:
        """Whether the class of a method defines another method that is called on the object and that torch has not.

        By its own name alone the method may as well be one of torch: of a module, an optimizer, a distribution.
        """
        owner = method.method_of
        assert owner is not None
        own = {name for name in used - _COMMON if not name.startswith("__") and not torch_table.is_method(name)}
        family = [*self.project.family(owner.dotted), *self.project.descendants(owner.dotted)]
        return bool(own) and all(any(name in scope.bindings for scope in family) for name in own)

    def _is_closed(self, cls: Scope) -> bool:
        """Whether all ancestors of a class are known."""
        found = self.closed.get(cls)
        if found is None:
            bases = list(self.project.bases(cls))
            known = all(base in self.project.classes or base in _BARE for base in bases)
            whole = isinstance(cls.node, ast.ClassDef) and len(cls.node.bases) == len(bases)
            found = self.closed[cls] = known and whole
        return found

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
    """Those of several methods that take the arguments of a call, and return something where the call uses it.

    Each method comes with how many of its leading parameters the call itself fills. All of them where none suits.
    """
    if len(targets) < 2:
        return targets
    shape = _shape_of(call)
    fitting = [
        (method, skip) for method, skip in targets if skip != 1 or method.decorator_names or _fits(method, shape)
    ]
    if not isinstance(facts.parent.get(call), ast.Expr):
        fitting = [(method, skip) for method, skip in fitting if _answers(method)] or fitting
    return fitting or targets


def _answers(method: Scope) -> bool:
    """Whether a function returns more than ``None``, or yields; an expression of a ``lambda`` does."""
    if not isinstance(method.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return True
    return bool(method.yields) or answers(method)


def _is_mode(call: ast.Call) -> bool:
    """``x.eval()``, ``x.train(False)``."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name == "eval":
        return not call.args and not call.keywords
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    literal = len(given) == 1 and isinstance(given[0], ast.Constant) and isinstance(given[0].value, bool)
    return name == "train" and literal


def _used(facts: FileFacts, receiver: ast.expr) -> frozenset[str]:
    """The methods that a function, or its class of an attribute, calls on a receiver; ``__call__``: it is called."""
    text = dotted(receiver)
    scope = facts.scope_of(receiver)
    own, owner = scope.function.self_name, scope.owner
    of_object = bool(own) and owner is not None and text.startswith(f"{own}.")
    found: set[str] = set()
    for method in methods(owner) if owner is not None and of_object else (scope.function,):
        for call in method.calls if text else ():
            if dotted(call.func) == text:
                found.add("__call__")
            elif isinstance(call.func, ast.Attribute) and dotted(call.func.value) == text:
                found.add(call.func.attr)
    return frozenset(found)


def _is_remote(method: Scope) -> bool:
    """Whether a class runs in processes of its own, so that calls of its handles do not look like calls of methods."""
    owner = method.method_of
    return owner is not None and "remote" in owner.decorator_names


def _shape_of(call: ast.Call) -> _Shape:
    """What of a call's arguments tells which methods they fit."""
    positional = -1 if any(isinstance(a, ast.Starred) for a in call.args) else len(call.args)
    return positional, frozenset(k.arg for k in call.keywords if k.arg is not None)


def _fits(method: Scope, shape: _Shape) -> bool:
    """Whether a call's arguments can be a method's at all."""
    node = method.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    args, (positional, keywords) = node.args, shape
    if args.vararg is None and positional > len(args.posonlyargs) + len(args.args) - 1:
        return False
    return args.kwarg is not None or keywords <= {a.arg for a in [*args.args, *args.kwonlyargs]}
