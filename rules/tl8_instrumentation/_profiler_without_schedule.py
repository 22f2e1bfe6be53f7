"""What TL802 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.code.idle import Idle
from torchlint.rule.site import Site


def calls_method(site: Site, node: cst.CSTNode, name: str) -> bool:
    """Return whether a method of what an expression is assigned or entered to is known to be called."""
    twin = site.expression(node)
    return twin is not None and site.fact(Idle).calls(site.file, twin, name)
