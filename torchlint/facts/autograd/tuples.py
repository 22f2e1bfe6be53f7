"""One element of a tuple that code hands around: through names, attributes and what functions return."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import field

from torchlint.facts.code.callers import Caller, skips, stores_of
from torchlint.facts.code.decorating import keeps_result
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.room import roomy
from torchlint.facts.values.values import Values
from torchlint.late import dataclass

_DEEPEST = 4


@dataclass(eq=False, slots=True)
class Tuples:
    """Finds the expressions that give an element; ``off`` says whether nothing is recorded where an expression runs."""

    project: Project
    graph: CallGraph
    values: Values
    off: Callable[[FileFacts, ast.AST], bool]
    _asked: set[tuple[ast.expr, int]] = field(default_factory=set)

    def drawn(
        self, facts: FileFacts, node: ast.Call, path: tuple[int, ...]
    ) -> tuple[list[tuple[FileFacts, ast.expr]], tuple[int, ...]]:
        """What a loop over ``zip`` or ``enumerate`` draws from for a name, and the rest of its path."""
        name = self.project.qualified(facts, node.func)
        step = path[0] if name == "builtins.zip" else path[0] - 1 if name == "builtins.enumerate" else -1
        if not -1 < step < len(node.args) or any(isinstance(part, ast.Starred) for part in node.args):
            return [(facts, node)], path
        return [(facts, node.args[step])], path[1:]

    @roomy
    def of(self, facts: FileFacts, node: ast.expr, step: int, depth: int = 0) -> list[tuple[FileFacts, ast.expr]]:
        """One element of a tuple, also of what a function returns in every case as one; empty where it is not known."""
        if isinstance(node, ast.Name) and depth < _DEEPEST:
            bound = self.project.reaching(facts, node).bindings
            plain = all(b.how is Bind.ASSIGN and not b.path for b in bound)
            added = added_to(facts, node)
            if added and plain and all(how == "append" for how, _ in added) and all(_is_empty(b) for b in bound):
                return self._picked([(facts, value) for _, value in added], step, depth + 1)
            return self._picked([(facts, b.value) for b in bound], step, depth + 1) if plain and not added else []
        if isinstance(node, (ast.Tuple, ast.List)):
            starred = any(isinstance(part, ast.Starred) for part in node.elts)
            return [(facts, node.elts[step])] if -1 < step < len(node.elts) and not starred else []
        if isinstance(node, ast.Attribute):
            owner = self.values.of(facts, node.value)
            stores = [store for cls in owner.name.split("|") for store in stores_of(self.project, cls, node.attr)]
            held = [(s.scope.file, s.binding.value) for s in stores if not _is_none(s.binding)]
            return self._kept(node, held, step, depth)
        if not isinstance(node, ast.Call) or node in self.graph.weak or self.off(facts, node):
            return []
        match node:
            case ast.Call(args=[ast.Starred(value=ast.Name() as rows)], keywords=[]):
                if self.project.qualified(facts, node.func) == "builtins.zip":
                    return self.of(facts, rows, step, depth)
        targets = self.graph.callees.get(node, ())
        if not all(keeps_result(self.project, target) for target in targets):
            return []
        returned = [
            (t.file, stmt.value) for t in targets for stmt in t.returns if not skips(self._by(node, t), t, stmt)
        ]
        return self._kept(node, returned, step, depth)

    def _kept(
        self, node: ast.expr, places: Sequence[tuple[FileFacts, ast.expr | None]], step: int, depth: int
    ) -> list[tuple[FileFacts, ast.expr]]:
        """The element of what is behind a call or an attribute; nothing is known of what is behind itself."""
        if (node, step) in self._asked:
            return []
        self._asked.add((node, step))
        try:
            return self._picked(places, step, depth)
        finally:
            self._asked.discard((node, step))

    def _by(self, call: ast.Call, function: Scope) -> Caller | None:
        return next((found for found in self.graph.callers.get(function, ()) if found.call is call), None)

    def _picked(
        self, places: Sequence[tuple[FileFacts, ast.expr | None]], step: int, depth: int
    ) -> list[tuple[FileFacts, ast.expr]]:
        """One element of each of some tuples; empty where one of them is not known to be a tuple."""
        found: list[tuple[FileFacts, ast.expr]] = []
        for facts, node in places:
            known = isinstance(node, (ast.Tuple, ast.Attribute, ast.Name)) or (depth and isinstance(node, ast.Call))
            picked = self.of(facts, node, step, depth) if known and node is not None else []
            if not picked:
                return []
            found.extend(picked)
        return found


def added_to(facts: FileFacts, node: ast.Name) -> Sequence[tuple[str, ast.expr]]:
    """What the function of a name puts into what it stands for, each with how: appended, or stored under a key."""
    scope = facts.scope_of(node).function
    kept = (call for _, call in scope.keyed.get(node.id, ()) if call in facts.grows and isinstance(call, ast.Call))
    return [*scope.appends.get(node.id, ()), *(("keyed", call.args[-1]) for call in kept)]


def _is_empty(binding: Binding) -> bool:
    """Whether a name is bound to a list without elements: ``[]``, ``list()``, ``deque(maxlen=n)``."""
    value = binding.value
    return (isinstance(value, ast.List) and not value.elts) or (isinstance(value, ast.Call) and not value.args)


def _is_none(binding: Binding) -> bool:
    return isinstance(binding.value, ast.Constant) and binding.value.value is None
