"""What TL507 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.code.idle import Idle
from torchlint.rule.site import Site


def tried_uncalled(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression is in a ``try`` whose body neither calls nor passes on what it is assigned to.

    Only a ``try`` with handlers that catch more than a missing name or module.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Idle).tried(site.file, twin)
