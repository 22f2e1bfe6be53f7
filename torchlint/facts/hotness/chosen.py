"""Branches that callers choose by a constant: ``sample(obs, explore=False)`` does not come to that of ``explore``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torchlint.facts.code.callers import Caller, passed
from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.values.signatures import starred
from torchlint.late import dataclass

COMPARING: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A test of a parameter, and the truth value for which code runs."""

    parameter: Binding
    test: ast.expr
    truth: bool

    def allows(self, caller: Caller) -> bool:
        """Whether a call may lead to the code: it gives no constant, or one for which the test has that truth value."""
        scope = self.parameter.scope
        if scope is None or starred(caller.call):
            return True
        given = passed(scope, self.parameter.target, caller) or self.parameter.value
        return not isinstance(given, ast.Constant) or holds(self.test, given.value) is not (not self.truth)


def choices(project: Project, facts: FileFacts, test: ast.expr, truth: bool) -> Iterator[Choice]:
    """The tests of parameters that all have to end in one way for a condition to have a truth value."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from choices(project, facts, operand, not truth)
        case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is truth:
            for part in parts:
                yield from choices(project, facts, part, truth)
        case (ast.Name() as name) | ast.Compare(left=ast.Name() as name, ops=[_], comparators=[ast.Constant()]):
            bindings = project.reaching(facts, name).bindings
            binding = next(iter(bindings)) if len(bindings) == 1 else None
            scope = facts.scope_of(name).function
            if binding is not None and binding.how is Bind.PARAM and binding.scope is scope:
                if binding.target in scope.params and binding.target != scope.self_name:
                    yield Choice(binding, test, truth)


def holds(test: ast.expr, value: object) -> bool | None:
    """What a test of a name gives for a value, ``None`` where that is not known."""
    if isinstance(test, ast.Name):
        return bool(value)
    match test:
        case ast.Compare(ops=[op], comparators=[ast.Constant(value=other)]) if type(op) in COMPARING:
            try:
                return bool(COMPARING[type(op)](value, other))
            except TypeError:  # None < 1
                return None
    return None
