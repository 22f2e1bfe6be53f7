"""What is known of a module: whether it is trained, frozen, a target network, and its parts."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torchlint.facts.graph import CallGraph
from torchlint.facts.model import FileFacts
from torchlint.facts.project import Project
from torchlint.facts.values import Values
from torchlint.rule import Network


@dataclass(eq=False, slots=True)
class Networks:
    """What is known of a module: whether it is trained, frozen, a target network, and its parts."""

    project: Project
    graph: CallGraph
    values: Values

    def of(self, facts: FileFacts, node: ast.expr) -> Network:
        """What is known of the module that an expression names."""
        return Network()
