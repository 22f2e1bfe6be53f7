"""What the parts of an expression are in LibCST and in ``ast``: one small function for each kind of node.

A handler gets a LibCST node and its twin and returns the pairs of their parts in the order of the source. The types
of the edits are checked by the walk in ``torchlint.engine.pair``; handlers check names, operators and numbers of parts.
"""

from __future__ import annotations

import ast
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

import libcst as cst

Children = Sequence[tuple[cst.CSTNode, ast.AST]]
FileEdits = type[ast.AST] | tuple[type[ast.AST], ...]


class PairingError(ValueError):
    """The two trees of a statement do not say the same."""


class PairWalk:
    """One walk over two trees: how far it goes, and the wrappers met on it.

    ``wrappers`` maps the ``id`` of a LibCST node that ``ast`` does not know to the twin of what it wraps.
    """

    __slots__ = ("header_only", "wrappers")

    def __init__(self, header_only: bool) -> None:
        """Start a walk that enters the bodies of compound statements, or leaves them out."""
        self.header_only = header_only
        self.wrappers: dict[int, ast.AST] = {}

    def unwrap(self, wrapper: cst.CSTNode, node: cst.CSTNode, twin: ast.AST) -> tuple[cst.CSTNode, ast.AST]:
        """Record ``twin`` as the twin of ``wrapper``, and pair what it wraps."""
        self.wrappers[id(wrapper)] = twin
        return node, twin


Handler = Callable[[PairWalk, cst.CSTNode, ast.AST], Children]
N = TypeVar("N", bound=cst.CSTNode)
A = TypeVar("A", bound=ast.AST)


B = TypeVar("B", bound=ast.AST)
Row = tuple[type[cst.CSTNode], tuple[FileEdits, Handler]]


def entry(node_type: type[N], twin: type[A], handler: Callable[[PairWalk, N, A], Children]) -> Row:
    """Return one row of the table of handlers; the walk calls the handler with nodes of these types only."""
    return node_type, (twin, cast(Handler, handler))


def either(
    node_type: type[N], first: type[A], second: type[B], handler: Callable[[PairWalk, N, A | B], Children]
) -> Row:
    """Return a row for a node whose twin has one of two types."""
    return node_type, ((first, second), cast(Handler, handler))


def check(holds: bool, what: str) -> None:
    """Raise ``PairingError`` unless ``holds``."""
    if not holds:
        raise PairingError(f"{what} differ")


def same_name(node: cst.BaseExpression | None, name: str | None) -> bool:
    """Return whether a LibCST name is ``name``: ``ast`` normalises identifiers, LibCST keeps them as written."""
    if node is None or name is None:
        return node is None and name is None
    if not isinstance(node, cst.Name):
        return False
    return node.value == name or unicodedata.normalize("NFKC", node.value) == name


def zipped(nodes: Sequence[cst.CSTNode], edits: Sequence[ast.AST]) -> Children:
    """Pair two sequences of the same length."""
    check(len(nodes) == len(edits), "numbers of parts")
    return list(zip(nodes, edits, strict=True))


def optional(node: cst.CSTNode | None, twin: ast.AST | None) -> Children:
    """Pair two parts that are both there or both absent."""
    if node is None or twin is None:
        check(node is None and twin is None, "optional parts")
        return ()
    return ((node, twin),)


def leaf(_walk: PairWalk, _node: cst.CSTNode, _twin: ast.AST) -> Children:
    """Return a node without parts."""
    return ()


def annotation(walk: PairWalk, node: cst.Annotation | None, twin: ast.expr | None) -> Children:
    """Return the expression after a colon or an arrow."""
    if node is None or twin is None:
        return optional(node, twin)
    return (walk.unwrap(node, node.annotation, twin),)


def arguments(
    walk: PairWalk, args: Iterable[cst.Arg], values: Sequence[ast.expr], keywords: Sequence[ast.keyword]
) -> Children:
    """Return the arguments of a call or the bases of a class; ``ast`` keeps plain and keyword arguments apart."""
    children: list[tuple[cst.CSTNode, ast.AST]] = []
    plain, named = iter(values), iter(keywords)
    for arg in args:
        twin = next(named, None) if arg.keyword is not None or arg.star == "**" else next(plain, None)
        if twin is None:
            raise PairingError("numbers of arguments differ")
        children.append((arg, twin) if arg.star or arg.keyword else walk.unwrap(arg, arg.value, twin))
    check(next(plain, None) is None and next(named, None) is None, "numbers of arguments")
    return children


