"""What TL905 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.code.idle import Idle
from torchlint.rule.site import Site


def handled(site: Site, node: cst.CSTNode, idle: frozenset[str]) -> bool:
    """Return whether what an expression is assigned to is used for more than tests of its existence.

    Methods of the names in ``idle`` do not count. True when unsure.
    """
    twin = site.expression(node)
    return twin is None or site.fact(Idle).handled(site.file, twin, idle)
