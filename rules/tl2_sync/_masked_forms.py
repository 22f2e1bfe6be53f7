"""Masked selections written with ``torch.where``, whose results have a fixed size: the fixes of TL202."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import unpacked
from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.state.effects import Sides
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Change, Fix, Kind, Site
from torchlint.rule.build import module_for, only_reads, source
from torchlint.rule.convert import FLOATING

from ._mask_counts import MaskCounts
from ._single_numbers import Tensors

_DOUBT = "the mask has the shape of the tensors"
_SIGNS: dict[type[cst.CSTNode], str] = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
}
_ADDING = (cst.Add, cst.Subtract)
_SCALING = (cst.Multiply, cst.Divide)
_ELEMENTWISE = frozenset(
    {"abs", "exp", "log", "sqrt", "square", "sign", "isnan", "isinf", "isfinite", "detach", "float"}
)
_MOST = 50
_WHOLE = frozenset({"int16", "int32", "int64"})
_REDUCING = frozenset({"sum", "mean"})
_EXTREMES = {"max": '"-inf"', "amax": '"-inf"', "min": '"inf"', "amin": '"inf"'}
_JOINING = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})
# What a number goes to without a gradient.
_READING = frozenset({"item", "detach", "tolist", "cpu"})


def fixed_size(site: Site, node: cst.Subscript) -> Fix | None:
    """Return a statement or a reduction that selects by a mask, of a fixed size; ``None`` where it has no such form."""
    if site.compiling.scripted():
        return None
    return _reduced(site, node) or _stored(site, node)


def _mask(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The only index of a subscript."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=mask, star=None))]):
            return mask
    return None


_Operand = tuple[str, tuple[Binding, ...]] | ast.expr


@dataclass(eq=False, slots=True)
class MaskShapes(Fact):
    """Answers whether a mask has the shape of a tensor that it selects from.

    What is computed element by element has the shape that its *operands* broadcast to. So two expressions of the same
    operands have one shape, and a mask that was computed from a tensor, whatever else went in, is at least as large:
    where it is larger, indexing raises and ``torch.where`` does not.
    """

    project: Project
    values: Values

    def alike(self, facts: FileFacts, one: ast.expr, other: ast.expr) -> bool:
        """Return whether two expressions are computed element by element from the same tensors."""
        operands = self._operands(facts, one)
        return operands is not None and operands == self._operands(facts, other)

    def contains(self, facts: FileFacts, mask: ast.expr, tensor: ast.expr) -> bool:
        """Return whether a mask is computed element by element from all that a tensor is computed from."""
        operands, own = self._operands(facts, mask), self._operands(facts, tensor)
        return operands is not None and own is not None and bool(own) and own <= operands

    def _operands(self, facts: FileFacts, node: ast.expr) -> frozenset[_Operand] | None:
        """What an expression is computed from, element by element; ``None`` where there are too many."""
        found: set[_Operand] = set()
        todo, seen = [node], 0
        while todo:
            part, seen = todo.pop(), seen + 1
            if seen > _MOST:
                return None
            match part:
                case ast.Name(id=name):
                    bindings = tuple(self.project.reaching(facts, part).bindings)
                    if (made := _made(bindings, part)) is not None and self._splits(facts, made):
                        todo.append(made)
                    elif not self._is_scalar(facts, part):
                        found.add((name, bindings))
                case _ if operands := self._split(facts, part):
                    todo += operands
                case _ if not self._is_scalar(facts, part):
                    found.add(part)
        return frozenset(found)

    def _splits(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is a name or computed element by element: another one is the same only by its name."""
        return isinstance(node, ast.Name) or bool(self._split(facts, node))

    def _is_scalar(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a value adds no dimension: a number, or a tensor without dimensions."""
        value = self.values.of(facts, node)
        return value.kind is Kind.NUMBER or (value.kind is Kind.TENSOR and value.rank == 0)

    def _split(self, facts: FileFacts, node: ast.expr) -> list[ast.expr]:
        """The operands of an expression that is computed element by element; none for any other."""
        match node:
            case ast.Compare(left=left, ops=[_], comparators=[right]) | ast.BinOp(left=left, right=right):
                return [] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) else [left, right]
            case ast.UnaryOp(op=ast.Invert() | ast.USub(), operand=operand):
                return [operand]
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[], keywords=[]) if name in _ELEMENTWISE:
                return [inner]
            case ast.Call(func=ast.Attribute(attr=name) as func, args=args, keywords=[]) if name in _JOINING:
                whole = self.project.qualified(facts, func) == f"torch.{name}"
                return args if whole else [func.value, *args]
        return []


def _made(bindings: tuple[Binding, ...], name: ast.Name) -> ast.expr | None:
    """The expression above a name that is all it can hold; ``None`` where there is none.

    One below it, in a loop, was computed in the round before, from what its own names held then.
    """
    if len(bindings) != 1 or bindings[0].how is not Bind.ASSIGN or bindings[0].value is None:
        return None
    value, path = bindings[0].value, bindings[0].path
    part = unpacked(value, path)
    return None if (part is value and path) or value.lineno > name.lineno else part


def _doubt(site: Site, mask: cst.BaseExpression, tensors: list[cst.BaseExpression]) -> str:
    """What is not proven of the shapes of a mask and of tensors that are selected from."""
    if any(site.values.of(part).kind is not Kind.TENSOR for part in tensors):
        return f"what the mask selects from is a tensor, and {_DOUBT}"
    return "" if all(_is_alike(site, mask, tensor) for tensor in tensors) else _DOUBT


def _doubt_of_stored(
    site: Site, mask: cst.BaseExpression, held: cst.BaseExpression, parts: list[cst.BaseExpression]
) -> str:
    """What is not proven where the result is stored: one that is larger than what holds it raises, as indexing did."""
    fits = _is_of_one_rank(site, mask, held) or _contains(site, mask, held)
    others = all(_is_alike(site, part, mask) or _is_alike(site, part, held) for part in parts)
    return "" if fits and others else _DOUBT


def _is_of_one_rank(site: Site, mask: cst.BaseExpression, held: cst.BaseExpression) -> bool:
    """Whether a mask has as many dimensions as a tensor: then it has its shape, or indexing raises."""
    ranks = {site.values.of(part).rank for part in (mask, held)}
    return len(ranks) == 1 and None not in ranks and 0 not in ranks


def _is_alike(site: Site, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Whether two expressions have one shape."""
    first, second = site.expression(one), site.expression(other)
    return first is not None and second is not None and site.fact(MaskShapes).alike(site.file, first, second)


def _contains(site: Site, mask: cst.BaseExpression, tensor: cst.BaseExpression) -> bool:
    """Whether a mask was computed from all elements of a tensor."""
    one, other = site.expression(mask), site.expression(tensor)
    return one is not None and other is not None and site.fact(MaskShapes).contains(site.file, one, other)


@dataclass(frozen=True, slots=True)
class _Reduction:
    """A call that reduces what a mask selects to one element: ``x[m].sum()``, or ``torch.mean(-x[m])``.

    Attributes:
        call: the call, and name: what it computes.
        selected: what it reduces, as computed of all elements. tensors: those that are selected from.
        reads: whether its result goes to the host without a gradient.
        open: whether what is selected from may be of an unknown kind: the function takes tensors alone.
    """

    call: cst.Call
    name: str
    selected: str
    tensors: tuple[cst.BaseExpression, ...]
    reads: bool
    open: bool = False


def _reduction(site: Site, node: cst.Subscript, mask: cst.BaseExpression) -> _Reduction | None:
    """The reduction of all that a mask selects; ``None`` where something else is done with it."""
    links = site.calls.chain(node)
    if links and isinstance(links[0].node, cst.Call):
        call, further = links[0].node, [link.name for link in links[1:2]]
        plain = not call.args and "\n" not in source(call)
        reads = not _READING.isdisjoint(further)
        return _Reduction(call, links[0].name, _bare(node.value), (node.value,), reads) if plain else None
    part: cst.BaseExpression = node
    while isinstance(above := site.parent(part), (cst.UnaryOperation, cst.BinaryOperation)):
        part = above
    holder = site.parent(above) if isinstance(above, cst.Arg) else above
    if not isinstance(holder, cst.Call) or len(holder.args) != 1 or holder.args[0].star or holder.args[0].keyword:
        return None
    if holder.args[0].value is not part:
        return None
    module, _, name = (site.names.of(holder.func) or "").rpartition(".")
    whole = _bare(node.value) if part is node else _whole(site, part, source(mask))
    if module != "torch" or whole is None or "\n" in source(holder):
        return None
    reads = not _READING.isdisjoint(link.name for link in site.calls.chain(holder)[:1])
    return _Reduction(holder, name, whole, tuple(_selected(part, source(mask))), reads, open=True)


def _bare(node: cst.BaseExpression) -> str:
    """The text of an expression without parentheses around it."""
    return source(node.with_changes(lpar=[], rpar=[]))


def _is_operand(site: Site, call: cst.Call) -> bool:
    """Whether what stands around a call binds more closely than a quotient in its place would."""
    parent = site.parent(call)
    if isinstance(parent, cst.Call):
        return parent.func is call
    return isinstance(parent, (cst.BinaryOperation, cst.UnaryOperation, cst.Attribute, cst.Subscript, cst.Await))


def _reduced(site: Site, node: cst.Subscript) -> Fix | None:
    """``x[m].sum()``, ``x[m].mean()``, ``torch.mean(x[m])`` and the like."""
    mask = _mask(node)
    found = _reduction(site, node, mask) if mask is not None else None
    if mask is None or found is None:
        return None
    kinds = {site.values.of(one).kind for one in found.tensors}
    if not kinds <= ({Kind.TENSOR, Kind.UNKNOWN} if found.open else {Kind.TENSOR}):
        return None
    if found.name in _EXTREMES:
        return _extreme(site, found, mask)
    if found.name not in _REDUCING:
        return None
    mean = found.name == "mean"
    if mean and not only_reads(site, mask):
        return None  # it is written twice
    torch, imports = module_for(site, "torch", "torch")
    text = f"{torch}.where({source(mask)}, {found.selected}, 0).sum()"
    changes: tuple[Change, ...] = (Change.ROUNDING,)
    behind: tuple[tuple[ast.stmt, str], ...] = ()
    if mean:
        counted, behind = site.fact(MaskCounts).of(site.file, site.expression(mask))
        text = f"{text} / {counted or source(mask) + '.sum()'}"
        text = f"({text})" if _is_operand(site, found.call) else text
        changes = (Change.ROUNDING, Change.NONFINITE)
    doubt = _doubt(site, mask, list(found.tensors))
    message = "reduce all of it, zero where the mask is not"
    return Fix(message, ((found.call, text),), changes, doubt, imports, behind=behind)


def _extreme(site: Site, found: _Reduction, mask: cst.BaseExpression) -> Fix | None:
    """``x[m].max()``: what the mask leaves out takes no part if it is infinite.

    Of nothing there is no maximum: that raised, and does no longer.
    """
    torch, imports = module_for(site, "torch", "torch")
    text = f"{torch}.where({source(mask)}, {found.selected}, float({_EXTREMES[found.name]})).{found.name}()"
    changes: tuple[Change, ...] = () if _is_asked_for_any(site, found.call, mask) else (Change.VALIDATION,)
    if not found.reads:
        changes = (*changes, Change.NONFINITE)  # the gradient of an infinity may go to what was left out
    twins = [site.expression(tensor) for tensor in found.tensors]
    tensors = site.fact(Tensors)
    if any(twin is None or tensors.is_whole(site.file, twin) for twin in twins):
        return None
    floating = all(twin is not None and tensors.is_floating(site.file, twin) for twin in twins)
    doubts = filter(
        None, (_doubt(site, mask, list(found.tensors)), "" if floating else "it holds floating-point numbers")
    )
    message = "reduce all of it, infinite where the mask is not"
    return Fix(message, ((found.call, text),), changes, " and ".join(doubts), imports)


def _is_asked_for_any(site: Site, node: cst.CSTNode, mask: cst.BaseExpression) -> bool:
    """Whether an expression is computed only where its mask selects something: ``... if mask.any() else 0.0``."""
    child, parent = node, site.parent(node)
    while isinstance(parent, cst.BaseExpression):
        if isinstance(parent, cst.IfExp) and child is parent.body and source(parent.test) == f"{source(mask)}.any()":
            return True
        child, parent = parent, site.parent(parent)
    return False


def _stored(site: Site, node: cst.Subscript) -> Fix | None:
    """``x[m] -= c`` and ``x[m] = v[m]``, also with sums and multiples of such parts."""
    statement: cst.CSTNode | None = node
    while statement is not None and not isinstance(statement, (cst.Assign, cst.AugAssign)):
        statement = site.parent(statement)
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as target)], value=value):
            sign = ""
        case cst.AugAssign(target=cst.Subscript() as target, operator=operator, value=value) if (
            type(operator) in _SIGNS
        ):
            sign = _SIGNS[type(operator)]
        case _:
            return None
    mask, held = _mask(target), target.value
    if mask is None or not _is_pure(site, mask) or not only_reads(site, held):
        return None
    rows = source(statement)
    if "\n" in rows and ("#" in rows or "\n" in source(target)):
        return None
    if sign in ("*", "/") and not _is_number(site, value):
        return None
    new = _whole(site, value, source(mask)) or ("" if sign else _computed(site, value, target, mask))
    parts = [held, *_selected(value, source(mask))]
    if _doubt_of_stored(site, mask, held, []) and site.values.of(held).rank != 1:
        return None  # a mask of rows is as likely
    if not new or not all(site.values.of(part).kind is Kind.TENSOR for part in parts):
        return None
    if sign:
        right = f"({new})" if isinstance(value, cst.BinaryOperation) else new
        new = f"{source(held)} {sign} {right}"
    elif len(parts) == 1:
        return None  # a number alone becomes ``masked_fill_``
    torch, imports = module_for(site, "torch", "torch")
    text = f"{source(held)}[...] = {torch}.where({source(mask)}, {new}, {source(held)})"
    whole = site.values.of(held).dtype in _WHOLE
    exact = _is_one_dtype(site, parts) or (whole and bool(sign) and _stays_whole(site, sign, value))
    if whole and not exact:
        return None  # a fraction, which storing through a mask refuses
    changes: tuple[Change, ...] = () if exact else (Change.VALIDATION,)
    if sign in ("*", "/") or _scales(value):
        changes = (*changes, Change.NONFINITE)
    doubt = _doubt_of_stored(site, mask, held, parts[1:])
    return Fix("compute all of it, and choose", ((statement, _on_one_row(text)),), changes, doubt, imports)


