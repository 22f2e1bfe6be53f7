"""Modules that no known code calls: someone calls their ``forward`` all the same."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import PurePosixPath

from torchlint.facts.code.exporting import exported
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.receiver import Receiver
from torchlint.facts.code.tree import forms_of, names_in
from torchlint.facts.hotness.coldness import cold_file
from torchlint.facts.hotness.receivers import Receivers
from torchlint.late import dataclass, regex

_PACKAGE = "__init__.py"
_BINDING = frozenset({"functools.partial", "types.MethodType"})
_TARGET = b"_target_"
_DOTTED = regex(r"\w+(\.\w+)+$")
_PLAIN = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module"})
_RUNNING = frozenset({"forward", "__call__", "apply"})
_PARTS = (b"children(", b"modules(", b"._modules", b'"_modules', b"'_modules", b"__dict__", b"Sequential)")


def forwards(project: Project, graph: CallGraph) -> Iterator[Scope]:
    """Yield ``forward`` of modules that the project builds or mentions, or that a library exports.

    And what code puts in the place of the ``forward`` of a module: ``layer.forward = partial(quick_forward, layer)``,
    and what it gives a class that it makes: ``type("Scored", (Base,), {"forward": scored})``.
    """
    idle = project.unused()
    mentioned = set(graph.built)
    for facts in project.files.values():
        if not cold_file(facts):
            mentioned.update(filter(project.classes.__contains__, _imported(project, facts)))
            mentioned.update(filter(project.classes.__contains__, _configured(project, facts)))
    used = set(mentioned)
    for name in mentioned:
        used.update(project.ancestry(name))
    for name, cls in project.classes.items():
        if cold_file(cls.file) or not project.is_module(name):
            continue
        if (name in used and cls.file.path not in idle) or exported(project, cls):
            for binding in cls.bindings.get("forward", ()):
                if binding.scope is not None:
                    yield binding.scope
    for facts, node in (*project.put("forward"), *_of_made_classes(project)):
        function = _function(project, facts, node)
        if function is not None and not cold_file(facts) and facts.path not in idle:
            yield function


def _of_made_classes(project: Project) -> Iterator[tuple[FileFacts, ast.expr]]:
    """The functions that code gives classes that it makes by a call of ``type`` as their ``forward``."""
    for facts in project.files.values():
        if b"type(" in facts.source.utf8 and project.quotes("forward"):
            for call in facts.nodes(ast.Call):
                match call:
                    case ast.Call(func=func, args=[_, _, ast.Dict(keys=keys, values=values)], keywords=[]):
                        named = project.qualified(facts, func) == "builtins.type"
                        for key, value in zip(keys, values, strict=True) if named else ():
                            if isinstance(key, ast.Constant) and key.value == "forward":
                                yield from ((facts, each) for each in forms_of(value) or (value,))


def _function(project: Project, facts: FileFacts, node: ast.expr) -> Scope | None:
    """The function that an expression gives, bound to an object or to some of its arguments, ``None`` for others.

    ``f``, ``partial(f, layer)``, ``MethodType(f, layer)``, ``f.__get__(layer)``.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="__get__")):
            node = inner
        case ast.Call(func=func, args=[inner, *_]) if project.qualified(facts, func) in _BINDING:
            node = inner
    return project.functions.get(project.qualified(facts, node) or "")


def called_elsewhere(receivers: Receivers, forward: Scope, is_cold: Callable[[Scope], bool]) -> bool:
    """Return whether a known call that is not set-up runs a module, so that its hotness is that of the call."""
    if forward.owner is None or exported(receivers.project, forward.owner):
        return False
    return _is_run(receivers, forward, forward.owner.dotted, is_cold)


def lies_idle(project: Project, graph: CallGraph, forward: Scope) -> bool:
    """Return whether modules are made and never run.

    They are only kept in attributes that no code reads, or code asks them for nothing but their parts and methods:
    ``vae.encoder(x)``, ``vae.encode(x)``.
    """
    owner = forward.owner
    if owner is None or exported(project, owner) or project.quotes(owner.name) or project.descendants(owner.dotted):
        return False
    word = owner.name.encode()
    files = [facts for facts in project.files.values() if word in facts.source.utf8]
    if any(each in facts.source.utf8 for facts in files for each in _PARTS):
        return False  # whatever goes over the parts of a module may run them
    reads = [
        (facts, node)
        for facts in files
        for node in _named(facts, owner.name)
        if project.qualified(facts, node) in (None, owner.dotted) and owner not in facts.scope_of(node).outward()
    ]
    return bool(reads) and all(_is_idle(project, graph, owner, facts, node) for facts, node in reads)


def _is_idle(project: Project, graph: CallGraph, cls: Scope, facts: FileFacts, node: ast.expr) -> bool:
    """Whether what code makes of a class, whose name it reads, is never run."""
    if name := _kept_as(facts, node):
        return not _is_read(project, name)
    call = facts.parent.get(node)
    match facts.parent.get(call) if isinstance(call, ast.Call) and call.func is node else None:
        case ast.Assign(targets=[ast.Name(id=name)]):
            own = all(base in project.classes or base in _PLAIN for base in project.ancestry(cls.dotted))
            scope = facts.scope_of(node)  # what a module binds, others may import
            return own and scope.kind == "function" and _AskedParts(project, graph).alone(facts, scope, name)
    return False


