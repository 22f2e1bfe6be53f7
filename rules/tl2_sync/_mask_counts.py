"""How many elements a mask selects, counted once for all means over them: the fixes of TL202."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.naming import fresh_name, mentions_of
from torchlint.facts.code.nesting import is_above
from torchlint.facts.code.project import Project
from torchlint.late import dataclass

_Rows = tuple[tuple[ast.stmt, str], ...]
_READING = frozenset({"sum", "any", "all", "float", "mean", "numel", "size", "dim"})


@dataclass(eq=False, slots=True)
class MaskCounts(Fact):
    """Finds the name of the number of elements that a mask selects, or a place to count them once."""

    project: Project

    def of(self, facts: FileFacts, mask: ast.expr | None) -> tuple[str, _Rows]:
        """Return the name of the count, and the row that makes it.

        An empty name where a mask is used once, or may change.
        """
        if not isinstance(mask, ast.Name):
            return "", ()
        function = facts.scope_of(mask).function
        bound = function.bindings.get(mask.id, ())
        made = bound[0].stmt if len(bound) == 1 and bound[0].how is Bind.ASSIGN else None
        if function.kind != "function" or made is None or made not in facts.places or not is_above(facts, made, mask):
            return "", ()
        reads = [each for each in mentions_of(facts, function.node, mask.id) if isinstance(each.ctx, ast.Load)]
        if not all(self._only_reads(facts, each) for each in reads):
            return "", ()
        known = self._counted(facts, made, mask, reads)
        if known:
            return known, ()
        if sum(self._selects(facts, each) for each in reads) < 2:
            return "", ()
        name = fresh_name(facts, mask, f"{mask.id}_count")
        return name, ((made, f"{name} = {mask.id}.sum()"),)

    def _counted(self, facts: FileFacts, made: ast.stmt, mask: ast.Name, reads: Sequence[ast.Name]) -> str:
        """The name that the row behind a mask gives to its sum; empty where there is no such row."""
        block, index = facts.places[made]
        match block[index + 1] if index + 1 < len(block) else None:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(value=ast.Name() as summed, attr="sum"), args=[], keywords=[]),
            ) if summed in reads and len(facts.scope_of(mask).function.bindings.get(name, ())) == 1:
                return name
        return ""

    def _selects(self, facts: FileFacts, name: ast.Name) -> bool:
        above = facts.parent.get(name)
        return isinstance(above, ast.Subscript) and above.slice is name

    def _only_reads(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether a mention of a mask selects by it, computes with it, or hands it to a function of torch."""
        above = facts.parent.get(name)
        match above:
            case ast.Subscript(slice=index) | ast.UnaryOp(operand=index):
                return index is name
            case ast.BinOp() | ast.Compare():
                return True
            case ast.Attribute(attr=method):
                return isinstance(facts.parent.get(above), ast.Call) and method in _READING
            case ast.Call(func=func):
                called = self.project.qualified(facts, func) or ""
                return called.startswith("torch.") and not called.endswith("_")
        return False
