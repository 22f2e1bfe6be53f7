"""What a program runs once: functions that modules call outside of loops."""

from __future__ import annotations

import ast
from itertools import takewhile

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import COMPREHENSIONS, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.room import roomy
from torchlint.facts.code.tree import arguments_of

_AGAIN = (ast.For, ast.AsyncFor, ast.While, ast.Lambda, *COMPREHENSIONS)


class Programs:
    """Finds the functions that a program runs once: what they do outside of their loops is set-up."""

    def __init__(self, project: Project, graph: CallGraph) -> None:
        """Note which functions are handed on: by name, and by file where the file that hands it on defines it."""
        self.graph = graph
        self.known: dict[Scope, bool] = {}
        self.handed: set[str | tuple[str, str]] = set()
        for facts in project.files.values():
            own = {name for name, bound in facts.top.bindings.items() if any(each.scope is not None for each in bound)}
            for call in (call for scope in facts.scopes for call in scope.calls):
                for value in arguments_of(call):
                    if isinstance(value, ast.Attribute):
                        self.handed.add(value.attr)
                    elif isinstance(value, ast.Name):
                        self.handed.add((facts.path, value.id) if value.id in own else value.id)

    @roomy
    def once(self, scope: Scope) -> bool:
        """Return whether all known places that run a function are in no loop, in a module or in such a function.

        A method may be called by code that is not seen, and so may a function that is handed on.
        """
        if scope.kind == "module":
            return True
        if scope not in self.known:
            self.known[scope] = False  # what calls itself may run often
            handed = scope.name in self.handed or (scope.file.path, scope.name) in self.handed
            plain = scope.kind == "function" and scope.method_of is None and not handed
            places = list(self.graph.places(scope)) if plain and scope not in self.graph.runs else []
            self.known[scope] = bool(places) and all(self._once(facts, node) for facts, node in places)
        return self.known[scope]

    def _once(self, facts: FileFacts, node: ast.AST) -> bool:
        home = facts.scope_of(node).function
        inside = takewhile(lambda around: around is not home.node, facts.ancestors(node))
        again = any(isinstance(around, _AGAIN) for around in inside)
        return node not in self.graph.weak and not again and self.once(home)
