"""Which bindings of a name may reach a use: structured reaching definitions over statement blocks."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import takewhile

from torchlint.facts.code.jumps import Loop, breaks, is_endless, is_try, jumps, leaves
from torchlint.facts.code.model import LOOPS, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.tree import children, walk
from torchlint.late import dataclass

_WITH = (ast.With, ast.AsyncWith)
MOST_BINDINGS = 50
"""Where more bindings of a name may reach a use, or are asked about in a loop, they are not told from each other."""


@dataclass(frozen=True, eq=False, slots=True)
class Reaching:
    """Bindings that may reach a use, and the scope they belong to (``None``: a builtin or unknown name).

    Uses that all bindings of a name may reach share one object, so what is found out about it is found once for them.
    """

    bindings: tuple[Binding, ...]
    scope: Scope | None

    @property
    def only(self) -> Binding | None:
        """The binding that a use sees in any case; ``None`` where it may see several, or none."""
        return self.bindings[0] if len(self.bindings) == 1 else None

    @property
    def value(self) -> ast.expr | None:
        """The expression that a name stands for in any case: one assignment gives it all of that."""
        only = self.only
        return only.value if only is not None and only.how is Bind.ASSIGN and not only.path else None

    @property
    def values(self) -> tuple[ast.expr, ...]:
        """All expressions that a name may stand for; none where something else than such an assignment may bind it."""
        plain = [each for each in self.bindings if each.how is Bind.ASSIGN and not each.path]
        found = tuple(each.value for each in plain if each.value is not None)
        return found if len(found) == len(self.bindings) else ()

    @property
    def parts(self) -> tuple[tuple[ast.expr, tuple[int, ...]], ...]:
        """The expressions that a name may be a part of, each with the way to it: ``f()`` and (1,) of ``a, b = f()``.

        None where something else than an assignment without a type may bind it.
        """
        plain = [each for each in self.bindings if each.how is Bind.ASSIGN and each.annotation is None]
        found = tuple((each.value, each.path) for each in plain if each.value is not None)
        return found if len(found) == len(self.bindings) else ()

    @property
    def imported(self) -> tuple[str, ...]:
        """All that imports bind a name to, by dotted name; none where something else than an import may bind it."""
        return (
            tuple(each.target for each in self.bindings)
            if all(each.how is Bind.IMPORT for each in self.bindings)
            else ()
        )

    def holds(self, binding: Binding) -> bool:
        """Return whether a use may see what a binding gave, or a sum that began with it."""
        return any(each is binding or each.how is Bind.AUGMENT for each in self.bindings)

    def comes_with(self, other: Reaching) -> bool:
        """Return whether each statement that may give another name its value gives this one a value, too."""
        own = {each.stmt for each in self.bindings if each.how is Bind.ASSIGN}
        giving = {each.stmt for each in other.bindings}
        return bool(giving) and giving <= own

    @property
    def operands(self) -> list[ast.expr]:
        """All expressions of the function that a name is computed from: assigned, iterated or added to it."""
        bound = (each for each in self.bindings if each.how in (Bind.ASSIGN, Bind.ELEMENT, Bind.AUGMENT))
        return [each.value for each in bound if each.value is not None]

    @property
    def parameter(self) -> Binding | None:
        """The parameter that a name is, as its caller gave it."""
        only = self.only
        return only if only is not None and only.how is Bind.PARAM else None


@dataclass(frozen=True, slots=True)
class Rounds:
    """Bindings in a loop that may reach a use there: those of the same round, and those of the round before."""

    same: tuple[Binding, ...]
    before: tuple[Binding, ...]


_DEFINING = frozenset({Bind.IMPORT, Bind.FUNCTION, Bind.CLASS})
_NOWHERE = Reaching((), None)


@dataclass(eq=False, slots=True)
class Definitions:
    """Answers which bindings reach a use, with a memory of uses and of what each name is bound by."""

    _uses: dict[ast.AST, Reaching] = field(default_factory=dict)
    _rounds: dict[tuple[ast.Name, Loop], Rounds] = field(default_factory=dict)
    _finders: dict[tuple[Scope, str], _Finder] = field(default_factory=dict)
    _whole: dict[tuple[Scope, str], Reaching] = field(default_factory=dict)
    _lasting: dict[tuple[Scope, str], list[Binding]] = field(default_factory=dict)
    _jumps: dict[Loop, list[ast.Break | ast.Continue]] = field(default_factory=dict)

    def reaching(self, facts: FileFacts, node: ast.AST) -> Reaching:
        """Return the bindings that may give a name its value where it is read; none of any other node."""
        found = self._uses.get(node)
        if found is None:
            found = self._uses[node] = self._reaching(facts, node) if isinstance(node, ast.Name) else _NOWHERE
        return found

    def rounds(self, facts: FileFacts, name: ast.Name, loop: Loop) -> Rounds:
        """Return the bindings in a loop that may give a name its value where the loop reads it."""
        found = self._rounds.get((name, loop))
        if found is None:
            found = self._rounds[name, loop] = self._in_rounds(facts, name, loop)
        return found

    def _reaching(self, facts: FileFacts, name: ast.Name) -> Reaching:
        scope: Scope | None = facts.scope_of(name)
        inside = True  # still in the code of the scope where the name is read, comprehensions included
        while scope is not None:
            bound = scope.bindings.get(name.id)
            if bound and (inside or scope.kind != "class"):
                found = bound if scope.kind == "comprehension" else self._seen(facts, name, scope, bound)
                if found is bound:
                    return self._all(name.id, scope)
                if found:
                    return Reaching(tuple(found) if len(found) == 1 else tuple(dict.fromkeys(found)), scope)
            inside = inside and scope.kind == "comprehension"
            scope = scope.parent
        return _NOWHERE

    def _seen(self, facts: FileFacts, name: ast.Name, scope: Scope, bound: list[Binding]) -> list[Binding]:
        """Those of a scope's bindings that a use may see: all of them where the order of events is not known."""
        if facts.scope_of(name).function is not scope.function:
            if scope.kind == "function" and len(bound) > 1 and name.id not in scope.shared:
                return self._from_within(facts, name, scope, bound)
            return self.lasting(facts, name.id, scope)
        if name.id in scope.shared:
            return bound
        if len(bound) == 1 and bound[0].how in (Bind.IMPORT, Bind.FUNCTION, Bind.CLASS, Bind.PARAM):
            return bound
        found, _ = self._finder(facts, name.id, scope).backwards(name)
        if _too_many(found):
            return bound
        # A class body reads the names outside as long as it has none of its own; a local name is never another one.
        return found if found or scope.kind == "class" else bound

    def _from_within(self, facts: FileFacts, name: ast.Name, scope: Scope, bound: list[Binding]) -> list[Binding]:
        """Those of a function's bindings that a function inside of it may see: it runs after it was defined."""
        inner = facts.scope_of(name)
        while inner.parent is not None and inner.parent is not scope:
            inner = inner.parent
        found, _ = self._finder(facts, name.id, scope).backwards(inner.node)
        if _too_many(found):
            return bound
        seen = set(found)
        defined = getattr(inner.node, "lineno", 0)
        return [each for each in bound if each in seen or getattr(each.stmt, "lineno", 0) >= defined] or bound

    def lasting(self, facts: FileFacts, name: str, scope: Scope) -> list[Binding]:
        """Return the bindings of a name that code outside of a scope may see.

        Of imports, functions and classes under one name only those that the end of the scope sees, if nothing can run
        in between: of two imports the second, of those in the two branches of a condition both.
        """
        bound = scope.bindings[name]
        if len(bound) < 2 or name in scope.shared or any(binding.how not in _DEFINING for binding in bound):
            return bound
        found = self._lasting.get((scope, name))
        if found is None:
            body = _body(scope.node)
            finder = self._finder(facts, name, scope)
            steps = finder.steps.get(body[0], ()) if body else ()
            left: list[Binding] = []
            if steps and not any(map(_runs_code, body[steps[0] : steps[-1]])):
                finder.block(body, left)
            found = self._lasting[scope, name] = [each for each in bound if each in left] or bound
        return found

    def _in_rounds(self, facts: FileFacts, name: ast.Name, loop: Loop) -> Rounds:
        scope = facts.scope_of(name).function
        if not scope.bindings.get(name.id):
            return Rounds((), ())
        finder = self._finder(facts, name.id, scope)
        every = finder.anywhere(loop.body)
        if name.id in scope.shared:
            return Rounds(every, every)
        if facts.statement(name) is loop:  # the test of a while loop
            return Rounds((), finder.round_ends(loop))
        same, definite = finder.backwards(name, loop)
        if _too_many(same):
            return Rounds(every, every)
        return Rounds(tuple(dict.fromkeys(same)), () if definite else finder.round_ends(loop))

    def _all(self, name: str, scope: Scope) -> Reaching:
        """All bindings of a name of a scope."""
        found = self._whole.get((scope, name))
        if found is None:
            found = self._whole[scope, name] = Reaching(tuple(dict.fromkeys(scope.bindings[name])), scope)
        return found

    def _jumps_of(self, loop: Loop) -> list[ast.Break | ast.Continue]:
        """The jumps out of a round of a loop, found once for all names."""
        found = self._jumps.get(loop)
        if found is None:
            found = self._jumps[loop] = jumps(loop.body)
        return found

    def _finder(self, facts: FileFacts, name: str, scope: Scope) -> _Finder:
        finder = self._finders.get((scope, name))
        if finder is None:
            finder = self._finders[scope, name] = _Finder(facts, name, scope, self._jumps_of)
        return finder


