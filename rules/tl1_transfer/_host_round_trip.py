"""What TL110 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.state.provenance import Provenance
from torchlint.rule.site import Site


def read_back(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an array is only a tensor read back, with no other reader.

    ``t.cpu()``, NumPy functions after it.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Provenance).read_back(site.file, twin)
