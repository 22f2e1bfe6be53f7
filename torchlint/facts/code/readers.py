"""Functions that do nothing but copy their argument to the host: ``def to_np(x): return x.detach().cpu().numpy()``."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FUNCTIONS, FileFacts, Scope
from torchlint.facts.code.tree import is_docstring
from torchlint.late import dataclass
from torchlint.models import method_names

_COPIES = method_names(waits="reads", returns=("tensor", "array", "list"))
_METHODS = frozenset({"detach", "clone", "contiguous", "squeeze", "flatten", "ravel", "astype", "float", "to"})
_ATTRIBUTES = frozenset({"data"})


@dataclass(eq=False, slots=True)
class Readers(Fact):
    """Answers which functions only copy their argument to the host."""

    graph: CallGraph
    _found: dict[Scope, bool] = field(default_factory=dict)

    def called(self, call: ast.Call) -> bool:
        """Return whether all functions that a call can reach only copy to the host."""
        targets = self.graph.sure(call)
        return bool(targets) and all(self.only_copies(target) for target in targets)

    def within(self, facts: FileFacts, node: ast.AST) -> bool:
        """Return whether a node is in a function that only copies to the host."""
        return self.only_copies(facts.scope_of(node).function)

    def only_copies(self, function: Scope) -> bool:
        """Return whether a function returns its first argument copied to the host, and does nothing else.

        It may give back as it is what needs no copy: ``if isinstance(x, np.ndarray): return x``.
        """
        found = self._found.get(function)
        if found is None:
            found = self._found[function] = _copies(function)
        return found


def _copies(function: Scope) -> bool:
    node = function.node
    result: ast.expr | None = None
    if isinstance(node, ast.Lambda):
        result = node.body
    elif isinstance(node, FUNCTIONS):
        body = [stmt for stmt in node.body if not is_docstring(stmt)]
        body = [stmt for stmt in body if not _gives_back(stmt, function)]
        if len(body) == 1 and isinstance(body[0], ast.Return):
            result = body[0].value
    methods: list[str] = []
    while isinstance(result, (ast.Call, ast.Attribute)):
        if isinstance(result, ast.Call):
            result = result.func
            if not isinstance(result, ast.Attribute) or (result.attr not in _COPIES and result.attr not in _METHODS):
                return False
            methods.append(result.attr)
        elif result.attr not in _ATTRIBUTES:
            return False
        result = result.value
    given = function.positional[bool(function.self_name) :]
    return isinstance(result, ast.Name) and result.id in given[:1] and any(method in _COPIES for method in methods)


def _gives_back(stmt: ast.stmt, function: Scope) -> bool:
    """Whether a statement returns the argument as it is where it is nothing to copy: ``if is_array(x): return x``."""
    given = function.positional[bool(function.self_name) :]
    match stmt:
        case ast.If(test=ast.Call() | ast.UnaryOp(op=ast.Not(), operand=ast.Call()), body=[ast.Return(value=back)]):
            return not stmt.orelse and isinstance(back, ast.Name) and back.id in given[:1]
    return False
