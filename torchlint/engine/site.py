"""A site: what a rule sees of one node, and the questions it may ask."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeVar

from torchlint.engine import questions
from torchlint.engine.place import place_of
from torchlint.facts.analyses import Analyses, Fact
from torchlint.facts.code.model import FileFacts
from torchlint.rule import Hotness

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.engine.pair import Pairs

_Asked = TypeVar("_Asked", bound=Fact)


class PairedSite:
    """A node of a statement whose LibCST tree was paired with its ``ast`` twin."""

    __slots__ = ("analyses", "file", "hotness", "node", "pairs", "twin")

    def __init__(self, analyses: Analyses, file: FileFacts, pairs: Pairs, node: cst.CSTNode, twin: ast.AST) -> None:
        """Stand at ``node``, whose twin is ``twin``."""
        self.analyses = analyses
        self.file = file
        self.pairs = pairs
        self.node = node
        self.twin = twin
        self.hotness: Hotness | None = None

    def __repr__(self) -> str:
        """Where the site stands, for messages about rules that fail."""
        return f"{self.file.path}:{getattr(self.twin, 'lineno', 1)}"

    @property
    def place(self) -> ast.AST:
        """The code whose frequency counts."""
        return place_of(self.twin)

    @property
    def decided(self) -> ast.AST | None:
        """The statement that the node is, or whose test it is or is in."""
        branch: ast.AST | None = self.twin
        child: ast.AST | None = None
        while isinstance(branch, ast.expr):
            branch, child = self.file.parent.get(branch), branch
        return branch if child in (None, getattr(branch, "test", None)) else None

    def twin_of(self, node: cst.CSTNode) -> ast.AST | None:
        """Return the ``ast`` twin of a node of the statement.

        Raises:
            TypeError: it is not a node of the statement.
        """
        found = self.pairs.ast_of(node)
        if found is None and node not in self.pairs:
            raise TypeError(f"{type(node).__name__} was built by the rule and has no facts")
        return found

    def expression(self, node: cst.CSTNode) -> ast.expr | None:
        """Return the ``ast`` twin of an expression."""
        found = self.twin_of(node)
        return found if isinstance(found, ast.expr) else None

    def fact(self, kind: type[_Asked]) -> _Asked:
        """Return the fact of a type."""
        return self.analyses[kind]

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node that holds another one."""
        return self.pairs.parent(node)

    @property
    def names(self) -> questions.SiteNames:
        """What names mean, and where words stand."""
        return questions.SiteNames(self)

    @property
    def values(self) -> questions.SiteValues:
        """What values are."""
        return questions.SiteValues(self)

    @property
    def flow(self) -> questions.SiteFlow:
        """Where values and control go."""
        return questions.SiteFlow(self)

    @property
    def calls(self) -> questions.SiteCalls:
        """Calls, their arguments, and what they reach."""
        return questions.SiteCalls(self)

    @property
    def loops(self) -> questions.SiteLoops:
        """The loops around code."""
        return questions.SiteLoops(self)

    @property
    def hot(self) -> questions.SiteHot:
        """How often code runs, and whether it runs at all."""
        return questions.SiteHot(self)

    @property
    def autograd(self) -> questions.SiteAutograd:
        """Networks, and what autograd records."""
        return questions.SiteAutograd(self)

    @property
    def device(self) -> questions.SiteDevice:
        """Where code may run."""
        return questions.SiteDevice(self)

    @property
    def compiling(self) -> questions.SiteCompiling:
        """What torch compiles."""
        return questions.SiteCompiling(self)
