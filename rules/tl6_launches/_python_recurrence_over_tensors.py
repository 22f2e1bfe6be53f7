"""What TL604 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.facts.code.model import FileFacts
from torchlint.facts.finders import Finder
from torchlint.facts.loops.elements import Elements
from torchlint.late import dataclass
from torchlint.rule import Picked
from torchlint.rule.site import Site


def picked_by(site: Site) -> Picked | None:
    """Return what a ``for`` computes with elements of tensors if it does nothing else, else ``None``."""
    return site.fact(Elements).picked(site.file, site.twin) if isinstance(site.twin, ast.For) else None


@dataclass(eq=False, slots=True)
class Picking(Finder):
    """Finds ``for`` loops that compute with elements of tensors and do nothing else."""

    elements: Elements

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the loops."""
        loops = (stmt for stmt in file.compounds if type(stmt) is ast.For and wanted(stmt))
        return (loop for loop in loops if self.elements.picked(file, loop) is not None)
