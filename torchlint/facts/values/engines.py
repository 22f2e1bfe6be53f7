"""What frameworks give back that wrap models and optimizers for training, or add adapters: what they were given."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchlint.facts.code.alike import alike
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import tuple_of
from torchlint.facts.values.signatures import Of, argument, starred, table
from torchlint.models import protocols
from torchlint.rule import UNKNOWN, Device, Kind, Value

_PREPARED = frozenset({Kind.MODULE, Kind.OPTIMIZER, Kind.ENV})
_SOME_MODULE = Value(Kind.MODULE)  # of a class that is not known
_WRAPPED = frozenset({Kind.MODULE, Kind.OPTIMIZER, Kind.INSTANCE, Kind.LIST})


def wrapped(name: str, node: ast.Call, of: Of) -> Value | None:
    """Return the value of a call that wraps its arguments, ``None`` for another call.

    Calling what wraps a model runs the model, so it counts as the model itself.
    """
    known = table()["wrapping"]
    if name in known["functions"]:
        position, option = known["functions"][name]
        part = _part(argument(node, position, option), of)
        part = part if part.known else _SOME_MODULE  # they take nothing else
        return _padded([part], known["parts"][name]) if name in known["parts"] else part
    func = node.func
    if not isinstance(func, ast.Attribute) or starred(node):
        return None
    holder = func.value.attr if isinstance(func.value, ast.Attribute) else getattr(func.value, "id", "")
    if func.attr not in known["methods"].get(holder.lstrip("_"), ()):
        return None
    parts = [_part(given, of) for given in node.args]
    if func.attr in known["parts"]:
        return _padded(parts, known["parts"][func.attr])
    return parts[0] if len(parts) == 1 else tuple_of(*parts)


def renewed(node: ast.Call, stmt: ast.AST | None, of: Of) -> Value:
    """Return the value of an unknown call whose result takes the name of what it was given: ``model = shard(model)``.

    Such a call prepares a model, an optimizer or an environment, so its result counts as what it was given, in tuples
    place by place.
    """
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1 or starred(node):
        return UNKNOWN
    given = [part for part in node.args if isinstance(part, (ast.Name, ast.Attribute))]
    target = stmt.targets[0]
    if isinstance(target, ast.Tuple):
        parts = [_prepared(given, part, of) for part in target.elts]
        return tuple_of(*parts) if any(part.known for part in parts) else UNKNOWN
    return _prepared(given, target, of)


def _prepared(given: Iterable[ast.expr], target: ast.expr, of: Of) -> Value:
    """The value of the argument that a target is the name of."""
    read = next((part for part in given if alike(part, target)), None)
    value = of(read) if read is not None else UNKNOWN
    return value if value.kind in _PREPARED else UNKNOWN


def _part(node: ast.expr | None, of: Of) -> Value:
    value = of(node) if node is not None else UNKNOWN
    return value if value.kind in _WRAPPED else UNKNOWN


def _padded(parts: list[Value], length: int) -> Value:
    return tuple_of(*parts, *[UNKNOWN] * max(length - len(parts), 0))


def answers_on_host(ask: Ask, base: str, attr: str) -> bool:
    """Return whether what a framework holds under ``attr`` answers calls with tensors on the host.

    It answers with what methods of the project's classes give, and all of these give it there. ``base`` is a class of
    the framework from which the holder derives.
    """
    owner, _, method = protocols.answers(base).get(attr, "").rpartition(".")
    if not owner:
        return False
    top, project = base.partition(".")[0], ask.project
    asked = (each for each in project.children if each.startswith(f"{top}.") and each.endswith(f".{owner}"))
    found = (project.implementations(cls.dotted, method) for each in asked for cls in project.descendants(each))
    results = [ask.returned(methods) for methods in found if methods]
    return bool(results) and all(each is not None and each.device is Device.CPU for each in results)
