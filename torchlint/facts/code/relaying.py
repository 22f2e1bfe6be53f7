"""Calls through a cluster: ``worker.fit.remote(batch)`` runs ``worker.fit`` in another process."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchlint.facts.code.model import COMPREHENSIONS, Scope, decorators
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import receiver_of, walk
from torchlint.models import function_names, method_names

RELAYING = function_names(relays=True)
"""Decorators that let a function or class run in other processes."""
HANDING = function_names(hands=True)
"""Functions that give their first argument, or what it is a handle of: ``ray.get(result)``, ``asyncio.run(main())``."""
DECLARING = function_names(declares=True)
"""Functions that give their second argument, and name its type in the first: ``typing.cast``."""
NAMING = method_names(names="method")
"""Methods of engines that run a method of their workers: ``llm.collective_rpc("reload")``."""
_WITH_ACCELERATORS = "num_gpus"
_GIVING = function_names(accelerators=_WITH_ACCELERATORS)
_RELAYS = method_names(relays=True)
_RECEIVES = method_names(receives=True, elsewhere=False)
_CONFIGURES = method_names("ActorClass", returns="receiver")


def handed_on(name: str | None, call: ast.Call) -> ast.expr | None:
    """Return the argument that a call of a function gives as it is, ``None`` for any other call."""
    if name in HANDING and call.args:
        return call.args[0]
    return call.args[1] if name in DECLARING and len(call.args) == 2 else None


def relayed(project: Project, func: ast.expr) -> ast.expr | None:
    """Return what a call means to run: ``worker.fit`` of ``worker.fit.remote``, ``W`` of ``W.options().remote``.

    ``None`` where a call runs what it names. A project that has methods of that name itself may mean these.
    """
    if not isinstance(func, ast.Attribute) or project.methods.get(func.attr):
        return None
    return _behind(func)


def _behind(func: ast.Attribute) -> ast.expr | None:
    """What stands before the name that relays a call, without its settings."""
    if func.attr not in _RELAYS:
        return None
    return receiver_of(func.value, _CONFIGURES)


def meant(project: Project, call: ast.Call) -> ast.expr:
    """Return the expression that a call runs, in this process or in another one."""
    inner = relayed(project, call.func)
    return call.func if inner is None else inner


def runs_without_accelerator(project: Project, function: Scope, calls: Iterable[ast.Call]) -> bool:
    """Return whether a function runs as a task whose process has no accelerator, by its decorator and all its calls.

    ``@ray.remote`` without ``num_gpus``, where no call is one of ``f.options(num_gpus=1)``.
    """
    written = getattr(function.node, "decorator_list", [])
    if not written or project.qualified(function.file, decorators(function.node)[0]) not in _GIVING:
        return False
    settings = [written[0], *(part for call in calls for part in walk(call.func))]
    return not any(
        word.arg in (_WITH_ACCELERATORS, None)
        for each in settings
        if isinstance(each, ast.Call)
        for word in each.keywords
    )


def fans_out(node: ast.AST, loop: ast.AST) -> bool:
    """Return whether a loop runs a relayed call on each of several handles, so that each process runs it once a round.

    ``refs = [worker.fit.remote(batch) for worker in workers]``. So does one that asks each of several processes for its
    answer: ``for conn in conns: obs, reward, done, info = conn.recv()``.
    """
    func = node.func if isinstance(node, ast.Call) else None
    if not isinstance(func, ast.Attribute):
        return False
    inner = func.value if func.attr in _RECEIVES else _behind(func)
    if inner is None:
        return False
    if isinstance(loop, COMPREHENSIONS):
        targets = [clause.target for clause in loop.generators]
    elif isinstance(loop, (ast.For, ast.AsyncFor, ast.comprehension)):
        targets = [loop.target]
    else:
        return False
    names = {part.id for part in walk(inner) if isinstance(part, ast.Name)}
    return any(isinstance(part, ast.Name) and part.id in names for target in targets for part in walk(target))
