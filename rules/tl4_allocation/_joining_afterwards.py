"""Pieces that a loop may collect in a list and join once: the fix of TL405."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import fresh_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.loops.deferring import Deferring, Loop
from torchlint.late import dataclass
from torchlint.rule.site import Site

# Not ``vstack`` and its like: they give a single tensor more dimensions, where the loop would leave it as it is.
_JOINING = frozenset({"torch.cat", "torch.concat", "torch.concatenate"})
_CONTEXTS = (ast.With, ast.AsyncWith)
# Functions of torch that always allocate what they give.
_FRESH = frozenset(
    f"torch.{name}"
    for name in (
        *("cat", "stack", "tensor", "where", "zeros", "ones", "full", "rand", "randn", "softmax", "log_softmax"),
        *("exp", "log", "tanh", "sigmoid", "relu", "clone", "mean", "sum", "zeros_like", "ones_like"),
    )
)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.Pow)


@dataclass(frozen=True, slots=True)
class Joined:
    """A concatenation that can be done once: before which loop the list is made, and the four texts.

    ``doubt`` says what is not proven, empty: nothing.
    """

    loop: Loop
    statement: ast.Assign
    before: str
    inside: str
    behind: str
    doubt: str


@dataclass(eq=False, slots=True)
class JoiningAfterwards(Fact):
    """Finds concatenations onto a local name that nothing in the loop reads."""

    project: Project
    deferring: Deferring

    def of(self, facts: FileFacts, call: ast.Call) -> Joined | None:
        """Return how ``x = torch.cat([x, y])`` in a loop is done behind it; ``None`` where it cannot be."""
        stmt = facts.parent.get(call)
        match stmt, call:
            case (
                ast.Assign(targets=[ast.Name(id=name)]),
                ast.Call(args=[(ast.List() | ast.Tuple()) as row, *_]),
            ) if len(row.elts) == 2:
                first, piece = row.elts
            case _:
                return None
        if self.project.qualified(facts, call.func) not in _JOINING:
            return None
        plain = isinstance(first, ast.Name) and first.id == name and not isinstance(piece, ast.Starred)
        elsewhere = [*call.args[1:], *(keyword.value for keyword in call.keywords), piece]
        if not plain or any(
            isinstance(part, ast.Name) and part.id == name for node in elsewhere for part in walk(node)
        ):
            return None
        if not all(isinstance(node, (ast.Constant, ast.UnaryOp)) for node in elsewhere[:-1]):
            return None
        if not self.deferring.is_local(facts, stmt, name):
            return None
        loop = self.deferring.loop(facts, stmt, name, lambda around, _: around is stmt)
        if loop is None or not self._begins_before(facts, stmt, name, loop):
            return None
        pieces = fresh_name(facts, stmt, f"{name}_parts")
        text, whole, shown = facts.text_of(piece), facts.text_of(call), facts.text_of(row)
        if "\n" in whole or whole.count(shown) != 1:
            return None
        return Joined(
            loop,
            stmt,
            f"{pieces} = [{name}]",
            f"{pieces}.append({text})",
            f"{name} = {whole.replace(shown, pieces)}",
            "" if self._is_fresh(facts, piece) else "nothing writes into a piece before the loop is over",
        )

    def _begins_before(self, facts: FileFacts, stmt: ast.Assign, name: str, loop: Loop) -> bool:
        """Whether the name is bound right in the block of the loop, and autograd records there what it does inside."""
        block, index = facts.places[loop]
        bound = any(
            isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load)
            for earlier in block[:index]
            if isinstance(earlier, (ast.Assign, ast.AnnAssign))
            for part in walk(earlier)
        )
        between = []
        for node in facts.ancestors(stmt):
            if node is loop:
                break
            between.append(node)
        return bound and not any(isinstance(node, _CONTEXTS) for node in between)

    def _is_fresh(self, facts: FileFacts, piece: ast.expr) -> bool:
        """Whether a piece is a tensor of its own that no name holds."""
        if isinstance(piece, ast.BinOp):
            return isinstance(piece.op, _ARITHMETIC)
        return isinstance(piece, ast.Call) and self.project.qualified(facts, piece.func) in _FRESH


def joined_afterwards(site: Site, call: cst.Call) -> Joined | None:
    """Return how a concatenation in a loop is done behind it; ``None`` where it cannot be."""
    twin = site.expression(call)
    return site.fact(JoiningAfterwards).of(site.file, twin) if isinstance(twin, ast.Call) else None
