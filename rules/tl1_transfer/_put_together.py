"""Items that are moved one by one and put together later: under a name of their own, or as rows of a tensor (TL107)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.nesting import LoopNode, around
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import first_index, names_in
from torchlint.facts.loops.elements import Elements
from torchlint.facts.loops.joining import Joining
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Kind
from torchlint.rule.site import Site

_ADDING = method_names("list", adds="element")


@dataclass(eq=False, slots=True)
class PutTogether(Fact):
    """Answers whether what a call moves becomes an item of a list that is joined, or a row of a tensor."""

    project: Project
    values: Values
    joining: Joining
    elements: Elements

    def of(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a loop gives what a call moves a name and appends that, or puts it into one row of many."""
        loop = next(iter(around(facts, call)), None)
        stmt = facts.statement(call)
        if loop is None or not isinstance(stmt, ast.Assign) or not _gives(facts, stmt, call):
            return False
        match stmt.targets:
            case [ast.Name() as name]:
                return any(self.joining.joins(facts, use, loop) for use in self._added(facts, name, stmt, loop))
            case [ast.Subscript() as place]:
                return self._is_row(facts, place)
        return False

    def mapped(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a function of an element moves it, and all that it gives is joined: ``map(lambda x: ...)``."""
        given: ast.AST = call
        for child, parent in facts.climb(call, ast.stmt):
            given = child
            if not isinstance(parent, ast.Attribute) and not (isinstance(parent, ast.Call) and parent.func is child):
                break
        function = facts.parent.get(given)
        mapping = facts.parent.get(function) if isinstance(function, ast.Lambda) and function.body is given else None
        match function, mapping:
            case ast.Lambda(args=ast.arguments(args=[element])), ast.Call(func=func, args=[first, _]) as made:
                turns = first is function and self.project.qualified(facts, func) == "builtins.map"
                return turns and element.arg in names_in(call) and self.joining.joined(facts, made)
        return False

    def _added(self, facts: FileFacts, name: ast.Name, stmt: ast.Assign, loop: LoopNode) -> Iterator[ast.Name]:
        """Where the same loop appends what a name was bound to."""
        for use in mentions_of(facts, facts.scope_of(name).function.node, name.id):
            match facts.parent.get(use):
                case ast.Call(func=ast.Attribute(attr=method), args=[given]) if given is use and method in _ADDING:
                    binding = self.project.reaching(facts, use).only
                    if binding is not None and binding.stmt is stmt and loop in around(facts, use):
                        yield use

    def _is_row(self, facts: FileFacts, place: ast.Subscript) -> bool:
        """Whether an assignment fills the row of a tensor that a loop counts: ``ids[i, :n] = row.to(device)``."""
        known = self.values.of(facts, place.value)
        return known.kind is Kind.TENSOR and self.elements.counted(facts, place.value, first_index(place))


def _gives(facts: FileFacts, stmt: ast.Assign, call: ast.Call) -> bool:
    """Whether an assignment is of what a call moves, perhaps after further methods: ``x.to(device).long()``."""
    for child, parent in facts.climb(call, ast.stmt):
        if child is stmt.value:
            break
        if not isinstance(parent, ast.Attribute) and not (isinstance(parent, ast.Call) and parent.func is child):
            return False
    return True


def put_together(site: Site, call: cst.Call) -> bool:
    """Return whether what a call moves becomes an item of a list that is joined, or a row of a tensor."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(PutTogether).of(site.file, twin)


def mapped_together(site: Site, call: cst.Call) -> bool:
    """Return whether a call moves one of the elements that ``map`` takes in turn, all of which are joined then."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(PutTogether).mapped(site.file, twin)


def takes_row(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a name is the row of a tensor.

    ``row`` of ``for row in rows``, or of ``row = rows[i]`` in a loop that counts ``i``.
    """
    twin = site.expression(node)
    if not isinstance(twin, ast.Name):
        return False
    elements = site.fact(Elements)
    value = elements.of(site.file, twin)
    if value is not None:
        return True
    row = site.fact(Project).reaching(site.file, twin).value
    if not isinstance(row, ast.Subscript) or elements.of(site.file, row) is None:
        return False
    return next(around(site.file, row)) in around(site.file, twin)
