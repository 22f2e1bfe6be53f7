"""Which bindings of a name may reach a use: structured reaching definitions over statement blocks."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from torchlint.facts.model import Bind, Binding, FileFacts, Scope

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True)
class Reaching:
    """Bindings that may reach a use, and the scope they belong to (``None``: a builtin or unknown name)."""

    bindings: tuple[Binding, ...]
    scope: Scope | None


def reaching(facts: FileFacts, name: ast.Name) -> Reaching:
    """The bindings that may give a name its value where it is read."""
    scope: Scope | None = facts.scope_of(name)
    first = True
    while scope is not None:
        bound = scope.bindings.get(name.id)
        skip = scope.kind == "class" and not first
        if bound and not skip:
            if scope.kind == "comprehension":
                return Reaching(tuple(bound), scope)
            if _same_code(facts, name, scope):
                if len(bound) == 1 and bound[0].how in (Bind.IMPORT, Bind.FUNCTION, Bind.CLASS, Bind.PARAM):
                    return Reaching((bound[0],), scope)
                found = _backwards(facts, name, name.id, scope)
                if found:
                    return Reaching(tuple(found), scope)
                if scope.kind != "function":
                    return Reaching(tuple(bound), scope)
            else:
                return Reaching(tuple(bound), scope)
        if scope.kind != "comprehension":
            first = False
        scope = scope.parent
    return Reaching((), None)


def before(facts: FileFacts, name: str, stmt: ast.stmt, scope: Scope) -> tuple[Binding, ...]:
    """The bindings of a local name that reach the start of a statement."""
    return tuple(_backwards(facts, stmt, name, scope)) if name in scope.bindings else ()


def _same_code(facts: FileFacts, node: ast.AST, scope: Scope) -> bool:
    """Whether a node is run by the scope's own code (not by a function nested in it)."""
    return facts.scope_of(node).function is scope.function


def _backwards(facts: FileFacts, use: ast.AST, name: str, scope: Scope) -> list[Binding]:
    """Collect the bindings of a name that reach a use, walking back through the blocks that enclose it."""
    by_stmt: dict[ast.AST, list[Binding]] = {}
    for binding in scope.bindings[name]:
        by_stmt.setdefault(binding.stmt, []).append(binding)
    finder = _Finder(facts, name, by_stmt)
    found: list[Binding] = []
    stmt = facts.statement(use)
    if isinstance(stmt, ast.While):  # its test also sees what the body bound
        finder.anywhere(stmt.body, found)
    while stmt is not None and stmt is not scope.node:
        block, index = facts.places.get(stmt, ([], 0))
        if finder.block(block[:index], found):
            return found
        parent = facts.parent.get(stmt)
        if isinstance(parent, (ast.ExceptHandler, ast.match_case)):
            parent_stmt = facts.parent.get(parent)
            if isinstance(parent_stmt, ast.Try):
                finder.anywhere(parent_stmt.body, found)
            own = by_stmt.get(parent)
            if own:
                found.extend(own)
                return found
            parent = parent_stmt
        elif isinstance(parent, _LOOPS) and block is parent.body:
            own = by_stmt.get(parent) if not isinstance(parent, ast.While) else None
            if own:
                found.extend(own)
                return found
            finder.anywhere(parent.body[index:], found)
        elif isinstance(parent, (ast.With, ast.AsyncWith)):
            own = by_stmt.get(parent)
            if own:
                found.extend(own)
                return found
        elif isinstance(parent, ast.Try) and block is not parent.body:
            finder.anywhere(parent.body, found)
            for handler in parent.handlers:
                if block is parent.finalbody:
                    finder.anywhere(handler.body, found)
        if parent is scope.node:
            break
        stmt = parent if isinstance(parent, ast.stmt) else None
    found.extend(binding for binding in scope.bindings[name] if binding.how in (Bind.PARAM,))
    if isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        found.extend(b for b in by_stmt.get(scope.node, []) if b not in found)
    return found


class _Finder:
    """Finds the bindings of one name that leave a block."""

    def __init__(self, facts: FileFacts, name: str, by_stmt: dict[ast.AST, list[Binding]]) -> None:
        self.facts = facts
        self.name = name
        self.by_stmt = by_stmt

    def _binds(self, stmt: ast.AST) -> bool:
        return self.name in self.facts.binders.get(stmt, ())

    def block(self, stmts: Sequence[ast.stmt], found: list[Binding]) -> bool:
        """Collect what leaves a block; true when the name is bound on every way through it."""
        for stmt in reversed(stmts):
            if self._binds(stmt) and self.statement(stmt, found):
                return True
        return False

    def statement(self, stmt: ast.stmt, found: list[Binding]) -> bool:
        """The same for one statement that binds the name somewhere."""
        own = self.by_stmt.get(stmt, [])
        if isinstance(stmt, ast.If):
            return self._branches([stmt.body, stmt.orelse], found)
        if isinstance(stmt, _LOOPS):
            found.extend(own)
            self.anywhere(stmt.body, found)
            self.block(stmt.orelse, found)
            return isinstance(stmt, ast.While) and _forever(stmt) and self._always(stmt.body)
        if isinstance(stmt, (ast.With, ast.AsyncWith)):
            if self.block(stmt.body, found):
                return True
            found.extend(own)
            return bool(own)
        if isinstance(stmt, ast.Try):
            if self.block(stmt.finalbody, found):
                return True
            ways = [[*stmt.body, *stmt.orelse], *(handler.body for handler in stmt.handlers)]
            return self._branches(ways, found)
        if isinstance(stmt, ast.Match):
            self._branches([case.body for case in stmt.cases], found)
            found.extend(own)
            return False
        found.extend(own)
        return bool(own)

    def _branches(self, blocks: Sequence[Sequence[ast.stmt]], found: list[Binding]) -> bool:
        definite = True
        for block in blocks:
            if leaves(block):
                continue
            definite = self.block(block, found) and definite
        return definite

    def _always(self, stmts: Sequence[ast.stmt]) -> bool:
        return self.block(stmts, [])

    def anywhere(self, stmts: Sequence[ast.stmt], found: list[Binding]) -> None:
        """Collect every binding inside these statements."""
        todo: list[ast.AST] = [stmt for stmt in stmts if self._binds(stmt)]
        while todo:
            stmt = todo.pop()
            found.extend(b for b in self.by_stmt.get(stmt, []) if b not in found)
            todo.extend(child for child in ast.iter_child_nodes(stmt) if self._binds(child))


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether control never falls out of the end of a block."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and leaves(last.body) and leaves(last.orelse)
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return leaves(last.body)
    return False


def _forever(loop: ast.While) -> bool:
    return isinstance(loop.test, ast.Constant) and bool(loop.test.value)
