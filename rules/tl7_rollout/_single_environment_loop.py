"""What TL701 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.loops.pacing import Pacing
from torchlint.rule.site import Site


def steps_one(site: Site, call: cst.Call) -> bool:
    """Return whether a call in a loop steps one environment with an action that a network chose in the same round."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Pacing).alone(site.file, twin)
