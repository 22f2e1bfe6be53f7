"""Functions that do nothing but move their argument to a device: ``def cuda(x): return x.cuda() if gpu else x``."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.relaying import HANDING
from torchlint.facts.code.tree import forms_of, receiver_of, walk
from torchlint.late import dataclass
from torchlint.models import function_names, method_names

_MOVING = method_names(moves="given") | method_names(moves="device")
_KEEPING = method_names("torch.Tensor torch", elements="all", shapes=False)
# Functions that give a tensor on: as it is, or what an array holds.
_PASSING = HANDING | function_names("torch", makes=("array", "data"))


@dataclass(eq=False, slots=True)
class Movers(Fact):
    """Answers which functions give their first argument back moved: ``def cuda(x): return x.cuda() if gpu else x``."""

    project: Project
    graph: CallGraph
    _found: dict[Scope, bool] = field(default_factory=dict)

    def called(self, call: ast.Call) -> bool:
        """Return whether all functions that a call can reach only move what they are given."""
        targets = self.graph.sure(call)
        return bool(targets) and all(self.only_moves(target) for target in targets)

    def only_moves(self, function: Scope) -> bool:
        """Return whether a function gives its first argument back, as it is or as a tensor, and moves it on the way."""
        found = self._found.get(function)
        if found is None:
            found = self._found[function] = self._moves(function)
        return found

    def _moves(self, function: Scope) -> bool:
        """Whether a function binds nothing but its first parameter, returns it, and moves it on the way."""
        given = function.positional[bool(function.self_name) :]
        if not given or function.yields or not function.results:
            return False
        bound = {stmt.value: stmt.targets for stmt in walk(function.node) if isinstance(stmt, ast.Assign)}
        targets = [target for each in bound.values() for target in each]
        if any(not isinstance(target, ast.Name) or target.id != given[0] for target in targets):
            return False
        forms = [form for node in (*function.results, *bound) for form in forms_of(node) or (node,)]
        stems = [self._stem(function.file, form) for form in forms]
        moved = any(form is not stem and _is_moved(form) for form, stem in zip(forms, stems, strict=True))
        return moved and all(isinstance(stem, ast.Name) and stem.id == given[0] for stem in stems)

    def _stem(self, facts: FileFacts, node: ast.expr) -> ast.expr:
        """What is moved, cast or handed on: ``x`` of ``Variable(torch.from_numpy(x)).cuda()``."""
        while True:
            node = receiver_of(node, _KEEPING)
            if not isinstance(node, ast.Call) or not node.args:
                return node
            if self.project.qualified(facts, node.func) not in _PASSING:
                return node
            node = node.args[0]


def _is_moved(node: ast.expr) -> bool:
    calls = [part for part in walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)]
    return any(
        isinstance(call.func, ast.Attribute)
        and (call.func.attr in _MOVING or (call.func.attr == "type" and any(map(_is_on_device, call.args))))
        for call in calls
    )


def _is_on_device(node: ast.expr) -> bool:
    """``torch.cuda.FloatTensor``, a type of tensors on an accelerator."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "cuda"
