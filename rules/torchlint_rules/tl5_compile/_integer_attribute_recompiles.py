"""What TL506 asks about a site."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.facts.compiling.integers import Integers
from torchlint.rule import Changing
from torchlint.rule.site import Site

if TYPE_CHECKING:
    pass


def recompiles(site: Site) -> Changing | None:
    """Of an attribute, whether compiled code reads it as an integer of a module that hot code changes."""
    twin = site.twin
    return site.fact(Integers).of(site.file).get(twin) if isinstance(twin, ast.expr) else None
