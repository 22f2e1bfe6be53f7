"""What TL306 asks about a site."""

from __future__ import annotations

from torchlint.facts.autograd.graphs import Graph, Graphs
from torchlint.rule.site import Site


def given_with_others(site: Site) -> bool:
    """Return whether the function around returns results of trained networks too, besides those of the target.

    Its calls are then no runs of a target network, where the recording could be switched off.
    """
    function = site.file.scope_of(site.twin).function
    return function.kind == "function" and bool(site.fact(Graphs).returned([function]) & Graph.TRAINED)