@dataclass(eq=False, slots=True)
class _AskedParts:
    """Answers whether code asks a module that it knows under a name for nothing but parts and methods."""

    project: Project
    graph: CallGraph
    _seen: set[tuple[Scope, str]] = field(default_factory=set)

    def alone(self, facts: FileFacts, scope: Scope, name: str) -> bool:
        """Return whether all that reads a name of a function, also by handing it on, asks for parts and methods."""
        if (scope, name) in self._seen:
            return True
        self._seen.add((scope, name))
        names = (node for node in _named(facts, name) if isinstance(node, ast.Name))
        reads = [node for node in names if scope in facts.scope_of(node).outward()]
        return bool(reads) and all(self._asks_for_part(facts, node) for node in reads)

    def _asks_for_part(self, facts: FileFacts, node: ast.expr) -> bool:
        parent = facts.parent.get(node)
        if isinstance(parent, ast.keyword):
            parent = facts.parent.get(parent)
        match parent:
            case ast.Attribute(attr=attr):
                return attr not in _RUNNING
            case ast.Call(func=func) if func is not node:
                taken = list(self.graph.taking(parent, node))
                return bool(taken) and all(self.alone(each.file, each, name) for each, name in taken)
            case ast.Assign(targets=[ast.Attribute(attr=attr) as kept]) if facts.is_own(kept):
                files = [each for each in self.project.files.values() if attr.encode() in each.source.utf8]
                reads = (
                    (each, read) for each in files for read in _named(each, attr) if isinstance(read, ast.Attribute)
                )
                return not self.project.quotes(attr) and all(self._asks_for_part(each, read) for each, read in reads)
        return False


def _named(facts: FileFacts, name: str) -> Iterator[ast.Name | ast.Attribute]:
    """The names and attributes of a file that read something of a name."""
    nodes: tuple[ast.Name | ast.Attribute, ...] = (*facts.nodes(ast.Name), *facts.nodes(ast.Attribute))
    return (node for node in nodes if last_name(node) == name and isinstance(node.ctx, ast.Load))


def _kept_as(facts: FileFacts, node: ast.expr) -> str:
    """The attribute of its own object in which code only keeps what it makes: ``self.drop = Drop(0.1)``."""
    call = facts.parent.get(node)
    match facts.parent.get(call) if isinstance(call, ast.Call) and call.func is node else None:
        case ast.Assign(targets=[ast.Attribute(attr=name) as target]) if facts.is_own(target):
            return name
    return ""


def _is_read(project: Project, name: str) -> bool:
    """Whether code reads an attribute, also by a text that is no key: ``getattr(self, "drop")``."""
    word = name.encode()
    for facts in project.files.values():
        if word in facts.source.utf8:
            texts = (node for node in facts.nodes(ast.Constant) if node.value == name)
            quoted = (node for node in texts if not isinstance(facts.parent[node], ast.Subscript))
            if any(isinstance(node, ast.Attribute) for node in _named(facts, name)) or any(True for _ in quoted):
                return True
    return False


def _imported(project: Project, facts: FileFacts) -> Iterator[str]:
    """Qualified names of what a file imports, whatever it does with it: ``features_extractor_class=Net``.

    What a module imports and mentions nowhere is not used; a package hands it on.
    """
    found = [
        (name, project.canonical(facts, binding.target))
        for scope in facts.scopes
        for name, bindings in scope.bindings.items()
        for binding in bindings
        if binding.how is Bind.IMPORT
    ]
    found = [(name, target) for name, target in found if target in project.classes]
    if not found or PurePosixPath(facts.path).name == _PACKAGE:
        return (target for _, target in found)
    mentioned = set(names_in(facts.top.node))
    return (target for name, target in found if name in mentioned)


def _configured(project: Project, facts: FileFacts) -> Iterator[str]:
    """Qualified names in texts of a file that configures objects by them: ``_target_: str = "nets.Critic"``."""
    if _TARGET in facts.source.utf8:
        texts = (node.value for node in facts.nodes(ast.Constant))
        yield from (project.canonical(facts, text) for text in texts if isinstance(text, str) and _DOTTED.match(text))


def _is_run(receivers: Receivers, method: Scope, cls: str, is_cold: Callable[[Scope], bool]) -> bool:
    """Whether a known call that is not set-up runs a method on an object of a class.

    What a base class calls in ``__call__`` is run by a call of the object.
    """
    graph = receivers.graph
    todo, seen = [(method, Receiver(cls))], set[Scope]()
    while todo:
        scope, receiver = todo.pop()
        seen.add(scope)
        for caller in graph.callers.get(scope, ()):
            home = caller.facts.scope_of(caller.call).function
            if caller.call in graph.weak or is_cold(home):
                continue
            above = receivers.above(caller.call, home, receiver)
            if above is None:
                continue
            if receivers.named(caller.call) is not None or "__call__" not in (home.name, scope.name):
                return True
            if home not in seen:
                todo.append((home, above))
    return False
