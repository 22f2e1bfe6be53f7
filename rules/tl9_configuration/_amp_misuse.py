"""What TL905 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.code.idle import Idle
from torchlint.rule.site import Site


def handled(site: Site, node: cst.CSTNode, idle: frozenset[str]) -> bool:
    """Whether anything is done with what an expression is assigned to, besides asking whether it is there.

    Methods of the names in ``idle`` do not count. True when unsure.
    """
    twin = site.expression(node)
    return twin is None or site.fact(Idle).handled(site.file, twin, idle)
