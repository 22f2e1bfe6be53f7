"""What TL204 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.readers import Readers
from torchlint.facts.finders import Finder
from torchlint.late import dataclass
from torchlint.rule.site import Site


def is_copy(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a call is one of a project function that only copies its argument to the host: ``to_np``."""
    twin = site.expression(node)
    return isinstance(twin, ast.Call) and site.fact(Readers).called(twin)


def copying(site: Site) -> bool:
    """Return whether the function that holds the node does nothing but copy its argument to the host."""
    return site.fact(Readers).within(site.file, site.place)


@dataclass(eq=False, slots=True)
class HostCopies(Finder):
    """Finds calls of project functions that do nothing but copy their argument to the host: ``to_np(x)``."""

    readers: Readers

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the calls."""
        calls = (call for scope in file.scopes for call in scope.calls)
        return (call for call in calls if self.readers.called(call) and wanted(call))
