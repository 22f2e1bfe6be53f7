"""What TL710 asks about a site."""

from __future__ import annotations

from torchlint.rule.site import Site

from ._trees import walks


def walks_tree(site: Site) -> bool:
    """Return whether a ``while`` or a recursive function walks a binary tree stored in an array."""
    return walks(site.file, site.twin)
