"""What TL602 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.code.model import NESTED
from torchlint.facts.code.nesting import around, inside, nodes_of
from torchlint.facts.hotness.intervals import one_round
from torchlint.rule.site import Site


def in_one_round(site: Site, call: cst.Call) -> bool:
    """Return whether a call runs in one round of a loop alone, so that there is nothing to put together.

    ``if layer == self.layers - 1: out = self.head(state[layer])``.
    """
    twin = site.expression(call)
    for inner, outer in site.file.climb(twin, *NESTED) if twin is not None else ():
        if isinstance(outer, ast.If) and inner is not outer.test:
            truth = inner in outer.body
            if one_round(outer.test, site.file, truth) is not None:
                return True
    return False


def takes_stretches(site: Site, call: cst.Call) -> bool:
    """Return whether each round of the loop around a call takes a stretch of many: ``x[i * size : (i + 1) * size]``.

    Such rounds are parts of a batch, which may be too large for memory as a whole.
    """
    twin = site.expression(call)
    loop = next(iter(around(site.file, twin)), None) if twin is not None else None
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return False
    return any(_begins_at_multiple(part, loop.target.id) for part in nodes_of(inside(loop)))


def _begins_at_multiple(node: ast.AST, count: str) -> bool:
    """Whether a stretch that is cut begins at a multiple of a count."""
    match node:
        case ast.Slice(lower=ast.BinOp(left=left, op=ast.Mult(), right=right), upper=ast.expr()):
            pass
        case ast.Call(
            func=ast.Name(id="slice"), args=[ast.BinOp(left=left, op=ast.Mult(), right=right), ast.expr(), *_]
        ):
            pass
        case _:
            return False
    return any(isinstance(each, ast.Name) and each.id == count for each in (left, right))
