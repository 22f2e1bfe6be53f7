"""Networks that run twice on the same input with the same parameters, or before it is known whether they are needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.alike import alike
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.jumps import leaves
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.model import COMPREHENSIONS, NESTED, FileFacts
from torchlint.facts.code.nesting import nodes_of
from torchlint.facts.code.tree import children, names_in, walk
from torchlint.facts.state.effects import Sides
from torchlint.late import dataclass
from torchlint.models import last_names

_CONDITIONAL = (ast.IfExp, ast.BoolOp, ast.Lambda, *COMPREHENSIONS)
_LEARNING = frozenset({"backward", "step", "load_state_dict", "train", "eval", "manual_backward", "zero_"})
# Layers that draw numbers or remember what they saw.
_FICKLE = (b"Dropout", b"dropout", b"BatchNorm", b"Noisy", b"noisy", b"spectral_norm")
_TOSSES = last_names("random numpy.random torch", draws=("number", "integer"))
_CHANCE = frozenset({"eps", "epsilon", "coin"})


@dataclass(eq=False, slots=True)
class Again(Fact):
    """Answers which runs of networks could be left out."""

    autograd: Autograd
    sides: Sides
    mentions: Mentions

    # twice ----------------------------------------------------------------------------------------------------------

    def earlier(self, facts: FileFacts, call: ast.Call) -> int | None:
        """Return the row of an equal call that always ran before in the round, with the same result, or ``None``."""
        if any(word in self._text(path) for path in self.autograd.graph.groups[facts.path] for word in _FICKLE):
            return None
        own = self.sides.call(facts, call)
        if not own.known or own.draws or own.writes:
            return None
        for other in _equals(facts, call):
            if _place(other) < _place(call) and self._same(facts, other, call, own.reads):
                return other.lineno
        return None

    def later(self, facts: FileFacts, call: ast.Call) -> int | None:
        """Return the row of an equal, later call in the same round with the same result, or ``None``."""
        after = (other for other in _equals(facts, call) if _place(other) > _place(call))
        return next((other.lineno for other in after if self.earlier(facts, other)), None)

    def _text(self, path: str) -> bytes:
        return self.autograd.project.files[path].source.utf8

    def _same(self, facts: FileFacts, first: ast.Call, second: ast.Call, reads: frozenset[str]) -> bool:
        """Whether the first always ran in the same round, and nothing between them changes what both read."""
        code = self._between(facts, first, second)
        if code is None:
            return False
        names = (part for part in walk(first) if isinstance(part, ast.Name))
        twins = (part for part in walk(second) if isinstance(part, ast.Name))
        reaching = self.autograd.project.reaching
        if any(
            reaching(facts, one).bindings != reaching(facts, other).bindings
            for one, other in zip(names, twins, strict=True)
        ):
            return False
        parts = list(nodes_of(code))
        if any(_learns(part) for part in parts):
            return False
        effects = self.sides.of(facts, code)
        texts = {dotted(part) for part in walk(first) if isinstance(part, (ast.Name, ast.Attribute))} - {""}
        seen = reads | frozenset(texts)
        return effects.known and not any(self.sides.overlaps(text, seen) for text in effects.writes)

    def _between(self, facts: FileFacts, first: ast.Call, second: ast.Call) -> list[ast.AST] | None:
        """The code from one call to another; ``None`` where the first may not have run, or a loop lies between."""
        stmt = facts.statement(first)
        if stmt is None or stmt not in facts.places or _is_conditional(facts, first, stmt):
            return None
        starts = dict(_always_after(facts, stmt))
        code: list[ast.AST] = []
        current = facts.statement(second)
        while isinstance(current, ast.stmt) and current in facts.places:
            around, place = facts.places[current]
            if id(around) in starts:
                index = starts[id(around)]
                return [*around[index:place], *_headers(current), *code] if place >= index else None
            code = [*around[:place], *_headers(current), *code]
            holder = facts.parent.get(current)
            if not isinstance(holder, (ast.If, ast.With, ast.AsyncWith)):
                return None
            current = holder
        return None

    # before it is known whether it is needed ------------------------------------------------------------------------

    def in_vain(self, facts: FileFacts, call: ast.Call) -> int | None:
        """Return the row of a later random ``if`` of which one branch alone reads the result of a call, or ``None``."""
        stmt = facts.statement(call)
        if not isinstance(stmt, ast.Assign) or stmt not in facts.places or len(stmt.targets) != 1:
            return None
        target = stmt.targets[0]
        block, index = facts.places[stmt]
        scope = facts.scope_of(stmt)
        if not isinstance(target, ast.Name) or target.id in scope.shared or not self._only(facts, stmt, call):
            return None
        reads = list(self.mentions.of_binding(facts, target.id, stmt))
        later = next((other for other in block[index + 1 :] if any(_holds(other, read) for read in reads)), None)
        if isinstance(later, ast.If) and self._tosses(facts, later.test):
            branches = [sum(_holds(part, read) for part in later.body for read in reads)]
            branches.append(sum(_holds(part, read) for part in later.orelse for read in reads))
            return later.lineno if sorted(branches) == [0, len(reads)] else None
        skips = (other for other in block[index + 1 :] if isinstance(other, ast.If) and leaves(other.body))
        for other in skips:
            if other is not later and later is not None and other.lineno < later.lineno:
                if self._tosses(facts, other.test) and not other.orelse:
                    return other.lineno
        return None

    def _only(self, facts: FileFacts, stmt: ast.Assign, call: ast.Call) -> bool:
        """Whether a statement does nothing else that counts: what it calls besides keeps and draws nothing."""
        effects = self.sides.of(facts, [stmt.value])
        return effects.known and not effects.draws and not effects.writes and call in set(walk(stmt.value))

    def _tosses(self, facts: FileFacts, test: ast.expr) -> bool:
        """Whether a condition compares a random number: ``random.random() < epsilon``, also by a name."""
        if not isinstance(test, ast.Compare):
            return False
        drawn = any(self._is_random(facts, part) for side in [test.left, *test.comparators] for part in [side])
        words = {piece for word in names_in(test) for piece in word.lower().split("_")}
        return drawn or bool(words & _CHANCE and not _TOSSES.isdisjoint(words))

    def _is_random(self, facts: FileFacts, node: ast.expr) -> bool:
        value = self.autograd.project.reaching(facts, node).value
        if value is not None:
            return not isinstance(value, ast.Name) and self._is_random(facts, value)
        if not isinstance(node, ast.Call):
            return False
        name = self.autograd.project.qualified(facts, node.func) or ""
        return name.startswith(("random.", "numpy.random.", "torch.rand")) and name.rpartition(".")[2] in _TOSSES


def _equals(facts: FileFacts, call: ast.Call) -> Iterator[ast.Call]:
    """The calls of the same function that read as one does."""
    return (other for other in facts.scope_of(call).function.calls if other is not call and alike(other, call))


def _place(call: ast.Call) -> tuple[int, int]:
    return call.lineno, call.col_offset


def _learns(node: ast.AST) -> bool:
    """Whether a call changes parameters or modes, or frees a graph."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LEARNING


def _is_conditional(facts: FileFacts, node: ast.AST, stmt: ast.stmt) -> bool:
    """Whether an expression may be skipped when its statement runs, or runs more than once."""
    if isinstance(stmt, (ast.While, *NESTED)):
        return True
    for above in facts.ancestors(node):
        if above is stmt:
            return False
        if isinstance(above, _CONDITIONAL):
            return True
    return True


def _always_after(facts: FileFacts, stmt: ast.stmt) -> Iterator[tuple[int, int]]:
    """The blocks, by identity, that come to what follows a statement when it ran, and where it is in each."""
    current: ast.AST | None = stmt
    while isinstance(current, ast.stmt) and current in facts.places:
        block, index = facts.places[current]
        yield id(block), index
        current = facts.parent.get(current)
        if not isinstance(current, (ast.With, ast.AsyncWith)):
            return


def _headers(stmt: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement itself."""
    return (part for part in children(stmt) if not isinstance(part, (ast.stmt, ast.ExceptHandler)))


def _holds(stmt: ast.AST, node: ast.AST) -> bool:
    return any(part is node for part in walk(stmt))
