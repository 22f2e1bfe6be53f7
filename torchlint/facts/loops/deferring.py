"""What a loop may as well leave for the end: which loop around a statement does nothing else with a local name."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FUNCTIONS, LOOPS, FileFacts
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.nesting import around, in_main_block
from torchlint.facts.code.project import Project
from torchlint.late import dataclass

Loop = ast.For | ast.AsyncFor | ast.While
_QUIET = ("torch.", "tqdm.")
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))


@dataclass(eq=False, slots=True)
class Deferring(Fact):
    """Finds the loop behind which work on a local name can be done that statements do in each round."""

    project: Project

    def is_local(self, facts: FileFacts, stmt: ast.stmt, name: str) -> bool:
        """Return whether a name belongs to the function of a statement alone, and is not a parameter.

        So does a name of the module that only a program has, which no function of the file reads.
        """
        scope = facts.scope_of(stmt)
        if scope.kind == "module":
            own = all(facts.scope_of(part).function is scope for part in mentions_of(facts, facts.tree, name))
            return own and name in scope.bindings and in_main_block(facts, stmt)
        elsewhere = name in scope.globals or name in scope.shared or name in scope.params
        return scope.kind == "function" and name in scope.bindings and not elsewhere

    def loop(
        self, facts: FileFacts, stmt: ast.stmt, name: str, keeps: Callable[[ast.stmt | None, ast.Name], bool]
    ) -> Loop | None:
        """Return the outermost loop around a statement in which every statement with a name only stores into it.

        ``None`` where there is none, or what follows the loop may not run although the function goes on.
        """
        found: Loop | None = None
        for loop in around(facts, stmt):
            mentions = mentions_of(facts, loop, name)
            if not isinstance(loop, LOOPS) or not all(keeps(facts.statement(part), part) for part in mentions):
                break
            found = loop
        return found if found is not None and self._is_followed(facts, found) else None

    def _is_followed(self, facts: FileFacts, loop: Loop) -> bool:
        """Whether what follows a loop runs whenever the loop is left, other than by what ends the call."""
        for node in facts.ancestors(loop):
            if isinstance(node, FUNCTIONS):
                return not facts.scope_of(loop).function.yields
            if isinstance(node, _TRIES):
                return False
            if isinstance(node, (ast.With, ast.AsyncWith)):
                names = (self.project.qualified(facts, _called(item.context_expr)) or "" for item in node.items)
                if not all(name.startswith(_QUIET) for name in names):
                    return False
        return in_main_block(facts, loop)


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node
