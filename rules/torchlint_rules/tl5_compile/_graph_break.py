"""What TL504 asks about a site."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.facts.compiling.breaks import Breaks
from torchlint.rule import Break
from torchlint.rule.site import Site

if TYPE_CHECKING:
    pass


def breaks_graph(site: Site) -> Break | None:
    """Of a call or a test, whether it breaks the graph of code that the project compiles, and how."""
    twin = site.twin
    return site.fact(Breaks).of(site.file).get(twin) if isinstance(twin, ast.expr) else None
