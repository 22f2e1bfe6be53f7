"""What TL108 asks about a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.state.sequel import Sequel
from torchlint.rule.site import Site

if TYPE_CHECKING:
    import libcst as cst


def scaled(site: Site, node: cst.CSTNode) -> bool:
    """Whether a tensor is divided by 255 further on, in its function or in one that it is passed to."""
    twin = site.expression(node)
    return twin is not None and site.fact(Sequel).scaled(site.file, twin)
