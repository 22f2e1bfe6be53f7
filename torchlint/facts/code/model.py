"""The facts of one file as plain objects, keyed by ``ast`` nodes: scopes, bindings, classes, calls, places."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TypeVar, cast

from torchlint.facts.code.linking import EVERYWHERE
from torchlint.late import dataclass
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

ScopeNode = (
    ast.Module
    | ast.ClassDef
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.Lambda
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


_Node = TypeVar("_Node", bound=ast.AST)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Nodes with a scope of their own that run as part of the function around them."""
LOOPS = (ast.For, ast.AsyncFor, ast.While)
"""Statements that run their body again and again."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
"""Statements that define a function."""
NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
"""Nodes whose code does not run where they stand."""


class Bind(enum.Enum):
    """How a name comes by its value."""

    IMPORT = "import"
    ASSIGN = "assign"
    ELEMENT = "element of"
    ENTER = "with"
    PARAM = "parameter"
    REST = "positional arguments that no parameter takes"
    FUNCTION = "function"
    CLASS = "class"
    AUGMENT = "augmented"
    OTHER = "other"


def decorators(node: ast.AST) -> list[ast.expr]:
    """Return the decorators of a function or class, without the calls that configure them."""
    found = getattr(node, "decorator_list", [])
    return [part.func if isinstance(part, ast.Call) else part for part in found]


@dataclass(eq=False, slots=True)
class Binding:
    """One place that binds a name.

    Attributes:
        how: the form of the binding.
        stmt: the statement that binds; for a parameter the function itself, for a name bound in an expression, a
            handler or a case that expression, handler or case.
        value: the assigned, iterated or entered expression; the default of a parameter.
        path: position inside an unpacked value, outermost first; -1 stands for a starred rest.
        target: qualified name for an import; name of the parameter.
        scope: of a function or class binding, its scope; of a parameter, also a starred one, that of its function.
        annotation: of the target, where there is one.
    """

    how: Bind
    stmt: ast.AST
    value: ast.expr | None = None
    path: tuple[int, ...] = ()
    target: str = ""
    scope: Scope | None = None
    annotation: ast.expr | None = None


@dataclass(eq=False, slots=True)
class AttributeStore:
    """An assignment to an attribute of ``self`` (or of the class, in its body)."""

    binding: Binding
    scope: Scope


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class, function, lambda or comprehension.

    ``globals`` are the names that it declares global; ``shared`` those of its names that functions inside it rebind;
    ``keyed`` what it stores under a literal key of what has a name: ``batch["obs"] = x``, ``rows["obs"].append(x)``.
    """

    node: ScopeNode
    kind: str
    name: str
    qualname: str
    parent: Scope | None
    file: FileFacts
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    calls: list[ast.Call] = field(default_factory=list)
    returns: list[ast.Return] = field(default_factory=list)
    yields: list[ast.AST] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    appends: dict[str, list[tuple[str, ast.expr]]] = field(default_factory=dict)
    keyed: dict[str, list[tuple[str, ast.expr]]] = field(default_factory=dict)
    stores: dict[str, list[AttributeStore]] = field(default_factory=dict)
    params: list[str] = field(default_factory=list)
    inner: list[Scope] = field(default_factory=list)
    _dotted: str = ""
    _decorators: frozenset[str] | None = None
    _imported: dict[str, str] | None = None

    def __repr__(self) -> str:
        """Name the scope alone: all that it holds leads to the whole project."""
        return f"<{self.kind} {self.dotted}>"

    @property
    def dotted(self) -> str:
        """Unique in the project: ``package.module.Class.method``; lambdas have their place behind the name."""
        if not self._dotted:
            self._dotted = self._full_name()
        return self._dotted

    def _full_name(self) -> str:
        if isinstance(self.node, ast.Lambda):
            return f"{self.file.module}.{self.qualname}:{self.node.lineno}:{self.node.col_offset}"
        return f"{self.file.module}.{self.qualname}" if self.qualname else self.file.module

    @property
    def function(self) -> Scope:
        """The function (or module, class) that runs this scope's code: itself unless it is a comprehension."""
        scope = self
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def annotated(self) -> bool:
        """Whether it is a function with annotations: in its code a name keeps its type."""
        node = self.node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        return node.returns is not None or any(each.annotation is not None for each in every)

    @property
    def results(self) -> list[ast.expr]:
        """What it returns: the values of its ``return`` statements, of a lambda its body."""
        if isinstance(self.node, ast.Lambda):
            return [self.node.body]
        return [part.value for part in self.returns if part.value is not None]

    def run_calls(self) -> Iterator[ast.Call]:
        """Yield the calls that run as part of it: its own, and those in its comprehensions."""
        yield from self.calls
        for inner in self.inner:
            if inner.kind == "comprehension":
                yield from inner.run_calls()

    @property
    def owner(self) -> Scope | None:
        """The class whose method this is, also of functions nested in a method."""
        scope: Scope | None = self
        while scope is not None:
            if scope.kind == "function" and scope.parent is not None and scope.parent.kind == "class":
                return scope.parent
            scope = scope.parent
        return None

    @property
    def method_of(self) -> Scope | None:
        """The class in whose body this function stands, if it does."""
        return self.parent if self.kind == "function" and self.parent and self.parent.kind == "class" else None

    @property
    def method(self) -> Scope | None:
        """The method whose code it is part of: itself, or one that a nested function or a comprehension is in."""
        return next((scope for scope in self.outward() if scope.method_of is not None), None)

    @property
    def positional(self) -> list[str]:
        """The parameters that a call can give by position, ``self`` too."""
        args = self.node.args if isinstance(self.node, (*FUNCTIONS, ast.Lambda)) else None
        return self.params[: len(self.params) - len(args.kwonlyargs)] if args is not None else []

    @property
    def rest_keywords(self) -> str:
        """Name of the parameter that takes all other keywords, ``kwargs`` of ``**kwargs``, else empty."""
        rest = self.node.args.kwarg if isinstance(self.node, FUNCTIONS) else None
        return rest.arg if rest is not None else ""

    def outward(self) -> Iterator[Scope]:
        """Yield the scope and those around it, from inside to outside."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def self_name(self) -> str:
        """Name of the first parameter of a method that is not static, else empty."""
        if self.method_of is None or not self.params or "staticmethod" in self.decorator_names:
            return ""
        return self.params[0]

    @property
    def decorator_names(self) -> frozenset[str]:
        """Last components of the decorators' names."""
        if self._decorators is None:
            self._decorators = frozenset(
                node.attr if isinstance(node, ast.Attribute) else node.id
                for node in decorators(self.node)
                if isinstance(node, (ast.Attribute, ast.Name))
            )
        return self._decorators

    @property
    def imported(self) -> dict[str, str]:
        """The first name that is bound to a module or to what is imported from it, and to nothing else, by target.

        ``None`` beside it stands for what could not be imported.
        """
        if self._imported is None:
            self._imported = {}
            for name, every in self.bindings.items():
                bindings = [b for b in every if not (isinstance(b.value, ast.Constant) and b.value.value is None)]
                if bindings and all(b.how is Bind.IMPORT and b.target == bindings[0].target for b in bindings):
                    self._imported.setdefault(bindings[0].target, name)
        return self._imported

    @property
    def row(self) -> int:
        """First row of the definition, 1 for a module."""
        return getattr(self.node, "lineno", 1)


