"""NEW705: TL705 with a fact that rests on another one of torchlint."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.state.queues import Queues
from torchlint.rule import Frequency, Level, Method, Report, Rule, Site


@dataclass
class Fronts(Fact):
    """Finds calls that work at the front of a long list."""

    queues: Queues

    def method(self, file: FileFacts, node: ast.AST) -> str | None:
        """The method of such a call."""
        match node:
            case ast.Call(func=ast.Attribute(attr="pop" as method), args=[ast.Constant(0)]):
                pass
            case ast.Call(func=ast.Attribute(attr="insert" as method), args=[ast.Constant(0), _]):
                pass
            case _:
                return None
        return method if self.queues.long_list(file, node) else None


class ListAsQueue(Rule):
    """A long list is used as a queue."""

    code = "NEW705"
    name = "new-list-as-queue"
    summary = "a long list is used as a queue"
    trigger = Method("pop", "insert")
    least = Frequency.STEP

    def check(self, site: Site) -> Iterator[Report]:
        """Report work at the front of a list that may be long, but for a list of TorchScript."""
        if site.compiling.scripted():
            return
        method = site.fact(Fronts).method(site.file, site.twin)
        if method == "pop":
            yield Report(site.node, "`pop(0)` moves all other elements of the list; use a deque")
        elif method == "insert":
            message = "`insert(0, ...)` moves all elements of the list in every round; append, and reverse once"
            yield Report(site.node, message, level=Level.NOTE)
