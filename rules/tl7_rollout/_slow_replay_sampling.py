"""What TL704 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.state.queues import Queues
from torchlint.rule.site import Site


def is_deque(site: Site, node: cst.CSTNode) -> bool:
    """Return whether all that is ever assigned to a name or attribute are deques."""
    twin = site.expression(node)
    return twin is not None and site.fact(Queues).is_deque(site.file, twin)


def many(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a deque may hold, or a number or range counts, 10,000 things or more.

    A number that counts what a ring buffer holds does, unless its capacity is known to be smaller.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Queues).many(site.file, twin)
