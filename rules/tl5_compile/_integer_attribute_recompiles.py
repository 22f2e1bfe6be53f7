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
    """Of an attribute, whether compiled code reads it as an integer of a module that hot code changes."""
    twin = site.twin
    return site.fact(Integers).of(site.file).get(twin) if isinstance(twin, ast.expr) else None


@dataclass(eq=False, slots=True)
class ChangingIntegers(Finder):
    """Finds attributes that compiled code reads and hot code changes."""

    integers: Integers

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """The nodes."""
        return filter(wanted, self.integers.of(file))
