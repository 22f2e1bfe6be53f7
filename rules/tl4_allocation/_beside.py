"""Whether a tensor is proven to live on the device of a module's parameters: a layer of the module made or takes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.parts import Parts
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.nesting import unconditional
from torchlint.facts.code.project import Project
from torchlint.facts.code.solver import Solver
from torchlint.facts.code.tree import subscripted
from torchlint.late import dataclass, regex
from torchlint.rule.site import Site

# Layers whose weights meet what they are given: another device raises.
_WEIGHTED = regex(
    r"torch\.nn\.(modules\.\w+\.)?(Linear|Bilinear|Conv(Transpose)?[123]d|Embedding|(LSTM|GRU|RNN)(Cell)?"
    r"|MultiheadAttention|Transformer\w+)$"
)
_LAYERS = regex(r"torch\.nn\.(modules\.\w+\.)?(?!DataParallel|Module$)[A-Z]\w*$")
_OF_TENSORS = regex(
    r"torch\.(nn\.functional\.\w+|relu|tanh|sigmoid|softmax|log_softmax|exp|log|square|flatten|squeeze)$"
)
_MOVING = frozenset({"to", "cpu", "cuda", "numpy", "item", "tolist", "new_tensor", "data_ptr", "type", "xpu"})


@dataclass(eq=False, slots=True)
class Beside(Fact):
    """Answers whether tensors live where the module lives whose method they are in, with a memory."""

    project: Project
    graph: CallGraph
    parts: Parts
    _solver: Solver[tuple[FileFacts, ast.expr], bool] = field(init=False)

    def __post_init__(self) -> None:
        self._solver = Solver(lambda question: self._answer(*question), unknown=False)

    def of(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a tensor in a method of a module is on the device of its parameters, or the method raises.

        All parameters of a module count as being on one device.
        """
        return self._solver.ask((facts, node)) is True

    def _answer(self, facts: FileFacts, node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript):
            return self.of(facts, node.value)
        if isinstance(node, ast.Call):
            return self._made(facts, node)
        if not isinstance(node, ast.Name):
            return False
        bindings = self.project.reaching(facts, node).bindings
        if bindings and self._is_taken(facts, node, bindings):
            return True
        return bool(bindings) and all(self._bound(facts, binding) for binding in bindings)

    def _bound(self, facts: FileFacts, binding: Binding) -> bool:
        if binding.how is Bind.ASSIGN and binding.value is not None:
            return self.of(facts, binding.value)
        return binding.how is Bind.PARAM and binding.scope is not None and self._given(binding.scope, binding.target)

    def _given(self, method: Scope, name: str) -> bool:
        """Whether all calls of a method are those of its own object, and hand over such a tensor for a parameter."""
        calls = list(self.graph.arguments(method, name))
        for caller, node in calls:
            if node is None or not caller.facts.is_own(caller.call.func):
                return False
            if caller.call in self.graph.weak or not self.of(caller.facts, node):
                return False
        return bool(calls)

    def _made(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a layer of the module gives a tensor, perhaps through what stays on the device."""
        if self._is_own_layer(facts, call.func):
            return True
        if _OF_TENSORS.match(self.project.qualified(facts, call.func) or ""):
            return bool(call.args) and self.of(facts, call.args[0])
        func = call.func
        return isinstance(func, ast.Attribute) and func.attr not in _MOVING and self.of(facts, func.value)

    def _is_taken(self, facts: FileFacts, node: ast.Name, bindings: tuple[Binding, ...]) -> bool:
        """Whether a layer of the module takes what a name holds, always, before the name is read here."""
        scope = facts.scope_of(node).function
        body = getattr(scope.node, "body", None)
        if not isinstance(body, list):
            return False
        for call in _always(facts, body, node):
            taken = [part for part in call.args if isinstance(part, ast.Name) and part.id == node.id]
            if any(self.project.reaching(facts, part).bindings == bindings for part in taken):
                if self._is_own_layer(facts, call.func):
                    return True
        return False

    def _is_own_layer(self, facts: FileFacts, func: ast.expr) -> bool:
        """Whether what is called is a part of the module, made of layers of torch, with weights that meet its input."""
        func = subscripted(func)
        if not facts.is_own(func):
            return False
        made_of = self.parts.classes(facts, func) or frozenset()
        return all(_LAYERS.match(part) for part in made_of) and any(_WEIGHTED.match(part) for part in made_of)


def _always(facts: FileFacts, body: list[ast.stmt], node: ast.AST) -> Iterator[ast.Call]:
    """The calls in plain statements of a function before one that holds a node: these ran whenever it runs."""
    within = {node, *facts.ancestors(node)}
    for stmt in body:
        if stmt in within:
            return
        if isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.Expr)) and stmt.value is not None:
            yield from (part for part in unconditional(stmt.value) if isinstance(part, ast.Call))


def beside_module(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a tensor in a method of a module is proven to be on the device of the module's parameters.

    A layer of the module made it, or takes it before: on another device the method raises.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Beside).of(site.file, twin)
