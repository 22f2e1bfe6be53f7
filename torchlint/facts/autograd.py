"""Whether autograd records what runs somewhere, and which tensors hang on a graph."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torchlint.facts.graph import CallGraph
from torchlint.facts.model import FileFacts, Scope
from torchlint.facts.project import Project
from torchlint.facts.values import Values


@dataclass(eq=False, slots=True)
class Autograd:
    """Whether autograd records what runs somewhere, and which tensors hang on a graph."""

    project: Project
    graph: CallGraph
    values: Values

    def records(self, facts: FileFacts, node: ast.AST) -> bool | None:
        """Whether autograd records what runs at a node; ``None`` where nothing says so."""
        return None

    def has_graph(self, facts: FileFacts, node: ast.expr) -> bool | None:
        """Whether a tensor hangs on a recorded graph."""
        return None

    def reaches(self, function: Scope, names: frozenset[str]) -> bool:
        """Whether a function may run one of these, itself or through known callees."""
        return True