def parameters(_walk: PairWalk, node: cst.Parameters, twin: ast.arguments) -> Children:
    """Return the parameters of a function or lambda, each followed by its default."""
    children: list[tuple[cst.CSTNode, ast.AST]] = []
    plain = (*node.posonly_params, *node.params)
    edits = (*twin.posonlyargs, *twin.args)
    check(len(node.posonly_params) == len(twin.posonlyargs) and len(plain) == len(edits), "numbers of parameters")
    defaults = (*[None] * (len(edits) - len(twin.defaults)), *twin.defaults)
    for param, arg, default in zip(plain, edits, defaults, strict=True):
        children += ((param, arg), *optional(param.default, default))
    star = node.star_arg if isinstance(node.star_arg, cst.Param) else None
    children += optional(star, twin.vararg)
    check(len(node.kwonly_params) == len(twin.kwonlyargs), "numbers of parameters")
    for param, arg, default in zip(node.kwonly_params, twin.kwonlyargs, twin.kw_defaults, strict=True):
        children += ((param, arg), *optional(param.default, default))
    children += optional(node.star_kwarg, twin.kwarg)
    return children


def _param(walk: PairWalk, node: cst.Param, twin: ast.arg) -> Children:
    check(same_name(node.name, twin.arg), "names of parameters")
    return annotation(walk, node.annotation, twin.annotation)


def _lambda(_walk: PairWalk, node: cst.Lambda, twin: ast.Lambda) -> Children:
    return (node.params, twin.args), (node.body, twin.body)


def _name(_walk: PairWalk, node: cst.Name, twin: ast.Name | ast.Constant) -> Children:
    if isinstance(twin, ast.Name):
        if node.value != twin.id:
            check(same_name(node, twin.id), "names")
    else:
        check(twin.value in (True, False, None) and node.value == repr(twin.value), "constants")
    return ()


def _attribute(_walk: PairWalk, node: cst.Attribute, twin: ast.Attribute) -> Children:
    check(same_name(node.attr, twin.attr), "attributes")
    return ((node.value, twin.value),)


def _call(walk: PairWalk, node: cst.Call, twin: ast.Call) -> Children:
    return (node.func, twin.func), *arguments(walk, node.args, twin.args, twin.keywords)


def _arg(_walk: PairWalk, node: cst.Arg, twin: ast.keyword | ast.Starred) -> Children:
    if isinstance(twin, ast.keyword):
        check(same_name(node.keyword, twin.arg), "keywords")
    return ((node.value, twin.value),)


def _subscript(walk: PairWalk, node: cst.Subscript, twin: ast.Subscript) -> Children:
    first = node.slice[0]
    several = len(node.slice) > 1 or isinstance(first.comma, cst.Comma)
    if several or (isinstance(first.slice, cst.Index) and first.slice.star):
        if not isinstance(twin.slice, ast.Tuple):
            raise PairingError("indices differ")
        indices = twin.slice.elts
    else:
        indices = [twin.slice]
    check(len(indices) == len(node.slice), "numbers of indices")
    children: list[tuple[cst.CSTNode, ast.AST]] = [(node.value, twin.value)]
    for element, index in zip(node.slice, indices, strict=True):
        part = element.slice
        children.append(walk.unwrap(element, part, index))
        if isinstance(part, cst.Index) and not part.star:
            children[-1] = walk.unwrap(part, part.value, index)
    return children


def _slice(_walk: PairWalk, node: cst.Slice, twin: ast.Slice) -> Children:
    return (*optional(node.lower, twin.lower), *optional(node.upper, twin.upper), *optional(node.step, twin.step))


def _starred(_walk: PairWalk, node: cst.StarredElement | cst.Index, twin: ast.Starred) -> Children:
    return ((node.value, twin.value),)


def _elements(walk: PairWalk, node: cst.Tuple | cst.List | cst.Set, twin: ast.Tuple | ast.List | ast.Set) -> Children:
    return elements(walk, node.elements, twin.elts)


