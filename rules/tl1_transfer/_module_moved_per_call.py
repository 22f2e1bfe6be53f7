"""What TL109 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.code.model import NESTED
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.environments import is_module_and_environment
from torchlint.facts.state.provenance import Provenance
from torchlint.rule.site import Site


def made_before(site: Site, node: cst.CSTNode) -> bool:
    """Return whether what a name or attribute holds was made before the code at the node, so less often."""
    twin = site.expression(node)
    return twin is not None and site.fact(Provenance).made_before(site.file, twin)


def stays(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a module itself remembers where it lies, and visits nothing where it is there already."""
    return is_module_and_environment(site.fact(Project), site.values.of(node).name)


def is_elsewhere(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a move runs where a test found that a module is not there: what it visits, it has to copy.

    ``if next(net.parameters()).device != device: net.to(device)``.
    """
    twin = site.expression(node)
    above = site.file.climb(twin, *NESTED) if twin is not None else ()
    return any(isinstance(outer, ast.If) and inner in outer.body and _asks_place(outer.test) for inner, outer in above)


def _asks_place(test: ast.expr) -> bool:
    """Whether a test compares the device of a parameter, which is asked of the module itself."""
    compared = (side for part in walk(test) if isinstance(part, ast.Compare) for side in (part.left, *part.comparators))
    asked = (part for side in compared for part in walk(side) if isinstance(part, ast.Attribute))
    return any(part.attr == "device" and any(isinstance(each, ast.Call) for each in walk(part.value)) for part in asked)
