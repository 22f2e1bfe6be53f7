"""What TL103 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.state.provenance import Provenance
from torchlint.rule.site import Site


def gathered(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an array is picked by an array of rows out of one that an object keeps: a batch of a replay.

    Followed through names and what functions of the project return.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Provenance).gathered(site.file, twin)
