"""What TL614 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.flow.again import Again
from torchlint.rule.site import Site


def ran_before(site: Site, call: cst.Call) -> int | None:
    """Return the row of an equal, earlier call of a network in the same round with the same result, else ``None``.

    The input, the parameters and all other state are proven the same.
    """
    twin = site.expression(call)
    return site.fact(Again).earlier(site.file, twin) if isinstance(twin, ast.Call) else None
