"""How much lists, deques and replay buffers may hold: thousands of things, or a handful."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.callers import methods
from torchlint.facts.code.jumps import leaves
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.nesting import OUTSIDE
from torchlint.facts.code.tree import children, is_number, walk
from torchlint.facts.dataflow.analysis import Analysis
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.rule import Kind

MANY = 10_000
"""From this many things on, work on all of them is slow for one batch."""
_LONG_LIST = 1_000
_CAPACITY = regex(
    r"capacity|max_?(size|len|length|transitions|episodes)|(buffer|memory|replay|queue)_?(size|len|limit)", re.I
)
_CROSSED = (Label.COPY, Label.ITEM, Label.FIELD, Label.ARGUMENT)
_DEQUES = frozenset({"collections.deque"})


@dataclass(eq=False, slots=True)
class Queues(Fact):
    """Answers how much a collection may hold, or a number of them be."""

    values: Values
    sources: Sources
    _flow: ValueFlow[tuple[FileFacts, ast.expr] | None] = field(init=False)
    _grown: ValueFlow[tuple[FileFacts, ast.expr] | None] = field(init=False)
    _many: Analysis[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=None)
        self._grown = ValueFlow(self._step_grown, lost=None)
        self._many = Analysis(self.sources, self._is_many, any, unknown=False)

    def is_deque(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether all that is ever assigned to a name or attribute are deques."""
        made = self._collections(facts, node)
        return bool(made) and all(self._is_deque(where, value) for where, value in made)

    def many(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a deque may hold at least ``MANY`` items, or a number or range counts as many.

        A number does when it is that large, or counts what a ring buffer holds that is not known to be smaller, unless
        larger ones are dealt with before.
        """
        return self._many.of(facts, node) and not _is_left_small(facts, node)

    def _is_many(self, spot: Spot) -> bool | None:
        facts, node = spot.facts, spot.node
        if isinstance(node, ast.Call):
            return self._counted(facts, node)
        literal = self._literal(facts, node)
        if literal is not None:
            return literal >= MANY
        if self.is_deque(facts, node):
            bounds = [_bound(value) for _, value in self._collections(facts, node) if isinstance(value, ast.Call)]
            return not any(bound is not None and self._is_less(facts, bound, MANY) for bound in bounds)
        if isinstance(node, ast.Name):
            return self._many.through(spot, (Label.COPY,))
        return isinstance(node, ast.Attribute) and self._of_ring(facts, node)

    def _counted(self, facts: FileFacts, call: ast.Call) -> bool:
        name = self.values.project.qualified(facts, call.func) or ""
        if name in ("builtins.range", "numpy.arange", "builtins.int") and len(call.args) == 1:
            return self.many(facts, call.args[0])
        if name == "builtins.min":
            if any(self._is_less(facts, arg, MANY) for arg in call.args):
                return False
            return any(self.many(facts, arg) for arg in call.args)
        if name == "builtins.len" and len(call.args) == 1:
            counted = call.args[0]
            if isinstance(counted, ast.Name) and counted.id == facts.scope_of(call).function.self_name:
                return self._ring(facts, call)
            if self.is_deque(facts, counted):
                return self.many(facts, counted)
            return facts.is_own(counted) and self._is_filled(facts, counted) and self._ring(facts, counted)
        return False

    def _is_filled(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a method of its class writes into places of an attribute: ``self.rows[self.at] = row``."""
        owner = facts.scope_of(node).function.owner
        return any(
            isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) and alike(part.value, node)
            for cls in (self.values.project.family(owner.dotted) if owner is not None else ())
            for method in methods(cls)
            for part in walk(method.node)
        )

    def _of_ring(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether an attribute of a ring buffer's own object counts what it holds, or all it can."""
        return facts.is_own(node) and self._ring(facts, node) and self._counts(facts, node)

    def _counts(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether an attribute changes in methods, or is what places are counted up to: no other number of a buffer."""
        owner = facts.scope_of(node).function.owner
        family = self.values.project.family(owner.dotted) if owner is not None else ()
        inside = [method for cls in family for method in methods(cls)]
        if any(
            each.attr == node.attr for method in inside for each in _wrapping(method) if isinstance(each, ast.Attribute)
        ):
            return True
        setters = {
            method.name
            for method in inside
            for part in walk(method.node)
            if isinstance(part, ast.Attribute) and part.attr == node.attr and isinstance(part.ctx, ast.Store)
        }
        return setters != {"__init__"}

    def _ring(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether a node is in a class that writes round and round, over places not known to be few."""
        owner = facts.scope_of(node).function.owner
        if owner is None:
            return False
        found = False
        for cls in self.values.project.family(owner.dotted):
            for method in methods(cls):
                for place in _wrapping(method):
                    if self._is_less(cls.file, place, MANY):
                        return False
                    found = True
        return found

    def long_queue(self, facts: FileFacts, node: ast.expr, items: ast.expr) -> bool:
        """Return whether a node removes the first item of a list that may be long.

        One that is emptied as a queue, or drops what is more than a capacity.
        """
        if not self._is_list(facts, items):
            return False
        test = self._test_over(facts, node, items)
        if test is None:
            return False
        if not isinstance(test, ast.Compare):
            return True
        limit = test.comparators[0]
        literal = self._literal(facts, limit)
        if literal is not None:
            return _drains(facts, test) if literal == 0 else literal >= _LONG_LIST
        last = last_name(limit)
        return bool(_CAPACITY.search(last))

    def _is_list(self, facts: FileFacts, node: ast.expr) -> bool:
        made = self._made(facts, node)
        if made:
            return all(self.values.of(where, value).kind is Kind.LIST for where, value in made) and not any(
                self._is_deque(where, value) for where, value in made
            )
        return False

    def _test_over(self, facts: FileFacts, node: ast.expr, items: ast.expr) -> ast.expr | None:
        """The test that decides whether a list loses its front: a comparison with a limit, or the list itself."""
        for _, parent in facts.climb(node, *OUTSIDE):
            if isinstance(parent, (ast.If, ast.While)):
                parts = parent.test.values if isinstance(parent.test, ast.BoolOp) else [parent.test]
                for part in sorted(parts, key=lambda part: not _counts(part, items)):
                    if isinstance(part, ast.Compare) and isinstance(part.ops[0], (ast.Gt, ast.GtE)):
                        return part if _may_count(part.left, items) else None
                    if isinstance(parent, ast.While) and alike(part, items):
                        compared = _compared(parent.test)
                        return compared if compared is not None else part if _fills(parent, items) else None
        return None

    def _is_deque(self, facts: FileFacts, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and self.values.project.qualified(facts, value.func) in _DEQUES

    def _is_less(self, facts: FileFacts, node: ast.expr, least: int) -> bool:
        literal = self._literal(facts, node)
        return literal is not None and literal < least

    def _literal(self, facts: FileFacts, node: ast.expr) -> float | None:
        """A number that is always the same: not an attribute that counts, nor a name with a computed value."""
        if isinstance(node, ast.Name):
            bindings = self.values.project.reaching(facts, node).bindings
            if any(isinstance(binding.value, ast.Call) for binding in bindings):
                return None
        if isinstance(node, ast.Attribute) and any(
            isinstance(store.binding.stmt, ast.AugAssign) for store in self.sources.stores(facts, node)
        ):
            return None
        literal = self.values.of(facts, node).literal
        if isinstance(literal, (int, float)) and not isinstance(literal, bool):
            return literal
        given = [self.values.of(where, value) for where, value in self._made(facts, node)]
        made = [value.literal for value in given if value.kind is not Kind.NONE]  # left out, where none is made
        known = [number for number in made if isinstance(number, (int, float))]
        return max(known, default=None) if len(known) == len(made) else None

    def _made(self, facts: FileFacts, node: ast.expr) -> list[tuple[FileFacts, ast.expr]]:
        """What may be assigned to a name or attribute, each with its file; empty where any of it is not known."""
        return self._found(self._flow, facts, node)

    def _collections(self, facts: FileFacts, node: ast.expr) -> list[tuple[FileFacts, ast.expr]]:
        """The same of a collection, which stays the one that it is where ``rows += other.rows`` adds to it."""
        return self._found(self._grown, facts, node)

    def _found(
        self, flow: ValueFlow[tuple[FileFacts, ast.expr] | None], facts: FileFacts, node: ast.expr
    ) -> list[tuple[FileFacts, ast.expr]]:
        found = flow.ends(facts, node) if isinstance(node, (ast.Name, ast.Attribute)) else (None,)
        return [] if None in found else [place for place in found if place is not None]

    def _step_grown(self, spot: Spot) -> Iterator[Spot | tuple[FileFacts, ast.expr] | None]:
        if isinstance(spot.node, (ast.Name, ast.Attribute)) and not spot.path:
            kept = [
                each for each in self.sources.of(spot) if not (isinstance(each, Spot) and each.label is Label.OPERAND)
            ]
            yield from (each if isinstance(each, Spot) and each.label in _CROSSED else None for each in kept)
            if not kept:
                yield None
        else:
            yield from self._step(spot)

    def _step(self, spot: Spot) -> Iterator[Spot | tuple[FileFacts, ast.expr] | None]:
        if spot.path or isinstance(spot.node, (ast.Name, ast.Attribute)):
            yield from self.sources.crossing(spot, _CROSSED, None)
        else:
            yield spot.facts, spot.node


def _drains(facts: FileFacts, test: ast.expr) -> bool:
    """Whether a test is asked again until a list is empty: one that is emptied by one item a call is short.

    ``while len(rows) > 0: row = rows.pop(0)``, but not ``if len(words) > 0: word = words.pop(0)``.
    """
    parent = facts.parent.get(test)
    return isinstance(facts.parent.get(parent) if isinstance(parent, ast.BoolOp) else parent, ast.While)


def _may_count(node: ast.expr, items: ast.expr) -> bool:
    """Whether a number may be that of a list's elements: not the length of another list."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[counted]):
            return alike(counted, items)
    return True


def _counts(test: ast.expr, items: ast.expr) -> bool:
    """Whether a test asks how many elements a list has: ``len(rows) > 1``; another number may be of anything."""
    match test:
        case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[counted])):
            return alike(counted, items)
    return False


def _compared(test: ast.expr) -> ast.Compare | None:
    """The part of a test that compares with a limit."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return next(
        (part for part in parts if isinstance(part, ast.Compare) and isinstance(part.ops[0], (ast.Gt, ast.GtE))), None
    )


def _fills(loop: ast.While, items: ast.expr) -> bool:
    """Whether a loop adds to the list that it empties, as a search does."""
    return any(
        isinstance(part, ast.Attribute) and part.attr in ("append", "extend") and alike(part.value, items)
        for part in walk(loop)
    )


def _is_left_small(facts: FileFacts, node: ast.expr) -> bool:
    """Whether a function leaves where a number is above a literal, before it: ``if n >= 9999: return ...``."""
    stmt = facts.statement(node)
    block, index = facts.places[stmt] if stmt is not None else ((), 0)
    for before in block[:index]:
        match before:
            case ast.If(
                test=ast.Compare(left=left, ops=[ast.Gt() | ast.GtE()], comparators=[ast.Constant(value=int())]),
                body=body,
            ) if leaves(body) and alike(left, node):
                return True
    return False


def _bound(made: ast.Call) -> ast.expr | None:
    """The ``maxlen`` of a deque."""
    given = next((keyword.value for keyword in made.keywords if keyword.arg == "maxlen"), None)
    return given if given is not None else made.args[1] if len(made.args) > 1 else None


def _wrapping(method: Scope) -> Iterator[ast.expr]:
    """The number of places where a method writes round and round: ``n`` of ``self.at = (self.at + 1) % n``.

    Also of ``self.rows[self.at % n] = row``, and where the place is set to zero once it is ``n``.
    """
    for stmt in walk(method.node):
        yield from filter(lambda node: _is_own(node, method), _starting_over(stmt))
        todo: list[ast.AST] = []
        if isinstance(stmt, ast.Assign):
            todo = [stmt.value, *(target.slice for target in stmt.targets if isinstance(target, ast.Subscript))]
        while todo:
            node = todo.pop()
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
                if _is_own(node.right, method):
                    yield node.right
            elif not isinstance(node, ast.Compare):
                todo.extend(children(node))


def _is_own(node: ast.expr, method: Scope) -> bool:
    """Whether an expression is an attribute of a method's own object."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == method.self_name


def _starting_over(stmt: ast.AST) -> Iterator[ast.expr]:
    """The number at which a statement sets a count to zero: ``if self.at == n: self.at = 0``, also in one line."""
    match stmt:
        case ast.If(test=test, body=[ast.Assign(targets=[target], value=zero)]):
            pass
        case ast.Assign(targets=[target], value=ast.IfExp(test=test, body=zero)):
            pass
        case _:
            return
    match test:
        case ast.Compare(left=count, ops=[ast.Eq() | ast.GtE()], comparators=[places]):
            if alike(count, target) and is_number(zero, 0):
                yield places
