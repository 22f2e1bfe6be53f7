"""A statement put under ``no_grad`` because its graph is not needed: what TL302 and TL306 share."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.model import FileFacts
from torchlint.rule import Change, Fix, Site, Use
from torchlint.rule.build import module_for

ENDS = frozenset({Use.DETACHED, Use.READ, Use.LOGGED, Use.CONDITION, Use.INDEX, Use.SIZE, Use.ENVIRONMENT, Use.HOST})
"""Ends of a value behind which no gradient can be asked for."""
_STATEMENTS = (cst.Assign, cst.AnnAssign, cst.Return, cst.Expr)
# What is read of a tensor without its graph: methods, and attributes.
_ENDING = frozenset({"detach", "item", "tolist", "argmax", "argmin", "argsort", "sign", "size", "dim", "numel"})
_ABOUT = frozenset({"data", "shape", "dtype", "device", "ndim"})


def rounds_otherwise(site: Site, call: cst.Call) -> bool | None:
    """Whether a network rounds otherwise without gradients: transformer layers do; ``None`` where it is not known."""
    parts = site.autograd.network(call.func).parts
    if parts is None:
        return None
    return any("Transformer" in part or part.endswith("MultiheadAttention") for part in parts)


def value_of(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """All that the statement of a call computes, ``None`` where it is no plain assignment, return or expression."""
    node: cst.CSTNode = call
    above = site.parent(node)
    while above is not None and not isinstance(above, _STATEMENTS):
        node, above = above, site.parent(above)
    return node if above is not None and isinstance(node, cst.BaseExpression) else None


def guarded(site: Site, call: cst.Call, assumes: str) -> Fix | None:
    """The statement of a run in a ``with``; ``None`` where the network rounds otherwise there."""
    rounds = rounds_otherwise(site, call)
    if rounds:
        return None
    torch, imports = module_for(site, "torch", "torch")
    return Fix(
        f"put it into `with {torch}.no_grad():`",
        (),
        may_change=(Change.ROUNDING,) if rounds is None else (),
        assumes=assumes,
        imports=imports,
        within=f"{torch}.no_grad()",
    )


def ends_at_once(site: Site, value: cst.BaseExpression) -> bool:
    """Whether the graph of what a statement computes provably ends in the statement, or wherever its names are read.

    ``net(x).detach()``, and ``y = net(x)`` where the function reads ``y`` only as ``y.detach()`` or ``y.item()``.
    """
    if site.autograd.has_graph(value) is False:
        return True
    twin = site.expression(value)
    stmt = site.file.parent.get(twin) if twin is not None else None
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return False
    target = stmt.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    scope = site.file.scope_of(stmt)
    return all(
        isinstance(name, ast.Name)
        and scope.kind == "function"
        and name.id not in scope.globals
        and name.id not in scope.shared
        and all(_is_ended(site.file, read) for read in _reads(site, name, stmt))
        for name in names
    )


def _reads(site: Site, name: ast.Name, stmt: ast.stmt) -> Iterator[ast.Name]:
    """Where the function reads what a statement gives to a name."""
    return (read for read in site.fact(Mentions).of_binding(site.file, name.id, stmt) if read is not name)


def _is_ended(facts: FileFacts, read: ast.Name) -> bool:
    """Whether a tensor is read without its graph."""
    above = facts.parent.get(read)
    if not isinstance(above, ast.Attribute) or not isinstance(read.ctx, ast.Load):
        return False
    call = facts.parent.get(above)
    called = isinstance(call, ast.Call) and call.func is above
    return above.attr in (_ENDING if called else _ABOUT)
