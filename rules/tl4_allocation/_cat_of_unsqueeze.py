"""What TL409 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.nesting import around
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule.site import Site

Replaced = tuple[tuple[ast.expr, str], ...]
"""Expressions of the file, and the text that takes the place of each."""


@dataclass(eq=False, slots=True)
class Raising(Fact):
    """Answers which tensor a view adds one dimension to, and which views a list holds that is joined."""

    project: Project
    values: Values
    mentions: Mentions

    def of(self, facts: FileFacts, node: ast.expr, dim: int) -> ast.expr | None:
        """Return the tensor that an expression adds a dimension to, at this place; ``None`` for other expressions."""
        match node:
            case ast.Call(func=ast.Attribute(value=tensor, attr="unsqueeze" | "unsqueeze_")):
                at = _only(node.args, node)
                if self.project.qualified(facts, node.func) is None:
                    return tensor if at is not None and self._is(facts, at, dim) else None
            case ast.Subscript(value=tensor, slice=ast.Tuple(elts=[index, ast.Constant(value=kept)])) if kept is ...:
                return tensor if dim == 0 and self._is_new(facts, index) else None
            case ast.Subscript(value=tensor, slice=index):
                return tensor if dim == 0 and self._is_new(facts, index) else None
        match node:
            case ast.Call(func=func, args=[tensor, *rest]) if not isinstance(tensor, ast.Starred):
                at = _only(rest, node)
                added = at is not None and self.project.qualified(facts, func) == "torch.unsqueeze"
                return tensor if at is not None and added and self._is(facts, at, dim) else None
        return None

    def collected(self, facts: FileFacts, name: ast.Name, dim: int) -> Sequence[tuple[ast.expr, ast.expr]]:
        """Return the views that loops append to a list which is only joined, each with its tensor; empty for others."""
        made = self.project.bound_to(facts, name)
        if not all(each.how is Bind.ASSIGN and not each.path and _is_empty(each.value) for each in made):
            return ()
        found: dict[ast.expr, ast.expr] = {}
        looped = False
        for binding, read in self._reads(facts, name, made):
            if read is name or _only_asks(facts, read):
                continue
            added = _appended(facts, read)
            tensor = self.of(facts, added, dim) if added is not None else None
            if added is None or tensor is None or not self.project.bound_to(facts, read) <= made:
                return ()
            found[added] = tensor
            looped = looped or any(loop not in around(facts, binding.stmt) for loop in around(facts, read))
        return tuple(found.items()) if looped else ()

    def _reads(self, facts: FileFacts, name: ast.Name, made: frozenset[Binding]) -> Iterator[tuple[Binding, ast.Name]]:
        """The mentions of a name that some bindings may reach, each with such a binding."""
        return ((each, read) for each in made for read in self.mentions.of_binding(facts, name.id, each.stmt))

    def _is(self, facts: FileFacts, node: ast.expr, dim: int) -> bool:
        literal = self.values.of(facts, node).literal
        return type(literal) is int and literal == dim

    def _is_new(self, facts: FileFacts, index: ast.expr) -> bool:
        """Whether an index is ``None`` or ``np.newaxis``."""
        if isinstance(index, ast.Constant):
            return index.value is None
        return self.project.qualified(facts, index) in ("numpy.newaxis", "torch.newaxis")


def _only(args: Sequence[ast.expr], call: ast.Call) -> ast.expr | None:
    """The only argument among some positional ones and the named ones of a call."""
    given = [*args, *(keyword.value for keyword in call.keywords if keyword.arg == "dim")]
    plain = len(given) == 1 and len(args) + len(call.keywords) == 1 and not isinstance(given[0], ast.Starred)
    return given[0] if plain else None


def _is_empty(value: ast.expr | None) -> bool:
    return isinstance(value, ast.List) and not value.elts


def _appended(facts: FileFacts, read: ast.Name) -> ast.expr | None:
    """What a mention of a list appends to it."""
    func = facts.parent.get(read)
    match facts.parent.get(func) if func is not None else None:
        case ast.Call(func=ast.Attribute(attr="append") as method, args=[added], keywords=[]) as call:
            alone = method is func and isinstance(facts.parent.get(call), ast.Expr)
            return added if alone and not isinstance(added, ast.Starred) else None
    return None


def _only_asks(facts: FileFacts, read: ast.Name) -> bool:
    """Whether a mention of a list asks for its length, or whether there is any: ``if rows:``."""
    match facts.parent.get(read):
        case ast.Call(func=ast.Name(id="len"), args=[only]):
            return only is read
        case ast.If(test=test) | ast.IfExp(test=test):
            return test is read
    return False


def in_place(site: Site, node: cst.BaseExpression, views: Replaced) -> bool:
    """Return whether an expression, or one of some views, adds the dimension to the tensor itself: ``unsqueeze_``."""
    return any(_is_in_place(each) for each in (site.expression(node), *(view for view, _ in views)))


def _is_in_place(view: ast.expr | None) -> bool:
    return isinstance(view, ast.Call) and last_name(view.func).endswith("_")


def raised(site: Site, node: cst.BaseExpression, dim: int) -> bool:
    """Return whether an expression adds a dimension to a tensor, at this place, and does nothing else."""
    twin = site.expression(node)
    return twin is not None and site.fact(Raising).of(site.file, twin, dim) is not None


def collected(site: Site, node: cst.BaseExpression, dim: int) -> Replaced:
    """Return the views that loops put into a list, and the text of the tensor that each adds a dimension to.

    Empty where the list is read elsewhere, holds anything else, or is filled by no loop.
    """
    twin = site.expression(node)
    found = site.fact(Raising).collected(site.file, twin, dim) if isinstance(twin, ast.Name) else ()
    return tuple((view, _text(site.file, tensor)) for view, tensor in found)


def _text(facts: FileFacts, tensor: ast.expr) -> str:
    text = facts.text_of(tensor)
    return text if isinstance(tensor, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else f"({text})"
