"""What TL805 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.flow.clocks import CLOCKS, Clocks
from torchlint.rule.site import Site

from ._timed_blocks import TimedBlocks


def unsynchronised(site: Site, call: cst.Call) -> str | None:
    """Return the device work, as source, that nothing waits for before the second reading of a clock, else ``None``.

    Both are read in one round of the same loops, and their difference is taken. A call that makes a timer of a block
    stands for both readings.
    """
    twin = site.expression(call)
    if not isinstance(twin, ast.Call):
        return None
    if site.names.of(call.func) in CLOCKS:
        return site.fact(Clocks).unsynchronised(site.file, twin)
    return site.fact(TimedBlocks).unsynchronised(site.file, twin)