@dataclass(eq=False, slots=True)
class FileFacts:
    """Everything known of one file by itself.

    Attributes:
        source: the text. module: dotted name, unique in the project. tree: the parsed module.
        scopes: all scopes, outer before inner. scope_of: the scope that a statement or scope node is in.
        parent: the parent of every node. places: where a statement stands (block and index).
        tests: expressions that Python asks for their truth, of ``and``, ``or`` and ``not`` the operands; comparisons
            with ``in``, but not with ``is``.
        imports: absolute dotted names of all imported modules and names, for linking files.
        grows: calls that append to a list under a literal key, ``rows["obs"].append(x)``; ``keyed`` holds them too.
        marks: rows of ``def`` lines that a comment calls hot or cold.
        outside: by attribute, assignments to it that are not to ``self``: the object and what is stored.
        named: for trees and functions that were asked about, where they mention which name.
        handled: for functions that were asked about, the source text of what they count or go over; words: the words
            of their texts.
        table, nodes: where rows of the text start, and all nodes of a class; made when they are first asked for.
    """

    source: Source
    module: str
    tree: ast.Module
    package: bool
    scopes: list[Scope] = field(default_factory=list)
    scope_of_node: dict[ast.AST, Scope] = field(default_factory=dict)
    parent: dict[ast.AST, ast.AST] = field(default_factory=dict)
    places: dict[ast.stmt, tuple[list[ast.stmt], int]] = field(default_factory=dict)
    binders: dict[ast.AST, set[str]] = field(default_factory=dict)
    subscripts: list[ast.Subscript] = field(default_factory=list)
    grows: set[ast.expr] = field(default_factory=set)
    tests: list[ast.expr] = field(default_factory=list)
    compounds: list[ast.stmt] = field(default_factory=list)
    star_imports: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    marks: dict[int, str] = field(default_factory=dict)
    outside: dict[str, list[tuple[ast.expr, AttributeStore]]] = field(default_factory=dict)
    named: dict[Scope | ast.AST, dict[str, list[ast.Name]]] = field(default_factory=dict)
    handled: dict[Scope, frozenset[str]] = field(default_factory=dict)
    words: dict[Scope, frozenset[str]] = field(default_factory=dict)
    _table: LineTable | None = None
    _by_class: dict[type[ast.AST], list[ast.AST]] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Name of the file relative to the project root."""
        return self.source.name

    def __repr__(self) -> str:
        """Name the file alone."""
        return f"<facts of {self.source.name}>"

    @property
    def links(self) -> tuple[str, ...]:
        """Dotted names of all that the file imports; ``EVERYWHERE`` where it sets a default of torch for all files."""
        everywhere = (EVERYWHERE,) if b".set_default_" in self.source.utf8 else ()
        return (*self.imports, *self.star_imports, *everywhere)

    def absolute(self, level: int, name: str = "") -> str:
        """Return the absolute dotted name of a relative import: 2 and ``agents`` for ``from ..agents``."""
        if not level:
            return name
        parts = self.module.split(".")
        up = level - 1 if self.package else level
        parts = parts[: len(parts) - up] if up else parts
        return ".".join([*parts, *([name] if name else [])])

    def absolute_text(self, text: str) -> str:
        """Return the absolute dotted name of a relative import that is a text: ``..agents.ppo``."""
        name = text.lstrip(".")
        return f"{self.absolute(len(text) - len(name))}.{name}" if len(name) < len(text) else text

    def nodes(self, kind: type[_Node]) -> Sequence[_Node]:
        """Return all nodes of a class, without its subclasses, in the order in which they were collected."""
        if not self._by_class:
            for node in self.parent:
                self._by_class.setdefault(node.__class__, []).append(node)
        return cast("Sequence[_Node]", self._by_class.get(kind, ()))

    @property
    def table(self) -> LineTable:
        """Where each row of the text starts."""
        if self._table is None:
            self._table = LineTable(self.source.utf8)
        return self._table

    def text_of(self, node: ast.expr | ast.stmt) -> str:
        """Return the source text of a node."""
        start = self.table.offset(node.lineno, node.col_offset)
        end = self.table.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self.source.utf8[start:end].decode("utf-8")

    @property
    def top(self) -> Scope:
        """The module's own scope."""
        return self.scopes[0]

    def defines(self, name: str) -> bool:
        """Return whether the file itself defines a function or class of a name."""
        return any(binding.how in (Bind.FUNCTION, Bind.CLASS) for binding in self.top.bindings.get(name, ()))

    def scope_of(self, node: ast.AST) -> Scope:
        """Return the scope whose names an expression or statement sees."""
        known = self.scope_of_node
        scope = known.get(node)
        if scope is None:
            current = self.parent.get(node)
            while current is not None and current not in known:
                current = self.parent.get(current)
            scope = known[node] = self.top if current is None else known[current]
        return scope

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that hold a node, from inside to outside."""
        parent = self.parent.get(node)
        while parent is not None:
            yield parent
            parent = self.parent.get(parent)

    def is_own(self, node: ast.AST) -> bool:
        """Return whether an expression is an attribute of the object of its method: ``self.x``."""
        return isinstance(node, ast.Attribute) and self.own_object(node.value) is not None

    def own_object(self, node: ast.AST) -> Scope | None:
        """Return the method whose own object a name means, also in functions that are nested in the method."""
        if not isinstance(node, ast.Name):
            return None
        scope: Scope | None = self.scope_of(node)
        while scope is not None and scope.method_of is None:
            if node.id in scope.bindings:
                return None
            scope = scope.parent
        return scope if scope is not None and scope.self_name == node.id else None

    def climb(self, node: ast.AST, *ends: type[ast.AST]) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yield the nodes around a node, from inside to outside, each after the part of it that holds the node.

        It ends before the first node of one of some kinds.
        """
        child, parent = node, self.parent.get(node)
        while parent is not None and not isinstance(parent, ends):
            yield child, parent
            child, parent = parent, self.parent.get(parent)

    def blocks(self, node: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
        """Yield the blocks of statements around a node, from inside to outside, and where the node is in each."""
        stmt = self.statement(node)
        while stmt is not None and stmt in self.places:
            yield self.places[stmt]
            stmt = self.statement(self.parent[stmt])

    def last_item(self, node: ast.expr) -> ast.expr:
        """Return the last of the subscripts that pick from a node: ``x[0]["a"]`` of ``x``.

        The node itself where none does.
        """
        above = self.parent.get(node)
        while isinstance(above, ast.Subscript) and above.value is node:
            node, above = above, self.parent.get(above)
        return node

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """Return the innermost statement that holds a node (itself, for a statement)."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parent.get(current)
        return current


def is_super(node: ast.expr) -> bool:
    """Return whether an expression is a call of ``super``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def is_base_constructor(call: ast.Call) -> bool:
    """Return whether a call runs the constructor of a base: ``super().__init__(...)``."""
    func = call.func
    return isinstance(func, ast.Attribute) and func.attr == "__init__" and is_super(func.value)
