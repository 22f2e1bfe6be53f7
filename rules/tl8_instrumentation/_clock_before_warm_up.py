"""What TL806 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.compiling.inside import Inside
from torchlint.facts.flow.clocks import Clocks
from torchlint.rule.site import Site


def warms_up(site: Site, call: cst.Call) -> str | None:
    """Of a reading of a clock in a loop, what is compiled in the loop while the clock runs; else ``None``.

    The clock was started before the loop, and the project compiles whatever its settings say.
    """
    twin = site.expression(call)
    if not isinstance(twin, ast.Call):
        return None
    return site.fact(Clocks).warms_up(site.file, twin, site.fact(Inside).names())
