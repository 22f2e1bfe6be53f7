"""What TL406 asks about a site: whether memory is given back that a model leaves."""

from __future__ import annotations

import ast

from torchlint.rule.site import Site


def follows_a_model(site: Site) -> bool:
    """Return whether a statement before this one, in its block, moves a model to the host: ``self.vae.to("cpu")``.

    The memory that it leaves is for another, and moving it takes far longer. A tensor stays where it is unless what
    ``to`` gives is kept.
    """
    stmt = site.file.statement(site.twin)
    block, place = site.file.places[stmt] if stmt is not None else ((), 0)
    return any(isinstance(each, ast.Expr) and _leaves(each.value) for each in block[:place])


def _leaves(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="cpu"), args=[]):
            return True
        case ast.Call(func=ast.Attribute(attr="to"), args=[ast.Constant(value="cpu"), *_]):
            return True
    return False
