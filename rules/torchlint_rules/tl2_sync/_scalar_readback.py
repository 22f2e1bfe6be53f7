"""What TL203 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.flow.flow import Flow
from torchlint.rule.site import Site


def differentiated_at(site: Site, node: cst.CSTNode) -> bool:
    """Whether ``backward()`` runs through what a name or attribute holds, wherever that is read: it is a tensor."""
    twin = site.expression(node)
    return twin is not None and site.fact(Flow).differentiated(site.file, twin)
