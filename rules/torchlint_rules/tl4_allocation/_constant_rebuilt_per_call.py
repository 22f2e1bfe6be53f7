"""What TL401 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.autograd.members import Members
from torchlint.facts.state.uses import accumulated
from torchlint.rule.site import Site


def is_accumulated(site: Site, node: cst.CSTNode) -> bool:
    """Whether the name an expression is assigned to is later given what is made of it, as in ``x = x + y``."""
    twin = site.expression(node)
    return twin is not None and accumulated(site.file, twin)


def free_attribute(site: Site, name: str) -> str | None:
    """An attribute, as source (``self.support``), that the enclosing module could set at the end of ``__init__``.

    ``name`` itself or with a number after it, never one that the class or its relatives use. ``None`` where the
    class has no ``__init__`` of its own that calls the next one, or the attribute might not be there at the node.
    """
    return site.fact(Members).free_attribute(site.file, site.twin, name)


def settled(site: Site, node: cst.CSTNode) -> bool:
    """Whether an expression means the same at the end of the enclosing class's own ``__init__``."""
    twin = site.expression(node)
    return twin is not None and site.fact(Members).settled(site.file, twin)
