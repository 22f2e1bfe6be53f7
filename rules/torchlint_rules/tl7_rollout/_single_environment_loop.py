"""What TL701 asks about a site."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.facts.loops.pacing import Pacing
from torchlint.rule.site import Site

if TYPE_CHECKING:
    import libcst as cst


def steps_one(site: Site, call: cst.Call) -> bool:
    """Whether a call in a loop steps one environment with an action that a network chose in the same round."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Pacing).alone(site.file, twin)