class _Finder:
    """Finds the bindings of one name of a scope that leave a block; where they stand is found once for all uses."""

    def __init__(
        self, facts: FileFacts, name: str, scope: Scope, jumps_of: Callable[[Loop], list[ast.Break | ast.Continue]]
    ) -> None:
        self.facts = facts
        self.jumps = jumps_of
        self.name = name
        self.scope = scope
        self.by_node: dict[ast.AST, list[Binding]] = {}
        self.by_header: dict[ast.AST, list[Binding]] = {}
        # By the first statement of a block: the places of its statements that bind the name, and all their bindings.
        self.steps: dict[ast.stmt, list[int]] = {}
        self.inside: dict[ast.stmt, tuple[Binding, ...]] = {}
        self.ends: dict[ast.stmt, tuple[tuple[Binding, ...], tuple[Binding, ...]]] = {}
        self.endless: dict[ast.While, bool] = {}
        seen: set[ast.AST] = set()
        for binding in scope.bindings[name]:
            self.by_node.setdefault(binding.stmt, []).append(binding)
            if isinstance(binding.stmt, ast.NamedExpr) and (stmt := facts.statement(binding.stmt)) is not None:
                self.by_header.setdefault(stmt, []).append(binding)
            self._note(binding.stmt, seen)
        for places in self.steps.values():
            places.sort()

    def _note(self, node: ast.AST | None, seen: set[ast.AST]) -> None:
        """Note in all blocks around a binding which statement holds it."""
        while node is not None and node is not self.scope.node and node not in seen and self._binds(node):
            seen.add(node)
            if isinstance(node, ast.stmt) and node in self.facts.places:
                block, index = self.facts.places[node]
                self.steps.setdefault(block[0], []).append(index)
            node = self.facts.parent.get(node)

    def _binds(self, node: ast.AST) -> bool:
        return self.name in self.facts.binders.get(node, ())

    def backwards(self, use: ast.AST, loop: Loop | None = None) -> tuple[list[Binding], bool]:
        """Collect the bindings that reach a use, walking back through the blocks that enclose it.

        It ends at the head of ``loop`` where one is given. The second value tells whether one of them always came
        before.
        """
        facts, scope = self.facts, self.scope
        found: list[Binding] = []
        stmt = facts.statement(use)
        if stmt is not None and use is not stmt:
            self.header(stmt, found)  # an earlier part of the same expression may bind the name
            if isinstance(stmt, ast.While):  # its test also sees what the body bound
                found.extend(self.round_ends(stmt))
        while stmt is not None and stmt is not scope.node:
            block, index = facts.places.get(stmt, ([], 0))
            if self.block(block, found, index):
                return found, True
            parent = facts.parent.get(stmt)
            if parent is loop and loop is not None:
                bound = self.header(loop, found) if isinstance(loop, ast.While) else self.own(loop, found)
                return found, bound
            if parent is scope.node:
                break
            if isinstance(parent, (ast.ExceptHandler, ast.match_case)):
                holder = facts.parent.get(parent)
                if is_try(holder):
                    found.extend(self.anywhere(holder.body))
                if self.own(parent, found):
                    return found, True
                parent = holder
            elif parent is not None and self.entered(parent, block, found):
                return found, True
            if isinstance(parent, (ast.If, ast.While, ast.Match)) and self.header(parent, found):
                return found, True
            stmt = parent if isinstance(parent, ast.stmt) else None
        return found, self.own(scope.node, found)

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
        if isinstance(parent, LOOPS):
            inside = block is parent.body
            if not isinstance(parent, ast.While) and self.own(parent, found) and inside:
                return True
            found.extend(self.round_ends(parent))
        elif isinstance(parent, _WITH):
            return self.own(parent, found)
        elif is_try(parent) and block is parent.orelse:
            return self.block(parent.body, found)
        elif is_try(parent) and block is parent.finalbody:
            for part in (parent.orelse, parent.body, *(handler.body for handler in parent.handlers)):
                found.extend(self.anywhere(part))
        return False

    def block(self, stmts: Sequence[ast.stmt], found: list[Binding], end: int = sys.maxsize) -> bool:
        """Collect what leaves a block, or its first statements; true when nothing before them needs to be looked at.

        That is so when every way through them binds the name, or when too many bindings are found already.
        """
        places = self.steps.get(stmts[0], ()) if stmts else ()
        last = bisect_left(places, end)
        steps = range(last - 1, -1, -1)
        return any(self.statement(stmts[places[step]], found) or _too_many(found) for step in steps)

    def statement(self, stmt: ast.stmt, found: list[Binding]) -> bool:
        """Return the same for one statement that binds the name somewhere."""
        return self._parts(stmt, found) or self.header(stmt, found)

    def _parts(self, stmt: ast.stmt, found: list[Binding]) -> bool:
        if isinstance(stmt, ast.If):
            return self._branches([stmt.body, stmt.orelse], found)
        if isinstance(stmt, LOOPS):
            broken = any(isinstance(jump, ast.Break) for jump in self.jumps(stmt))
            if self.block(stmt.orelse, found) and not broken:
                return True
            self.own(stmt, found)
            for left in self._broken_off(stmt):
                found.extend(left)
            return isinstance(stmt, ast.While) and is_endless(stmt) and self._before_break(stmt)
        if isinstance(stmt, _WITH) and self.block(stmt.body, found):
            return True
        if is_try(stmt):
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
        ends = leaves(stmt.orelse or stmt.body)
        definite = ends or self.block(stmt.orelse, found) or self.block(stmt.body, found)
        for handler in stmt.handlers:
            if not leaves(handler.body) and not self.block(handler.body, found):
                found.extend(self.anywhere(stmt.body))
                definite = False
        return definite

    def _branches(self, blocks: Sequence[Sequence[ast.stmt]], found: list[Binding]) -> bool:
        definite = True
        for block in blocks:
            if not leaves(block):
                definite = self.block(block, found) and definite
        return definite

    def _before_break(self, loop: ast.While) -> bool:
        """Whether an endless loop binds the name before anything can leave it."""
        found = self.endless.get(loop)
        if found is None:
            found = self.endless[loop] = self._binds_first(loop.body)
        return found

    def _binds_first(self, body: Sequence[ast.stmt]) -> bool:
        for stmt in body:
            if breaks(stmt):
                return False
            if self._binds(stmt) and self.statement(stmt, []):
                return True
        return False

    def round_ends(self, loop: Loop) -> tuple[Binding, ...]:
        """Return the bindings in the body of a loop that the end of a round sees: what the next round begins with."""
        return self._broken_off(loop)[0]

    def _broken_off(self, loop: Loop) -> tuple[tuple[Binding, ...], tuple[Binding, ...]]:
        """The bindings of a body that leave a round at its end or by ``continue``, and those that ``break`` sees."""
        known = self.ends.get(loop)
        if known is None:
            ends: list[Binding] = []
            left: list[Binding] = []
            if self.steps.get(loop.body[0]):
                if not leaves(loop.body):
                    self.block(loop.body, ends)
                inside = set(self.anywhere(loop.body))
                for jump in self.jumps(loop):
                    reached = (each for each in self._jump(jump, loop) if each in inside)
                    (left if isinstance(jump, ast.Break) else ends).extend(reached)
            known = self.ends[loop] = tuple(dict.fromkeys(ends)), tuple(dict.fromkeys(left))
        return known

    def _jump(self, jump: ast.Break | ast.Continue, loop: Loop) -> Iterator[Binding]:
        """What reaches the end of a round by a jump; a ``finally`` that it passes runs before."""
        yield from self.backwards(jump, loop)[0]
        for node in takewhile(lambda each: each is not loop, self.facts.ancestors(jump)):
            if is_try(node):
                yield from self.anywhere(node.finalbody)

    def anywhere(self, stmts: Sequence[ast.stmt]) -> tuple[Binding, ...]:
        """Return every binding inside the statements of a block."""
        if not stmts:
            return ()
        known = self.inside.get(stmts[0])
        if known is None:
            found: list[Binding] = []
            todo: list[ast.AST] = [stmts[place] for place in self.steps.get(stmts[0], ())]
            while todo:
                node = todo.pop()
                self.own(node, found)
                todo.extend(child for child in children(node) if self._binds(child))
            known = self.inside[stmts[0]] = tuple(found)
        return known


def _body(node: ast.AST) -> Sequence[ast.stmt]:
    """The block of statements that a scope is."""
    return node.body if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else ()


def _runs_code(stmt: ast.stmt) -> bool:
    """Whether a statement may call functions of the module that are defined already."""
    if isinstance(stmt, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    if isinstance(stmt, ast.If):
        return any(map(_runs_code, (*stmt.body, *stmt.orelse)))
    if is_try(stmt):
        blocks = (stmt.body, stmt.orelse, stmt.finalbody, *(handler.body for handler in stmt.handlers))
        return any(_runs_code(each) for block in blocks for each in block)
    return not isinstance(stmt, ast.Pass) and any(isinstance(node, ast.Call) for node in walk(stmt))


def _too_many(found: list[Binding]) -> bool:
    """Whether so many different bindings are found that they are not told from each other."""
    return len(found) > MOST_BINDINGS and len(set(found)) > MOST_BINDINGS
