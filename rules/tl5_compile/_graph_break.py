"""What TL504 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.facts.code.model import FileFacts
from torchlint.facts.compiling.breaks import Breaks
from torchlint.facts.finders import Finder
from torchlint.late import dataclass
from torchlint.rule import Break
from torchlint.rule.site import Site


def breaks_graph(site: Site) -> Break | None:
    """Return how a call or a test breaks the graph of compiled code; ``None`` if it does not."""
    twin = site.twin
    return site.fact(Breaks).of(site.file).get(twin) if isinstance(twin, ast.expr) else None


@dataclass(eq=False, slots=True)
class GraphBreaks(Finder):
    """Finds calls and tests that break the graph of compiled code."""

    breaks: Breaks

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the nodes."""
        return filter(wanted, self.breaks.of(file))
