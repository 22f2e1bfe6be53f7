"""Where a rule looks: a node of a statement, how often it runs, and how to ask facts about it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.facts.analyses import Analyses
from torchlint.facts.code.model import FileFacts
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.rule import UNKNOWN, Frequency, Hotness, Value

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.engine.pair import Pairs


class Place:
    """A node of a statement whose LibCST tree was paired with its ``ast`` twin."""

    __slots__ = ("_hot", "analyses", "facts", "node", "pairs", "twin")

    def __init__(self, analyses: Analyses, facts: FileFacts, pairs: Pairs, node: cst.CSTNode, twin: ast.AST) -> None:
        """Stand at ``node``, whose twin is ``twin``."""
        self.analyses = analyses
        self.facts = facts
        self.pairs = pairs
        self.node = node
        self.twin = twin
        self._hot: Hotness | None = None

    def __repr__(self) -> str:
        """Where the site stands, for messages about rules that fail."""
        return f"{self.facts.path}:{getattr(self.twin, 'lineno', 1)}"

    def _ast(self, node: cst.CSTNode) -> ast.AST | None:
        found = self.pairs.ast_of(node)
        if found is None and node not in self.pairs:
            raise TypeError(f"{type(node).__name__} was built by the rule and has no facts")
        return found

    def _expr(self, node: cst.CSTNode) -> ast.expr | None:
        found = self._ast(node)
        return found if isinstance(found, ast.expr) else None

    @property
    def hot(self) -> Hotness:
        """How often the node runs; of a function, its body."""
        if self._hot is None:
            self._hot = self.analyses[Heat].at(self.facts, place_of(self.twin))
        return self._hot

    def value(self, node: cst.CSTNode) -> Value:
        """What is known of an expression."""
        twin = self._expr(node)
        return self.analyses[Values].of(self.facts, twin) if twin is not None else UNKNOWN

    def acting(self) -> bool:
        """Whether something else than gradient updates makes the node hot."""
        return self.analyses[Heat].kinds(self.facts, place_of(self.twin)) != {"update"}

    def frequency(self, node: cst.CSTNode) -> Frequency:
        """How often one node of the statement runs."""
        twin = self._ast(node)
        return self.analyses[Heat].frequency(self.facts, twin) if twin is not None else Frequency.ONCE


def place_of(twin: ast.AST) -> ast.AST:
    """The node whose hotness is meant: of a function its body, else the node itself."""
    return twin.body[0] if isinstance(twin, (ast.FunctionDef, ast.AsyncFunctionDef)) else twin
