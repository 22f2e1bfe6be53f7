"""Whether code keeps what has a graph: what it stores of data and buffers alone is the same without one."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.autograd.graphs import Graph, Graphs
from torchlint.facts.code.model import FileFacts
from torchlint.facts.state.escape import Escapes
from torchlint.late import dataclass


@dataclass(eq=False, slots=True)
class Holding(Escapes):
    """Answers whether tensors with a graph leave a place: noise that a layer draws and keeps has none."""

    graphs: Graphs = field(kw_only=True)

    def _is_free(self, facts: FileFacts, node: ast.expr) -> bool:
        return Escapes._is_free(self, facts, node) or self.graphs.of(facts, node) is Graph.NONE
