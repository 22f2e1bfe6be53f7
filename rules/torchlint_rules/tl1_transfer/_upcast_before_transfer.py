"""What TL108 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.state.sequel import Sequel
from torchlint.rule.site import Site


def scaled(site: Site, node: cst.CSTNode) -> bool:
    """Whether a tensor is divided by 255 further on, in its function or in one that it is passed to."""
    twin = site.expression(node)
    return twin is not None and site.fact(Sequel).scaled(site.file, twin)
