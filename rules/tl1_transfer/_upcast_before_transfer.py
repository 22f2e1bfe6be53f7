"""What TL108 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.state.sequel import Sequel
from torchlint.facts.values.values import Values
from torchlint.models import Word
from torchlint.rule import Kind
from torchlint.rule.site import Site

_IMAGES = Word("images")
_NO_FRAMES = frozenset({Kind.LIST, Kind.TUPLE, Kind.NUMBER})


def scaled(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a tensor is divided by 255 further on, in its function or in one that it is passed to."""
    twin = site.expression(node)
    return twin is not None and site.fact(Sequel).scaled(site.file, twin)


def is_upper_bound(site: Site, node: cst.CSTNode) -> bool:
    """Return whether images are divided by an expression that is the upper bound of their space: ``space.high[0]``.

    Numbers other than bytes are scaled by such a bound, too, so what is divided has to sound like images.
    """
    parent, twin = site.parent(node), site.expression(node)
    divided = site.expression(parent.left) if isinstance(parent, cst.BinaryOperation) else None
    if twin is None or divided is None or not _IMAGES.fits(last_name(divided)):
        return False
    bound = site.fact(Project).reaching(site.file, twin).value if isinstance(twin, ast.Name) else twin
    return bound is not None and any(
        isinstance(part, ast.Attribute) and part.attr == "high" and last_name(part.value).endswith("space")
        for part in walk(bound)
    )


def listed(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression is a parameter that some caller passes a list, tuple or number, so no frames."""
    twin = site.expression(node)
    return isinstance(twin, ast.Name) and not _NO_FRAMES.isdisjoint(site.fact(Values).handed(site.file, twin))
