"""What TL710 asks about a site."""

from __future__ import annotations

from torchlint.rule.site import Site

from ._trees import walks


def walks_tree(site: Site) -> bool:
    """Of a ``while`` or a function that calls itself: whether it walks a binary tree that lies in an array."""
    return walks(site.file, site.twin)
