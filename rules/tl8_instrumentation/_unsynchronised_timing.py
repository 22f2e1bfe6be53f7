"""What TL805 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.flow.clocks import Clocks
from torchlint.rule.site import Site


def unsynchronised(site: Site, call: cst.Call) -> str | None:
    """Return the device work, as source, that nothing waits for before the second reading of a clock, else ``None``.

    Both are read in one round of the same loops, and their difference is taken.
    """
    twin = site.expression(call)
    return site.fact(Clocks).unsynchronised(site.file, twin) if isinstance(twin, ast.Call) else None
