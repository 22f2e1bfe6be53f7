"""Modules that compute a loss: they run once per gradient update, and never to choose an action."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.code.model import Bind, Scope, is_super
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.models import Word, last_names

# A word of a name: "TripletLoss", "actor_loss", "WassersteinCriterion".
_LOSS = Word("loss")
_TARGETS = Word("targets of a loss")
_FUNCTIONS = last_names(loss=True)
_BRANCHING = (ast.If, ast.IfExp, ast.Try, ast.Lambda)


def is_criterion(project: Project, forward: Scope) -> bool:
    """Return whether ``forward`` of a module computes a loss, by the name of its class, its bases or its calls.

    A language model that computes a loss where labels are given also runs without them.
    """
    owner = forward.method_of
    if owner is None:
        return False
    if any(_LOSS.fits(name.rpartition(".")[2]) for name in project.ancestry(owner.dotted)):
        return True
    return _needs_targets(forward) or any(_names_loss(call) for call in _always(forward))


def _needs_targets(forward: Scope) -> bool:
    """Whether a function has to be given targets."""
    needed = (binding for name in forward.params for binding in forward.bindings.get(name, ()))
    return any(
        binding.how is Bind.PARAM and binding.value is None and _TARGETS.fits(binding.target) for binding in needed
    )


def _always(forward: Scope) -> Iterator[ast.Call]:
    """The calls of a function itself that no branch decides on."""
    for call in forward.calls:
        if not any(isinstance(node, _BRANCHING) for node in _around(forward, call)):
            yield call


def _around(scope: Scope, node: ast.AST) -> Iterator[ast.AST]:
    for parent in scope.file.ancestors(node):
        if parent is scope.node:
            return
        yield parent


def _names_loss(call: ast.Call) -> bool:
    func = call.func
    if isinstance(func, ast.Attribute) and is_super(func.value):
        return False
    name = last_name(func)
    return name in _FUNCTIONS or _LOSS.fits(name)
