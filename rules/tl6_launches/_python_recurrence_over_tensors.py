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
    """Return what a ``for`` or a comprehension computes with elements of tensors if nothing else, else ``None``."""
    if isinstance(site.twin, ast.ListComp):
        return Picked(summed=True, rest=True) if site.fact(Elements).sums_up_rests(site.file, site.twin) else None
    return site.fact(Elements).picked(site.file, site.twin) if isinstance(site.twin, ast.For) else None


@dataclass(eq=False, slots=True)
class Picking(Finder):
    """Finds ``for`` loops and comprehensions that compute with elements of tensors and do nothing else."""

    elements: Elements

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the loops."""
        loops = (stmt for stmt in file.compounds if type(stmt) is ast.For and wanted(stmt))
        yield from (loop for loop in loops if self.elements.picked(file, loop) is not None)
        lists = (node for node in file.nodes(ast.ListComp) if wanted(node))
        yield from (node for node in lists if self.elements.sums_up_rests(file, node))
