"""What TL601 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.loops.batching import Batching
from torchlint.rule.site import Site


def ensemble(site: Site, call: cst.Call) -> bool:
    """Whether a call runs one of several networks built alike (``q`` of ``self.qs``), another in each round."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Batching).ensemble(site.file, twin)
