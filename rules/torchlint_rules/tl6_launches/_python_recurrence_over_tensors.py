"""What TL604 asks about a site."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.facts.loops.elements import Elements
from torchlint.rule import Picked
from torchlint.rule.site import Site

if TYPE_CHECKING:
    pass


def picked_by(site: Site) -> Picked | None:
    """Of a ``for`` loop that computes with elements of tensors and does nothing else: what it does."""
    return site.fact(Elements).picked(site.file, site.twin) if isinstance(site.twin, ast.For) else None
