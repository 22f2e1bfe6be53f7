"""NEW705: TL705 with a fact that rests on another one of torchlint, and finds what the rule looks at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torchlint.rules.tl7_rollout._list_as_queue import Reaches

from torchlint.facts.code.model import FileFacts
from torchlint.facts.finders import Finder
from torchlint.facts.state.queues import Queues
from torchlint.rule import Found, Frequency, Report, Rule, Site

_POP = "`pop(0)` moves all remaining elements of the list; use a deque, or a ring if batches are drawn from it"
_DEL = "`del` moves all remaining elements of the list; use a deque, or a ring if batches are drawn from it"
_SLICE = "a slice without the first elements copies all others; use a deque, or a ring if batches are drawn from it"
_REACH = "a deque is searched block by block for each row of the batch; use a ring: a list written round and round"


@dataclass
class Fronts(Finder):
    """Finds what works at the front of a long list."""

    queues: Queues
    reaches: Reaches

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """The calls and subscripts."""
        return (node for node in file.parent if wanted(node) and self.message(file, node))

    def message(self, file: FileFacts, node: ast.AST) -> str | None:
        """What to say of a node; ``None`` where it does no such thing."""
        match node:
            case ast.Subscript() if self.reaches.in_deque(file, node):
                return _REACH
            case ast.Subscript(slice=ast.Slice() as taken) if _is_share(taken):
                return None
            case ast.Call(func=ast.Attribute(value=items, attr="pop"), args=[ast.Constant(value=0)]):
                return _POP if self.queues.long_queue(file, node, items) else None
            case ast.Subscript(value=items, slice=ast.Constant(value=0) | ast.Slice(lower=None, upper=ast.expr())):
                deleted = isinstance(node.ctx, ast.Del)
                return _DEL if deleted and self.queues.long_queue(file, node, items) else None
            case ast.Subscript(value=items, slice=ast.Slice(lower=ast.expr(), upper=None)):
                stmt = file.parent.get(node)
                again = isinstance(stmt, ast.Assign) and [*map(ast.unparse, stmt.targets)] == [ast.unparse(items)]
                return _SLICE if again and self.queues.long_queue(file, node, items) else None
        return None


def _is_share(taken: ast.Slice) -> bool:
    """Whether a slice takes a share of what a list may hold, ``rows[: capacity // 100]``, which comes seldom."""
    operators = [part.op for part in ast.walk(taken) if isinstance(part, ast.BinOp)]
    return any(isinstance(each, (ast.FloorDiv, ast.Div, ast.Mult)) for each in operators)


class ListAsQueue(Rule):
    """A long list is used as a queue."""

    code = "NEW705"
    name = "new-list-as-queue"
    summary = "a long list is used as a queue"
    trigger = Found(Fronts)
    least = Frequency.UPDATE

    def check(self, site: Site) -> Iterator[Report]:
        """Report work at the front of a list that may be long, but for a list of TorchScript."""
        if site.compiling.scripted():
            return
        message = site.fact(Fronts).message(site.file, site.twin)
        if message == _REACH or (message is not None and site.hot.here.frequency >= Frequency.STEP):
            yield Report(site.node, message)
