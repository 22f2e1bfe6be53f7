"""What TL210 looks at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.model import FileFacts
from torchlint.facts.finders import Finder
from torchlint.facts.values.subscripts import tensor_bounds, tensor_indices
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Device, Value
from torchlint.rule.site import Site


@dataclass(eq=False, slots=True)
class ScalarIndices(Finder):
    """Finds subscripts with an index that is proven a 0-d tensor, or with a tensor as the bound of a slice."""

    values: Values

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the subscripts."""
        return (node for node in file.subscripts if wanted(node) and self._fits(file, node))

    def _fits(self, file: FileFacts, node: ast.Subscript) -> bool:
        scalar = any(index.rank == 0 for index in tensor_indices(self.values, file, node))
        return scalar or any(self.bounds(file, node))

    def bounds(self, file: FileFacts, node: ast.Subscript) -> Iterator[Value]:
        """Yield the bounds of slices that are tensors off the host, of which Python reads the number."""
        found = tensor_bounds(self.values, file, node)
        return (bound for bound in found if bound.device is not Device.CPU and not bound.has_axes)


def has_bound(site: Site, node: cst.Subscript) -> bool:
    """Return whether a slice of a subscript has a tensor off the host as its bound."""
    twin = site.expression(node)
    return isinstance(twin, ast.Subscript) and any(site.fact(ScalarIndices).bounds(site.file, twin))