def elements(walk: PairWalk, nodes: Sequence[cst.BaseElement], edits: Sequence[ast.expr]) -> Children:
    """Return the elements of a tuple, list or set."""
    check(len(nodes) == len(edits), "numbers of elements")
    return [
        (node, twin) if isinstance(node, cst.StarredElement) else walk.unwrap(node, node.value, twin)
        for node, twin in zip(nodes, edits, strict=True)
    ]


def _dict(walk: PairWalk, node: cst.Dict, twin: ast.Dict) -> Children:
    check(len(node.elements) == len(twin.values), "numbers of entries")
    children: list[tuple[cst.CSTNode, ast.AST]] = []
    for element, key, value in zip(node.elements, twin.keys, twin.values, strict=True):
        children += optional(element.key if isinstance(element, cst.DictElement) else None, key)
        children.append(walk.unwrap(element, element.value, value))
    return children


def _unary(_walk: PairWalk, node: cst.UnaryOperation, twin: ast.UnaryOp) -> Children:
    _same_operator(node.operator, twin.op)
    return ((node.expression, twin.operand),)


def _binary(_walk: PairWalk, node: cst.BinaryOperation, twin: ast.BinOp) -> Children:
    _same_operator(node.operator, twin.op)
    return (node.left, twin.left), (node.right, twin.right)


def _boolean(_walk: PairWalk, node: cst.BooleanOperation, twin: ast.BoolOp) -> Children:
    """``ast`` makes one node of ``a and b and c``, LibCST two of which the inner one has no twin."""
    _same_operator(node.operator, twin.op)
    kind = type(node.operator)
    operands: list[cst.BaseExpression] = []
    pending = [node.right, node.left]
    while pending:
        operand = pending.pop()
        if isinstance(operand, cst.BooleanOperation) and isinstance(operand.operator, kind) and not operand.lpar:
            pending += (operand.right, operand.left)
        else:
            operands.append(operand)
    return zipped(operands, twin.values)


def _comparison(walk: PairWalk, node: cst.Comparison, twin: ast.Compare) -> Children:
    check(len(node.comparisons) == len(twin.ops), "numbers of comparisons")
    children: list[tuple[cst.CSTNode, ast.AST]] = [(node.left, twin.left)]
    for target, operator, comparator in zip(node.comparisons, twin.ops, twin.comparators, strict=True):
        _same_operator(target.operator, operator)
        children.append(walk.unwrap(target, target.comparator, comparator))
    return children


def _conditional(_walk: PairWalk, node: cst.IfExp, twin: ast.IfExp) -> Children:
    return (node.body, twin.body), (node.test, twin.test), (node.orelse, twin.orelse)


def _named(_walk: PairWalk, node: cst.NamedExpr, twin: ast.NamedExpr) -> Children:
    return (node.target, twin.target), (node.value, twin.value)


def _await(_walk: PairWalk, node: cst.Await, twin: ast.Await) -> Children:
    return ((node.expression, twin.value),)


def _yield(walk: PairWalk, node: cst.Yield, twin: ast.Yield | ast.YieldFrom) -> Children:
    check(isinstance(node.value, cst.From) == isinstance(twin, ast.YieldFrom), "yields")
    if isinstance(node.value, cst.From) and twin.value is not None:
        return (walk.unwrap(node.value, node.value.item, twin.value),)
    return optional(node.value, twin.value)


def _comprehension(
    _walk: PairWalk,
    node: cst.GeneratorExp | cst.ListComp | cst.SetComp,
    twin: ast.GeneratorExp | ast.ListComp | ast.SetComp,
) -> Children:
    return (node.elt, twin.elt), *_loops(node.for_in, twin.generators)


def _dict_comprehension(_walk: PairWalk, node: cst.DictComp, twin: ast.DictComp) -> Children:
    return (node.key, twin.key), (node.value, twin.value), *_loops(node.for_in, twin.generators)


def _loops(first: cst.CompFor, edits: Sequence[ast.comprehension]) -> Children:
    loops: list[cst.CompFor] = []
    loop: cst.CompFor | None = first
    while loop is not None:
        loops.append(loop)
        loop = loop.inner_for_in
    return zipped(loops, edits)


