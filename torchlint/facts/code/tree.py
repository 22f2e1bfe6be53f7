"""Walking over syntax trees: what ``ast.walk`` and ``ast.iter_child_nodes`` give, in half the time.

Contexts (``Load``) and operators are left out: the node that has them says what they are.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator

# Fields that never hold a node, of whatever class they are.
_PLAIN = frozenset(
    "ctx op ops id attr arg module level kind type_comment simple is_async conversion asname kwd_attrs rest tag "
    "lineno str name".split()
)
# The classes of which a field of such a name holds nodes, or a field of another name holds none.
_WHOLE = {
    "Constant": (),
    "Name": (),
    "Global": (),
    "Nonlocal": (),
    "MatchSingleton": (),
    "TypeAlias": ("name", "type_params", "value"),
}
# The classes with ``None`` in a list: a key of ``{**other}``, a keyword without a default.
_HOLED = frozenset({ast.Dict, ast.arguments})


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    known: tuple[str, ...] | None = _WHOLE.get(kind.__name__)
    return tuple(name for name in kind._fields if name not in _PLAIN) if known is None else known


def _all(base: type[ast.AST]) -> Iterator[type[ast.AST]]:
    yield base
    for kind in base.__subclasses__():
        yield from _all(kind)


_FIELDS = {kind: _fields(kind) for kind in _all(ast.AST)}


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below a node, in the order of its fields."""
    found: list[ast.AST] = []
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += value
        elif value is not None:
            found.append(value)
    return found if node.__class__ not in _HOLED else [part for part in found if part is not None]


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it, those nearer to it first."""
    level = [node]
    while level:
        yield from level
        level = [child for part in level if _FIELDS[part.__class__] for child in children(part)]


def names_in(node: ast.AST) -> Iterator[str]:
    """Yield the identifiers in an expression: names, attributes, and strings that may be names."""
    return names_among(walk(node))


def names_among(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the identifiers that the nodes are, and strings that may be names."""
    for part in nodes:
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def conjuncts(test: ast.expr, truth: bool) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the parts of a condition that all need a truth value for the condition to have one, each with its own."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from conjuncts(test.operand, not truth)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if truth else ast.Or):
        for part in test.values:
            yield from conjuncts(part, truth)
    else:
        yield test, truth


def constant_of(node: ast.AST | None) -> ast.Constant | None:
    """Return the constant that an expression is, also a negative number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return ast.Constant(-value) if isinstance(value, (int, float)) else None
    return node if isinstance(node, ast.Constant) else None


def is_number(node: ast.expr | None, number: int) -> bool:
    """Return whether an expression is a literal that equals a number; true and false equal one and zero."""
    return isinstance(node, ast.Constant) and node.value == number


def is_none(node: ast.expr) -> bool:
    """Return whether an expression is the literal ``None``."""
    return isinstance(node, ast.Constant) and node.value is None


def is_false(node: ast.expr | None) -> bool:
    """Return whether an expression is the literal ``False``."""
    return isinstance(node, ast.Constant) and node.value is False


def is_docstring(stmt: ast.stmt) -> bool:
    """Return whether a statement is a literal alone, such as a docstring."""
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def body_of(node: ast.AST) -> list[ast.stmt]:
    """Return the statements of a function without its docstring; none of a lambda."""
    body = node.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
    return body[1:] if body and is_docstring(body[0]) else body


def inserted(part: ast.expr) -> ast.expr | None:
    """Return what a part of an f-string puts in as it is, ``None`` for one that is formatted or converted."""
    if not isinstance(part, ast.FormattedValue):
        return part
    return part.value if part.format_spec is None and part.conversion < 0 else None


def subscripted(node: ast.expr) -> ast.expr:
    """Return what an element is taken out of, at any depth: ``x`` of ``x[0][1]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """Return all that a call is given, by position and by keyword; stars stay."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def forms_of(node: ast.expr) -> list[ast.expr]:
    """Yield the expressions that an expression forwards: arms of a choice, operands of ``or``, ``x`` of ``*x``."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    return [node.value] if isinstance(node, (ast.NamedExpr, ast.Await, ast.Starred)) else []


def root_of(node: ast.expr) -> ast.expr:
    """Return what attributes and elements are taken out of, at any depth: ``x`` of ``x.rows[0].done``."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node


def parts_of(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the elements of a tuple, list or dict that is written out, at any depth; another expression itself."""
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, (ast.Tuple, ast.List, ast.Dict)):
            todo += part.values if isinstance(part, ast.Dict) else part.elts
        else:
            yield part


def receiver_of(node: ast.expr, methods: Container[str]) -> ast.expr:
    """Return what some methods are called on, one on the result of the other: ``x`` of ``x.detach().cpu()``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
        node = node.func.value
    return node


def first_index(node: ast.Subscript) -> ast.expr:
    """Return the first index of a subscript."""
    return node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice


def unpacked_to(stmt: ast.Assign | ast.AnnAssign, node: ast.expr) -> Iterator[ast.expr]:
    """Yield the targets that an assignment gives an expression: all of its value, or one of the parts of a tuple."""
    for target in stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]:
        if stmt.value is node:
            yield target
        elif isinstance(target, ast.Tuple) and isinstance(stmt.value, ast.Tuple):
            if len(target.elts) == len(stmt.value.elts):
                yield from (each for each, part in zip(target.elts, stmt.value.elts, strict=True) if part is node)
