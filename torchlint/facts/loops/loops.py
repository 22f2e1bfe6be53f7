"""Loops and comprehensions: what goes round in them, what stays the same, and what is only collected."""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import field
from functools import cached_property

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.model import COMPREHENSIONS, Binding, FileFacts
from torchlint.facts.code.naming import mentions_of, rightmost_name
from torchlint.facts.code.nesting import OUTSIDE, LoopNode, around, head, inside, nodes_of, stored_before
from torchlint.facts.code.reach import MOST_BINDINGS, Rounds
from torchlint.facts.code.room import roomy
from torchlint.facts.code.tree import children, root_of
from torchlint.facts.loops.ends import Ends, Follower
from torchlint.facts.loops.joining import Joining
from torchlint.facts.state.effects import PARAMETERS, Effects, Sides
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, last_names, method_names
from torchlint.rule import UNKNOWN, Kind, Loop, Value

_KEYS = method_names("dict", returns=("keys", "parts"))
_PARTS = method_names(gives=("parameters", "modules"))
_GATHERED = function_names("torch", joins=True, axis="new")
_FEW = 6
_WRAPPERS = last_names("builtins", elements=("all", "pairs"))


@dataclass(eq=False, slots=True)
class Loops(Fact):
    """Answers questions about loops, with a memory."""

    values: Values
    sides: Sides
    joining: Joining
    _effects: dict[LoopNode, Effects] = field(default_factory=dict)
    _bodies: dict[LoopNode, dict[ast.AST, None]] = field(default_factory=dict)
    _wholes: dict[LoopNode, dict[ast.AST, None]] = field(default_factory=dict)

    def of(self, facts: FileFacts, node: ast.expr) -> tuple[Loop, ...]:
        """Return the loops of a function that repeat an expression, innermost first, each with its part in it."""
        return tuple(_Part(self, facts, node, loop) for loop in around(facts, node))

    def joins(self, facts: FileFacts, node: ast.expr, loop: LoopNode) -> bool:
        """Return whether the collection that a loop puts an expression into becomes one tensor or array."""
        return self.joining.joins(facts, node, loop)

    def is_range(self, facts: FileFacts, over: ast.expr) -> bool:
        """Return whether an expression is a ``range(...)``, also backwards."""
        return self._range(facts, over) is not None

    def is_strided(self, facts: FileFacts, over: ast.expr) -> bool:
        """Return whether an expression is a ``range(...)`` with a stride that may differ from 1 and -1."""
        counted = self._range(facts, over)
        stride = counted.args[2] if counted is not None and len(counted.args) > 2 else None
        return stride is not None and self.values.of(facts, stride).literal not in (1, -1)

    def is_few(self, facts: FileFacts, loop: LoopNode) -> bool:
        """Return whether a loop goes over a handful of things; of ``while`` nothing is known."""
        over = head(loop)
        return over is not None and (self._is_few(facts, over) or _goes_over_keys(loop, over))

    def effects(self, facts: FileFacts, loop: LoopNode) -> Effects:
        """Return what the body of a loop reads and writes."""
        found = self._effects.get(loop)
        if found is None:
            found = self._effects[loop] = self.sides.of(facts, inside(loop))
        return found

    def body(self, loop: LoopNode) -> dict[ast.AST, None]:
        """Return all nodes that a loop repeats as keys of a dict: in order, and fast to look up."""
        found = self._bodies.get(loop)
        if found is None:
            found = self._bodies[loop] = dict.fromkeys(nodes_of(inside(loop)))
        return found

    def whole(self, loop: LoopNode) -> dict[ast.AST, None]:
        """Return all nodes of a loop, as keys."""
        found = self._wholes.get(loop)
        if found is None:
            found = self._wholes[loop] = dict.fromkeys(nodes_of(children(loop)))
        return found

    def _range(self, facts: FileFacts, over: ast.expr) -> ast.Call | None:
        """The ``range(...)`` that a loop goes over, also backwards."""
        if not isinstance(over, ast.Call):
            return None
        name = self.values.project.qualified(facts, over.func)
        if name == "builtins.reversed" and over.args:
            return self._range(facts, over.args[0])
        return over if name == "builtins.range" else None

    def _is_gathered(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call makes a tensor of as many rows as the list that it is given."""
        return bool(call.args) and self.values.project.qualified(facts, call.func) in _GATHERED

    def _is_few(self, facts: FileFacts, over: ast.expr) -> bool:
        """Whether a loop goes over a handful of things."""
        counted = self._range(facts, over)
        if counted is not None:
            ends = [self.values.of(facts, part).literal for part in counted.args]
            return all(isinstance(end, int) and -_FEW < end < _FEW for end in ends)
        if isinstance(over, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
            return not any(isinstance(part, ast.Starred) for part in children(over))
        if isinstance(over, ast.Call):
            func = over.func
            if self._is_gathered(facts, over):
                rows = over.args[0]
                return (
                    isinstance(rows, (ast.List, ast.Tuple)) and 0 < len(rows.elts) < _FEW and self._is_few(facts, rows)
                )
            if isinstance(func, ast.Attribute):
                return func.attr in _KEYS or func.attr in _PARTS
            wrapped = isinstance(func, ast.Name) and func.id in _WRAPPERS and over.args
            return bool(wrapped) and any(self._is_few(facts, part) for part in over.args)
        if isinstance(over, ast.Name):
            values = self.values.project.reaching(facts, over).values
            shown = all(isinstance(value, (ast.Tuple, ast.List)) and value.elts for value in values)
            gathered = all(isinstance(value, ast.Call) and self._is_gathered(facts, value) for value in values)
            if values and (shown or gathered):
                return all(self._is_few(facts, value) for value in values)
        value = self.values.of(facts, over)
        return value.kind in (Kind.DICT, Kind.MODULE) or (value.kind is Kind.TUPLE and len(value.items) > 1)


def _goes_over_keys(loop: LoopNode, over: ast.expr) -> bool:
    """Whether a loop makes a dict, or reads what it goes over by its own elements, as only a dict can be."""
    if isinstance(loop, ast.DictComp):
        return True
    target = loop.target if isinstance(loop, (ast.For, ast.AsyncFor)) else None
    if isinstance(loop, COMPREHENSIONS):
        target = loop.generators[0].target
    return isinstance(target, ast.Name) and any(
        isinstance(part, ast.Subscript)
        and isinstance(part.slice, ast.Name)
        and part.slice.id == target.id
        and alike(part.value, over)
        for part in nodes_of(inside(loop))
    )


@dataclass(eq=False)
class _Part:
    """An expression's part in a loop (see ``Loop``), found out when it is asked for."""

    loops: Loops
    facts: FileFacts
    node: ast.expr
    loop: LoopNode

    @property
    def row(self) -> int:
        return self.loop.lineno

    @property
    def comprehension(self) -> bool:
        return isinstance(self.loop, COMPREHENSIONS)

    @property
    def over(self) -> Value:
        over = head(self.loop)
        return self.loops.values.of(self.facts, over) if over is not None else UNKNOWN

    @cached_property
    def few(self) -> bool:
        return self.loops.is_few(self.facts, self.loop)

    @property
    def counted(self) -> bool:
        over = head(self.loop)
        return over is not None and self.loops.is_range(self.facts, over)

    @property
    def strided(self) -> bool:
        over = head(self.loop)
        return over is not None and self.loops.is_strided(self.facts, over)

    @property
    def learns(self) -> bool:
        return PARAMETERS in self.loops.effects(self.facts, self.loop).writes

    @cached_property
    def _needs(self) -> _Needing:
        needs = _Needing(self.loops, self.facts, self.loop)
        needs.follow(self.node)
        return needs

    @property
    def item(self) -> bool:
        return self._needs.item

    @cached_property
    def carried(self) -> bool | None:
        return self._needs.carried()

    @cached_property
    def draws(self) -> bool:
        return self._needs.draws()

    @cached_property
    def _ends(self) -> Set[Ends]:
        values, sides, whole = self.loops.values, self.loops.sides, self.loops.whole(self.loop)
        return Follower(values, sides, self.facts, self.loop, whole).of(self.node)

    @property
    def feeds(self) -> bool | None:
        return True if Ends.NEXT in self._ends else None if Ends.UNKNOWN in self._ends else False

    @property
    def collected(self) -> bool:
        return Ends.COLLECTED in self._ends

    @property
    def leaves(self) -> bool:
        return not self._ends.isdisjoint({Ends.COLLECTED, Ends.AFTER})

    @cached_property
    def joined(self) -> bool:
        return self.loops.joins(self.facts, self.node, self.loop)

    @property
    def independent(self) -> bool:
        return self.carried is False and self.feeds is False and not self.learns


class _Needing:
    """Follows an expression to all in its loop that it depends on; what that does is asked of the finds only later.

    Attributes:
        item: the element that the loop is at is among it. turned: a name from the round before is.
        unknown: a name that is bound without a value, or too often, is.
        outer: names that are bound outside of the loop. rows: those of which each round touches a row of its own.
        chains: attributes of such names, with their texts. calls: all calls.
    """

    def __init__(self, loops: Loops, facts: FileFacts, loop: LoopNode) -> None:
        self.loops = loops
        self.facts = facts
        self.loop = loop
        self.body = loops.body(loop)
        self.item = self.turned = self.unknown = False
        self.outer: set[str] = set()
        self.rows: set[str] = set()
        self.chains: list[tuple[ast.Attribute, str]] = []
        self.calls: list[ast.Call] = []
        self._seen: set[ast.AST] = set()
        self._carried: set[str] = set()

    def carried(self) -> bool | None:
        """Return whether any of it is left from an earlier round, ``None`` if that is not known."""
        if self.turned:
            return True
        sides, writes = self.loops.sides, self.loops.effects(self.facts, self.loop).writes
        if not self.outer.isdisjoint(writes):
            return True
        if any(sides.overlaps(sides.canonical(self.facts, node, text), writes) for node, text in self.chains):
            return True
        known = not self.unknown
        for call in self.calls:
            effects = sides.call(self.facts, call)
            others = effects.reads - self.rows
            if any(sides.overlaps(text, writes) and not self._is_own(text, call) for text in others):
                return True
            known = known and effects.known
        return False if known else None

    def draws(self) -> bool:
        """Return whether any of it is drawn at random."""
        return any(self.loops.sides.call(self.facts, call).draws for call in self.calls)

    @roomy
    def follow(self, node: ast.AST) -> None:
        """Add what an expression depends on, through the names that the loop binds."""
        for part in nodes_of([node]):
            if part in self._seen:
                continue
            self._seen.add(part)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                self._name(part)
            elif isinstance(part, ast.Attribute) and not isinstance(self.facts.parent.get(part), ast.Attribute):
                self._chain(part)
            elif isinstance(part, ast.Call):
                self.calls.append(part)

    def _name(self, name: ast.Name) -> None:
        if len(self.facts.scope_of(name).function.bindings.get(name.id, ())) > MOST_BINDINGS:
            self.unknown = True
            return
        bindings = self.loops.values.project.reaching(self.facts, name).bindings
        turns = self._rounds(name)
        for binding in bindings:
            if binding.stmt is self.loop:
                self.item = True
            elif binding.stmt not in self._seen:
                if binding in turns.same or (binding.stmt in self.body and binding not in turns.before):
                    self._bound(name.id, binding)
        if turns.before:
            self.turned = True
            if name.id not in self._carried:  # of one name it is the same bindings every time
                self._carried.add(name.id)
                for binding in turns.before:
                    self._bound(name.id, binding)
        if any(binding.stmt not in self.body and binding.stmt is not self.loop for binding in bindings):
            if not self._is_own_row(name):
                self.outer.add(name.id)
                return
            self.rows.add(name.id)
            for _, put in self.facts.scope_of(name).function.appends.get(name.id, ()):
                if put in self.body:
                    self.follow(put)

    def _is_own_row(self, name: ast.Name) -> bool:
        """Whether each round touches one row of what a name holds, its own: ``x[i]``, and ``x[i, 0] = y`` behind it.

        A function of the same function may touch other rows, so that none may be called.
        """
        own = self.facts.scope_of(name).function.bindings
        calls = (node for node in self.body if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
        if name.id not in own or any(each.scope for call in calls for each in own.get(rightmost_name(call.func), ())):
            return False
        places = {self._counted(each) for each in mentions_of(self.facts, self.loop, name.id)}
        return len(places) == 1 and None not in places

    def _counted(self, name: ast.Name) -> int | None:
        """The axis of a name on which it is taken at the number of the round: 1 of ``x[:, i]``; ``None``: on none."""
        loop, above = self.loop, self.facts.parent.get(name)
        if not isinstance(loop, ast.For) or not isinstance(above, ast.Subscript) or above.value is not name:
            return None
        count = loop.target
        if isinstance(count, ast.Tuple) and self._numbers(loop.iter):
            count = count.elts[0]
        elif not self.loops.is_range(self.facts, loop.iter):
            return None
        parts = above.slice.elts if isinstance(above.slice, ast.Tuple) else [above.slice]
        axis = next((place for place, part in enumerate(parts) if not isinstance(part, ast.Slice)), 0)
        bound = self.loops.values.project.reaching(self.facts, parts[axis]).only
        same = alike(parts[axis], count) and bound is not None and bound.stmt is loop
        return axis if same else None

    def _numbers(self, over: ast.expr) -> bool:
        """Whether a loop goes over ``enumerate(x)``."""
        named = self.loops.values.project.qualified(self.facts, over.func) if isinstance(over, ast.Call) else None
        return named == "builtins.enumerate"

    def _rounds(self, name: ast.Name) -> Rounds:
        """The bindings of a name in this loop; a comprehension hands nothing on by names."""
        if isinstance(self.loop, COMPREHENSIONS):
            return Rounds((), ())
        return self.loops.values.project.rounds(self.facts, name, self.loop)

    @roomy
    def _bound(self, name: str, binding: Binding) -> None:
        """What a name depends on by one of its bindings: on the value, on what was appended, on what decided it."""
        if binding.stmt in self._seen:
            return
        self._seen.add(binding.stmt)
        if binding.value is not None:
            self.follow(binding.value)
        else:
            self.unknown = True
        if isinstance(binding.stmt, ast.AugAssign) and isinstance(binding.stmt.target, ast.Name):
            self._name(binding.stmt.target)
        for _, appended in self.facts.scope_of(binding.stmt).function.appends.get(name, ()):
            if appended in self.body:
                self.follow(appended)
        for _, above in self.facts.climb(binding.stmt, *OUTSIDE):
            if above is self.loop:
                break
            if isinstance(above, (ast.If, ast.While)):
                self.follow(above.test)

    def _chain(self, node: ast.Attribute) -> None:
        """An attribute: set before in this round, or left by an earlier one where the loop writes it at all."""
        text = dotted(node)
        root = root_of(node)
        above = self.facts.parent.get(node)
        if not text or not isinstance(root, ast.Name) or (isinstance(above, ast.Call) and above.func is node):
            return  # what a method reads is known of the call
        bindings = self.loops.values.project.reaching(self.facts, root).bindings
        if any(binding.stmt in self.body or binding.stmt is self.loop for binding in bindings):
            return  # an object of this round
        set_before = stored_before(self.facts, node, text, self.loop)
        if set_before is not None:
            self.follow(set_before)
        else:
            self.chains.append((node, text))

    def _is_own(self, text: str, call: ast.Call) -> bool:
        """Whether state belongs to an object that this round made, or was set before in this round."""
        root = text.partition(".")[0]
        bindings = self.facts.scope_of(call).function.bindings.get(root, [])
        if bindings and all(binding.stmt in self.body or binding.stmt is self.loop for binding in bindings):
            return True
        return stored_before(self.facts, call, text, self.loop) is not None
