"""What TL407 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.state.hoards import Hoards
from torchlint.rule.site import Site


def drawn_from(site: Site, call: cst.Call) -> bool:
    """Of ``self.x.append(y)``, whether the object draws from that list or deque at random: a replay buffer."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Hoards).drawn(site.file, twin)
