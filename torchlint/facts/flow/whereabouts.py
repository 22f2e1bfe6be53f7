"""Which tensors lie on one device: by what they are computed from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.nesting import is_above
from torchlint.facts.code.occurrences import Occurrences
from torchlint.facts.code.project import Project
from torchlint.facts.code.solver import Solver
from torchlint.facts.flow.flow import Flow
from torchlint.facts.values.signatures import rules, table
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Device, Kind

_OTHERS = ("cuda:1", "cuda:2", "cuda:3")
_NOT_TENSORS = frozenset({Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SIZE, Kind.DTYPE, Kind.SCALAR})

_Source = ast.expr | Binding
_Sources = frozenset[_Source]


@dataclass(eq=False, slots=True)
class Whereabouts(Fact):
    """Answers whether tensors lie on one device.

    Operations of torch take tensors of one accelerator, and beside them numbers as tensors on the host; the result lies
    on the accelerator where any operand does. So a result lies where its *sources* say that are not computed in the
    function themselves, together, and results of the same sources lie on the same device.
    """

    project: Project
    values: Values
    flow: Flow
    occurrences: Occurrences
    _solver: Solver[tuple[FileFacts, ast.expr], _Sources] = field(init=False)

    def __post_init__(self) -> None:
        self._solver = Solver(lambda question: self._expression(*question), frozenset())

    def on_accelerator(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a tensor lies on an accelerator where there is one, else on the CPU."""
        return self.values.of(facts, node).device in (Device.CUDA, Device.EITHER)

    def alike(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> bool:
        """Whether tensors lie on one device: the one accelerator of the project, where a run saw all of them, or where
        their sources lie."""
        nodes = list(nodes)
        seen = {self.values.seen.get(node, UNKNOWN).device for node in nodes}
        if len(seen) == 1 and Device.UNKNOWN not in seen:
            return True
        one = not any(self.occurrences.mentioned(facts, word) for word in _OTHERS)
        if one and all(self._reaches_accelerator(facts, node) for node in nodes):
            return True
        sources = [self._sources(facts, node) for node in nodes]
        return bool(sources[0]) and all(each == sources[0] for each in sources)

    def _reaches_accelerator(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a tensor, or one of its sources, lies on an accelerator."""
        found = (source for source in self._sources(facts, node) if isinstance(source, ast.expr))
        return self.on_accelerator(facts, node) or any(self.on_accelerator(facts, source) for source in found)

    def _sources(self, facts: FileFacts, node: ast.expr) -> _Sources:
        """What a tensor is computed from in its function; what is not computed there is its own source."""
        return self._solver.ask((facts, node)) or frozenset((node,))

    def _all(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> _Sources | None:
        """The sources of several operands, without those that are no tensors; ``None`` before any is known."""
        found = [self._solver.ask((facts, node)) for node in nodes if not self._is_number(facts, node)]
        known = [each for each in found if each is not None]
        return None if found and not known else frozenset().union(*known)

    def _is_number(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an operand is no tensor: a number, an option, or several numbers."""
        value = self.values.of(facts, node)
        several = value.kind in (Kind.LIST, Kind.TUPLE) and value.element.kind is Kind.NUMBER
        return several or value.kind in _NOT_TENSORS

    def _is_tensor(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is a tensor: by its value, or since ``backward()`` runs through it."""
        kind = self.values.of(facts, node).kind
        named = isinstance(node, (ast.Name, ast.Attribute))
        return kind is Kind.TENSOR or (kind is Kind.UNKNOWN and named and self.flow.differentiated(facts, node))

    def _expression(self, facts: FileFacts, node: ast.expr) -> _Sources | None:
        if isinstance(node, ast.Name):
            return self._name(facts, node)
        if isinstance(node, ast.BinOp):
            return self._all(facts, [node.left, node.right])
        if isinstance(node, ast.UnaryOp):
            return self._all(facts, [node.operand])
        if isinstance(node, ast.Compare):
            return self._all(facts, [node.left, *node.comparators])
        if isinstance(node, ast.Subscript) and self._is_tensor(facts, node.value):
            return self._all(facts, [node.value])
        if isinstance(node, ast.Call):
            operands = self._operands(facts, node)
            if operands is not None:
                return self._all(facts, operands)
        return frozenset((node,))

    def _name(self, facts: FileFacts, node: ast.Name) -> _Sources | None:
        bindings = self.project.reaching(facts, node).bindings
        if len(bindings) != 1:
            return frozenset(bindings)
        binding = bindings[0]
        if binding.value is None or binding.path or not is_above(facts, binding.stmt, node):
            return frozenset((binding,))
        if binding.how is Bind.AUGMENT and isinstance(binding.stmt, ast.AugAssign):
            return self._all(facts, [binding.stmt.target, binding.value])
        return self._all(facts, [binding.value]) if binding.how is Bind.ASSIGN else frozenset((binding,))

    def _operands(self, facts: FileFacts, call: ast.Call) -> Sequence[ast.expr] | None:
        """The operands of an operation of torch that gives a tensor where they lie; ``None`` of any other call."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(isinstance(part, ast.Starred) for part in given) or any(k.arg in (None, "out") for k in call.keywords):
            return None
        module, _, last = (self.project.qualified(facts, call.func) or "").rpartition(".")
        if module == "torch.nn.functional":
            return given if last in rules("functional") else None
        if module == "torch":
            joined = rules("torch").get(last) in ("join", "where")
            if last not in rules("operations") and not joined:
                return None
            return list(_elements(given)) if joined else given
        if not isinstance(call.func, ast.Attribute) or not self._is_tensor(facts, call.func.value):
            return None
        name = call.func.attr
        if rules("operations").get(name) == "like_other" or name in table()["tensor_methods"]["cast"]:
            return [call.func.value]
        return [call.func.value, *given] if name in rules("operations") else None


def _elements(nodes: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """The arguments of a call, those of lists and tuples that are written there one by one."""
    for node in nodes:
        if isinstance(node, (ast.List, ast.Tuple)):
            yield from node.elts
        else:
            yield node
