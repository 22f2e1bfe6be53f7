"""What TL601 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.model import FileFacts
from torchlint.facts.finders import Finder
from torchlint.facts.loops.batching import Batching
from torchlint.late import dataclass
from torchlint.rule.site import Site


def ensemble(site: Site, call: cst.Call) -> bool:
    """Return whether a call runs one of several networks built alike (``q`` of ``self.qs``), another in each round."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Batching).ensemble(site.file, twin)


@dataclass(eq=False, slots=True)
class Ensembles(Finder):
    """Finds calls in loops that run one of several networks built alike."""

    batching: Batching

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the calls."""
        calls = (call for scope in file.scopes for call in scope.calls)
        named = (call for call in calls if isinstance(call.func, (ast.Name, ast.Subscript)))
        return (call for call in named if wanted(call) and self.batching.ensemble(file, call))
