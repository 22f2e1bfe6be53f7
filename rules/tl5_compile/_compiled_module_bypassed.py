"""What TL505 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.model import FileFacts
from torchlint.facts.compiling.bypass import Bypasses
from torchlint.facts.finders import Finder
from torchlint.late import dataclass
from torchlint.rule import Bypass, Taken
from torchlint.rule.site import Site


def bypassed(site: Site, call: cst.Call) -> Bypass | None:
    """Return how runs get past what a ``torch.compile`` gives, ``None`` where they are not known to.

    Nothing keeps it; or only methods besides ``forward`` are called on it, which run uncompiled.
    """
    twin = site.expression(call)
    return site.fact(Bypasses).of(twin) if twin is not None else None


def takes_uncompiled(site: Site, call: cst.Call) -> Taken | None:
    """Return what runs uncompiled because a call keeps modules that its function compiles later, else ``None``."""
    twin = site.expression(call)
    return site.fact(Bypasses).takers(site.file).get(twin) if isinstance(twin, ast.Call) else None


@dataclass(eq=False, slots=True)
class Takers(Finder):
    """Finds calls that keep a module which the same function compiles later."""

    bypass: Bypasses

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the nodes."""
        return filter(wanted, self.bypass.takers(file))
