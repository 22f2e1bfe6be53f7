"""What the modules of a project are made of, and what could be added to one without harm."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import sets_any
from torchlint.facts.code.model import FileFacts, Scope, is_base_constructor
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import parts_of, walk
from torchlint.late import dataclass
from torchlint.models import method_names

_PLAIN_BASES = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module", "abc.ABC", "typing.Generic"})
_MOST_NUMBERED = 9
_DYNAMIC = frozenset({"__getattr__", "__setattr__", "__getattribute__", "__slots__"})

# Attributes that every module has.
MODULE_NAMES = method_names("torch.nn.Module")


@dataclass(eq=False, slots=True)
class Members(Fact):
    """Answers what attributes a module has, and which values are there when its ``__init__`` ends."""

    project: Project

    def free_attribute(self, facts: FileFacts, node: ast.AST, name: str) -> str | None:
        """Return an attribute that the module whose method holds a node could get at the end of its ``__init__``.

        Source text such as ``self.support``: the name, or with a number after it where that is taken. ``None`` where
        there is none that is sure to be there when the method runs.
        """
        method = facts.scope_of(node).function
        cls, init = method.method_of, own_init(facts, node)
        if cls is None or init is None or method.name in (init.name, "__new__") or not name.isidentifier():
            return None
        inits = [scope for scope in cls.inner if scope.node is init]
        this = method.self_name
        if not this or "classmethod" in method.decorator_names or inits[0].self_name != this:
            return None
        if not self._is_plain_module(cls) or not _calls_super(init) or not self._always_initialised(cls, method):
            return None
        taken = self._names(cls)
        names = [name, *(f"{name}_{number}" for number in range(2, _MOST_NUMBERED + 1))]
        free = next((found for found in names if found not in taken and found not in MODULE_NAMES), None)
        return f"{this}.{free}" if taken and free else None

    def settled(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an expression means the same at the end of the enclosing class's own ``__init__``.

        Its names are those of the module, its attributes of ``self`` are set there or in the class body.
        """
        init = own_init(facts, node)
        cls = facts.scope_of(node).owner
        if init is None or cls is None:
            return False
        this = facts.scope_of(node).function.self_name
        hidden = facts.scope_of(init.body[0]).bindings
        attributes = _set_directly(init, this) | {name for name in cls.bindings if name in cls.stores}
        inside = {part.id for part in walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        for part in walk(node):
            if not isinstance(part, ast.Name) or part.id in inside:
                continue
            if this and part.id == this:
                above = facts.parent.get(part)
                if not isinstance(above, ast.Attribute) or above.attr not in attributes:
                    return False
            elif part.id in hidden or not self._is_global(facts, part):
                return False
        return True

    def of_parameter(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an expression is a parameter of its function, other than the object of a method."""
        parameter = self.project.reaching(facts, node).parameter
        return parameter is not None and parameter.target != facts.scope_of(node).function.self_name

    def _is_global(self, facts: FileFacts, name: ast.Name) -> bool:
        scope = self.project.reaching(facts, name).scope
        return scope is None or scope.kind == "module"

    def _is_plain_module(self, cls: Scope) -> bool:
        """Whether a class is an ``nn.Module`` of which all bases are known."""
        bases = set(self.project.ancestry(cls.dotted))
        foreign = {base for base in bases if base not in self.project.classes and not base.startswith("builtins.")}
        resolved = all(
            isinstance(scope.node, ast.ClassDef) and len(self.project.bases(scope)) == len(scope.node.bases)
            for scope in self.project.family(cls.dotted)
        )
        return resolved and foreign <= _PLAIN_BASES and self.project.is_module(cls.dotted)

    def _always_initialised(self, cls: Scope, method: Scope) -> bool:
        """Whether ``__init__`` has always ended before a method runs: no ``__init__`` calls it or is left out."""
        family = list(self.project.family(cls.dotted))
        if not all(_calls_super(init) for child in self.project.descendants(cls.dotted) for init in _inits(child)):
            return False
        todo, seen = ["__init__"], {"__init__"}
        while todo:
            name = todo.pop()
            for scope in family:
                for inner in scope.inner:
                    if inner.kind == "function" and inner.name == name:
                        new = _own_calls(inner) - seen
                        seen |= new
                        todo.extend(new)
        return method.name not in seen

    def _names(self, cls: Scope) -> frozenset[str]:
        """All names that a class, its bases and what derives from it use; none where they cannot be known."""
        names: set[str] = set()
        for scope in [*self.project.family(cls.dotted), *self.project.descendants(cls.dotted)]:
            names |= scope.bindings.keys() | scope.stores.keys()
            own = {inner.self_name for inner in scope.inner}
            for part in walk(scope.node):
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in own:
                    names.add(part.attr)
                elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                    names.add(part.value)
                elif isinstance(part, ast.Call) and sets_any(part):
                    return frozenset()
        if names & _DYNAMIC:
            return frozenset()
        return frozenset(names | self.project.outside.keys())


def own_init(facts: FileFacts, node: ast.AST) -> ast.FunctionDef | None:
    """Return the ``__init__`` in the body of the class whose method holds a node, if it always runs to its end."""
    owner = facts.scope_of(node).owner
    found = list(_scopes(owner)) if owner is not None else []
    if len(found) != 1 or found[0].returns or found[0].yields:
        return None
    init = found[0].node
    if not isinstance(init, ast.FunctionDef) or isinstance(init.body[-1], ast.Raise):
        return None
    return init


def _scopes(cls: Scope) -> Iterator[Scope]:
    return (inner for inner in cls.inner if inner.kind == "function" and inner.name == "__init__")


def _inits(cls: Scope) -> Iterator[ast.FunctionDef]:
    return (scope.node for scope in _scopes(cls) if isinstance(scope.node, ast.FunctionDef))


def _calls_super(init: ast.FunctionDef) -> bool:
    """Whether an ``__init__`` always calls the next one: ``super().__init__(...)`` is a statement of its own."""
    calls = [stmt.value for stmt in init.body if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call)]
    return any(map(is_base_constructor, calls))


def _own_calls(method: Scope) -> set[str]:
    """Names of the methods that a method calls on its own object, ``forward`` for the object itself."""
    found: set[str] = set()
    for part in walk(method.node):
        if isinstance(part, ast.Call):
            func = part.func
            if isinstance(func, ast.Name) and func.id == method.self_name:
                found.add("forward")
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == method.self_name:
            found.add(part.attr)
    return found


def _set_directly(init: ast.FunctionDef, this: str) -> set[str]:
    """Attributes that the statements of an ``__init__`` itself assign, whatever happens."""
    stmts = (stmt for stmt in init.body if isinstance(stmt, (ast.Assign, ast.AnnAssign)))
    targets = (each for stmt in stmts for each in (stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]))
    parts = (part for target in targets for part in parts_of(target) if isinstance(part, ast.Attribute))
    return {part.attr for part in parts if last_name(part.value) == this and isinstance(part.value, ast.Name)}
