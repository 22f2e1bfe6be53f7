"""What TL502 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.compiling.holders import Holders
from torchlint.rule.site import Site


def kept(site: Site, call: cst.Call) -> bool:
    """Return whether what a call gives is stored in an attribute or a container, at once or by another name."""
    twin = site.expression(call)
    return twin is not None and site.fact(Holders).kept(site.file, twin)
