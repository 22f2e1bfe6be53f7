"""What TL202 looks at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.nesting import around
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import names_in, walk
from torchlint.facts.finders import Finder
from torchlint.facts.values.subscripts import tensor_indices
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import Word
from torchlint.rule import Kind, Site, Value

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


_EXPERT = Word("expert")
_DEEPEST = 3
"""Through how many names is followed what a mask or a network is made of."""


def routes_rows(site: Site) -> bool:
    """Return whether a loop selects the rows that one of its networks takes, where these are called experts.

    ``for i, expert in enumerate(experts): out[expert_of == i] = expert(x[expert_of == i])``: all experts on all rows
    would cost as many times as much as there are of them. The members of a small ensemble may as well take all rows.
    """
    facts, node = site.file, site.twin
    if not isinstance(node, (ast.Subscript, ast.Call)):
        return False
    selecting = node.slice if isinstance(node, ast.Subscript) else node
    return any(
        _is_made_of(site, selecting, turn, 0) and any(_is_chosen(site, call, turn) for call in _calls(loop))
        for loop in around(facts, node)
        if isinstance(loop, ast.For)
        for turn in [{part.id for part in walk(loop.target) if isinstance(part, ast.Name)}]
    )


def _calls(loop: ast.For) -> Iterator[ast.Call]:
    return (part for stmt in loop.body for part in walk(stmt) if isinstance(part, ast.Call))


def _is_chosen(site: Site, call: ast.Call, turn: set[str]) -> bool:
    """Whether a call is one of a network that a round of a loop chooses: ``expert(x)``, ``self.experts[i](x)``."""
    func = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "forward" else call.func
    made: ast.expr = func
    match func:
        case ast.Subscript(slice=index):
            chosen = _is_made_of(site, index, turn, 0)
        case ast.Name(id=name):
            made = site.fact(Project).reaching(site.file, func).value or func
            chosen = name in turn or (isinstance(made, ast.Subscript) and _is_made_of(site, made.slice, turn, 0))
        case _:
            return False
    called = any(_EXPERT.fits(name) for name in (*names_in(func), *names_in(made)))
    return chosen and called and site.fact(Values).of(site.file, func).kind in (Kind.MODULE, Kind.UNKNOWN)


def _is_made_of(site: Site, node: ast.expr, names: set[str], depth: int) -> bool:
    """Whether an expression is made of some names, or of what is made of them in turn."""
    found = [part for part in walk(node) if isinstance(part, ast.Name)]
    if any(part.id in names for part in found):
        return True
    made = (site.fact(Project).reaching(site.file, part).only for part in found) if depth < _DEEPEST else ()
    values = [each.value for each in made if each is not None and each.how is Bind.ASSIGN and each.value is not None]
    return any(_is_made_of(site, value, names, depth + 1) for value in values)


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
