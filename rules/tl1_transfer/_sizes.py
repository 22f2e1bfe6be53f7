"""Whether a constructor is given a size and no data, by what the argument is called: what TL101 asks about a site."""

from __future__ import annotations

import ast

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.rule.site import Site

_COUNTS = frozenset({"shape", "shapes", "size", "sizes", "dim", "dims", "len", "length", "num", "count", "n"})


def sounds_like_size(site: Site, node: ast.expr) -> bool:
    """Return whether an expression is called a size: ``x.shape[1:]``, ``t.size()``, ``len(x)``, ``batch_size``.

    So is a parameter for which every call gives what is called one.
    """
    if _is_called_size(node):
        return True
    given = _given(site, site.file, node)
    return bool(given) and all(_is_called_size(each) for each in given)


def _given(site: Site, facts: FileFacts, node: ast.expr) -> list[ast.expr]:
    """What all calls give for a parameter; nothing for any other expression, or where one call is not seen."""
    parameter = site.fact(Project).reaching(facts, node).parameter
    if parameter is None:
        return []
    given = [each for _, each in site.fact(CallGraph).arguments(parameter.scope, parameter.target)]
    return [each for each in given if each is not None] if None not in given else []


def _is_called_size(node: ast.expr) -> bool:
    match node:
        case ast.Name() | ast.Attribute():
            return not _COUNTS.isdisjoint(last_name(node).lower().split("_"))
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _is_called_size(inner)
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.Div):
            return _is_called_size(left) or _is_called_size(right)
    return False
