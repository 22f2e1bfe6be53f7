"""What TL403 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.code.idle import Idle
from torchlint.rule.site import Site


def called_later(site: Site, node: cst.CSTNode) -> bool:
    """Return whether what an expression is assigned to is known to be called itself."""
    twin = site.expression(node)
    return twin is not None and site.fact(Idle).called(site.file, twin)


def only_called(site: Site, node: cst.CSTNode, count: int) -> bool:
    """Return whether an expression is assigned to a local name that is only called, with ``count`` plain arguments."""
    twin = site.expression(node)
    return twin is not None and site.fact(Idle).only_called(site.file, twin, count)
