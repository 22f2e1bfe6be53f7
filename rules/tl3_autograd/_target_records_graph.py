"""What TL306 asks about a site."""

from __future__ import annotations

from torchlint.facts.autograd.graphs import Graph, Graphs
from torchlint.facts.code.project import Project
from torchlint.rule.site import Site


def given_with_others(site: Site) -> bool:
    """Return whether the function around returns graphs of other things too, besides that of the target.

    These are of trained networks or not known, so its calls are no runs of a target network alone, where the recording
    could be switched off. A method of a module runs on networks and on their copies.
    """
    function = site.file.scope_of(site.twin).function
    owner = function.method_of
    if function.kind != "function" or (owner is not None and site.fact(Project).is_module(owner.dotted)):
        return False
    return bool(site.fact(Graphs).returned([function]) & (Graph.TRAINED | Graph.OPEN))
