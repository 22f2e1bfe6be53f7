"""What a site knows of the code around it: loops, containers, what ran before, what is done with what is made."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.engine.place import Place
from torchlint.facts.code.literals import strings
from torchlint.facts.code.nesting import in_handler
from torchlint.facts.code.occurrences import Occurrences
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.covering import Covering
from torchlint.facts.hotness.switches import Switches
from torchlint.facts.loops.batching import Batching
from torchlint.facts.loops.growth import Growth
from torchlint.facts.loops.loops import Loops
from torchlint.facts.state.provenance import Provenance
from torchlint.rule import Loop, Value

if TYPE_CHECKING:
    import libcst as cst


class Surroundings(Place):
    """Questions about the code around a node."""

    __slots__ = ()

    def loops(self, node: cst.CSTNode) -> Sequence[Loop]:
        """The loops around an expression, innermost first."""
        twin = self._expr(node)
        return self.analyses[Loops].of(self.facts, twin) if twin is not None else ()

    def batchable(self, call: cst.Call) -> bool:
        """Whether a call in a loop could be made once for all rounds."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analyses[Batching].batchable(self.facts, twin)

    def grows(self, node: cst.CSTNode, *, anew: bool = False) -> str:
        """What an expression is added to again and again."""
        twin = self._expr(node)
        return self.analyses[Growth].of(self.facts, twin, anew=anew) if twin is not None else ""

    def project_calls(self, name: str) -> Sequence[Sequence[Value]]:
        """The positional arguments of every call of a qualified name in the project."""
        return self.analyses[Occurrences].arguments(name)

    def loops_over(self, node: cst.CSTNode) -> str:
        """What the loop runs over that binds a name."""
        twin = self._expr(node)
        return self.analyses[Provenance].loops_over(self.facts, twin) if twin is not None else ""

    def runs_anyway(self) -> bool:
        """Whether nothing but the machine decides that the node runs."""
        return self.analyses[Switches].runs_anyway(self.facts, self.twin)

    def strings(self, node: cst.CSTNode) -> frozenset[str]:
        """All texts that an expression may be."""
        twin = self._expr(node)
        return strings(self.analyses[Project], self.facts, twin) if twin is not None else frozenset()

    def stored_value(self) -> cst.BaseExpression | None:
        """What an assignment stores in its target."""
        import libcst as cst

        whole = self.pairs.statement(self.node)
        if not isinstance(whole, cst.Assign) or all(target.target is not self.node for target in whole.targets):
            return None
        return whole.value

    def covers_training(self) -> bool:
        """Whether a block, or what follows the node, runs a training or rollout loop."""
        return self.analyses[Covering].trains(self.facts, self.twin)

    def mentioned(self, word: str) -> bool:
        """Whether a connected file's text holds a word."""
        return self.analyses[Occurrences].mentioned(self.facts, word)

    def file_mentions(self, word: str) -> bool:
        """Whether the file's text holds a word."""
        return word.encode() in self.facts.source.utf8

    def first(self, names: frozenset[str]) -> bool:
        """Whether the node is the first call of one of these names."""
        return not self.analyses[Occurrences].before(self.facts, self.twin, names)

    def handles_error(self) -> bool:
        """Whether the node stands in the ``except`` part of a ``try``."""
        return in_handler(self.facts, self.twin)
