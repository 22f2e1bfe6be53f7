"""Formatted strings in code: what they format, and the ``%`` format that says the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.late import dataclass, regex
from torchlint.rule.build import bare_star_safe
from torchlint.rule.value import Kind

if TYPE_CHECKING:
    from torchlint.rule.site import Site

_CONVERSIONS = {None: "%s", "s": "%s", "r": "%r", "a": "%a"}
_NUMERIC = regex(r"\d*(\.\d+)?[eEfFgG]")
_PRINTS_ALIKE = frozenset(
    {Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SIZE, Kind.DTYPE, Kind.DEVICE, Kind.LIST, Kind.DICT}
)


@dataclass(frozen=True, slots=True)
class Lazy:
    """A ``%`` format and its arguments, for code that formats later or not at all.

    ``assumes`` is what could not be proven and must hold for the text to be the same, empty when nothing.
    """

    format: cst.BaseExpression
    values: tuple[cst.BaseExpression, ...]
    assumes: str = ""


def formatted(site: Site, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield what an expression makes text of: f-strings, ``%``, ``.format()``, ``str()`` and sums of these.

    Otherwise the result is empty.
    """
    match node:
        case cst.FormattedString(parts=parts):
            yield from (part.expression for part in parts if isinstance(part, cst.FormattedStringExpression))
        case (
            cst.ConcatenatedString(left=left, right=right)
            | cst.BinaryOperation(left=left, operator=cst.Add(), right=right)
        ):
            yield from formatted(site, left)
            yield from formatted(site, right)
        case cst.BinaryOperation(left=text, operator=cst.Modulo(), right=right) if _is_text(text):
            yield from _elements(right)
        case cst.Call(func=cst.Attribute(value=text, attr=cst.Name(value="format"))) if _is_text(text):
            yield from (argument.value for argument in node.args)
        case cst.Call() if site.names.of(node.func) in ("builtins.str", "builtins.repr"):
            yield from (argument.value for argument in node.args[:1])


def _is_text(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.BaseString)


def _elements(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The values on the right of ``%``: those of a tuple display, or the one that stands there."""
    return [element.value for element in node.elements] if isinstance(node, cst.Tuple) else [node]


def lazy(site: Site, node: cst.BaseExpression) -> Lazy | None:
    """Return the ``%`` format of an f-string or of ``text % values``.

    The result is ``None`` where there is none with the same text.
    """
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo) and _is_text(node.left):
        return _split(site, node)
    values: list[cst.BaseExpression] = []
    assumes: list[str] = []
    text = _percent(site, node, values, assumes)
    if text is None or not values:
        return None
    return Lazy(text, tuple(values), "; ".join(dict.fromkeys(assumes)))


def _split(site: Site, node: cst.BinaryOperation) -> Lazy | None:
    """``text % (a, b)`` taken apart; a single value only where it is proven to be no tuple and no mapping."""
    values = _elements(node.right)
    single = not isinstance(node.right, cst.Tuple)
    if single and site.values.of(node.right).kind not in (Kind.TENSOR, Kind.NUMBER, Kind.STRING):
        return None
    starred = any(isinstance(e, cst.StarredElement) for e in getattr(node.right, "elements", ()))
    return Lazy(node.left, tuple(values)) if values and not starred and "%(" not in _source(node.left) else None


def _source(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _percent(
    site: Site, node: cst.BaseExpression, values: list[cst.BaseExpression], assumes: list[str]
) -> cst.BaseExpression | None:
    """A string that formats with ``%`` what an f-string formats; the values and assumptions are added to the lists."""
    match node:
        case cst.SimpleString():
            return None if "b" in node.prefix else node.with_changes(value=node.value.replace("%", "%%"))
        case cst.ConcatenatedString():
            left = _percent(site, node.left, values, assumes)
            right = _percent(site, node.right, values, assumes)
            return None if left is None or right is None else node.with_changes(left=left, right=right)
        case cst.FormattedString(start=start, end=end):
            texts = [_part(site, part, values, assumes) for part in node.parts]
            said = [text for text in texts if text is not None]
            if len(said) < len(texts):
                return None
            prefix = start[: -len(end)].lower().replace("f", "")
            return cst.SimpleString(f"{prefix}{end}{''.join(said)}{end}", lpar=node.lpar, rpar=node.rpar)
    return None


def _part(
    site: Site,
    part: cst.BaseFormattedStringContent,
    values: list[cst.BaseExpression],
    assumes: list[str],
) -> str | None:
    """The text of one part of an f-string in a ``%`` format."""
    if isinstance(part, cst.FormattedStringText):
        return part.value.replace("{{", "{").replace("}}", "}").replace("%", "%%")
    if not isinstance(part, cst.FormattedStringExpression) or part.equal is not None:
        return None
    value = part.expression
    if isinstance(value, (cst.Tuple, cst.Yield, cst.GeneratorExp)) and not value.lpar:
        return None
    placeholder, assumed = _placeholder(site, part)
    if placeholder is None:
        return None
    numeric = bool(part.format_spec) and site.values.of(value).kind is Kind.TENSOR
    values.append(_detached(site, value) if numeric else bare_star_safe(value))
    if assumed:
        assumes.append(assumed)
    return placeholder


def _detached(site: Site, value: cst.BaseExpression) -> cst.BaseExpression:
    """A tensor without its graph: as a number in ``%`` formats, unlike in f-strings, torch warns of one."""
    if site.autograd.has_graph(value) is False:
        return bare_star_safe(value)
    if not isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) and not value.lpar:
        value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.Call(func=cst.Attribute(value=value, attr=cst.Name("detach")))


def _placeholder(site: Site, part: cst.FormattedStringExpression) -> tuple[str | None, str]:
    """The placeholder for one expression of an f-string, ``None`` when no one says the same, and what it assumes."""
    known = site.values.of(part.expression)
    if part.format_spec:
        spec = part.format_spec[0]
        numeric = len(part.format_spec) == 1 and isinstance(spec, cst.FormattedStringText)
        if not numeric or part.conversion or not isinstance(spec, cst.FormattedStringText):
            return None, ""
        if not _NUMERIC.fullmatch(spec.value):
            return None, ""
        proven = known.kind in (Kind.TENSOR, Kind.NUMBER, Kind.SCALAR)
        return f"%{spec.value}", "" if proven else "the values with a number's format are numbers or tensors"
    if part.conversion or known.kind in _PRINTS_ALIKE:
        return _CONVERSIONS.get(part.conversion), ""
    if known.kind is Kind.TENSOR:
        if known.rank == 0:
            return None, ""
        return "%s", "" if known.rank else "no tensor in the message is 0-d: such a one would print as `tensor(...)`"
    return "%s", "str() and format() give the same text for all values in the message"
