"""Functions that give an argument in another form: moved, cast, reshaped."""

from __future__ import annotations

import ast

from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.models import last_names

_FORMING = last_names(moves=True) | last_names("torch.Tensor torch", elements="all")


def converted_parameter(project: Project, function: Scope, result: ast.expr) -> str:
    """Return the parameter, not the object itself, of which a result of a function is another form; empty for others.

    ``x`` of ``y = x.to(device)`` and ``return y.float()``.
    """
    seen: set[ast.expr] = set()
    node = result
    while node not in seen:
        seen.add(node)
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _FORMING:
                node = inner
            case ast.Name():
                reached = project.reaching(function.file, node)
                if reached.parameter is not None and reached.parameter.scope is function:
                    name = reached.parameter.target
                    return name if name != function.self_name else ""
                node = reached.value or node
    return ""
