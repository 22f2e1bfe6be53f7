"""What TL602 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.code.model import NESTED
from torchlint.facts.hotness.intervals import one_round
from torchlint.rule.site import Site


def in_one_round(site: Site, call: cst.Call) -> bool:
    """Return whether a call runs in one round of a loop alone, so that there is nothing to put together.

    ``if layer == self.layers - 1: out = self.head(state[layer])``.
    """
    twin = site.expression(call)
    for inner, outer in site.file.climb(twin, *NESTED) if twin is not None else ():
        if isinstance(outer, ast.If) and inner is not outer.test:
            truth = inner in outer.body
            if one_round(outer.test, site.file, truth) is not None:
                return True
    return False
