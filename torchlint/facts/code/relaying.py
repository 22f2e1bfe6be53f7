"""Calls through a cluster: ``worker.fit.remote(batch)`` runs ``worker.fit`` in another process."""

from __future__ import annotations

import ast

from torchlint.facts.code.project import Project
from torchlint.models import function_names, method_names

RELAYING = function_names(relays=True)
"""Decorators that let a function or class run in other processes."""
HANDING = function_names(hands=True)
"""Functions that give their first argument, or what it is a handle of: ``ray.get(result)``, ``asyncio.run(main())``."""
_RELAYS = method_names(relays=True)
_CONFIGURES = method_names("ActorClass", returns="receiver")


def relayed(project: Project, func: ast.expr) -> ast.expr | None:
    """What a call means to run: ``worker.fit`` of ``worker.fit.remote``, ``Worker`` of ``Worker.options().remote``.

    ``None`` where a call runs what it names. A project that has methods of that name itself may mean these.
    """
    if not isinstance(func, ast.Attribute) or func.attr not in _RELAYS or project.methods.get(func.attr):
        return None
    inner = func.value
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in _CONFIGURES:
        inner = inner.func.value
    return inner


def meant(project: Project, call: ast.Call) -> ast.expr:
    """The expression that a call runs, in this process or in another one."""
    inner = relayed(project, call.func)
    return call.func if inner is None else inner
