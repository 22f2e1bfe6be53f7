"""What TL607 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.code.mentions import Mentions
from torchlint.rule.site import Site


def handed_on(site: Site, node: cst.CSTNode) -> bool:
    """Return whether what a name holds also goes elsewhere: to a call, into a container, or out of the function."""
    twin = site.expression(node)
    return isinstance(twin, ast.Name) and site.fact(Mentions).handed_on(site.file, twin)
