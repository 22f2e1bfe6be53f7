"""What TL501 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.rule.site import Site

from ._calling import refused


def is_refused(site: Site, node: cst.CSTNode) -> bool:
    """Return whether the function around the node raises for some values of a name or attribute."""
    twin = site.expression(node)
    return twin is not None and refused(site.file, twin)
