"""Where the result of an expression goes within one round of a loop, and into the next."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping, Set
from dataclasses import field

from torchlint.facts.code.alike import alike
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.model import COMPREHENSIONS, Binding, FileFacts
from torchlint.facts.code.naming import own_mentions
from torchlint.facts.code.nesting import LoopNode, code_of, nodes_of, stored_before
from torchlint.facts.code.reach import MOST_BINDINGS, Rounds
from torchlint.facts.code.tree import walk
from torchlint.facts.state.effects import Sides
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Kind

_ADDING = method_names(adds=("element", "elements"), returns=False, elsewhere=False)
_JOINING = function_names(joins=("parts", "two"), axis=("given", "fixed"))


class Ends(enum.Enum):
    """Where a result goes."""

    NEXT = "the next round reads it"
    COLLECTED = "it is collected for after the loop"
    AFTER = "code after the loop reads it"
    UNKNOWN = "it is handed to code that is not known"


@dataclass(frozen=True, slots=True)
class _Reads:
    """The places that read a name, and which of its bindings they may see.

    ``same``: in the same round, by binding; ``before``: in the next one; ``after``: when the loop is over.
    """

    uses: tuple[ast.Name, ...]
    same: dict[Binding, list[ast.Name]] = field(default_factory=dict)
    before: set[Binding] = field(default_factory=set)
    after: set[Binding] = field(default_factory=set)


class Follower:
    """Follows results in one loop, a ``for``, ``while`` or comprehension."""

    def __init__(
        self, values: Values, sides: Sides, facts: FileFacts, loop: LoopNode, body: Mapping[ast.AST, None]
    ) -> None:
        """Look from a loop of a file; ``body`` holds all its nodes."""
        self.values = values
        self.sides = sides
        self.facts = facts
        self.loop = loop
        self.function = facts.scope_of(loop).function
        self.body = body
        self.ends: set[Ends] = set()
        self.seen: set[ast.AST | Binding | str] = set()
        self._reads: dict[str, _Reads] = {}

    def of(self, node: ast.expr) -> Set[Ends]:
        """Return all sinks that the value of an expression reaches."""
        todo = [node]
        while todo:
            current = todo.pop()
            if current not in self.seen:
                self.seen.add(current)
                todo.extend(self._up(current))
        return self.ends

    def _up(self, node: ast.expr) -> Iterator[ast.expr]:
        """The expressions that a result goes into next; ends are noted."""
        parent = self.facts.parent.get(node)
        if isinstance(parent, ast.keyword):
            parent = self.facts.parent.get(parent)
        if isinstance(parent, ast.comprehension):
            parent = self.facts.parent.get(parent)
        if parent is self.loop:
            self.ends.add(Ends.COLLECTED if isinstance(parent, COMPREHENSIONS) else Ends.NEXT)
        elif isinstance(parent, ast.Lambda):
            self.ends.add(Ends.UNKNOWN)
        elif isinstance(parent, ast.Call) and parent.func is not node:
            yield from self._argument(parent)
        elif isinstance(parent, ast.NamedExpr):
            yield parent
            yield from self._bound(parent, parent.target)
        elif isinstance(parent, ast.expr):
            yield parent
        elif isinstance(parent, ast.withitem):
            if parent.optional_vars is not None:
                yield from self._target(self.facts.statement(parent) or self.loop, parent.optional_vars)
        elif isinstance(parent, ast.stmt):
            yield from self._statement(parent)

    def _argument(self, call: ast.Call) -> Iterator[ast.expr]:
        """A result that is handed to a call: into what it gives, and into what it changes."""
        yield call
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _ADDING and self._is_container(call, func):
            yield from self._kept(call, func.value)
            return
        effects = self.sides.call(self.facts, call)
        if not effects.known:
            self.ends.add(Ends.UNKNOWN)
        if isinstance(func, ast.Attribute) and self.values.of(self.facts, func.value).kind is Kind.ENV:
            self.ends.add(Ends.NEXT)
        for text in sorted(effects.writes):
            calls = (part for part in self.body if isinstance(part, ast.Call) and alike(part.func, func))
            within = {part for one in calls for part in walk(one)}
            read = any(part not in within for part in self._readers(text))
            answered = self.sides.overlaps(text, effects.reads) and not isinstance(
                self.facts.parent.get(call), ast.Expr
            )
            self.ends.add(Ends.UNKNOWN if read or answered else Ends.COLLECTED)

    def _is_container(self, call: ast.Call, func: ast.Attribute) -> bool:
        """Whether a call adds to a container of Python: a list, or something unknown that is not an object of ours."""
        if self.sides.graph.callees.get(call):
            return False
        return self.values.of(self.facts, func.value).kind not in (Kind.INSTANCE, Kind.MODULE, Kind.TENSOR)

    def _statement(self, stmt: ast.stmt) -> Iterator[ast.expr]:
        if isinstance(stmt, (ast.Assign, ast.AnnAssign)):
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            for target in targets:
                yield from self._target(stmt, target)
        elif isinstance(stmt, ast.AugAssign):
            if isinstance(stmt.target, ast.Name):
                yield from self._bound(stmt, stmt.target)
            else:
                yield from self._kept(stmt, stmt.target)
        elif isinstance(stmt, ast.Return):
            self.ends.add(Ends.AFTER)
        elif isinstance(stmt, (ast.For, ast.AsyncFor)):
            yield from self._target(stmt, stmt.target)
        elif isinstance(stmt, (ast.If, ast.While, ast.Match)):
            leaving = any(isinstance(part, (ast.Break, ast.Continue, ast.Return)) for part in nodes_of([stmt]))
            self.ends.add(Ends.NEXT if leaving else Ends.UNKNOWN)

    def _target(self, stmt: ast.AST, target: ast.expr) -> Iterator[ast.expr]:
        """What is assigned to a target; all of it may be in any name of a tuple."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                yield from self._target(stmt, part)
        elif isinstance(target, ast.Starred):
            yield from self._target(stmt, target.value)
        elif isinstance(target, ast.Name):
            yield from self._bound(stmt, target)
        else:
            yield from self._kept(stmt, target)

    def _bound(self, stmt: ast.AST, target: ast.Name) -> Iterator[ast.expr]:
        """Follow a name from one binding to where it is read."""
        bindings = self.function.bindings.get(target.id, [])
        if len(bindings) > MOST_BINDINGS:
            self.ends.add(Ends.UNKNOWN)
            return
        for binding in bindings:
            if binding.stmt is stmt and binding not in self.seen:
                self.seen.add(binding)
                yield from self._uses(target.id, binding)

    def _uses(self, name: str, binding: Binding) -> Iterator[ast.expr]:
        found = self._reads.get(name)
        if found is None:
            found = self._reads[name] = self._read(name)
        if binding in found.after:
            self.ends.add(Ends.AFTER)
        if binding in found.before:
            read = any(use in self.body and not self._grows(binding.stmt, use) for use in found.uses)
            self.ends.add(Ends.NEXT if read else Ends.COLLECTED)
        yield from found.same.get(binding, ())

    def _read(self, name: str) -> _Reads:
        """What reads a name, told once for all of its bindings."""
        found = _Reads(tuple(self._names(name)))
        for use in found.uses:
            if use not in self.body:
                found.after.update(self.values.project.reaching(self.facts, use).bindings)
            elif not isinstance(self.loop, COMPREHENSIONS):
                turns = self._rounds(use)
                found.before.update(turns.before)
                for binding in turns.same:
                    found.same.setdefault(binding, []).append(use)
            else:
                for binding in self.values.project.reaching(self.facts, use).bindings:
                    found.same.setdefault(binding, []).append(use)
        return found

    def _rounds(self, use: ast.Name) -> Rounds:
        assert not isinstance(self.loop, COMPREHENSIONS)
        return self.values.project.rounds(self.facts, use, self.loop)

    def _names(self, name: str) -> Iterator[ast.Name]:
        """Where the function reads a name; an augmented assignment reads its target."""
        for part in own_mentions(self.function, code_of(self.function), name):
            if isinstance(part.ctx, ast.Load) or isinstance(self.facts.parent.get(part), ast.AugAssign):
                yield part

    def _grows(self, stmt: ast.AST, use: ast.expr) -> bool:
        """Whether a statement only adds to what it reads: ``x += y``, ``x = x + y``, ``x = torch.cat([x, y])``."""
        if isinstance(stmt, ast.AugAssign):
            return stmt.target is use and isinstance(stmt.op, ast.Add)
        if not isinstance(stmt, ast.Assign):
            return False
        value = stmt.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            return use in (value.left, value.right)
        name = self.values.project.qualified(self.facts, value.func) if isinstance(value, ast.Call) else None
        return name in _JOINING and use in set(walk(value))

    def _kept(self, stmt: ast.AST, target: ast.expr) -> Iterator[ast.expr]:
        """Follow what is put into an attribute or a container to where the loop reads it."""
        base = target
        while isinstance(base, ast.Subscript):
            base = base.value
        text = dotted(base)
        if not text:
            self.ends.add(Ends.UNKNOWN)
            return
        text = self.sides.canonical(self.facts, base, text)
        if text in self.seen:
            return
        self.seen.add(text)
        if isinstance(base, ast.Attribute):
            self.ends.add(Ends.AFTER)
        readers = [part for part in self._readers(text) if not self._adds(part) and not self._grows(stmt, part)]
        for part in readers:
            if self._is_of_this_round(part, text):
                yield part
            else:
                self.ends.add(Ends.NEXT)
        if not readers:
            self.ends.add(Ends.COLLECTED)

    def _is_of_this_round(self, node: ast.expr, text: str) -> bool:
        """Whether what is read was made or set earlier in the same round."""
        if isinstance(node, ast.Name) and not isinstance(self.loop, COMPREHENSIONS):
            turns = self._rounds(node)
            return bool(turns.same) and not turns.before
        return stored_before(self.facts, node, text, self.loop) is not None

    def _readers(self, text: str) -> Iterator[ast.expr]:
        """Expressions in the loop that read a piece of state."""
        for part in self.body:
            if isinstance(part, (ast.Attribute, ast.Name)) and isinstance(part.ctx, ast.Load):
                found = dotted(part)
                if found and not isinstance(self.facts.parent.get(part), ast.Attribute):
                    if self._overlaps(part, found, text) and not self._is_callee(part):
                        yield part
            elif isinstance(part, ast.Call) and self.sides.overlaps(text, self.sides.call(self.facts, part).reads):
                yield part

    def _overlaps(self, part: ast.expr, chain: str, text: str) -> bool:
        whole, other = f"{self.sides.canonical(self.facts, part, chain)}.", f"{text}."
        return whole.startswith(other) or other.startswith(whole)

    def _is_callee(self, node: ast.AST) -> bool:
        above = self.facts.parent.get(node)
        return isinstance(above, ast.Call) and above.func is node

    def _adds(self, node: ast.expr) -> bool:
        """Whether a read is only there to add to a container or to set one of its items."""
        node = self.facts.last_item(node)
        above = self.facts.parent.get(node)
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING
        if isinstance(above, ast.Attribute):
            call = self.facts.parent.get(above)
            return isinstance(call, ast.Call) and call.func is above and above.attr in _ADDING
        return False
