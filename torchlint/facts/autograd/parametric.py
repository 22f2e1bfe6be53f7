"""Which modules have parameters of their own."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.layers import has_parameters, is_bare
from torchlint.facts.autograd.networks import Networks
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import receiver_of, walk
from torchlint.facts.values.signatures import keyword
from torchlint.facts.values.torch_objects import KEEPING
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.models import function_names

# Layers that have parameters unless they are told to have none, and one that has none unless it is told to.
_AFFINE = regex(r"torch\.nn\.(modules\.\w+\.)?((Batch|Layer|Group|Sync|RMS)\w*Norm\w*|(?P<bare>InstanceNorm[123]d))$")
_SEQUENCES = frozenset({"torch.nn.Sequential", "torch.nn.modules.container.Sequential"})
_BARE = function_names(holds="nothing")


@dataclass(eq=False, slots=True)
class Parametric(Fact):
    """Answers whether a module has parameters, with a memory."""

    project: Project
    values: Values
    networks: Networks
    _known: dict[ast.expr, bool] = field(default_factory=dict)
    _own: dict[str, bool] = field(default_factory=dict)

    def known(self, facts: FileFacts, func: ast.expr) -> bool:
        """Return whether a module is known to have parameters."""
        found = self._known.get(func)
        if found is None:
            found = self._known[func] = self._is_parametric(facts, func)
        return found

    def _is_parametric(self, facts: FileFacts, func: ast.expr) -> bool:
        if self._is_bare(facts, func):
            return False
        value = self.values.of(facts, func)
        parts = self.networks.made_of(facts, func)
        if any(has_parameters(part) for part in parts or ()) or has_parameters(value.name):
            return True
        if any(self._own_parameter(cls) for cls in value.name.split("|") if cls in self.project.classes):
            return True
        return parts is None and (
            self.networks.trained(facts, func) is True
            or self.networks.target(facts, func)
            or any(map(has_parameters, self.networks.partly_made_of(facts, func)))
        )

    def _is_bare(self, facts: FileFacts, func: ast.expr) -> bool:
        """Whether all that a callee may be are layers without parameters: ``BatchNorm1d(n, affine=False)``."""
        made = [pair for origin in self.networks.tracer.of(facts, func) for pair in self.networks.tracer.made(origin)]
        return bool(made) and all(self._has_none(file, value) for file, value in made)

    def _has_none(self, facts: FileFacts, node: ast.expr | None) -> bool:
        """Whether an expression makes a layer without parameters, or a sequence of such layers alone."""
        node = None if node is None else receiver_of(node, KEEPING)
        if not isinstance(node, ast.Call):
            return False
        name = self.project.qualified(facts, node.func) or ""
        if name in _SEQUENCES:
            return bool(node.args) and not node.keywords and all(self._has_none(facts, each) for each in node.args)
        found = _AFFINE.match(name)
        if found is None:
            return name in _BARE or is_bare(name)
        told = keyword(node, "affine") or keyword(node, "elementwise_affine")
        if told is None:
            return found["bare"] is not None and len(node.args) < 4
        return isinstance(told, ast.Constant) and told.value is False

    def _own_parameter(self, cls: str) -> bool:
        """Whether a class keeps a ``Parameter``, or a module that has some."""
        found = self._own.get(cls)
        if found is None:
            found = self._own[cls] = self._keeps_parameter(cls)
        return found

    def _keeps_parameter(self, cls: str) -> bool:
        for scope in self.project.family(cls):
            made = [store.binding.value for stores in scope.stores.values() for store in stores]
            calls = [part for value in made if value for part in walk(value) if isinstance(part, ast.Call)]
            names = [self.project.qualified(scope.file, call.func) or "" for call in calls]
            if any(name.endswith("nn.Parameter") or has_parameters(name) for name in names):
                return True
        return False
