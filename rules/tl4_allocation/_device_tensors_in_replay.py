"""What TL407 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.state.hoards import Hoards
from torchlint.rule.site import Site


def drawn_from(site: Site, call: cst.Call) -> bool:
    """Return whether an object draws at random from what ``self.x.append(y)`` adds to: a replay buffer."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Hoards).drawn(site.file, twin)
