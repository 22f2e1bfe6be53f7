"""What TL302 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.tree import walk
from torchlint.facts.flow.again import Again
from torchlint.rule.site import Site


def repeated(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression runs a network of which ``ran_before`` holds, or an equal run that comes after."""
    twin = site.expression(node)
    calls = [part for part in walk(twin) if isinstance(part, ast.Call)] if twin is not None else []
    runs = [call for call in calls if site.fact(Autograd).runs(site.file, call)]
    again = site.fact(Again)
    return any(again.earlier(site.file, call) or again.later(site.file, call) for call in runs)
