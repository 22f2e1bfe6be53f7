"""What TL611 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.loops.elements import Elements
from torchlint.rule import Value
from torchlint.rule.site import Site


def element_of(site: Site, node: cst.CSTNode) -> Value | None:
    """Return the tensor whose element an expression is in each round of a loop, ``None`` for other expressions.

    ``v`` of ``for v in t`` and of comprehensions, also through ``zip`` and ``enumerate``, and ``t[i]`` where a
    loop counts ``i``.
    """
    twin = site.expression(node)
    return site.fact(Elements).of(site.file, twin) if twin is not None else None
