"""What TL907 asks about a site."""

from __future__ import annotations

from torchlint import cst
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.project import Project
from torchlint.rule.site import Site


def function_reaches(site: Site, node: cst.CSTNode, names: frozenset[str]) -> bool:
    """Return whether a function given as a value may run one of these, itself or through known callees."""
    function = site.fact(Project).functions.get(site.values.of(node).name)
    return function is not None and site.fact(Autograd).reaches(function, names)
