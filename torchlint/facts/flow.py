"""Where values go: followed from an expression through names, containers, calls, returns and attributes."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torchlint.facts.graph import CallGraph
from torchlint.facts.model import FileFacts
from torchlint.facts.project import Project
from torchlint.facts.values import Values
from torchlint.rule import Use


@dataclass(eq=False, slots=True)
class Flow:
    """Where values go: followed from an expression through names, containers, calls, returns and attributes."""

    project: Project
    graph: CallGraph
    values: Values

    def uses(self, facts: FileFacts, node: ast.expr) -> frozenset[Use]:
        """All ends that the value of an expression comes to."""
        return frozenset({Use.PASSED})

    def graph_uses(self, facts: FileFacts, node: ast.expr) -> frozenset[Use]:
        """All ends that the autograd graph of a tensor comes to."""
        return frozenset({Use.PASSED})
