"""What TL109 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.state.provenance import Provenance
from torchlint.rule.site import Site


def made_before(site: Site, node: cst.CSTNode) -> bool:
    """Return whether what a name or attribute holds was made before the code at the node, so less often."""
    twin = site.expression(node)
    return twin is not None and site.fact(Provenance).made_before(site.file, twin)
