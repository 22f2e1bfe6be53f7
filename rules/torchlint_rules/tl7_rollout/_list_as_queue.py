"""What TL705 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.state.queues import Queues
from torchlint.rule.site import Site


def long_list(site: Site, call: cst.Call) -> bool:
    """Whether ``x.pop(0)`` or ``x.insert(0, y)`` works on a proven list that may hold a thousand things or more."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Queues).long_list(site.file, twin)
