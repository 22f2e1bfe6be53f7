"""What TL404 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.state.hoards import Hoards
from torchlint.rule.site import Site


def hoarded(site: Site, call: cst.Call) -> str | None:
    """Return the list of ``self.x.append(y)`` as source if nothing empties, trims or bounds it, else ``None``.

    ``None`` too where objects of the class are built again and again, or the list is handed to unknown code.
    """
    twin = site.expression(call)
    return site.fact(Hoards).grown(site.file, twin) if isinstance(twin, ast.Call) else None
