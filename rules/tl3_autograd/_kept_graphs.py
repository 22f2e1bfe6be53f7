"""Whether what a network stores while it runs may be asked for its graph later."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint import cst
from torchlint.facts.code.model import FileFacts
from torchlint.facts.flow.flow import Flow
from torchlint.facts.state.escape import Stores
from torchlint.late import dataclass
from torchlint.rule.site import Site

from ._guarded import ENDS


@dataclass(eq=False, slots=True)
class KeptGraphs(Stores):
    """Answers whether code that is seen stores tensors whose graph is wanted: values that are only logged need none."""

    flow: Flow = field(kw_only=True)

    def _assignment(
        self, facts: FileFacts, node: ast.Assign | ast.AnnAssign | ast.AugAssign, within: set[ast.AST]
    ) -> bool:
        if Stores._assignment(self, facts, node, within):
            return True
        plain = isinstance(node, ast.Assign) and len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple)
        return plain and node.value is not None and self.flow.graph_uses(facts, node.value, ENDS) <= ENDS


def stores_graph(site: Site, call: cst.Call) -> bool:
    """Return whether what a call runs stores a tensor of which something may want the graph."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(KeptGraphs).run_keeps(site.file, twin)
