"""Several tests of tensors joined on the device, so that one read answers them: a fix of TL208 and of TL201."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchlint import cst
from torchlint.facts.flow.whereabouts import Whereabouts
from torchlint.rule import Device, Fix, Kind, Site
from torchlint.rule.build import expression, in_place_of, source

from ._tensor_condition import Sometimes, Tests
from ._texts import spelled_before


def on_device(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression is a tensor, at least on some ways, that is not proven to be on the host."""
    value = site.values.of(node)
    if value.kind is not Kind.TENSOR:
        twin = site.expression(node) if not value.known else None
        return twin is not None and site.fact(Sometimes).of(site.file, twin)
    return value.device is not Device.CPU


def reads_somewhere(site: Site, node: cst.CSTNode) -> bool:
    """Return whether the truth of an expression, or of a part of it, is that of a tensor."""
    return any(reads(site, leaf) for leaf in leaves_of(node))


def reads(site: Site, node: cst.CSTNode) -> bool:
    """Return whether the truth of an expression is that of a tensor, or of a search in one."""
    if isinstance(node, cst.Comparison) and isinstance(node.comparisons[0].operator, (cst.In, cst.NotIn)):
        # A text is not an element of a tensor: what it is looked for in is a mapping, the output of a model.
        sought = site.values.of(node.left).kind is not Kind.STRING
        return sought and on_device(site, node.comparisons[0].comparator)
    return on_device(site, node) and not _compares_on_host(site, node) and not spelled_before(site, node)


def _compares_on_host(site: Site, node: cst.CSTNode) -> bool:
    """Whether a tensor of the host is compared with what is unknown: a setting, more often than a device's number."""
    if not isinstance(node, cst.Comparison):
        return False
    sides = [site.values.of(side) for side in (node.left, *(target.comparator for target in node.comparisons))]
    tensors = [side for side in sides if side.kind is Kind.TENSOR]
    return bool(tensors) and all(side.device is Device.CPU for side in tensors)


def leaves_of(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the expressions that ``and``, ``or`` and ``not`` put together, in order."""
    match node:
        case cst.BooleanOperation(left=left, right=right):
            yield from leaves_of(left)
            yield from leaves_of(right)
        case cst.UnaryOperation(operator=cst.Not(), expression=expression):
            yield from leaves_of(expression)
        case _:
            yield node


def joined_tests(site: Site, test: cst.BaseExpression) -> Fix | None:
    """Join the tests of an ``and`` or ``or``, from the first that reads a tensor on, where that changes nothing."""
    first = next((leaf for leaf in leaves_of(test) if reads(site, leaf)), None)
    return joined(site, first) if isinstance(first, cst.BaseExpression) else None


def joined(site: Site, node: cst.BaseExpression) -> Fix | None:
    """Join the tests of an ``and`` or ``or`` on the device from a first one on, as far as that changes nothing."""
    child, top = node, site.parent(node)
    if isinstance(top, cst.UnaryOperation):
        child, top = top, site.parent(top)
    if not isinstance(top, cst.BooleanOperation):
        return None
    kind = type(top.operator)
    top = top if child.lpar else _whole_chain(site, top)
    operands = list(_chain(top, kind))
    first = operands.index(child)
    last = first
    doubts: dict[str, None] = {}
    while last < len(operands) and (doubt := _doubt(site, operands[last], operands[first:last])) is not None:
        doubts.update(dict.fromkeys([doubt] if doubt else []))
        last += 1
    if last - first < 2:
        return None
    asked = [site.expression(_asked_for(operand)) for operand in operands[first:last]]
    if not site.fact(Whereabouts).combine(site.file, [each for each in asked if each is not None]):
        doubts["the tensors lie on one device"] = None
    sign = cst.BitOr() if kind is cst.Or else cst.BitAnd()
    whole = _on_device_truth(site, operands[first])
    for operand in operands[first + 1 : last]:
        whole = cst.BinaryOperation(whole, sign, _on_device_truth(site, operand))
    new: cst.BaseExpression = whole
    if first:
        new = cst.BooleanOperation(_folded(operands[:first], top.operator), top.operator, new)
    new = _folded([new, *operands[last:]], top.operator)
    assumed = ", and ".join(doubts)
    return Fix(message="read these tests at once", replace=((top, in_place_of(top, new)),), assumes=assumed)


def _whole_chain(site: Site, part: cst.BooleanOperation) -> cst.BooleanOperation:
    """The outermost operation of a chain of one operator, without parentheses, that a part of it belongs to."""
    above = site.parent(part)
    if part.lpar or not isinstance(above, cst.BooleanOperation) or not isinstance(above.operator, type(part.operator)):
        return part
    return _whole_chain(site, above)


def _chain(node: cst.BaseExpression, kind: type[cst.BaseBooleanOp]) -> Iterator[cst.BaseExpression]:
    """The operands of a chain of one operator, in order."""
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, kind):
        left = node.left
        if isinstance(left, cst.BooleanOperation) and left.lpar:
            yield left
        else:
            yield from _chain(left, kind)
        yield node.right
    else:
        yield node


def _doubt(site: Site, operand: cst.BaseExpression, before: Sequence[cst.BaseExpression]) -> str | None:
    """What has to be assumed for an operand to be one truth on the device that may be computed in any case.

    ``before``: the operands that are read before it, which may decide already. ``None``: it is no such truth.
    """
    tests = site.fact(Tests)
    twin = site.expression(_asked_for(operand))
    if twin is None or not reads(site, _asked_for(operand)) or not tests.is_truth(site.file, twin):
        return None
    if not before:
        return ""
    read = site.expression(_asked_for(before[0]))
    return tests.doubt(site.file, twin, tests.names(read) if read is not None else ())


def _asked_for(operand: cst.BaseExpression) -> cst.BaseExpression:
    """What is asked for its truth: ``x`` of ``not x``."""
    negated = isinstance(operand, cst.UnaryOperation) and isinstance(operand.operator, cst.Not)
    return operand.expression if negated and isinstance(operand, cst.UnaryOperation) else operand


def _on_device_truth(site: Site, operand: cst.BaseExpression) -> cst.BaseExpression:
    """An operand as an operand of ``|`` and ``&``: ``~x`` for ``not x``, a comparison in parentheses.

    ``not x`` is ``(x == 0)`` where ``x`` may be a byte, whose bits ``~`` would turn.
    """
    asked = _asked_for(operand)
    bound = isinstance(asked, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or asked.lpar
    inner = asked if bound else asked.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    if asked is operand:
        return inner
    if site.values.of(asked).dtype != "bool":
        return expression(f"({source(inner)} == 0)")
    invert = cst.BitInvert(whitespace_after=cst.SimpleWhitespace(""))
    return cst.UnaryOperation(invert, inner)


def _folded(operands: Sequence[cst.BaseExpression], operator: cst.BaseBooleanOp) -> cst.BaseExpression:
    """A chain of one operator."""
    node, *others = operands
    for other in others:
        node = cst.BooleanOperation(node, operator, other)
    return node
