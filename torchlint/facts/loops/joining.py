"""Whether what a loop collects becomes one tensor or array."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.code.model import COMPREHENSIONS, FileFacts
from torchlint.facts.code.nesting import LoopNode, code_of
from torchlint.facts.code.project import Project
from torchlint.late import dataclass
from torchlint.models import function_names, method_names

JOINS = function_names(joins=("parts", "elements"))
"""Functions that make one tensor or array of many."""

_SAME = function_names("builtins", makes="sequence")
_ADDING = method_names("list", adds=True)


@dataclass(eq=False, slots=True)
class Joining:
    """Finds where collections become one tensor or array, in the function that makes them."""

    project: Project

    def joins(self, facts: FileFacts, node: ast.expr, loop: LoopNode) -> bool:
        """Whether the collection that a loop puts an expression into is joined."""
        if isinstance(loop, COMPREHENSIONS):
            return self._is_joined(facts, loop)
        collector = self._collector(facts, node)
        if collector is None:
            return False
        return any(self._is_joined(facts, use) for use in self._uses(facts, collector))

    def _collector(self, facts: FileFacts, node: ast.expr) -> ast.Name | None:
        """The name of the list that an expression is appended to, perhaps in a tuple or after further calls."""
        current: ast.AST | None = node
        while isinstance(current, (ast.expr, ast.keyword)):
            parent = facts.parent.get(current)
            if isinstance(parent, ast.Call) and parent.func is not current and isinstance(parent.func, ast.Attribute):
                if parent.func.attr in _ADDING and isinstance(parent.func.value, ast.Name):
                    return parent.func.value
            current = parent
        return None

    def _is_joined(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a collection is handed to a function that joins it, by itself or under a name."""
        todo, seen = [node], set[ast.expr]()
        while todo:
            current = todo.pop()
            if current in seen:
                continue
            seen.add(current)
            parent = facts.parent.get(current)
            if isinstance(parent, ast.keyword):
                parent = facts.parent.get(parent)
            if isinstance(parent, ast.Call) and parent.func is not current:
                name = self.project.qualified(facts, parent.func)
                if name in JOINS:
                    return True
                todo.extend([parent] if name in _SAME else [])
            elif isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
                todo.extend(self._uses(facts, parent.targets[0], parent))
            elif isinstance(parent, (ast.Tuple, ast.List, *COMPREHENSIONS)):
                todo.append(parent)
        return False

    def _uses(self, facts: FileFacts, name: ast.Name, stmt: ast.stmt | None = None) -> Iterator[ast.Name]:
        """Where the function reads a name; after ``stmt`` binds it where that is given."""
        for part in code_of(facts.scope_of(name).function):
            if isinstance(part, ast.Name) and part.id == name.id and isinstance(part.ctx, ast.Load):
                bindings = self.project.reaching(facts, part).bindings if stmt is not None else ()
                if stmt is None or (facts.statement(part) is not stmt and any(b.stmt is stmt for b in bindings)):
                    yield part
