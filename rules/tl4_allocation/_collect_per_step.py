"""What TL406 asks about a site: whether memory is given back for another model: one leaves it, or another takes it."""

from __future__ import annotations

import ast

from torchlint.rule.site import Site

_TAKING = frozenset({"wake_up", "from_pretrained"})


def follows_a_model(site: Site) -> bool:
    """Return whether a statement before this one, in its block, moves a model to the host: ``self.vae.to("cpu")``.

    The memory that it leaves is for another, and moving it takes far longer. A tensor stays where it is unless what
    ``to`` gives is kept.
    """
    stmt = site.file.statement(site.twin)
    block, place = site.file.places[stmt] if stmt is not None else ((), 0)
    return any(isinstance(each, ast.Expr) and _leaves(each.value) for each in block[:place])


def takes_a_model(site: Site) -> bool:
    """Return whether a statement of the same block takes memory for another model: ``self.llm.wake_up()``.

    An engine that generates takes its memory again once per rollout of seconds. A model that is loaded from the disk,
    ``pipe = Pipeline.from_pretrained(path)``, is there for a validation, and takes longer than any cache.
    """
    stmt = site.file.statement(site.twin)
    block, _ = site.file.places[stmt] if stmt is not None else ((), 0)
    values = (each.value for each in block if isinstance(each, (ast.Expr, ast.Assign)))
    called = (value.func for value in values if isinstance(value, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr in _TAKING for func in called)


def _leaves(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="cpu"), args=[]):
            return True
        case ast.Call(func=ast.Attribute(attr="to"), args=[ast.Constant(value="cpu"), *_]):
            return True
    return False
