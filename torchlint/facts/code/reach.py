"""Which bindings of a name may reach a use: structured reaching definitions over statement blocks."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.tree import children
from torchlint.late import dataclass

Loop = ast.For | ast.AsyncFor | ast.While
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_WITH = (ast.With, ast.AsyncWith)
if sys.version_info >= (3, 11):
    _TRY = (ast.Try, ast.TryStar)
else:
    _TRY = (ast.Try,)


@dataclass(frozen=True, slots=True)
class Reaching:
    """Bindings that may reach a use, and the scope they belong to (``None``: a builtin or unknown name)."""

    bindings: tuple[Binding, ...]
    scope: Scope | None


@dataclass(frozen=True, slots=True)
class Rounds:
    """Bindings in a loop that may reach a use there: those of the same round, and those of the round before."""

    same: tuple[Binding, ...]
    before: tuple[Binding, ...]


_NOWHERE = Reaching((), None)


def reaching(facts: FileFacts, name: ast.Name) -> Reaching:
    """The bindings that may give a name its value where it is read."""
    scope: Scope | None = facts.scope_of(name)
    inside = True  # still in the code of the scope where the name is read, comprehensions included
    while scope is not None:
        bound = scope.bindings.get(name.id)
        if bound and (inside or scope.kind != "class"):
            found = bound if scope.kind == "comprehension" else _seen(facts, name, scope, bound)
            if found:
                return Reaching(tuple(found) if len(found) == 1 else tuple(dict.fromkeys(found)), scope)
        inside = inside and scope.kind == "comprehension"
        scope = scope.parent
    return _NOWHERE


def _seen(facts: FileFacts, name: ast.Name, scope: Scope, bound: list[Binding]) -> list[Binding]:
    """Those of a scope's bindings that a use may see: all of them where the order of events is not known."""
    if facts.scope_of(name).function is not scope.function or name.id in scope.shared:
        return bound
    if len(bound) == 1 and bound[0].how in (Bind.IMPORT, Bind.FUNCTION, Bind.CLASS, Bind.PARAM):
        return bound
    found, _ = _backwards(facts, name, name.id, scope)
    # A class body reads the names outside as long as it has none of its own; a local name is never another one.
    return found if found or scope.kind == "class" else bound


def rounds(facts: FileFacts, name: ast.Name, loop: Loop) -> Rounds:
    """The bindings in a loop that may give a name its value where the loop reads it."""
    scope = facts.scope_of(name).function
    bound = scope.bindings.get(name.id, [])
    if not bound:
        return Rounds((), ())
    finder = _Finder(facts, name.id, bound)
    every: list[Binding] = []
    finder.anywhere(loop.body, every)
    if name.id in scope.shared:
        return Rounds(tuple(every), tuple(every))
    if facts.statement(name) is loop:  # the test of a while loop
        return Rounds((), tuple(every))
    same, definite = _backwards(facts, name, name.id, scope, loop)
    return Rounds(tuple(dict.fromkeys(same)), () if definite else tuple(every))


def _backwards(
    facts: FileFacts, use: ast.AST, name: str, scope: Scope, loop: Loop | None = None
) -> tuple[list[Binding], bool]:
    """Collect the bindings of a name that reach a use, walking back through the blocks that enclose it.

    It ends at the head of ``loop`` where one is given. The second value tells whether one of them always came before.
    """
    finder = _Finder(facts, name, scope.bindings[name])
    found: list[Binding] = []
    stmt = facts.statement(use)
    if stmt is not None and use is not stmt:
        finder.header(stmt, found)  # an earlier part of the same expression may bind the name
        if isinstance(stmt, ast.While):  # its test also sees what the body bound
            finder.anywhere(stmt.body, found)
    while stmt is not None and stmt is not scope.node:
        block, index = facts.places.get(stmt, ([], 0))
        if finder.block(block[:index], found):
            return found, True
        parent = facts.parent.get(stmt)
        if parent is loop and loop is not None:
            bound = finder.header(loop, found) if isinstance(loop, ast.While) else finder.own(loop, found)
            return found, bound
        if parent is scope.node:
            break
        if isinstance(parent, (ast.ExceptHandler, ast.match_case)):
            holder = facts.parent.get(parent)
            if _is_try(holder):
                finder.anywhere(holder.body, found)
            if finder.own(parent, found):
                return found, True
            parent = holder
        elif parent is not None and finder.entered(parent, block, found):
            return found, True
        if isinstance(parent, (ast.If, ast.While, ast.Match)) and finder.header(parent, found):
            return found, True
        stmt = parent if isinstance(parent, ast.stmt) else None
    return found, finder.own(scope.node, found)


