"""What TL302 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.uses import Uses
from torchlint.facts.flow.again import Again
from torchlint.facts.flow.flow import Flow
from torchlint.late import dataclass
from torchlint.rule.site import Site

from ._guarded import ENDS
from ._kept_graphs import KeptGraphs


@dataclass(eq=False, slots=True)
class HandedOn(Fact):
    """Answers which runs of networks whose graph a function hands on no call of that function shows.

    Of ``return value, way`` a caller may keep the second part: then the graph of its call is used, and that of the
    network that gives the first part is not. What the pass of a module computes is for its callers to use or not.
    """

    autograd: Autograd
    flow: Flow
    uses: Uses
    project: Project
    kept: KeptGraphs

    def alone(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a run gives a part of what its function hands on, and all callers keep another part."""
        function = facts.scope_of(call).function
        owner = function.method_of
        if owner is not None and self.project.is_module(owner.dotted):
            return False
        if not function.results or not all(isinstance(each, ast.Tuple) for each in function.results):
            return False
        spots = {after for each in function.results for after in self.uses.of(Spot(function.file, each))}
        calls = [(each.facts, each.node) for each in spots if isinstance(each, Spot) and each.label is Label.RETURN]
        return bool(calls) and not any(isinstance(node, ast.Call) and self._ends(file, node) for file, node in calls)

    def _ends(self, facts: FileFacts, call: ast.Call) -> bool:
        ends = self.autograd.runs(facts, call) and self.flow.graph_uses(facts, call, ENDS) <= ENDS
        return ends and not self.kept.run_keeps(facts, call)


def handed_on_alone(site: Site, call: cst.Call) -> bool:
    """Return whether no call of the function that hands on the graph of a run shows that this ends."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(HandedOn).alone(site.file, twin)


def repeated(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression runs a network of which ``ran_before`` holds, or an equal run that comes after."""
    twin = site.expression(node)
    calls = [part for part in walk(twin) if isinstance(part, ast.Call)] if twin is not None else []
    runs = [call for call in calls if site.fact(Autograd).runs(site.file, call)]
    again = site.fact(Again)
    return any(again.earlier(site.file, call) or again.later(site.file, call) for call in runs)
