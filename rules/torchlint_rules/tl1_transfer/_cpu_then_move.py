"""What TL102 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.state.sequel import Sequel
from torchlint.rule.site import Site


def moved_later(site: Site, node: cst.CSTNode) -> str | None:
    """The move of a fresh tensor in the next statement that speaks of it, as source: ``x.cuda()``; else ``None``.

    ``x = x.to(device)`` right after it, or as all that an ``if use_cuda:`` holds.
    """
    twin = site.expression(node)
    return (site.fact(Sequel).moved(site.file, twin) or None) if twin is not None else None