def _loop(walk: PairWalk, node: cst.CompFor, twin: ast.comprehension) -> Children:
    check((node.asynchronous is not None) == bool(twin.is_async), "loops")
    check(len(node.ifs) == len(twin.ifs), "numbers of conditions")
    conditions = [walk.unwrap(part, part.test, test) for part, test in zip(node.ifs, twin.ifs, strict=True)]
    return (node.target, twin.target), (node.iter, twin.iter), *conditions


def _formatted_string(_walk: PairWalk, node: cst.FormattedString, twin: ast.JoinedStr) -> Children:
    return zipped(_fields(node.parts), _formatted_values(twin.values))


def _formatted_field(_walk: PairWalk, node: cst.FormattedStringExpression, twin: ast.FormattedValue) -> Children:
    return (node.expression, twin.value), *_format(node.format_spec, twin.format_spec)


def _format(nodes: Sequence[cst.CSTNode] | None, twin: ast.expr | None) -> Children:
    if nodes is None or not isinstance(twin, ast.JoinedStr):
        check(nodes is None and twin is None, "formats")
        return ()
    return zipped(_fields(nodes), _formatted_values(twin.values))


def _fields(nodes: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    return [node for node in nodes if not isinstance(node, _TEXTS)]


def _formatted_values(values: Sequence[ast.expr]) -> list[ast.expr]:
    """The fields of an f-string, also of formats that some versions of Python nest once more."""
    found: list[ast.expr] = []
    for value in values:
        if isinstance(value, ast.JoinedStr):
            found += _formatted_values(value.values)
        elif not isinstance(value, ast.Constant):
            found.append(value)
    return found


def _joined_strings(_walk: PairWalk, node: cst.ConcatenatedString, twin: ast.expr) -> Children:
    """``ast`` makes one string of ``'a' f'{b}' 'c'``, LibCST keeps them."""
    check(isinstance(twin, _STRINGS), "strings")
    fields: list[cst.CSTNode] = []
    rest: cst.BaseString = node
    while isinstance(rest, cst.ConcatenatedString):
        fields += _fields_of(rest.left)
        rest = rest.right
    fields += _fields_of(rest)
    return zipped(fields, _formatted_values(getattr(twin, "values", ())))


def _fields_of(node: cst.BaseString) -> list[cst.CSTNode]:
    return [] if isinstance(node, cst.SimpleString) else _fields(getattr(node, "parts", ()))


def _same_operator(node: cst.CSTNode, twin: ast.AST) -> None:
    check(_OPERATORS.get(type(node)) is type(twin), "operators")


def same_assignment_operator(node: cst.BaseAugOp, twin: ast.operator) -> None:
    """Raise ``PairingError`` unless both are the same augmented assignment."""
    check(_ASSIGNMENTS.get(type(node)) is type(twin), "operators")


_OPERATORS: dict[type[cst.CSTNode], type[ast.AST]] = {
    cst.Plus: ast.UAdd,
    cst.Minus: ast.USub,
    cst.BitInvert: ast.Invert,
    cst.Not: ast.Not,
    cst.And: ast.And,
    cst.Or: ast.Or,
    cst.Add: ast.Add,
    cst.Subtract: ast.Sub,
    cst.Multiply: ast.Mult,
    cst.Divide: ast.Div,
    cst.FloorDivide: ast.FloorDiv,
    cst.Modulo: ast.Mod,
    cst.Power: ast.Pow,
    cst.LeftShift: ast.LShift,
    cst.RightShift: ast.RShift,
    cst.BitOr: ast.BitOr,
    cst.BitAnd: ast.BitAnd,
    cst.BitXor: ast.BitXor,
    cst.MatrixMultiply: ast.MatMult,
    cst.LessThan: ast.Lt,
    cst.GreaterThan: ast.Gt,
    cst.Equal: ast.Eq,
    cst.LessThanEqual: ast.LtE,
    cst.GreaterThanEqual: ast.GtE,
    cst.NotEqual: ast.NotEq,
    cst.In: ast.In,
    cst.NotIn: ast.NotIn,
    cst.Is: ast.Is,
    cst.IsNot: ast.IsNot,
}
_ASSIGNMENTS: dict[type[cst.CSTNode], type[ast.AST]] = {
    cst.AddAssign: ast.Add,
    cst.SubtractAssign: ast.Sub,
    cst.MultiplyAssign: ast.Mult,
    cst.MatrixMultiplyAssign: ast.MatMult,
    cst.DivideAssign: ast.Div,
    cst.ModuloAssign: ast.Mod,
    cst.BitAndAssign: ast.BitAnd,
    cst.BitOrAssign: ast.BitOr,
    cst.BitXorAssign: ast.BitXor,
    cst.LeftShiftAssign: ast.LShift,
    cst.RightShiftAssign: ast.RShift,
    cst.PowerAssign: ast.Pow,
    cst.FloorDivideAssign: ast.FloorDiv,
}
_TEXTS: tuple[type[cst.CSTNode], ...] = (cst.FormattedStringText,)
_STRINGS: tuple[type[ast.expr], ...] = (ast.Constant, ast.JoinedStr)
EXPRESSIONS: dict[type[cst.CSTNode], tuple[FileEdits, Handler]] = dict(
    (
        either(cst.Name, ast.Name, ast.Constant, _name),
        entry(cst.Integer, ast.Constant, leaf),
        entry(cst.Float, ast.Constant, leaf),
        entry(cst.Imaginary, ast.Constant, leaf),
        entry(cst.Ellipsis, ast.Constant, leaf),
        entry(cst.SimpleString, ast.Constant, leaf),
        entry(cst.FormattedString, ast.JoinedStr, _formatted_string),
        entry(cst.FormattedStringExpression, ast.FormattedValue, _formatted_field),
        entry(cst.ConcatenatedString, ast.expr, _joined_strings),
        entry(cst.Attribute, ast.Attribute, _attribute),
        entry(cst.Call, ast.Call, _call),
        either(cst.Arg, ast.keyword, ast.Starred, _arg),
        entry(cst.Subscript, ast.Subscript, _subscript),
        entry(cst.Slice, ast.Slice, _slice),
        entry(cst.Index, ast.Starred, _starred),
        entry(cst.StarredElement, ast.Starred, _starred),
        entry(cst.Tuple, ast.Tuple, _elements),
        entry(cst.List, ast.List, _elements),
        entry(cst.Set, ast.Set, _elements),
        entry(cst.Dict, ast.Dict, _dict),
        entry(cst.UnaryOperation, ast.UnaryOp, _unary),
        entry(cst.BinaryOperation, ast.BinOp, _binary),
        entry(cst.BooleanOperation, ast.BoolOp, _boolean),
        entry(cst.Comparison, ast.Compare, _comparison),
        entry(cst.IfExp, ast.IfExp, _conditional),
        entry(cst.NamedExpr, ast.NamedExpr, _named),
        entry(cst.Await, ast.Await, _await),
        either(cst.Yield, ast.Yield, ast.YieldFrom, _yield),
        entry(cst.GeneratorExp, ast.GeneratorExp, _comprehension),
        entry(cst.ListComp, ast.ListComp, _comprehension),
        entry(cst.SetComp, ast.SetComp, _comprehension),
        entry(cst.DictComp, ast.DictComp, _dict_comprehension),
        entry(cst.CompFor, ast.comprehension, _loop),
        entry(cst.Lambda, ast.Lambda, _lambda),
        entry(cst.Parameters, ast.arguments, parameters),
        entry(cst.Param, ast.arg, _param),
    )
)

if sys.version_info >= (3, 14) and hasattr(cst, "TemplatedString"):

    def _template(_walk: PairWalk, node: cst.TemplatedString, twin: ast.TemplateStr) -> Children:
        return zipped(_fields(node.parts), _formatted_values(twin.values))

    def _interpolation(_walk: PairWalk, node: cst.TemplatedStringExpression, twin: ast.Interpolation) -> Children:
        return (node.expression, twin.value), *_format(node.format_spec, twin.format_spec)

    _TEXTS += (cst.TemplatedStringText,)
    _STRINGS += (ast.TemplateStr,)
    EXPRESSIONS.update(
        (
            entry(cst.TemplatedString, ast.TemplateStr, _template),
            entry(cst.TemplatedStringExpression, ast.Interpolation, _interpolation),
        )
    )
