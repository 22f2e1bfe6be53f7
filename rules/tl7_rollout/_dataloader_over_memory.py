"""What TL708 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.state.hoards import Hoards
from torchlint.rule.site import Site


def in_memory(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a dataset only indexes what lies in memory: a ``TensorDataset``, or a class of the project."""
    twin = site.expression(node)
    return twin is not None and site.fact(Hoards).in_memory(site.file, twin)
