"""Blocks under the same guard that fixes left beside each other, made one.

A guard is a mode of autograd, ``with torch.no_grad():``, or a flag, ``if _DEBUG_CHECKS:``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from torchlint.engine.fix_checks import BrokenFixError, Reading, check
from torchlint.engine.rows import SourceRows
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import walk
from torchlint.models import last_names
from torchlint.rule import Edit
from torchlint.sources.edits import apply_edits
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

_GUARDS = last_names(autograd="pauses")
_Block = ast.With | ast.If
_Pair = tuple[_Block, _Block]


def joined(
    before: Reading, after: Source, reading: Reading, removed: Sequence[str] = ()
) -> tuple[Source, tuple[Edit, ...]]:
    """Return the fixed source with new neighbours joined, and the edits that joined them, one after the other.

    Only blocks under one mode of autograd are joined, where leaving and entering it again does nothing, and those under
    one flag that the first leaves alone. Comments between them and behind the second header stay, as rows of the block.
    ``removed`` is as for ``check``.
    """
    edits: tuple[Edit, ...] = ()
    known = _Known(before.tree)
    passed = set[int]()
    while True:
        new = [pair for pair in known.others(reading.tree) if pair[1].lineno not in passed]
        if not new:
            return after, edits
        passed.add(new[0][1].lineno)
        shorter, made = after, _joining(after, *new[0])
        for edit in made:
            shorter = apply_edits(shorter, [edit])
        try:
            found = check(before, shorter, removed) if made else None
        except BrokenFixError:
            found = None
        if found is not None:
            after, reading, edits = shorter, found, (*edits, *made)
            passed.clear()


def _pairs(tree: ast.Module) -> Iterator[_Pair]:
    """All guarded blocks with the one right after it under the same guard."""
    for node in walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            for one, other in pairwise(block) if isinstance(block, list) else ():
                if isinstance(one, _Block) and isinstance(other, _Block):
                    if _same_mode(one, other) or _same_flag(one, other):
                        yield one, other


def _same_mode(one: _Block, other: _Block) -> bool:
    """Whether two blocks stand under the same mode of autograd alone."""
    if not isinstance(one, ast.With) or not isinstance(other, ast.With):
        return False
    call = one.items[0].context_expr
    func = call.func if isinstance(call, ast.Call) else None
    name = last_name(func)
    alone = len(one.items) == len(other.items) == 1
    return name in _GUARDS and alone and ast.dump(one.items[0]) == ast.dump(other.items[0])


def _same_flag(one: _Block, other: _Block) -> bool:
    """Whether two blocks stand under the same flag, a name that the first one does not bind."""
    if not isinstance(one, ast.If) or not isinstance(other, ast.If) or one.orelse or other.orelse:
        return False
    flag, again = one.test, other.test
    if not isinstance(flag, ast.Name) or not isinstance(again, ast.Name) or flag.id != again.id:
        return False
    names = (node for stmt in one.body for node in walk(stmt) if isinstance(node, ast.Name) and node.id == flag.id)
    return all(isinstance(name.ctx, ast.Load) for name in names)


class _Known:
    """The pairs of a tree, and which pairs of a tree that was made of it are others.

    Where both trees have the same number of blocks under a guard, the blocks correspond in order. Else a pair is known
    by what stands last under the first guard and first under the second.
    """

    def __init__(self, tree: ast.Module) -> None:
        """Note the pairs of a tree."""
        self._order = _in_order(tree)
        self._places, self._ends = set[tuple[str, int, int]](), set[tuple[str, str]]()
        for pair in _pairs(tree):
            self._places.add(_places(pair, self._order))
            self._ends.add(_ends(pair))

    def others(self, tree: ast.Module) -> Iterator[_Pair]:
        """Yield the pairs of neighbours in a later tree that are new."""
        order = _in_order(tree)
        for pair in _pairs(tree):
            guard = _guard(pair[0])
            if len(order[guard]) == len(self._order.get(guard, {})):
                known = _places(pair, order) in self._places
            else:
                known = _ends(pair) in self._ends
            if not known:
                yield pair


def _in_order(tree: ast.Module) -> dict[str, dict[int, int]]:
    """For each guard, by the row of the header, the place of each of its blocks among them."""
    found: dict[str, dict[int, int]] = {}
    for block in sorted((node for node in walk(tree) if isinstance(node, _Block)), key=lambda node: node.lineno):
        places = found.setdefault(_guard(block), {})
        places[block.lineno] = len(places)
    return found


def _places(pair: _Pair, order: dict[str, dict[int, int]]) -> tuple[str, int, int]:
    guard = _guard(pair[0])
    return guard, order[guard][pair[0].lineno], order[guard][pair[1].lineno]


def _guard(block: _Block) -> str:
    return ast.dump(block.test if isinstance(block, ast.If) else block.items[0])


def _ends(pair: _Pair) -> tuple[str, str]:
    return ast.dump(pair[0].body[-1]), ast.dump(pair[1].body[0])


def _joining(source: Source, one: _Block, other: _Block) -> list[Edit]:
    """Edits, the last place first, that put the rows of a block under the guard above; none where they do not fit."""
    table = LineTable(source.utf8)
    rows = SourceRows(source.utf8, table)
    inner, indent = rows.indent(one.body[-1]), rows.indent(other)
    header = rows.text(other.lineno)
    # The header is one row, and what is under it begins on a row of its own, indented as the block above.
    fits = rows.indent(other.body[0]) == inner and indent is not None and inner is not None
    if not fits or inner is None or not rows.ends(one.body[-1]):
        return []
    guard = other.test if isinstance(other, ast.If) else other.items[0].context_expr
    if (guard.end_lineno or 0) > other.lineno or other.body[0].lineno <= other.lineno:
        return []
    end = one.end_lineno or one.lineno
    between = [row for row in range(end + 1, other.lineno) if rows.text(row).strip()]
    if between and source.notebook is not None:
        return []  # comments mark where cells begin
    _, _, comment = header.partition("#")
    kept = f"{inner}#{comment.rstrip()}\n" if comment else ""
    edits = [Edit(table.offset(other.lineno, 0), rows.after(other.lineno), kept)]
    for row in reversed(between):
        start = table.offset(row, 0)
        blanks = len(rows.text(row)) - len(rows.text(row).lstrip(" \t"))
        edits.append(Edit(start, start + blanks, inner))
    return edits
