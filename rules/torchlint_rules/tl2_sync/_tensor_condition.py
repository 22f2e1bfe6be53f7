"""What TL202 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.facts.code.model import FileFacts
from torchlint.facts.finders import Finder
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind


@dataclass(eq=False, slots=True)
class Truths(Finder):
    """Finds expressions that Python asks for their truth and that are proven tensors; ``x in t`` with such a ``t`` too.

    Tests of statements, conditional expressions and comprehensions, operands of ``and``, ``or`` and ``not``.
    """

    values: Values

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """The expressions."""
        return (node for node in file.tests if wanted(node) and self._reads_tensor(file, node))

    def _reads_tensor(self, file: FileFacts, test: ast.expr) -> bool:
        """Whether a tensor has to be read for the truth of an expression: its own, or a search in it."""
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.In, ast.NotIn)):
            test = test.comparators[0]
        return self.values.of(file, test).kind is Kind.TENSOR
