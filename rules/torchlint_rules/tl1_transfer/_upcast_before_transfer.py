"""What TL108 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import passed
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.state.sequel import Sequel
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind
from torchlint.rule.site import Site

_NO_FRAMES = frozenset({Kind.LIST, Kind.TUPLE, Kind.NUMBER})


def scaled(site: Site, node: cst.CSTNode) -> bool:
    """Whether a tensor is divided by 255 further on, in its function or in one that it is passed to."""
    twin = site.expression(node)
    return twin is not None and site.fact(Sequel).scaled(site.file, twin)


def listed(site: Site, node: cst.CSTNode) -> bool:
    """Whether an expression is a parameter that some caller gives a list or a number."""
    twin = site.expression(node)
    return twin is not None and site.fact(Handed).listed(site.file, twin)


@dataclass(eq=False, slots=True)
class Handed(Fact):
    """Finds parameters of functions that are made for lists: what else they are given is not an array of frames."""

    project: Project
    values: Values

    def listed(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether some caller gives a list, a tuple or a number for a parameter."""
        bindings = self.project.reaching(facts, node).bindings if isinstance(node, ast.Name) else ()
        function = bindings[0].scope if len(bindings) == 1 and bindings[0].how is Bind.PARAM else None
        if function is None or not isinstance(node, ast.Name):
            return False
        handed = ((caller.facts, passed(function, node.id, caller)) for caller in self.values.callers.get(function, ()))
        return any(value is not None and self.values.of(where, value).kind in _NO_FRAMES for where, value in handed)
