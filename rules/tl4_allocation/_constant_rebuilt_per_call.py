"""What TL401 asks about a site."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.members import Members
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of
from torchlint.facts.state.constant import Constants
from torchlint.facts.state.uses import accumulated
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind
from torchlint.rule.site import Site

_NARROWING = frozenset({"half", "bfloat16", "double"})
_FLOATING = frozenset({None, "float16", "bfloat16", "float32", "float64"})


@dataclass(eq=False, slots=True)
class Recast(Fact):
    """Answers whether modules get another dtype as a whole: their floating buffers get it too."""

    project: Project
    graph: CallGraph
    values: Values
    _known: dict[frozenset[str], bool] = field(default_factory=dict)

    def near(self, facts: FileFacts) -> bool:
        """Return whether a file that imports connect with this one casts a module."""
        group = self.graph.groups[facts.path]
        if group not in self._known:
            files = (self.project.files[path] for path in sorted(group))
            calls = ((file, call) for file in files for scope in file.scopes for call in scope.calls)
            self._known[group] = any(self._casts(file, call) for file, call in calls)
        return self._known[group]

    def _casts(self, facts: FileFacts, call: ast.Call) -> bool:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in _NARROWING | {"float", "to", "type"}:
            return False
        receiver = self.values.of(facts, func.value).kind
        if receiver is not Kind.MODULE:
            return receiver is Kind.UNKNOWN and func.attr in _NARROWING
        given = [self.values.of(facts, node).kind for node in arguments_of(call)]
        return func.attr != "to" or Kind.DTYPE in given or Kind.TENSOR in given


def is_accumulated(site: Site, node: cst.CSTNode) -> bool:
    """Return whether the name an expression is assigned to is later given what is made of it, as in ``x = x + y``."""
    twin = site.expression(node)
    return twin is not None and accumulated(site.file, twin)


def is_fixed(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression is an attribute that holds a list into which nothing is written."""
    twin = site.expression(node)
    return isinstance(twin, ast.Attribute) and site.fact(Constants).unwritten(site.file, twin)


def free_attribute(site: Site, name: str) -> str | None:
    """Return an attribute as source (``self.support``) that the module could set at the end of ``__init__``.

    ``name`` itself or with a number after it, never one that the class or its relatives use. ``None`` where the
    class has no ``__init__`` of its own that calls the next one, or the attribute might not be there at the node.
    """
    return site.fact(Members).free_attribute(site.file, site.twin, name)


def settled(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression means the same at the end of the enclosing class's own ``__init__``."""
    twin = site.expression(node)
    return twin is not None and site.fact(Members).settled(site.file, twin)


def follows_a_cast(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a tensor would get another dtype as a buffer, because modules are cast nearby."""
    value = site.values.of(node)
    return value.dtype in _FLOATING and site.fact(Recast).near(site.file)
