"""Builders of LibCST nodes for fixes; they keep the comments and the layout of the nodes they start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.rule.site import Link

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torchlint.rule.site import Site


def expression(source: str) -> cst.BaseExpression:
    """Return the node of an expression given as source text."""
    return cst.parse_expression(source)


def source(node: cst.CSTNode) -> str:
    """Return the source text of a node."""
    return cst.Module([]).code_for_node(node)


def module_for(site: Site, module: str, usual: str) -> tuple[str, tuple[str, ...]]:
    """Return the name to write for a module, and the import that the file needs: ``("numpy as np",)`` or none."""
    bound = site.names.module(module)
    if bound is not None:
        return bound, ()
    return usual, (module if usual == module else f"{module} as {usual}",)


def keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    """Return the argument ``name=value``."""
    tight = cst.SimpleWhitespace("")
    equal = cst.AssignEqual(whitespace_before=tight, whitespace_after=tight)
    return cst.Arg(value=bare_star_safe(value), keyword=cst.Name(name), equal=equal)


def only_reads(site: Site, node: cst.CSTNode) -> bool:
    """Return whether evaluating an expression does nothing but read, so that it may as well be left out.

    Names, attributes, constants, ``torch.device(...)``, and the device or dtype of a network's parameters.
    """
    match node:
        case cst.Name() | cst.BaseNumber() | cst.SimpleString():
            return True
        case cst.Attribute(value=inner):
            return only_reads(site, inner)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="parameters" | "get_device")), args=[]):
            return only_reads(site, inner)
        case cst.Call(func=func, args=args) if site.names.of(func) in (
            "torch.device",
            "builtins.next",
            "builtins.iter",
        ):
            return all(only_reads(site, arg.value) for arg in args)
    return False


def bare_star_safe(value: cst.BaseExpression) -> cst.BaseExpression:
    """Return a value that can stand as an argument: an assignment expression gets parentheses."""
    if isinstance(value, cst.NamedExpr) and not value.lpar:
        return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return value


def call_of(function: str, *arguments: cst.BaseExpression) -> cst.Call:
    """Return the call of a function, given as source text, with positional arguments."""
    return cst.Call(func=expression(function), args=[cst.Arg(value=argument) for argument in arguments])


def keyword_of(call: cst.Call, name: str) -> cst.BaseExpression | None:
    """Return the value of a keyword argument that the call spells out, else ``None``."""
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == name:
            return argument.value
    return None


def with_keyword(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """Return the call with ``name=value``, in place of the argument of that name or after all others.

    A new last argument goes on a line of its own where the others do.
    """
    if keyword_of(call, name) is not None:
        return call.with_changes(args=[_renewed(argument, name, value) for argument in call.args])
    added = keyword(name, value)
    if not call.args:
        return call.with_changes(args=[added])
    return with_arguments(call, len(call.args) - 1, [added])


def with_arguments(call: cst.Call, index: int, added: Sequence[cst.Arg]) -> cst.Call:
    """Return the call with more arguments after the one at an index.

    They go on lines of their own where the others do; a comment stays with its argument.
    """
    old, before = call.args[index], call.whitespace_before_args
    comma = old.comma if isinstance(old.comma, cst.Comma) else None
    after = comma.whitespace_after if comma is not None else old.whitespace_after_arg
    gap: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
    first = gap
    if isinstance(before, cst.ParenthesizedWhitespace) and (comma is not None or len(call.args) == 1):
        gap = first = before.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])
        if isinstance(after, cst.ParenthesizedWhitespace) and after.first_line.comment is not None:
            first = before.with_changes(first_line=after.first_line, empty_lines=[])
            after = after.with_changes(first_line=cst.TrailingWhitespace())
    row = [old, *added]
    for place, argument in enumerate(row[:-1]):
        between = cst.Comma(whitespace_after=gap if place else first)
        row[place] = argument.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    if comma is not None:
        row[-1] = row[-1].with_changes(comma=comma.with_changes(whitespace_after=after))
    else:
        row[-1] = row[-1].with_changes(whitespace_after_arg=after)
    return call.with_changes(args=[*call.args[:index], *row, *call.args[index + 1 :]])


def without_keyword(call: cst.Call, name: str) -> cst.Call:
    """Return the call without ``name=...``; the argument before a last one that goes takes over what stood after it."""
    kept = [argument for argument in call.args if argument.keyword is None or argument.keyword.value != name]
    if kept and len(kept) < len(call.args) and kept[-1] is not call.args[-1]:
        last = call.args[-1]
        kept[-1] = kept[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    before = call.whitespace_before_args if kept else cst.SimpleWhitespace("")
    return call.with_changes(args=kept, whitespace_before_args=before)


def _renewed(argument: cst.Arg, name: str, value: cst.BaseExpression) -> cst.Arg:
    """The argument with a new value if it bears the name."""
    if argument.keyword is None or argument.keyword.value != name:
        return argument
    return argument.with_changes(value=bare_star_safe(value))


def on_top(base: cst.BaseExpression, links: Iterable[Link]) -> cst.BaseExpression:
    """Return the methods and subscripts of a chain on top of another expression."""
    for link in links:
        match link.node:
            case cst.Subscript():
                base = link.node.with_changes(value=base)
            case cst.Call(func=cst.Attribute() as method):
                base = link.node.with_changes(func=method.with_changes(value=base))
    return base


def in_place_of(old: cst.BaseExpression, new: cst.BaseExpression) -> cst.BaseExpression:
    """Return the new expression with the parentheses of the old one, which may hold its line breaks together."""
    if old is new or not old.lpar or new.lpar:
        return new
    return new.with_changes(lpar=old.lpar, rpar=old.rpar)
