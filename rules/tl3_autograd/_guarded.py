"""A statement put under ``no_grad`` because its graph is not needed: what TL302 and TL306 share."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.flow.flow import Flow
from torchlint.facts.state.replaced import Replaced
from torchlint.rule import Change, Fix, Site, Use
from torchlint.rule.build import module_for

ENDS = frozenset({Use.DETACHED, Use.READ, Use.LOGGED, Use.CONDITION, Use.INDEX, Use.SIZE, Use.ENVIRONMENT, Use.HOST})
"""Ends of a value behind which no gradient can be asked for."""
_STATEMENTS = (cst.Assign, cst.AnnAssign, cst.Return, cst.Expr)
# Those of them at which nothing is shown of the graph, either.
_SILENT = ENDS - {Use.LOGGED, Use.ENVIRONMENT, Use.HOST}


AS_WRITTEN = "no hook or replaced `forward` keeps what the network computes"
"""What a ``no_grad`` assumes where modules run other code than their classes say."""
PLAIN = "what is computed here and changed in place later does not belong to a subclass of `Tensor`"
"""What a ``no_grad`` assumes of a result that is changed in place: of a subclass, detaching it makes a view there."""


def runs_as_written(site: Site) -> bool:
    """Return whether modules run what their classes say: nothing near registers a hook or replaces a ``forward``."""
    return not site.fact(Replaced).near(site.file)


def rounds_otherwise(site: Site, call: cst.Call) -> bool | None:
    """Return whether a network rounds otherwise without gradients: transformer layers do.

    The result is ``None`` where it is not known.
    """
    parts = site.autograd.network(call.func).parts
    if parts is None:
        return None
    return any("Transformer" in part or part.endswith("MultiheadAttention") for part in parts)


def value_of(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """Return all that the statement of a call computes, ``None`` unless it is an assignment, return or expression."""
    node: cst.CSTNode = call
    above = site.parent(node)
    while above is not None and not isinstance(above, _STATEMENTS):
        node, above = above, site.parent(above)
    return node if above is not None and isinstance(node, cst.BaseExpression) else None


def guarded(site: Site, call: cst.Call, assumes: str) -> Fix | None:
    """Return the statement of a run in a ``with``; ``None`` where the network rounds otherwise there."""
    rounds = rounds_otherwise(site, call)
    if rounds:
        return None
    torch, imports = module_for(site, "torch", "torch")
    value = value_of(site, call)
    plain = value is None or not site.values.is_mutated(value)
    return Fix(
        f"put it into `with {torch}.no_grad():`",
        (),
        may_change=(Change.ROUNDING,) if rounds is None else (),
        assumes=assumes or ("" if plain else PLAIN) or ("" if runs_as_written(site) else AS_WRITTEN),
        imports=imports,
        within=f"{torch}.no_grad()",
    )


def ends_here(site: Site, value: cst.BaseExpression) -> bool:
    """Return whether the graph of what a statement computes provably ends in the function, in or after the statement.

    ``net(x).detach()``, and ``y = net(x)`` where the function makes of ``y`` nothing but what is detached or read.
    """
    if site.autograd.has_graph(value) is False:
        return True
    twin = site.expression(value)
    if twin is None or site.file.scope_of(twin).function.kind != "function":
        return False
    return site.flow.graph_uses(value, _SILENT) <= _SILENT and site.fact(Flow).graph_stays(site.file, twin)
