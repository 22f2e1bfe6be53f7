"""What TL615 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.flow.again import Again
from torchlint.rule.site import Site


def runs_in_vain(site: Site, call: cst.Call) -> int | None:
    """Return the row of a later random branch that uses the result of a network's run on one side, else ``None``.

    Only one way out of the ``if`` reads what the call gives.
    """
    twin = site.expression(call)
    return site.fact(Again).in_vain(site.file, twin) if isinstance(twin, ast.Call) else None
