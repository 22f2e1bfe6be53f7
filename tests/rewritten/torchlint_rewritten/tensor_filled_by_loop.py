"""NEW619: TL619 with a fact of its own, which rests on what torchlint knows of values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.rule import Kind, Report, Rule, RuleSet, Site, Statement

NUMBERS = {Kind.NUMBER, Kind.SCALAR, Kind.ITEM}
CREATORS = {"torch.zeros", "torch.ones", "torch.empty", "torch.full"}


@dataclass
class Fills(Fact):
    """Finds the tensors that loops fill with numbers."""

    project: Project
    values: Values

    def of(self, file: FileFacts, loop: ast.For) -> str | None:
        """The name of the first such tensor."""
        count = self._count(file, loop)
        for stmt in loop.body:
            match stmt:
                case ast.Assign(targets=[ast.Subscript(ast.Name() as tensor, ast.Name(place))]) if place == count:
                    number = self.values.of(file, stmt.value).kind in NUMBERS
                    if number and self._is_made(file, tensor) and self._only_stored(loop, tensor):
                        return tensor.id
        return None

    def _count(self, file: FileFacts, loop: ast.For) -> str | None:
        match loop:
            case ast.For(target=ast.Name(name), iter=ast.Call(func=func)):
                return name if self.project.qualified(file, func) == "builtins.range" else None
            case ast.For(target=ast.Tuple([ast.Name(name), *_]), iter=ast.Call(func=func)):
                return name if self.project.qualified(file, func) == "builtins.enumerate" else None
        return None

    def _is_made(self, file: FileFacts, tensor: ast.Name) -> bool:
        match self.project.reaching(file, tensor).bindings:
            case [binding] if binding.how is Bind.ASSIGN and not binding.path and isinstance(binding.value, ast.Call):
                if self.project.qualified(file, binding.value.func) not in CREATORS:
                    return False
            case _:
                return False
        match binding.value.args:
            case [ast.Tuple([*_, ast.Constant(1)]), *_]:
                ranks = {1, 2}
            case _:
                ranks = {1}
        value = self.values.of(file, tensor)
        return value.kind is Kind.TENSOR and value.rank in ranks

    def _only_stored(self, loop: ast.For, tensor: ast.Name) -> bool:
        parts = (part for stmt in loop.body for part in ast.walk(stmt))
        return not any(isinstance(part, ast.Name) and part.id == tensor.id and part is not tensor for part in parts)


class TensorFilledByLoop(Rule):
    """A loop writes numbers into a tensor one by one."""

    code = "NEW619"
    name = "new-tensor-filled-by-loop"
    summary = "a loop writes numbers into a tensor one by one"
    set = RuleSet.PREVIEW
    trigger = Statement("For")

    def check(self, site: Site) -> Iterator[Report]:
        """Report a loop that fills a tensor."""
        loop = site.twin
        name = site.fact(Fills).of(site.file, loop) if isinstance(loop, ast.For) else None
        if name is not None:
            message = f"this loop writes into the tensor `{name}` one number at a time; collect the numbers in a list"
            yield Report(site.node, f"{message} or an array, and make the tensor once")
