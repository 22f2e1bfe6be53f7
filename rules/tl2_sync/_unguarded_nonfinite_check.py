"""What TL201 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.finders import Finder
from torchlint.facts.hotness.branches import raises
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind


@dataclass(eq=False, slots=True)
class Checks(Finder):
    """Finds asserts, and branches that exist to raise, whose test may read a tensor."""

    project: Project
    values: Values

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the statements."""
        for stmt in file.compounds:
            if type(stmt) is ast.Assert or (type(stmt) is ast.If and raises(stmt.body)):
                if wanted(stmt) and self._may_read(file, stmt.test):
                    yield stmt

    def _may_read(self, file: FileFacts, test: ast.expr) -> bool:
        """Whether a test may read values of a tensor: there is one in it, or a function of torch is called.

        Only tensors and arrays have a method ``item``.
        """
        for part in walk(test):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "item":
                return True
            if isinstance(part, ast.Call) and (self.project.qualified(file, part.func) or "").startswith("torch."):
                return True
            if isinstance(part, ast.expr) and self.values.of(file, part).kind is Kind.TENSOR:
                return True
        return False