class _Finder:
    """Finds the bindings of one name that leave a block."""

    def __init__(self, facts: FileFacts, name: str, bindings: Iterable[Binding]) -> None:
        self.facts = facts
        self.name = name
        self.by_node: dict[ast.AST, list[Binding]] = {}
        self.by_header: dict[ast.AST, list[Binding]] = {}
        for binding in bindings:
            self.by_node.setdefault(binding.stmt, []).append(binding)
            if isinstance(binding.stmt, ast.NamedExpr) and (stmt := facts.statement(binding.stmt)) is not None:
                self.by_header.setdefault(stmt, []).append(binding)

    def _binds(self, node: ast.AST) -> bool:
        return self.name in self.facts.binders.get(node, ())

    def own(self, node: ast.AST, found: list[Binding]) -> bool:
        """Collect what a node itself binds: a target, a parameter, a handler's name."""
        bindings = self.by_node.get(node, ())
        found.extend(bindings)
        return bool(bindings)

    def header(self, stmt: ast.AST, found: list[Binding]) -> bool:
        """Collect what assignment expressions in a statement bind; true when one of them always runs."""
        bindings = self.by_header.get(stmt, ())
        found.extend(bindings)
        return any(not self._conditional(binding.stmt) for binding in bindings)

    def _conditional(self, node: ast.AST) -> bool:
        """Whether an assignment expression may be skipped when its statement runs."""
        parent = self.facts.parent.get(node)
        while isinstance(parent, (ast.expr, ast.keyword, ast.comprehension)):
            first = parent.values[0] if isinstance(parent, ast.BoolOp) else None
            first = parent.test if isinstance(parent, ast.IfExp) else first
            if first is not node and isinstance(parent, (ast.BoolOp, ast.IfExp, ast.comprehension)):
                return True
            if isinstance(parent, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                return True
            node, parent = parent, self.facts.parent.get(parent)
        return False

    def entered(self, parent: ast.AST, block: Sequence[ast.stmt], found: list[Binding]) -> bool:
        """Collect what reaches the start of a block besides what reaches the statement that holds it."""
        if isinstance(parent, _LOOPS):
            inside = block is parent.body
            if not isinstance(parent, ast.While) and self.own(parent, found) and inside:
                return True
            self.anywhere(parent.body, found)
        elif isinstance(parent, _WITH):
            return self.own(parent, found)
        elif _is_try(parent) and block is parent.orelse:
            return self.block(parent.body, found)
        elif _is_try(parent) and block is parent.finalbody:
            self.anywhere([*parent.body, *parent.orelse], found)
            for handler in parent.handlers:
                self.anywhere(handler.body, found)
        return False

    def block(self, stmts: Sequence[ast.stmt], found: list[Binding]) -> bool:
        """Collect what leaves a block; true when the name is bound on every way through it."""
        return any(self._binds(stmt) and self.statement(stmt, found) for stmt in reversed(stmts))

    def statement(self, stmt: ast.stmt, found: list[Binding]) -> bool:
        """The same for one statement that binds the name somewhere."""
        return self._parts(stmt, found) or self.header(stmt, found)

    def _parts(self, stmt: ast.stmt, found: list[Binding]) -> bool:
        if isinstance(stmt, ast.If):
            return self._branches([stmt.body, stmt.orelse], found)
        if isinstance(stmt, _LOOPS):
            self.own(stmt, found)
            self.anywhere(stmt.body, found)
            self.block(stmt.orelse, found)
            return isinstance(stmt, ast.While) and _forever(stmt) and self._before_break(stmt.body)
        if isinstance(stmt, _WITH) and self.block(stmt.body, found):
            return True
        if _is_try(stmt):
            return self._try(stmt, found)
        if isinstance(stmt, ast.Match):
            for case in stmt.cases:
                if not leaves(case.body) and not self.block(case.body, found):
                    self.own(case, found)
            return False
        return self.own(stmt, found)

    def _try(self, stmt: ast.Try, found: list[Binding]) -> bool:
        if self.block(stmt.finalbody, found):
            return True
        definite = self._branches([[*stmt.body, *stmt.orelse]], found)
        for handler in stmt.handlers:
            if not leaves(handler.body) and not self.block(handler.body, found):
                self.anywhere(stmt.body, found)
                definite = False
        return definite

    def _branches(self, blocks: Sequence[Sequence[ast.stmt]], found: list[Binding]) -> bool:
        definite = True
        for block in blocks:
            if not leaves(block):
                definite = self.block(block, found) and definite
        return definite

    def _before_break(self, body: Sequence[ast.stmt]) -> bool:
        """Whether an endless loop binds the name before anything can leave it."""
        for stmt in body:
            if _breaks(stmt):
                return False
            if self._binds(stmt) and self.statement(stmt, []):
                return True
        return False

    def anywhere(self, stmts: Sequence[ast.stmt], found: list[Binding]) -> None:
        """Collect every binding inside these statements."""
        todo: list[ast.AST] = [stmt for stmt in stmts if self._binds(stmt)]
        while todo:
            node = todo.pop()
            self.own(node, found)
            todo.extend(child for child in children(node) if self._binds(child))


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether control never falls out of the end of a block."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and leaves(last.body) and leaves(last.orelse)
    if isinstance(last, _WITH):
        return leaves(last.body)
    return False


def _is_try(node: ast.AST | None) -> TypeGuard[ast.Try]:
    """``try`` with ``except`` or ``except*``, whose nodes have the same fields."""
    return isinstance(node, _TRY)


def _forever(loop: ast.While) -> bool:
    return isinstance(loop.test, ast.Constant) and bool(loop.test.value)


def _breaks(stmt: ast.stmt) -> bool:
    """Whether a statement may leave the loop it stands in."""
    todo: list[ast.AST] = [stmt]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, _LOOPS):
            todo.extend(node.orelse)
        elif isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            todo.extend(children(node))
    return False
