"""What TL506 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.facts.code.model import FileFacts
from torchlint.facts.compiling.integers import Integers
from torchlint.facts.finders import Finder
from torchlint.late import dataclass
from torchlint.rule import Changing
from torchlint.rule.site import Site


def recompiles(site: Site) -> Changing | None:
    """Return how compiled code reads an attribute as an integer that hot code changes; ``None`` if it does not."""
    twin = site.twin
    return site.fact(Integers).of(site.file).get(twin) if isinstance(twin, ast.expr) else None


@dataclass(eq=False, slots=True)
class ChangingIntegers(Finder):
    """Finds attributes that compiled code reads and hot code changes."""

    integers: Integers

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the nodes."""
        return filter(wanted, self.integers.of(file))
