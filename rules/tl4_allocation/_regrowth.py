"""What is copied again in every round of a loop because it grows by concatenation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.model import COMPREHENSIONS, LOOPS, FileFacts
from torchlint.facts.code.nesting import around, head, inside, nodes_of, stored_before
from torchlint.facts.code.tree import children, names_in, root_of, subscripted, walk
from torchlint.facts.loops.loops import Loops
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule.site import Site

_JOINS = function_names(joins=True)
_ADDING = method_names("list deque", adds=True)
_ASKING = frozenset({"keys", "setdefault"})
_SPACES = ("action_space", "observation_space")
_Loop = ast.For | ast.AsyncFor | ast.While


class Regrown(NamedTuple):
    """What a concatenation lengthens in each round, as source; ``taken``: whether a round reads it to begin again."""

    text: str
    taken: bool


@dataclass(eq=False, slots=True)
class Regrowth(Fact):
    """Finds assignments like ``x = torch.cat([x, y])`` whose ``x`` comes from the round before and is not read.

    A branch that reads it and makes it empty again, as at the end of an episode, counts as the end of the growth.
    """

    loops: Loops
    mentions: Mentions

    def of(self, facts: FileFacts, call: ast.Call) -> Regrown | None:
        """Return what a concatenation lengthens in each round and nothing reads while it grows, or ``None``."""
        above = facts.parent.get(call)  # ``x = y if x is None else torch.cat([x, y])``
        stmt = facts.parent.get(above) if isinstance(above, ast.IfExp) and above.test is not call else above
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1 or self._ends_round(facts, stmt):
            return None
        target = stmt.targets[0]
        text = ast.unparse(target)
        grown = [part for part in _pieces(call) if alike(part, target)]
        if len(grown) != 1:
            return None
        root = root_of(grown[0])
        if not isinstance(root, ast.Name):
            return None
        indices = {part.id for part in walk(target) if isinstance(part, ast.Name) and part is not root_of(target)}
        for loop in around(facts, stmt):
            if isinstance(loop, COMPREHENSIONS):
                continue
            if indices & _bound_in(loop) or _made_longer(loop, target):
                continue  # another element in every round
            if self._lasts(facts, stmt, root, text, loop):
                if self.loops.is_few(facts, loop) or _over_space(loop):
                    return None
                reads = list(self._reads(facts, stmt, root, loop))
                taken = all(_begins_again(facts, part, stmt, loop) for part in reads)
                return Regrown(text, bool(reads)) if taken else None
        return None

    def _ends_round(self, facts: FileFacts, stmt: ast.stmt) -> bool:
        """Whether the loop is left right after a statement, so that it runs once."""
        block, index = facts.places[stmt]
        return any(isinstance(later, (ast.Return, ast.Break, ast.Raise)) for later in block[index + 1 :])

    def _lasts(self, facts: FileFacts, stmt: ast.stmt, root: ast.Name, text: str, loop: _Loop) -> bool:
        """Whether a round finds what the round before left."""
        if stored_before(facts, stmt, text, loop) is not None:
            return False
        project = self.loops.values.project
        bindings = project.reaching(facts, root).bindings
        turns = project.rounds(facts, root, loop)
        if text == root.id:
            return any(binding.stmt is stmt for binding in turns.before)
        body = set(nodes_of(inside(loop)))
        return bool(turns.before) or not any(binding.stmt in body or binding.stmt is loop for binding in bindings)

    def _reads(self, facts: FileFacts, stmt: ast.Assign, root: ast.Name, loop: _Loop) -> Iterator[ast.AST]:
        """What a loop reads of the container or name, besides what grows it, its length and its keys."""
        own = set(walk(stmt))
        held = subscripted(stmt.targets[0])
        text = ast.unparse(held)
        for part in nodes_of(inside(loop)):
            if part in own or self._grows(facts, part, held):
                continue
            if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
                if alike(part, held) and not _only_asks(facts, part):
                    yield part
            elif isinstance(part, ast.Call) and "." in text and self._may_read(facts, part, root, held):
                yield part

    def _may_read(self, facts: FileFacts, call: ast.Call, root: ast.Name, held: ast.expr) -> bool:
        """Whether what a call runs may read the container; code that is not known reads what other code names."""
        sides = self.loops.sides
        effects = sides.call(facts, call)
        if not sides.overlaps(sides.canonical(facts, root, ast.unparse(held)), effects.reads):
            return False
        if effects.known or not isinstance(held, ast.Attribute):
            return True
        own = facts.scope_of(held).function
        named = self.mentions.of_field(facts, "", held.attr)
        return any(file is not facts or file.scope_of(read).function is not own for file, read in named)

    def _grows(self, facts: FileFacts, node: ast.AST, held: ast.expr) -> bool:
        """Whether an expression is a piece of a concatenation that is assigned to the same container."""
        stmt = facts.statement(node) if isinstance(node, ast.expr) else None
        if not isinstance(stmt, ast.Assign) or not alike(subscripted(stmt.targets[0]), held):
            return False
        value = stmt.value
        if not isinstance(value, ast.Call) or self.loops.values.project.qualified(facts, value.func) not in _JOINS:
            return False
        return any(alike(part, stmt.targets[0]) and node in set(walk(part)) for part in _pieces(value))


def _begins_again(facts: FileFacts, node: ast.AST, growing: ast.Assign, loop: _Loop) -> bool:
    """Whether a branch in a loop reads what grows there and makes it empty again: ``if done: use(xs); xs = None``."""
    held = subscripted(growing.targets[0])
    for child, current in facts.climb(node):
        if current is loop:
            return False
        if isinstance(current, ast.If):
            block = next((block for block in (current.body, current.orelse) if child in block), [])
            others = (stmt for stmt in block if isinstance(stmt, ast.Assign) and stmt is not growing)
            if any(among(held, _targets(stmt)) for stmt in others):
                return True
    return False


def _targets(stmt: ast.Assign) -> Iterator[ast.expr]:
    """What an assignment assigns to, with the parts of tuples."""
    for target in stmt.targets:
        yield from target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,)


def _pieces(call: ast.Call) -> list[ast.expr]:
    """What a concatenation joins: the elements of its first argument, of ``np.append`` the first two arguments."""
    first = call.args[0] if call.args else None
    return list(first.elts) if isinstance(first, (ast.List, ast.Tuple)) else call.args[:2]


def _over_space(loop: _Loop) -> bool:
    """Whether a loop goes over the few parts of a space of actions or observations."""
    over = head(loop)
    return over is not None and any(name in _SPACES for name in names_in(over))


def _bound_in(loop: _Loop) -> set[str]:
    """The names that the rounds of a loop bind: its element, and what its own statements assign."""
    targets: list[ast.AST] = [loop.target] if isinstance(loop, (ast.For, ast.AsyncFor)) else []
    todo: list[ast.AST] = list(loop.body)
    while todo:
        node = todo.pop()
        if isinstance(node, LOOPS):
            continue  # runs through all its elements in every round of this one
        targets.extend(node.targets if isinstance(node, ast.Assign) else [])
        todo.extend(child for child in children(node) if isinstance(child, ast.stmt))
    return {part.id for target in targets for part in walk(target) if isinstance(part, ast.Name)}


def _made_longer(loop: _Loop, target: ast.expr) -> bool:
    """Whether a target is an item of a list counted from its end, ``rows[-1]``, and a loop adds elements to that."""
    calls = (part for part in nodes_of(inside(loop)) if isinstance(part, ast.Call))
    adding = (call.func for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _ADDING)
    from_end = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.UnaryOp)
    return from_end and among(subscripted(target), (func.value for func in adding))


def _only_asks(facts: FileFacts, node: ast.expr) -> bool:
    """Whether a read only asks for a length or keys, or sets or adds an element."""
    node = facts.last_item(node)
    above = facts.parent.get(node)
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return True
    if isinstance(above, ast.Attribute):
        return above.attr in _ASKING or above.attr in _ADDING
    if isinstance(above, ast.Compare):
        return all(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in above.ops)
    return isinstance(above, ast.Call) and isinstance(above.func, ast.Name) and above.func.id == "len"


def regrown(site: Site, call: cst.Call) -> Regrown | None:
    """Return what a concatenation lengthens, and so copies, in each round of a loop that reads it nowhere else.

    ``xs`` of ``xs = torch.cat([xs, x])``; ``None`` where nothing grows over more than a handful of rounds.
    """
    twin = site.expression(call)
    return site.fact(Regrowth).of(site.file, twin) if isinstance(twin, ast.Call) else None