def _on_one_row(text: str) -> str:
    """The text of a statement on one row, which is split where that is too long; one with a comment stays as it is."""
    return ast.unparse(ast.parse(text)) if "\n" in text and "#" not in text else text


def _is_one_dtype(site: Site, parts: list[cst.BaseExpression]) -> bool:
    """Whether tensors hold floating-point numbers of one dtype: storing through a mask refuses any other."""
    dtypes = {site.values.of(part).dtype for part in parts}
    if len(parts) > 1:
        return len(dtypes) == 1 and dtypes <= FLOATING
    twin = site.expression(parts[0])
    return twin is not None and site.fact(Tensors).is_floating(site.file, twin)


def _is_pure(site: Site, mask: cst.BaseExpression) -> bool:
    """Whether a mask may as well be computed once, and after what stands to the right of it."""
    twin = site.expression(mask)
    if only_reads(site, mask) or twin is None:
        return twin is not None
    effects = site.fact(Sides).of(site.file, [twin])
    return effects.known and not effects.writes and not effects.draws


def _stays_whole(site: Site, sign: str, number: cst.BaseExpression) -> bool:
    """Whether whole numbers are whole afterwards, and of the same dtype: an ``int`` is added, or multiplies them."""
    given = site.values.of(number)
    return sign != "/" and given.kind is Kind.NUMBER and given.dtype == "int"


