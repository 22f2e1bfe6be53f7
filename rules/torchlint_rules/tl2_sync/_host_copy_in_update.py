"""What TL204 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.code.readers import Readers
from torchlint.rule.site import Site


def is_copy(site: Site, node: cst.CSTNode) -> bool:
    """Whether a call is one of a project function that only copies its argument to the host: ``to_np``."""
    twin = site.expression(node)
    return isinstance(twin, ast.Call) and site.fact(Readers).called(twin)


def copying(site: Site) -> bool:
    """Whether the function that holds the node does nothing but copy its argument to the host."""
    return site.fact(Readers).within(site.file, site.place)
