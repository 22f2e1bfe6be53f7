"""Calls of networks in loops that could be one call, on all rounds at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.model import COMPREHENSIONS, FileFacts
from torchlint.facts.code.nesting import LoopNode, around, inside, nodes_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import children, walk
from torchlint.facts.state.effects import PARAMETERS, Sides
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind

_LEAVING = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)
_ENDING = (ast.Break, ast.Continue)
_LIVE = frozenset({"step", "reset", "backward", "send", "recv", "render", "update", "zero_grad", "learn"})


@dataclass(eq=False, slots=True)
class Batching(Fact):
    """Answers whether calls of networks in loops could be one call."""

    project: Project
    values: Values
    sides: Sides

    def batchable(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether no result of a call reaches its arguments in later rounds of the loop.

        The loop must go through to its end, step no environment, run no backward pass and draw no batches of a
        loader: then its inputs can be collected and handed over together.
        """
        loop = next(iter(around(facts, call)), None)
        if loop is None or isinstance(loop, ast.While):
            return False
        parts = list(nodes_of(inside(loop)))
        if any(_leaves(facts, part, loop) or self._is_live(facts, part, loop) for part in parts):
            return False
        effects = self.sides.call(facts, call)
        kept = (text for text in effects.writes if not _is_of_round(facts, loop, text))
        if any(self.sides.overlaps(text, effects.reads) for text in kept):
            return False  # it remembers something from call to call
        if isinstance(loop, COMPREHENSIONS):
            return True
        if self._draws_weights(facts, parts):
            return False
        return not any(self._feeds(facts, loop, other) for other in _alike(call, parts))

    def _draws_weights(self, facts: FileFacts, parts: Sequence[ast.AST]) -> bool:
        """Whether a loop writes weights: those of a layer that are drawn again in each round."""
        calls = (part for part in parts if isinstance(part, ast.Call))
        return any(PARAMETERS in self.sides.call(facts, each).writes for each in calls)

    def _feeds(self, facts: FileFacts, loop: LoopNode, call: ast.Call) -> bool:
        """Whether what a call gives may reach what it is given in a later round."""
        reached = self._reached(facts, loop, call)
        given = {
            text
            for node in [*call.args, *(keyword.value for keyword in call.keywords), call.func]
            for text in texts(node)
        }
        own = set(_own_places(loop))
        if given & reached <= own:  # what a place of the round holds may still come from what goes round
            return bool(given & reached) and bool((reached - own) & set(self._carried(facts, loop)))
        return True

    def _carried(self, facts: FileFacts, loop: LoopNode) -> Iterator[str]:
        """The names that hand something on from one round of a loop to the next."""
        if isinstance(loop, COMPREHENSIONS):
            return
        for part in nodes_of(inside(loop)):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                if self.project.rounds(facts, part, loop).before:
                    yield part.id

    def _is_live(self, facts: FileFacts, node: ast.AST, loop: LoopNode) -> bool:
        """Whether a call goes on with a backward pass, a process, or an environment that is not one of the round's.

        Or draws the next batch of an iterator: as many as there are need not fit into memory.
        """
        if not isinstance(node, ast.Call):
            return False
        if not isinstance(node.func, ast.Attribute):
            return self.project.qualified(facts, node.func) == "builtins.next"
        receiver = node.func.value
        if self.values.of(facts, receiver).kind is not Kind.ENV and node.func.attr not in _LIVE:
            return False
        return node.func.attr != "step" or not _is_of_head(loop, receiver)

    def _reached(self, facts: FileFacts, loop: LoopNode, call: ast.Call) -> set[str]:
        """All names and attributes that what a call gives may reach in the loop."""
        statements = [part for part in nodes_of(inside(loop)) if isinstance(part, ast.stmt)]
        reached: set[str] = set()
        while True:
            before = len(reached)
            for stmt in statements:
                own = [part for part in _own_parts(stmt) if part is not None]
                nodes = [node for part in own for node in walk(part)]
                if call in nodes or any(text in reached for part in own for text in texts(part)):
                    reached.update(self._set_by(facts, stmt, nodes, call))
            if len(reached) == before:
                return reached

    def _set_by(self, facts: FileFacts, stmt: ast.stmt, nodes: list[ast.AST], call: ast.Call) -> Iterator[str]:
        """What a statement sets, changes by its methods, or decides."""
        if isinstance(stmt, (ast.If, ast.Try, ast.With, ast.For, ast.While)) and not isinstance(stmt, ast.With):
            for part in nodes_of([stmt]):
                if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
                    yield _text(part)
        for node in nodes:
            if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
                yield _text(node)
            elif isinstance(node, ast.Call) and node is not call and (call not in nodes or call in walk(node)):
                yield from self.sides.call(facts, node).writes
                if isinstance(node.func, ast.Attribute) and isinstance(stmt, ast.Expr) and node is stmt.value:
                    yield _text(node.func.value)


def _leaves(facts: FileFacts, node: ast.AST, loop: LoopNode) -> bool:
    """Whether a statement leaves a loop, or ends its round; a ``break`` may be of a loop in it."""
    return isinstance(node, _LEAVING) or (isinstance(node, _ENDING) and next(around(facts, node), None) is loop)


def _alike(call: ast.Call, parts: list[ast.AST]) -> Iterator[ast.Call]:
    """The calls in a loop of the same network as one of them, itself too: a loop for a recurrence holds other ways."""
    return (part for part in parts if isinstance(part, ast.Call) and alike(part.func, call.func))


def _is_of_head(loop: LoopNode, node: ast.expr) -> bool:
    """Whether an expression is the element that a loop is at, or what it counts picks it: ``env``, ``envs[i]``."""
    if isinstance(node, ast.Subscript):
        node = node.slice
    targets = [loop.target] if isinstance(loop, (ast.For, ast.AsyncFor)) else []
    bound = {part.id for target in targets for part in walk(target) if isinstance(part, ast.Name)}
    return isinstance(node, ast.Name) and node.id in bound


def _own_places(loop: LoopNode) -> Iterator[str]:
    """Collections that a loop reads and sets at the place of the round alone: nothing in them goes round."""
    places: dict[str, list[bool]] = {}
    indexed: set[ast.AST] = set()
    for part in nodes_of(inside(loop)):
        if isinstance(part, ast.Subscript):
            indexed.add(part.value)
            places.setdefault(_text(part), []).append(_is_of_head(loop, part))
    for part in nodes_of(inside(loop)):
        if isinstance(part, (ast.Name, ast.Attribute)) and part not in indexed:
            places.get(_text(part), []).append(False)
    return (text for text, own in places.items() if all(own))


def _is_of_round(facts: FileFacts, loop: LoopNode, text: str) -> bool:
    """Whether a name stands for something that each round makes again."""
    bound = facts.scope_of(loop).function.bindings.get(text.partition(".")[0], [])
    body = set(nodes_of(inside(loop)))
    return bool(bound) and all(binding.stmt in body or binding.stmt is loop for binding in bound)


def _own_parts(stmt: ast.stmt) -> list[ast.AST]:
    """The parts of a statement without the statements that it holds."""
    return [part for part in children(stmt) if not isinstance(part, (ast.stmt, ast.ExceptHandler))]


def _text(node: ast.expr) -> str:
    """The name or chain that an expression stands on: ``x`` of ``x[t]``, ``self.x`` of ``self.x[t]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return dotted(node) or ast.unparse(node)


def texts(node: ast.AST) -> Iterator[str]:
    """Yield the names and chains that an expression reads; of ``a.b.c`` also ``a.b`` and ``a``."""
    for part in walk(node):
        if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
            text = dotted(part)
            if text:
                yield text
