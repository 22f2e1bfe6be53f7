"""What code asks of an object whose class is not known, and which classes of the project have all of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import methods, sets_any
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.hierarchy import is_external_module
from torchlint.facts.code.model import FUNCTIONS, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.values import torch_table
from torchlint.late import dataclass

Shape = tuple[int, frozenset[str], bool]
"""How many positional arguments a call has, -1 where a star hides it; its keywords; whether no star hides any."""
_Branch = tuple[ast.AST, str]
_Uses = dict[str, list[tuple[str, ast.expr, ast.Call | None]]]
"""By the text of an object: the attributes that are read of it, and the call if they are called."""

BARE = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
"""Bases that give a class no attributes."""
_ASKING = frozenset({"hasattr", "getattr"})
_BRANCHING = (ast.If, ast.IfExp, ast.Try, ast.ExceptHandler)
# What every module has besides its methods.
_OF_MODULES = frozenset({"training"})


@dataclass(frozen=True, slots=True)
class ObjectUse:
    """What a function, or a class of an attribute, asks of an object: attributes, and methods with their arguments.

    ``__call__``: it is called itself.
    """

    read: frozenset[str]
    called: frozenset[tuple[str, Shape]]

    @property
    def methods(self) -> frozenset[str]:
        """The names of the methods that are called."""
        return frozenset(name for name, _ in self.called)


@dataclass(eq=False, slots=True)
class Structures(Fact):
    """Answers what is asked of an object, and which classes have it."""

    project: Project
    _uses: dict[Scope, _Uses] = field(default_factory=dict)
    _having: dict[tuple[str, ObjectUse], bool] = field(default_factory=dict)
    _known: dict[str, frozenset[str] | None] = field(default_factory=dict)

    def may_be(self, facts: FileFacts, read: ast.expr, holder: ast.expr, cls: str) -> bool:
        """Return whether the object whose attribute a place reads may be an instance of a class or of a derived one.

        It is none where the code around that place asks for what objects of all these classes lack.
        """
        use = self.use(facts, read, holder)
        if not (use.read or use.called):  # the object has no name, so nothing else is asked of it
            use = self._asked(facts, read)
        line = (cls, *(child.dotted for child in self.project.descendants(cls)))
        return any(self._has(each, use) for each in line)

    def _asked(self, facts: FileFacts, read: ast.expr) -> ObjectUse:
        """What one place that reads an attribute asks of the object."""
        above = facts.parent.get(read)
        if not isinstance(read, ast.Attribute):
            return ObjectUse(frozenset(), frozenset())
        if isinstance(above, ast.Call) and above.func is read:
            return ObjectUse(frozenset(), frozenset({(read.attr, shape_of(above))}))
        return ObjectUse(frozenset({read.attr}), frozenset())

    def use(self, facts: FileFacts, place: ast.expr, receiver: ast.expr) -> ObjectUse:
        """Return what code asks of the object of a call, or of another place that names it, wherever it is reached.

        Branches that the place is not in may be there for other objects.
        """
        text = dotted(receiver)
        scope = facts.scope_of(receiver)
        own, owner = scope.function.self_name, scope.owner
        of_object = bool(own) and owner is not None and text.startswith(f"{own}.")
        around = set(_branches(facts, place))
        found = [
            (name, called)
            for method in (methods(owner) if owner is not None and of_object else (scope.function,))
            for name, node, called in (self._of(method).get(text, ()) if text else ())
            if around.issuperset(_branches(facts, node))
        ]
        return ObjectUse(
            frozenset(name for name, called in found if called is None),
            frozenset((name, shape_of(called)) for name, called in found if called is not None),
        )

    def _of(self, function: Scope) -> _Uses:
        """What a function asks of the objects that it names; not what it first asks whether they have it."""
        found = self._uses.get(function)
        if found is None:
            found = self._uses[function] = {}
            doubted: set[tuple[str, str]] = set()
            for node in walk(function.node):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                    if text := dotted(node.value):
                        parent = function.file.parent.get(node)
                        call = parent if isinstance(parent, ast.Call) and parent.func is node else None
                        found.setdefault(text, []).append((node.attr, node, call))
                elif isinstance(node, ast.Call):
                    if text := dotted(node.func):
                        found.setdefault(text, []).append(("__call__", node, node))
                    if text in _ASKING and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                        doubted.add((dotted(node.args[0]), str(node.args[1].value)))
            for text, name in doubted:
                found[text] = [use for use in found.get(text, ()) if use[0] != name]
        return found

    def having(self, method: Scope, use: ObjectUse) -> list[Scope]:
        """Return the classes whose objects run a method and have all that code asks of an object."""
        owner = method.method_of
        assert owner is not None
        line = (owner, *self.project.descendants(owner.dotted))
        return [cls for cls in line if self.project.inherits(cls.dotted, method) and self._has(cls.dotted, use)]

    def _has(self, cls: str, use: ObjectUse) -> bool:
        found = self._having.get((cls, use))
        if found is None:
            found = all(self._may_have(cls, name) for name in (*use.read, *use.methods))
            found = found and all(self._takes(cls, name, shape) for name, shape in use.called)
            self._having[cls, use] = found
        return found

    def _may_have(self, cls: str, name: str) -> bool:
        """Whether an object of a class may have an attribute: one that is seen, or that a base may have."""
        project = self.project
        known = self.names(cls)
        if known is None or name in known or name in project.outside or (name.startswith("__") and name != "__call__"):
            return True
        if not project.is_module(cls):
            return False
        return torch_table.is_method(name) or name in _OF_MODULES or name == "__call__"

    def names(self, cls: str) -> frozenset[str] | None:
        """Return the attributes of a class and its ancestors; ``None`` where one of these may have any."""
        if cls not in self._known:
            line = self.project.ancestry(cls)
            scopes = [self.project.classes[each] for each in line if each in self.project.classes]
            others = (each for each in line if each not in self.project.classes and each not in BARE)
            plain = all(is_external_module(each) and each.startswith("torch.") for each in others)
            whole = plain and all(map(self._is_whole, scopes))
            names = frozenset(name for scope in scopes for name in (*scope.bindings, *scope.stores))
            self._known[cls] = names if whole and "__getattr__" not in names else None
        return self._known[cls]

    def _is_whole(self, cls: Scope) -> bool:
        """Whether all bases of a class have a name, and its methods set no attribute whose name is not written."""
        named = isinstance(cls.node, ast.ClassDef) and len(cls.node.bases) == len(self.project.bases(cls))
        return named and not any(self._sets_any(method) for method in methods(cls))

    def _sets_any(self, method: Scope) -> bool:
        """Whether a method, or a function that it hands its object to, sets attributes of any name."""
        for call in method.calls:
            if sets_any(call):
                return True
            if any(isinstance(given, ast.Name) and given.id == method.self_name for given in call.args):
                taker = self.project.functions.get(self.project.qualified(method.file, call.func) or "")
                if taker is not None and any(map(sets_any, taker.calls)):
                    return True
        return False

    def _takes(self, cls: str, name: str, shape: Shape) -> bool:
        """Whether the method of a class takes the arguments of a call; where it has none, that is not known."""
        method = self.project.method(cls, name)
        return method is None or bool(method.decorator_names) or fits(method, shape)


def _branches(facts: FileFacts, node: ast.AST) -> Iterator[_Branch]:
    """The branches of a function that a node is in: each with the name of the arm."""
    child = node
    for parent in facts.ancestors(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        if isinstance(parent, _BRANCHING):
            for arm in ("body", "orelse", "handlers"):
                block = getattr(parent, arm, ())
                if child is block or (isinstance(block, list) and child in block):
                    yield parent, arm
        child = parent


def shape_of(call: ast.Call) -> Shape:
    """Return the shape of a call's arguments, by which methods are chosen."""
    positional = -1 if any(isinstance(a, ast.Starred) for a in call.args) else len(call.args)
    named = frozenset(k.arg for k in call.keywords if k.arg is not None)
    return positional, named, positional >= 0 and len(named) == len(call.keywords)


def fits(method: Scope, shape: Shape) -> bool:
    """Return whether a call's arguments fit a method."""
    node = method.node
    if not isinstance(node, FUNCTIONS):
        return False
    args, (positional, keywords, whole) = node.args, shape
    if args.vararg is None and positional > len(args.posonlyargs) + len(args.args) - 1:
        return False
    if whole and not node.decorator_list and _lacks(args, positional, keywords):
        return False
    return args.kwarg is not None or keywords <= {a.arg for a in [*args.args, *args.kwonlyargs]}


def _lacks(args: ast.arguments, positional: int, keywords: frozenset[str]) -> bool:
    """Whether a method has a parameter without a default that a call does not give."""
    placed = [*args.posonlyargs, *args.args]
    placed = placed[: len(placed) - len(args.defaults)][positional + 1 :]
    named = [arg for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    return any(arg.arg not in keywords for arg in (*placed, *named))
