"""Numbers that a loop reads only to add them up or to list them: how TL203 reads them once, after the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import unpacked
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.tree import walk
from torchlint.facts.loops.deferring import Deferring, Loop
from torchlint.late import dataclass
from torchlint.rule import Change
from torchlint.rule.site import Site

from ._scalar_readback import Read, Readbacks
from ._single_numbers import Tensors


@dataclass(frozen=True, slots=True)
class Afterwards:
    """How the reads of a loop become one after it.

    Attributes:
        loop: the loop. rows: what follows it, with the module ``torch`` called ``{torch}``.
        replaced: expressions, and the text that takes the place of each.
        changes: what may change by it. doubt: what is not proven, in words; empty: nothing.
    """

    loop: Loop
    rows: tuple[str, ...]
    replaced: tuple[tuple[ast.expr, str], ...]
    changes: tuple[Change, ...]
    doubt: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """A read whose number a loop keeps in a local name, in a sum or in a list, by a statement."""

    read: Read
    name: str
    stmt: ast.stmt
    listed: bool


@dataclass(eq=False, slots=True)
class ReadingAfterwards(Fact):
    """Finds reads whose numbers are added to a local sum, or appended to a local list, that the loop does not read."""

    readbacks: Readbacks
    tensors: Tensors
    deferring: Deferring

    def of(self, facts: FileFacts, call: ast.Call) -> Afterwards | None:
        """Return how a read is done after its loop, together with all others that end there."""
        kept = self._kept(facts, call)
        loop = self._loop(facts, kept) if kept is not None else None
        if kept is None or loop is None:
            return None
        others = [self._kept(facts, part) for part in walk(loop) if isinstance(part, ast.Call)]
        alike = [each for each in others if each and each.listed is kept.listed and self._loop(facts, each) is loop]
        alike.sort(key=lambda each: (each.stmt.lineno, each.stmt.col_offset))
        return self._lists(facts, loop, alike) if kept.listed else self._sums(facts, loop, alike)

    def _kept(self, facts: FileFacts, call: ast.Call) -> _Kept | None:
        """The local sum or list that the number goes into: ``s += x.item()``, ``xs.append(x.item())`` or ``+=``."""
        read = self.readbacks.of(facts, call)
        if read is None or read.copied or read.how == "int()" or self.tensors.is_whole(facts, read.source):
            return None
        stmt, number = self._taking(facts, call)
        match stmt:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if value is number:
                listed = False
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value])) if (
                value is number
            ):
                listed = True
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=[value])) if value is number:
                listed = True
            case _:
                return None
        if not self.deferring.is_local(facts, stmt, name):
            return None
        return _Kept(read, name, stmt, listed)

    def _taking(self, facts: FileFacts, call: ast.Call) -> tuple[ast.stmt | None, ast.expr]:
        """The statement that takes a number, and the number there: the call, or a local name that it alone mentions."""
        stmt = facts.statement(call)
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value) if value is call:
                if not self.deferring.is_local(facts, stmt, name):
                    return stmt, call
                mentions = mentions_of(facts, facts.scope_of(stmt).function.node, name)
                uses = [mention for mention in mentions if mention is not target]
                if len(uses) == 1 and isinstance(uses[0].ctx, ast.Load):
                    taking = facts.statement(uses[0])
                    if taking is not None and _comes_later(facts, stmt, taking):
                        return taking, uses[0]
        return stmt, call

    # which loop -----------------------------------------------------------------------------------------------------

    def _loop(self, facts: FileFacts, kept: _Kept) -> Loop | None:
        """The outermost loop around a read in which nothing but such statements mentions the sum or the list."""

        def keeps(stmt: ast.stmt | None, name: ast.Name) -> bool:
            return stmt is kept.stmt or (not kept.listed and self._adds(facts, stmt, name))

        found = self.deferring.loop(facts, kept.stmt, kept.name, keeps)
        return found if found is not None and self._begins(facts, found, kept) else None

    def _adds(self, facts: FileFacts, stmt: ast.stmt | None, name: ast.Name) -> bool:
        """Whether a statement adds another read to the same sum."""
        if not isinstance(stmt, ast.AugAssign) or stmt.target is not name or not isinstance(stmt.value, ast.Call):
            return False
        other = self._kept(facts, stmt.value)
        return other is not None and not other.listed

    def _begins(self, facts: FileFacts, loop: Loop, kept: _Kept) -> bool:
        """Whether the sum begins as a number, or the list empty and right there; no one else has that list."""
        scope = facts.scope_of(kept.stmt)
        inside = set(walk(loop))
        bindings = [binding for binding in scope.bindings[kept.name] if binding.stmt not in inside]
        if not bindings or any(binding.how not in (Bind.ASSIGN, Bind.AUGMENT) for binding in bindings):
            return False
        assigned = [binding for binding in bindings if binding.how is Bind.ASSIGN]
        if not kept.listed:
            return bool(assigned) and all(_number(binding) is not None for binding in assigned)
        if len(bindings) != 1 or not isinstance(bindings[0].stmt, (ast.Assign, ast.AnnAssign)):
            return False
        stmt, given = bindings[0].stmt, bindings[0].value
        made = unpacked(given, bindings[0].path) if given is not None else None
        if not (isinstance(made, ast.List) and not made.elts) or not _alone(stmt):
            return False
        block, index = facts.places[loop]
        begun = stmt in block and block.index(stmt) < index
        return begun and not any(mention.lineno < loop.lineno for mention in _mentions(scope, kept.name, stmt))

    # what it becomes ------------------------------------------------------------------------------------------------

    def _sums(self, facts: FileFacts, loop: Loop, sums: Sequence[_Kept]) -> Afterwards:
        names = list(dict.fromkeys(each.name for each in sums))
        wrong: list[str] = []
        if not all(self.tensors.is_floating(facts, each.read.source) for each in sums):
            wrong.append("the tensors hold floating-point numbers")
        several = any(sum(each.name == name for each in sums) > 1 for name in names)
        if not all(self.tensors.on_accelerator(facts, each.read.source) for each in sums):
            wrong.append("their device knows 64-bit numbers")
        scope = facts.scope_of(loop)
        if any(self._shows_type(facts, scope, name, loop) for name in names):
            wrong.append("the loop runs at least once")
        return Afterwards(
            loop,
            tuple(f"{name} = float({name})" for name in names),
            tuple(
                (each.read.call, self.tensors.detached(facts, each.read.source, "double", flat=several))
                for each in sums
            ),
            (Change.ORDER,),
            " and ".join(wrong),
        )

    def _shows_type(self, facts: FileFacts, scope: Scope, name: str, loop: Loop) -> bool:
        """Whether a sum that nothing is added to would be the whole number ``0`` where it is told from ``0.0``."""
        inside = set(walk(loop))
        begun = [binding for binding in scope.bindings[name] if binding.how is Bind.ASSIGN]
        if all(isinstance(_number(binding), float) for binding in begun):
            return False
        for part in walk(scope.node):
            if isinstance(part, ast.Name) and part.id == name and part not in inside:
                above = facts.parent.get(part)
                divided = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Div)
                halved = isinstance(above, ast.AugAssign) and isinstance(above.op, ast.Div)
                if not divided and not halved and isinstance(part.ctx, ast.Load):
                    return True
                if isinstance(above, ast.AugAssign) and not halved:
                    return True
        return False

    def _lists(self, facts: FileFacts, loop: Loop, lists: Sequence[_Kept]) -> Afterwards:
        wrong: list[str] = []
        numbers = [each.read.source for each in lists if each.read.how != ".item()"]
        if not all(self.tensors.is_floating(facts, node) for node in numbers):
            wrong.append("the tensors hold floating-point numbers")
        return Afterwards(
            loop,
            tuple(f"{each.name} = {{torch}}.stack({each.name}).tolist() if {each.name} else []" for each in lists),
            tuple(
                (each.read.call, self.tensors.detached(facts, each.read.source, "clone", flat=True)) for each in lists
            ),
            (Change.ORDER, Change.MEMORY),
            " and ".join(wrong),
        )


def _number(binding: Binding) -> int | float | None:
    """The literal number that an assignment gives, also as a part of a tuple."""
    node = unpacked(binding.value, binding.path) if binding.value is not None else None
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _alone(stmt: ast.stmt) -> bool:
    """Whether an assignment gives its value to one name only, or each part of a display to one name of its own."""
    if isinstance(stmt, ast.Assign):
        target = stmt.targets[0]
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(stmt.value, (ast.Tuple, ast.List)):
            return len(stmt.targets) == 1 and all(isinstance(part, ast.Name) for part in target.elts)
        return len(stmt.targets) == 1 and isinstance(target, ast.Name)
    return isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name)


def _comes_later(facts: FileFacts, stmt: ast.stmt, other: ast.stmt) -> bool:
    """Whether a statement stands behind another one in the same block."""
    (block, index), (its_block, its_index) = facts.places[stmt], facts.places.get(other, ([], 0))
    return block is its_block and its_index > index


def _mentions(scope: Scope, name: str, besides: ast.stmt) -> Iterator[ast.Name]:
    """Where a function names something, besides in one statement."""
    own = set(walk(besides))
    return (part for part in mentions_of(scope.file, scope.node, name) if part not in own)


def read_afterwards(site: Site, call: cst.Call) -> Afterwards | None:
    """Return how a read is done after its loop.

    The result is ``None`` where the loop, or code that is not seen, may need the number.
    """
    twin = site.expression(call)
    return site.fact(ReadingAfterwards).of(site.file, twin) if isinstance(twin, ast.Call) else None
