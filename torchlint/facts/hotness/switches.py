"""Whether a plain run of the program comes to a line, or only one that asks for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts, Scope, decorators
from torchlint.facts.code.room import roomy
from torchlint.facts.code.tree import names_in
from torchlint.facts.hotness.coldness import cold_file
from torchlint.facts.hotness.conditions import is_debug_flag
from torchlint.facts.hotness.hotness import Heat
from torchlint.late import dataclass, regex
from torchlint.models import Word
from torchlint.rule import Frequency

_COMPILE = "torch.compile"
# Words of conditions that ask what the machine is, or whether something was set before, but not what the user wants.
_MACHINE = Word("property of the machine")
_SWITCH = regex(r"(^|_)(debug\w*|profil\w+|trac(e|ing)|anomal\w+|diagnos\w+|inspect\w*)($|_)", re.IGNORECASE)
_CALLED_BY_PYTHON = frozenset({"property", "staticmethod", "classmethod", "contextmanager", "wraps", "abstractmethod"})


@dataclass(eq=False, slots=True)
class Switches(Fact):
    """Climbs from a line through conditions and callers up to the top of a module."""

    heat: Heat
    _known: dict[Scope, bool] = field(default_factory=dict)
    _compiling: dict[FileFacts, bool] = field(default_factory=dict)

    def compiles(self, facts: FileFacts) -> bool:
        """Return whether a file has torch compile something, whatever the settings say."""
        if facts not in self._compiling:
            self._compiling[facts] = b"compile" in facts.source.utf8 and self._compiles(facts)
        return self._compiling[facts]

    def _compiles(self, facts: FileFacts) -> bool:
        qualified = self.heat.project.qualified
        if cold_file(facts):
            return False
        if any(qualified(facts, each) == _COMPILE for scope in facts.scopes for each in decorators(scope.node)):
            return True
        calls = (call for scope in facts.scopes for call in scope.calls if qualified(facts, call.func) == _COMPILE)
        return any(self.runs_anyway(facts, call) for call in calls)

    def runs_anyway(self, facts: FileFacts, node: ast.AST) -> bool:
        """Return whether nothing but the machine decides that a node runs, in its function and on one known way to it.

        False in tests, demos and profiling scripts, and in functions that nothing is known to call.
        """
        if cold_file(facts):
            return False
        scope = facts.scope_of(node).function
        return not self._conditional(facts, node, scope) and self._entered(scope)

    def _entered(self, scope: Scope) -> bool:
        if scope not in self._known:
            self._known[scope] = False  # a function that only calls itself is not entered
            self._known[scope] = self._enters(scope)
        return self._known[scope]

    @roomy
    def _enters(self, scope: Scope) -> bool:
        if scope.kind == "module":
            return True
        if scope.kind != "function":
            return self.runs_anyway(scope.file, scope.node)
        if _SWITCH.search(scope.name):
            return False
        if scope.name == "main" or any(name not in _CALLED_BY_PYTHON for name in scope.decorator_names):
            return True
        body = getattr(scope.node, "body", None)
        first = body[0] if isinstance(body, list) and body else scope.node
        if self.heat.frequency(scope.file, first) > Frequency.ONCE:
            return True
        return any(self.runs_anyway(facts, place) for facts, place in self.heat.graph.places(scope))

    def _conditional(self, facts: FileFacts, node: ast.AST, scope: Scope) -> bool:
        """Whether a condition in the function decides about a node."""
        child, current = node, facts.parent.get(node)
        while True:
            if isinstance(child, ast.stmt) and child in facts.places and _left_before(*facts.places[child]):
                return True
            if current is None or current is scope.node:
                return False
            if _decides(current, child):
                return True
            child, current = current, facts.parent.get(current)


def _decides(node: ast.AST, child: ast.AST) -> bool:
    """Whether a node runs a child only sometimes, because someone wants it or because something failed."""
    match node:
        case ast.If() | ast.IfExp():
            return child is not node.test and not _asks_machine(node.test)
        case ast.While():
            return child in node.orelse
        case ast.BoolOp():
            return child is not node.values[0] and not all(map(_asks_machine, node.values[:1]))
        case ast.ExceptHandler() | ast.match_case():
            return True
    return False


def _left_before(block: Sequence[ast.stmt], index: int) -> bool:
    """Whether a statement before one of a block may leave the function: ``if not profile: return``."""
    return any(
        isinstance(stmt, ast.If) and not _asks_machine(stmt.test) and isinstance(stmt.body[-1], ast.Return)
        for stmt in block[:index]
    )


def _asks_machine(test: ast.expr) -> bool:
    """Whether a condition asks only about the machine, or whether a variable of the environment is there already."""
    if isinstance(test, ast.BoolOp):
        return all(map(_asks_machine, test.values))
    if isinstance(test, ast.UnaryOp):
        return _asks_machine(test.operand)
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if is_debug_flag(test):
        return False
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.In, ast.NotIn)):
        return "environ" in names_in(test.comparators[0])
    return any(_MACHINE.fits(word.lower()) for word in names_in(test))
