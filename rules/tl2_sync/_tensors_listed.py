"""Tensors that a new tensor is made of one by one: what TL203 finds besides reads that are spelled out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from torchlint import cst
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.finders import Finder
from torchlint.facts.flow.data import is_placed
from torchlint.facts.values.signatures import table
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Device
from torchlint.rule.site import Site

from ._scalar_readback import Readbacks

_MAKERS = function_names("torch", makes="data")
_MAKING = method_names("torch.Tensor", makes="data")


@dataclass(eq=False, slots=True)
class TensorsListed(Finder):
    """Finds calls that make a tensor of a list with tensors of a device in it: ``torch.tensor([x.sum(), n])``."""

    project: Project
    readbacks: Readbacks

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the calls."""
        calls = (call for scope in file.scopes for call in scope.calls if _elements(call))
        return (call for call in calls if wanted(call) and self.of(file, call))

    def of(self, facts: FileFacts, call: ast.Call) -> Sequence[ast.expr]:
        """Return the tensors that a call reads to make a new one; none if it reads a single one for the host."""
        name = self.project.qualified(facts, call.func) or ""
        beside = _made_beside(call) if not name else None
        if beside is None and name not in _MAKERS and name.removeprefix("torch.") not in table()["legacy"]:
            return ()
        found = [node for node in _elements(call) if self.readbacks.on_device(facts, node)]
        placed = is_placed(facts, call)
        if beside is not None and found:
            placed = placed or self.readbacks.values.of(facts, beside).device is not Device.CPU
        return found if len(found) > 1 or placed else ()


def _elements(call: ast.Call) -> Sequence[ast.expr]:
    """The elements of the list that a call begins with, empty of any other call."""
    match call.args:
        case [ast.List(elts=elements) | ast.Tuple(elts=elements), *_]:
            return elements
    return ()


def _made_beside(call: ast.Call) -> ast.expr | None:
    """The tensor beside which a method makes a new one of data: ``loss`` of ``loss.new_tensor([x.sum(), n])``."""
    func = call.func
    return func.value if isinstance(func, ast.Attribute) and func.attr in _MAKING else None


def tensors_listed(site: Site, call: cst.Call) -> Sequence[ast.expr]:
    """Return the tensors that a call reads to make a new one."""
    twin = site.expression(call)
    return site.fact(TensorsListed).of(site.file, twin) if isinstance(twin, ast.Call) else ()
