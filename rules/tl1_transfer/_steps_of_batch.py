"""Steps of a batch that a loop cuts on the host and moves one after the other: what TL107 asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.nesting import around
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of, root_of
from torchlint.facts.loops.elements import Elements, column_of
from torchlint.late import dataclass
from torchlint.rule.site import Site


@dataclass(eq=False, slots=True)
class StepsOfBatch(Fact):
    """Answers whether a name holds one step of a batch: ``x[:, t]`` of a loop that counts ``t``, or what is made of it.

    A function may cut it: ``self.inputs(batch, t)``, with ``batch["obs"][:, t]`` inside.
    """

    project: Project
    graph: CallGraph
    elements: Elements

    def of(self, facts: FileFacts, name: ast.expr) -> bool:
        """Return whether each round of a loop binds a name to one step of what stays the same."""
        binding = self.project.reaching(facts, name).only
        if binding is None or binding.how is not Bind.ASSIGN or binding.value is None:
            return False
        if not any(loop in around(facts, binding.value) for loop in around(facts, name)):
            return False
        made = binding.value
        if isinstance(made, ast.Tuple) and len(binding.path) == 1 and isinstance(place := binding.path[0], int):
            made = made.elts[place]
        if isinstance(made, ast.Subscript):
            step = column_of(made)
            return step is not None and self.elements.counted(facts, made.value, step)
        return isinstance(made, ast.Call) and any(_cuts(*each) for each in self._given(facts, made))

    def _given(self, facts: FileFacts, call: ast.Call) -> Iterator[tuple[Scope, str, str]]:
        """The functions that a call means, with the parameters for something from outside of a loop and its count."""
        given = [each for each in arguments_of(call) if isinstance(each, (ast.Name, ast.Attribute))]
        for whole in given:
            for step in given:
                if whole is not step and self.elements.counted(facts, whole, step):
                    takes = dict(self.graph.taking(call, step))
                    yield from (
                        (function, name, takes[function])
                        for function, name in self.graph.taking(call, whole)
                        if function in takes
                    )


def _cuts(function: Scope, whole: str, step: str) -> bool:
    """Whether a function takes one step of what a parameter is given, by the number of another: ``x["obs"][:, t]``."""
    for node in function.file.subscripts:
        column = column_of(node)
        if isinstance(column, ast.Name) and column.id == step and function.file.scope_of(node).function is function:
            root = root_of(node.value)
            if isinstance(root, ast.Name) and root.id == whole:
                return True
    return False


def is_step(site: Site, source: cst.CSTNode) -> bool:
    """Return whether a name holds one step of a batch, in a loop over its steps."""
    twin = site.expression(source)
    return isinstance(twin, ast.Name) and site.fact(StepsOfBatch).of(site.file, twin)
