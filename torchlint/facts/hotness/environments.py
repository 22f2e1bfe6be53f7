"""Classes of a project that are environments: by what they have, or by a base that is a module as well."""

from __future__ import annotations

import ast

from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.phases import STEP
from torchlint.facts.hotness.protocols import EntryPoint
from torchlint.rule import Frequency

_LEAST, _MOST = 3, 6
"""What a step gives: observation, reward and done, with information, a second end, or the state of all agents."""
_ENTRY = EntryPoint(Frequency.STEP, frozenset({STEP}), "whoever steps the environment", guessed=True)

_MODULES = "torchrl.envs."


def is_module_and_environment(project: Project, cls: str) -> bool:
    """Return whether a class derives from an environment of TorchRL, whose environments are modules."""
    line = project.ancestry(cls)
    return any(name.startswith(_MODULES) and name.endswith(("Env", "EnvBase")) for name in line)


def entry_of(project: Project, cls: Scope) -> dict[str, EntryPoint]:
    """Return the methods that run once per step of an environment: its ``step``, for it has ``reset`` as well."""
    steps = [binding.scope for binding in cls.bindings.get("step", ()) if binding.scope is not None]
    if len(steps) != 1 or project.method(cls.dotted, "reset") is None or not _is_step(steps[0]):
        return {}
    return {"step": _ENTRY}


def _is_step(step: Scope) -> bool:
    """Whether a method takes actions and gives, wherever it returns, a tuple as environments do."""
    given = [each.value for each in step.returns]
    tuples = [node for node in given if isinstance(node, ast.Tuple) and _LEAST <= len(node.elts) <= _MOST]
    return len(step.params) > 1 and bool(given) and len(tuples) == len(given)
