"""Facts that say where a rule wants to look."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts


class Finder(Fact):
    """Finds the nodes of a file that a rule wants to look at; ``Found(...)`` makes it a trigger."""

    __slots__ = ()

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterable[ast.AST]:
        """Return the nodes that are ``wanted``: those that run often enough. Ask the cheaper question first."""
        raise NotImplementedError(f"{type(self).__name__} does not say where to look in {file.path}, for {wanted}")
