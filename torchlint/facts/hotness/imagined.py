"""Loops in which a network carries a state on: imagined steps of a model, a recurrent network, a diffusion model."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import nodes_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of, parts_of, walk
from torchlint.facts.hotness.denoising import denoises
from torchlint.late import dataclass


def _place(node: ast.AST) -> str:
    """A name or attribute as it reads, else nothing."""
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


@dataclass(eq=False, slots=True)
class ImaginedSteps:
    """Answers whether each round of a loop is a step of a model, with a memory."""

    project: Project
    graph: CallGraph
    _known: dict[ast.AST, bool] = field(default_factory=dict)

    def of(self, facts: FileFacts, loop: ast.AST) -> bool:
        """Return whether a loop over a range or over times runs a network on what it gave in the round before."""
        found = self._known.get(loop)
        if found is None:
            counted = isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
            found = self._known[loop] = (counted and self._carries(facts, loop)) or denoises(facts, loop)
        return found

    def _carries(self, facts: FileFacts, loop: ast.AST) -> bool:
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
            return False
        if self.project.qualified(facts, loop.iter.func) != "builtins.range":
            return False
        for stmt in nodes_of(loop.body):
            if isinstance(stmt, ast.Assign):
                runs = [part for part in walk(stmt.value) if isinstance(part, ast.Call) and self._is_network(part)]
                given = {name for call in runs for each in arguments_of(call) for name in map(_place, walk(each))}
                if any(_place(part) in given - {""} for target in stmt.targets for part in parts_of(target)):
                    return True
        return False

    def _is_network(self, call: ast.Call) -> bool:
        """Whether a call surely runs the ``forward`` of a module of the project."""
        targets = self.graph.sure(call)
        return bool(targets) and all(
            target.name == "forward"
            and target.method_of is not None
            and self.project.is_module(target.method_of.dotted)
            for target in targets
        )
