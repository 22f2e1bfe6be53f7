"""What TL806 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.compiling.inside import Inside
from torchlint.facts.flow.clocks import Clocks
from torchlint.rule.site import Site


def warms_up(site: Site, call: cst.Call) -> str | None:
    """Return what is compiled in a loop while a reading of a clock times it, else ``None``.

    The clock was started before the loop, and the project compiles whatever its settings say.
    """
    twin = site.expression(call)
    if not isinstance(twin, ast.Call):
        return None
    return site.fact(Clocks).warms_up(site.file, twin, site.fact(Inside).names())
