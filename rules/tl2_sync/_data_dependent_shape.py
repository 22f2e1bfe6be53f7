"""What TL202 looks at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.finders import Finder
from torchlint.facts.values.subscripts import tensor_indices
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Site, Value

# Torch takes bytes that index for a mask, as it did before it had truth values.
_MASKING = ("bool", "uint8")


@dataclass(eq=False, slots=True)
class Masks(Finder):
    """Finds subscripts whose index, or a part of it, is a boolean tensor, or a tensor that is called a mask."""

    values: Values

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the subscripts."""
        return (node for node in file.subscripts if wanted(node) and self.of(file, node))

    def of(self, file: FileFacts, node: ast.Subscript) -> list[Value]:
        """Return the masks of a subscript."""
        return [index for index in tensor_indices(self.values, file, node) if index.dtype in _MASKING]


def are_truths(site: Site, node: cst.Subscript) -> bool:
    """Return whether the masks of a subscript are proven to be of truth values, as ``torch.where`` wants them."""
    return all(mask.dtype == "bool" for mask in masks_of(site, node))


def masks_of(site: Site, node: cst.Subscript) -> list[Value]:
    """Return the masks of a subscript."""
    twin = site.expression(node)
    return site.fact(Masks).of(site.file, twin) if isinstance(twin, ast.Subscript) else []


_THROUGH = frozenset({"enumerate", "zip", "reversed"})


def gone_through(site: Site, call: cst.Call) -> bool:
    """Return whether a loop of Python goes through what a call finds: ``for place in mask.nonzero(): ...``.

    Also through a part or another form of it, at once or by the name that it gets: ``places = torch.where(mask)[0]``.
    """
    twin = site.expression(call)
    found: ast.AST | None = None
    for child, parent in site.file.climb(twin) if twin is not None else ():
        if not isinstance(parent, (ast.Subscript, ast.Attribute)) and not _is_called(child, parent):
            found = child
            break
    if not isinstance(found, ast.expr):
        return False
    return any(
        found is each or site.fact(Project).reaching(site.file, each).value is found for each in _gone_through(site)
    )


def _is_called(func: ast.AST, parent: ast.AST) -> bool:
    return isinstance(func, ast.Attribute) and isinstance(parent, ast.Call) and parent.func is func


def _gone_through(site: Site) -> Iterator[ast.expr]:
    """What the loops of a file go through, alone or beside other things."""
    loops = (stmt.iter for stmt in site.file.compounds if isinstance(stmt, (ast.For, ast.AsyncFor)))
    for over in (*loops, *(each.iter for each in site.file.nodes(ast.comprehension))):
        match over:
            case ast.Call(func=ast.Name(id=name), args=args) if name in _THROUGH:
                yield from args
            case _:
                yield over
