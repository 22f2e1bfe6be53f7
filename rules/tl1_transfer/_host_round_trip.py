"""What TL110 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.project import Project
from torchlint.facts.state.provenance import Provenance
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind
from torchlint.rule.convert import LEGACY_CONSTRUCTORS
from torchlint.rule.site import Site

WRAPPERS = frozenset({"torch.tensor", "torch.as_tensor", "torch.from_numpy", "torch.asarray", *LEGACY_CONSTRUCTORS})


@dataclass(eq=False, slots=True)
class ReadAlone(Fact):
    """Answers whether a name holds a tensor made of an array that a function only reads back."""

    project: Project
    values: Values

    def of(self, facts: FileFacts, node: ast.Name) -> bool:
        """Return whether each place that reads a name reads that tensor back: ``x.numpy()``."""
        scope = facts.scope_of(node).function
        made = self.project.reaching(facts, node).value
        if scope.kind != "function" or not isinstance(made, ast.Call) or not made.args:
            return False
        if self.project.qualified(facts, made.func) not in WRAPPERS:
            return False
        if self.values.of(facts, made.args[0]).kind is not Kind.NDARRAY:
            return False
        uses = [each for each in mentions_of(facts, scope.node, node.id) if isinstance(each.ctx, ast.Load)]
        return all(_is_read(facts, use) and self.project.reaching(facts, use).value is made for use in uses)


def _is_read(facts: FileFacts, use: ast.Name) -> bool:
    """Whether a name is read back at once: ``x.numpy()``."""
    method = facts.parent.get(use)
    call = facts.parent.get(method) if isinstance(method, ast.Attribute) and method.attr == "numpy" else None
    return isinstance(call, ast.Call) and call.func is method


def read_back(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an array is only a tensor read back, with no other reader.

    ``t.cpu()``, NumPy functions after it.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Provenance).read_back(site.file, twin)


def read_alone(site: Site, node: cst.Name) -> bool:
    """Return whether a name holds a tensor made of an array that is only read back."""
    twin = site.expression(node)
    return isinstance(twin, ast.Name) and site.fact(ReadAlone).of(site.file, twin)
