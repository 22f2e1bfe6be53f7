"""Branches that callers choose: ``sample(obs, explore=False)`` does not come to that of ``explore``.

They choose by a constant, or by the type of what they give: a tensor does not come to the branch for arrays. A caller
that hands on a parameter of its own leaves the choice to its callers.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torchlint.facts.code.callers import Caller, passed
from torchlint.facts.code.model import Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import conjuncts, constant_of
from torchlint.facts.values.signatures import starred
from torchlint.late import dataclass
from torchlint.rule import Kind

if TYPE_CHECKING:
    from torchlint.facts.values.values import Values


def _same(one: object, other: object) -> bool:
    """Whether two literals are one object where Python keeps equal ones once: ``status is "train"``."""
    return one is other or (type(one) is type(other) and one == other)


COMPARING: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Is: _same,
    ast.IsNot: lambda one, other: not _same(one, other),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}

_TYPES = {"torch.Tensor": Kind.TENSOR, "numpy.ndarray": Kind.NDARRAY}


@dataclass(frozen=True, slots=True)
class Choice:
    """A test of a parameter, and the truth value for which code runs; ``kind`` where it asks for a type.

    ``default`` is what calls that leave the parameter out give.
    """

    scope: Scope
    name: str
    default: ast.expr | None
    test: ast.expr
    truth: bool
    kind: Kind | None = None

    def allows(self, caller: Caller, values: Values | None) -> bool:
        """Return whether a call may lead to the code: its argument is unknown, or makes the test come out so.

        Without values, types are unknown.
        """
        given = passed(self.scope, self.name, caller)
        if given is None and starred(caller.call):
            return True
        if self.kind is not None:
            kind = values.of(caller.facts, given).kind if given is not None and values else Kind.UNKNOWN
            return kind is Kind.UNKNOWN or (kind is self.kind) is self.truth
        known = constant_of(given or self.default)
        return known is None or holds(self.test, known.value) is not (not self.truth)

    def handed(self, project: Project, caller: Caller) -> Choice | None:
        """Return the choice that the callers of a caller have, where it hands on a parameter of its own as it is.

        Also one that it hands on with all other keywords: ``return self.forward(**settings)``.
        """
        given = passed(self.scope, self.name, caller)
        if given is None:
            home = caller.facts.scope_of(caller.call).function
            return replace(self, scope=home) if _hands_rest(home, caller.call, self.name) else None
        own = _parameter(project, caller.facts, given) if isinstance(given, ast.Name) else None
        if own is None or own.scope is None:
            return None
        return replace(self, scope=own.scope, name=own.target, default=own.value)


def choices(project: Project, facts: FileFacts, test: ast.expr, truth: bool) -> Iterator[Choice]:
    """Yield the tests of parameters that all have to end in one way for a condition to have a truth value."""
    for part, way in conjuncts(test, truth):
        yield from _tested(project, facts, part, way)


def _tested(project: Project, facts: FileFacts, test: ast.expr, truth: bool) -> Iterator[Choice]:
    """The choice that one test is."""
    match test:
        case ast.Name() as name:
            yield from _choice(project, facts, name, test, truth)
        case ast.Compare(left=ast.Name() as name, ops=[_], comparators=[other]) if constant_of(other) is not None:
            yield from _choice(project, facts, name, test, truth)
        case ast.Call(func=func, args=[ast.Name() as name, *types], keywords=[]):
            asked = project.qualified(facts, func)
            kind = Kind.TENSOR if asked == "torch.is_tensor" and not types else None
            if asked == "builtins.isinstance" and types:
                kind = _TYPES.get(project.qualified(facts, types[0]) or "")
            if kind is not None:
                yield from _choice(project, facts, name, test, truth, kind)
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="type"), args=[ast.Name() as name]), ops=[op], comparators=[of]
        ):
            kind = _TYPES.get(project.qualified(facts, of) or "")
            if kind is not None and isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
                yield from _choice(project, facts, name, test, isinstance(op, (ast.Is, ast.Eq)) is truth, kind)


def _choice(
    project: Project, facts: FileFacts, name: ast.Name, test: ast.expr, truth: bool, kind: Kind | None = None
) -> Iterator[Choice]:
    """The choice that a test of a name is, if the name is a parameter with the value that calls give it."""
    binding = _parameter(project, facts, name)
    if binding is not None and binding.scope is not None:
        yield Choice(binding.scope, binding.target, binding.value, test, truth, kind)


def _parameter(project: Project, facts: FileFacts, name: ast.Name) -> Binding | None:
    """The parameter of the function around a name that the name reads, where nothing but the call sets it."""
    binding = project.reaching(facts, name).parameter
    scope = facts.scope_of(name).function
    if binding is None or binding.scope is not scope:
        return None
    return binding if binding.target in scope.params and binding.target != scope.self_name else None


def _hands_rest(function: Scope, call: ast.Call, name: str) -> bool:
    """Whether a call in a function hands on all keywords that the function has no parameter for."""
    rest = function.rest_keywords
    if not rest or name in function.params:
        return False
    handed = (each.value for each in call.keywords if each.arg is None)
    return any(isinstance(node, ast.Name) and node.id == rest for node in handed)


def holds(test: ast.expr, value: object) -> bool | None:
    """Return the truth of a test of a name for a value, ``None`` if that is not known."""
    if isinstance(test, ast.Name):
        return bool(value)
    match test:
        case ast.Compare(ops=[op], comparators=[node]) if type(op) in COMPARING and (other := constant_of(node)):
            try:
                return bool(COMPARING[type(op)](value, other.value))
            except TypeError:  # None < 1
                return None
    return None
