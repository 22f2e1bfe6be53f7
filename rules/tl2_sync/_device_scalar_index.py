"""What TL210 looks at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.finders import Finder
from torchlint.facts.values.subscripts import tensor_bounds, tensor_indices
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Device, Kind, Value
from torchlint.rule.site import Site


@dataclass(eq=False, slots=True)
class ScalarIndices(Finder):
    """Finds subscripts with an index that is proven a 0-d tensor, or with a tensor as the bound of a slice."""

    project: Project
    values: Values
    _numbers: frozenset[str] | None = None

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the subscripts."""
        return (node for node in file.subscripts if wanted(node) and self._fits(file, node))

    def _fits(self, file: FileFacts, node: ast.Subscript) -> bool:
        scalar = any(index.rank == 0 for index in tensor_indices(self.values, file, node))
        return scalar or any(self.bounds(file, node))

    def bounds(self, file: FileFacts, node: ast.Subscript) -> Iterator[Value]:
        """Yield the bounds of slices that are tensors off the host, of which Python reads the number."""
        found = tensor_bounds(self.values, file, node, self._is_count)
        return (bound for bound in found if bound.device is not Device.CPU)

    def _is_count(self, file: FileFacts, node: ast.expr) -> bool:
        """Whether a bound is the entry of a dict under a key under which some code puts a number.

        An annotation such as ``dict[str, Tensor]`` says nothing about one key.
        """
        value = self.project.reaching(file, node).value if isinstance(node, ast.Name) else node
        match value:
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                return key in self._counts()
        return False

    def _counts(self) -> frozenset[str]:
        if self._numbers is None:
            stored = (
                (facts, key, node)
                for facts in self.project.files.values()
                for scope in facts.scopes
                for entries in scope.keyed.values()
                for key, node in entries
            )
            self._numbers = frozenset(
                key for facts, key, node in stored if self.values.of(facts, node).kind is Kind.NUMBER
            )
        return self._numbers


def has_bound(site: Site, node: cst.Subscript) -> bool:
    """Return whether a slice of a subscript has a tensor off the host as its bound."""
    twin = site.expression(node)
    return isinstance(twin, ast.Subscript) and any(site.fact(ScalarIndices).bounds(site.file, twin))


def gone_over(site: Site, index: cst.BaseExpression) -> str | None:
    """Return what to go over in place of the tensor whose elements a loop gives as an index, ``None`` for another."""
    twin = site.expression(index)
    only = site.fact(Project).reaching(site.file, twin).only if isinstance(twin, ast.Name) else None
    if only is None or only.how is not Bind.ELEMENT or only.path:
        return None
    return f"`{only.value.id}.tolist()`" if isinstance(only.value, ast.Name) else "its `tolist()`"