def _scales(node: cst.CSTNode) -> bool:
    """Whether an expression multiplies or divides: a gradient of zero times infinity is not a zero."""
    match node:
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            return isinstance(operator, _SCALING) or _scales(left) or _scales(right)
        case cst.UnaryOperation(expression=inner):
            return _scales(inner)
    return False


def _selected(node: cst.CSTNode, mask: str) -> Iterator[cst.BaseExpression]:
    """The tensors of which an expression takes what a mask selects."""
    match node:
        case cst.Subscript(value=held) if (own := _mask(node)) is not None and source(own) == mask:
            yield held
        case cst.BinaryOperation(left=left, right=right):
            yield from _selected(left, mask)
            yield from _selected(right, mask)
        case cst.UnaryOperation(expression=inner):
            yield from _selected(inner, mask)


def _whole(site: Site, node: cst.BaseExpression, mask: str) -> str | None:
    """The text of what an expression computes of selected elements, computed of all; ``None`` where that may differ.

    Products of two tensors are left alone: autograd keeps their factors, of which one may be what is written to.
    """
    match node:
        case cst.Subscript(value=inner) if (own := _mask(node)) is not None and source(own) == mask:
            return source(inner) if only_reads(site, inner) else None
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            text = _whole(site, inner, mask)
            return None if text is None else f"-{_parenthesized(inner, text)}"
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            numbers = _is_number(site, left), _is_number(site, right)
            fits = isinstance(operator, _ADDING) or (isinstance(operator, _SCALING) and any(numbers))
            if isinstance(operator, cst.Divide) and not numbers[1]:
                return None
            texts = [_whole(site, part, mask) for part in (left, right)]
            if not fits or None in texts:
                return None
            one, other = (_parenthesized(part, text or "") for part, text in zip((left, right), texts, strict=True))
            return f"{one} {source(operator).strip()} {other}"
    return source(node) if _is_number(site, node) else None


def _computed(site: Site, node: cst.BaseExpression, target: cst.Subscript, mask: cst.BaseExpression) -> str:
    """The text of what a call computes, of which a mask selects elements; empty where that may change the others."""
    own = _mask(node) if isinstance(node, cst.Subscript) else None
    if own is None or not isinstance(node, cst.Subscript) or source(own) != source(mask):
        return ""
    twins = [site.expression(part) for part in (node.value, target.value, mask)]
    if any(twin is None for twin in twins):
        return ""
    sides = site.fact(Sides)
    computed, *others = (sides.of(site.file, [twin]) for twin in twins if twin is not None)
    stays = not any(sides.overlaps(text, computed.writes) for each in others for text in each.reads)
    return source(node.value) if computed.known and stays else ""


def _parenthesized(node: cst.BaseExpression, text: str) -> str:
    """The text, in the parentheses that the expression had."""
    return f"({text})" if node.lpar and isinstance(node, cst.BinaryOperation) else text


def _is_number(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression is a Python number that may as well be computed with other elements."""
    return site.values.of(node).kind is Kind.NUMBER and only_reads(site, node)
