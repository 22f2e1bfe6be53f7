"""What TL110 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.project import Project
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.finders import Finder
from torchlint.facts.state.provenance import Provenance
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import last_names
from torchlint.rule import Kind
from torchlint.rule.convert import LEGACY_CONSTRUCTORS
from torchlint.rule.site import Site

WRAPPERS = frozenset({"torch.tensor", "torch.as_tensor", "torch.from_numpy", "torch.asarray", *LEGACY_CONSTRUCTORS})

_VARIABLES = frozenset({"torch.autograd.Variable", "torch.autograd.variable.Variable"})
_FORMING = last_names(moves=True) | last_names("torch.Tensor torch", elements="all")


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


@dataclass(eq=False, slots=True)
class TensorMakers(Finder):
    """Finds calls of project functions that do nothing but make a tensor of their first argument: ``to_tensor(x)``."""

    project: Project
    graph: CallGraph
    sources: Sources
    _found: dict[Scope, bool] = field(default_factory=dict)

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the calls."""
        calls = (call for scope in file.scopes for call in scope.calls)
        return (call for call in calls if call.args and self.called(file, call) and wanted(call))

    def called(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether the function that a call reaches only makes a tensor of its first argument."""
        functions = self.graph.sure(call)
        if len(functions) != 1:
            return False
        found = self._found.get(functions[0])
        if found is None:
            results = list(self.sources.of(Spot(facts, call)))
            spots = [each for each in results if isinstance(each, Spot) and each.label is Label.RETURN]
            made = bool(spots) and len(spots) == len(results)
            found = made and all(self._is_made(functions[0], each.node) for each in spots)
            self._found[functions[0]] = found
        return found

    def _is_made(self, function: Scope, result: ast.expr) -> bool:
        """Whether a result is a tensor made of the first argument, moved, cast or viewed at most."""
        facts, node, seen = function.file, result, set[ast.expr]()
        while node not in seen:
            seen.add(node)
            if isinstance(node, ast.Name) and (value := self.project.reaching(facts, node).value) is not None:
                node = value
            if not isinstance(node, ast.Call):
                return False
            name = self.project.qualified(facts, node.func)
            if name in WRAPPERS:
                return bool(node.args) and self._is_first(function, node.args[0])
            if name in _VARIABLES and node.args:
                node = node.args[0]
            elif name is None and isinstance(node.func, ast.Attribute) and node.func.attr in _FORMING:
                node = node.func.value
            else:
                return False
        return False

    def _is_first(self, function: Scope, node: ast.expr) -> bool:
        """Whether an expression is the first argument of a function, besides its object."""
        parameter = self.project.reaching(function.file, node).parameter
        first = function.positional[bool(function.self_name) :][:1]
        return parameter is not None and parameter.scope is function and parameter.target in first


def _is_read(facts: FileFacts, use: ast.Name) -> bool:
    """Whether a name is read back at once: ``x.numpy()``."""
    method = facts.parent.get(use)
    call = facts.parent.get(method) if isinstance(method, ast.Attribute) and method.attr == "numpy" else None
    return isinstance(call, ast.Call) and call.func is method


def makes_tensor(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a call is one of a project function that only makes a tensor of its first argument."""
    twin = site.expression(node)
    return isinstance(twin, ast.Call) and site.fact(TensorMakers).called(site.file, twin)


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
