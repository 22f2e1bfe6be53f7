"""What TL605 looks at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.facts.code.model import FileFacts
from torchlint.facts.finders import Finder
from torchlint.late import dataclass


@dataclass(eq=False, slots=True)
class AssignedData(Finder):
    """Finds what is assigned to ``data`` of an object other than ``self``."""

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the assigned values."""
        values = (store.binding.value for _, store in file.outside.get("data", ()))
        return (value for value in values if value is not None and wanted(value))
