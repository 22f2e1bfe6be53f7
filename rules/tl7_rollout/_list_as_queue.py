"""What TL705 asks: where the front of a list is taken away, and whether the list may be long."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.alike import alike
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.finders import Finder
from torchlint.facts.state.queues import Queues
from torchlint.late import dataclass
from torchlint.rule.site import Site

from ._enumerating import Enumerating


@dataclass(eq=False, slots=True)
class Fronts(Finder):
    """Finds ``del x[0]``, ``del x[:n]`` and ``x = x[n:]`` on lists that may be long."""

    queues: Queues

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the subscripts, of an assignment the one that is read."""
        for stmt in file.places:
            for node in _shortened(stmt):
                if wanted(node) and self.queues.long_queue(file, node, node.value):
                    yield node


@dataclass(eq=False, slots=True)
class Reaches(Finder):
    """Finds ``items[i]`` in a loop over places drawn at random, where ``items`` is a deque that may hold many."""

    queues: Queues
    project: Project
    enumerating: Enumerating

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the subscripts."""
        return (node for node in file.subscripts if self.in_deque(file, node) and wanted(node))

    def in_deque(self, file: FileFacts, node: ast.Subscript) -> bool:
        """Return whether a subscript reads from a deque at a place that was drawn at random."""
        if not isinstance(node.ctx, ast.Load) or not isinstance(node.slice, ast.Name):
            return False
        places = self.project.reaching(file, node.slice).only
        if places is None or places.how is not Bind.ELEMENT or places.value is None or places.path:
            return False
        return (
            self.queues.is_deque(file, node.value)
            and self.queues.many(file, node.value)
            and self._is_drawn(file, places.value)
        )

    def _is_drawn(self, file: FileFacts, node: ast.expr) -> bool:
        while isinstance(node, ast.Name) and (value := self.project.reaching(file, node).value) is not None:
            node = value
        return isinstance(node, ast.Call) and self.enumerating.draws(file, node)


def _shortened(stmt: ast.stmt) -> Iterator[ast.Subscript]:
    """What a statement takes from the front of lists: all that ``del`` removes, or what an assignment leaves."""
    match stmt:
        case ast.Delete(targets=targets):
            for target in targets:
                match target:
                    case ast.Subscript(
                        slice=ast.Constant(value=0) | ast.Slice(lower=None, upper=ast.expr(), step=None)
                    ) if not _is_share(target.slice):
                        yield target
        case ast.Assign(
            targets=[target], value=ast.Subscript(slice=ast.Slice(lower=ast.expr(), upper=None) as kept) as left
        ):
            if alike(target, left.value) and not _is_share(kept):
                yield left


def _is_share(taken: ast.expr) -> bool:
    """Whether a slice takes a share of what a list may hold, so that it comes back as seldom as that is large.

    ``rows[: capacity // 100]``, ``rows[: int(0.1 * capacity)]``.
    """
    scaled = (ast.FloorDiv, ast.Div, ast.Mult)
    return any(isinstance(part, ast.BinOp) and isinstance(part.op, scaled) for part in walk(taken))


def shortened(site: Site, part: cst.Subscript) -> bool:
    """Return whether a statement removes the first item of a list, as ``Fronts`` finds it."""
    twin = site.expression(part)
    stmt = site.file.parent.get(twin) if isinstance(twin, ast.Subscript) else None
    if not isinstance(twin, ast.Subscript) or not isinstance(stmt, ast.stmt):
        return False
    taken = any(each is twin for each in _shortened(stmt))
    return taken and site.fact(Queues).long_queue(site.file, twin, twin.value)


def reaches_into_deque(site: Site, part: cst.Subscript) -> bool:
    """Return whether a subscript reads from a long deque at a place that was drawn at random."""
    twin = site.expression(part)
    return isinstance(twin, ast.Subscript) and site.fact(Reaches).in_deque(site.file, twin)


def drained(site: Site, call: cst.Call) -> bool:
    """Return whether ``x.pop(0)`` works on a proven list that may hold a thousand things or more."""
    twin = site.expression(call)
    if not isinstance(twin, ast.Call) or not isinstance(twin.func, ast.Attribute):
        return False
    return site.fact(Queues).long_queue(site.file, twin, twin.func.value)
