"""What TL108 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.state.sequel import Sequel
from torchlint.facts.values.values import Values
from torchlint.rule import Kind
from torchlint.rule.site import Site

_NO_FRAMES = frozenset({Kind.LIST, Kind.TUPLE, Kind.NUMBER})


def scaled(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a tensor is divided by 255 further on, in its function or in one that it is passed to."""
    twin = site.expression(node)
    return twin is not None and site.fact(Sequel).scaled(site.file, twin)


def listed(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression is a parameter that some caller passes a list, tuple or number, so no frames."""
    twin = site.expression(node)
    return isinstance(twin, ast.Name) and not _NO_FRAMES.isdisjoint(site.fact(Values).handed(site.file, twin))
