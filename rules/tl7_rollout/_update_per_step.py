"""What TL707 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.loops.pacing import Pacing
from torchlint.rule.site import Site


def updated_each_step(site: Site, call: cst.Call) -> int | None:
    """Return the row of a call that runs a gradient update in each round of a loop of environment steps, else ``None``.

    ``None`` where updates are due at intervals, come in runs of several, or learn from the step just made.
    """
    twin = site.expression(call)
    update = site.fact(Pacing).updated(site.file, twin) if isinstance(twin, ast.Call) else None
    return (update.lineno or None) if update is not None else None
