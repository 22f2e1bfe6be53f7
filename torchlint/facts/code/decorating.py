"""Whether what a function returns is what its call gives: decorators may make anything of it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchlint.facts.code.model import Scope, decorators
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.relaying import RELAYING
from torchlint.models import last_names

_PROPERTIES = last_names(decorates="property")
# By the last component of their name; they leave results as they are.
_KEEPING = frozenset(
    """
    staticmethod classmethod property setter cached_property lazy_property lru_cache cache abstractmethod
    abstractproperty override overrides overload final singledispatch singledispatchmethod wraps deprecated
    no_grad enable_grad inference_mode set_grad_enabled autocast custom_fwd custom_bwd record_function profile
    compile disable optimize allow_in_graph script script_method ignore export unused
    typechecked beartype jaxtyped configurable main cli
    """.split()
)


def is_property(function: Scope) -> bool:
    """Return whether reading an attribute runs a function, once or each time."""
    return not _PROPERTIES.isdisjoint(function.decorator_names)


def keeps_result(project: Project, function: Scope) -> bool:
    """Return whether all decorators of a function hand on what it returns: proven, or known of the name."""
    written = getattr(function.node, "decorator_list", [])
    plain = decorators(function.node)
    return all(_keeps(project, function, each, each is not whole) for each, whole in zip(plain, written, strict=True))


def _keeps(project: Project, function: Scope, decorator: ast.expr, configured: bool) -> bool:
    name = project.qualified(function.file, decorator) or ""
    own = project.functions.get(name)
    if own is None:
        last = last_name(decorator)
        return name in RELAYING or (last in _KEEPING and name not in project.classes)
    return all(map(_hands_on, _returned(own))) and bool(own.returns) if configured else _hands_on(own)


def _hands_on(decorator: Scope | None) -> bool:
    """Whether a decorator gives the function itself, or one of its own that gives what the function gives."""
    if decorator is None or not decorator.params or not decorator.returns:
        return False
    taken, inner = decorator.params[0], _inner(decorator)
    given = [each.value.id if isinstance(each.value, ast.Name) else "" for each in decorator.returns]
    return all(name == taken or (name in inner and _calls_alone(inner[name], taken)) for name in given)


def _calls_alone(wrapper: Scope, taken: str) -> bool:
    """Whether a function returns nothing but the result of a function under a name."""
    results = {
        name
        for name, bound in wrapper.bindings.items()
        if bound and all(not each.path and _is_call_of(each.value, taken) for each in bound)
    }
    given = [each.value for each in wrapper.returns]
    known = all(_is_call_of(node, taken) or (isinstance(node, ast.Name) and node.id in results) for node in given)
    return bool(given) and known and not wrapper.yields


def _is_call_of(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _returned(function: Scope) -> Iterable[Scope | None]:
    """The functions of its own that a function returns; ``None`` where it returns something else."""
    inner = _inner(function)
    return [inner.get(each.value.id) if isinstance(each.value, ast.Name) else None for each in function.returns]


def _inner(function: Scope) -> dict[str, Scope]:
    return {scope.name: scope for scope in function.inner}
