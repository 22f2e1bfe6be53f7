"""Attention that is written out: a softmax of scaled products that is multiplied with values and used nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.analysis import Analysis
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.dataflow.uses import Uses
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Kind
from torchlint.rule.site import Site

_PRODUCTS = frozenset({"matmul", "bmm"})
_TRANSPOSING = method_names("torch.Tensor torch", shapes="order")
_MASKING = frozenset({"masked_fill", "masked_fill_", "float", "to", "clamp", "type_as"})


@dataclass(eq=False, slots=True)
class Attention(Fact):
    """Answers whether a softmax belongs to attention that is written out."""

    project: Project
    values: Values
    sources: Sources
    uses: Uses
    _scores: Analysis[bool] = field(init=False)
    _weights: ValueFlow[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._scores = Analysis(self.sources, self._are_scores, all, unknown=False)
        self._weights = ValueFlow(self._weigh, lost=False)

    def of(self, facts: FileFacts, softmax: ast.Call, scores: ast.expr) -> bool:
        """Return whether a softmax is part of ``softmax(q @ k.T / scale) @ v``, and nothing else reads its weights.

        ``scores`` is what the softmax is of. Masks and dropout may stand between.
        """
        return self._scores.of(facts, scores) and set(self._weights.ends(facts, softmax)) == {True}

    def _are_scores(self, spot: Spot) -> bool | None:
        """Whether an expression is a product of queries and transposed keys, on all ways to it."""
        match spot.node:
            case ast.Name():
                return self._scores.through(spot, (Label.COPY,))
            case ast.BinOp(left=left, op=ast.Mult() | ast.Add(), right=right):
                return self._scores.at(spot.same(left)) or self._scores.at(spot.same(right))
            case ast.BinOp(left=left, op=ast.Div() | ast.Sub()):
                return self._scores.at(spot.same(left))
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _MASKING:
                return self._scores.at(spot.same(inner))
        factors = self._factors(spot.facts, spot.node)
        return factors is not None and _is_transposed(factors[1])

    def _factors(self, facts: FileFacts, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """Both sides of a product of matrices."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return node.left, node.right
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
            return None
        name = self.project.qualified(facts, node.func) or ""
        if name.startswith("torch.") and name.rpartition(".")[2] in _PRODUCTS and len(node.args) == 2:
            return node.args[0], node.args[1]
        if isinstance(node.func, ast.Attribute) and node.func.attr in _PRODUCTS and len(node.args) == 1:
            return node.func.value, node.args[0]
        return None

    def _weigh(self, spot: Spot) -> Iterator[Spot | bool]:
        """From weights, also after dropout, to whether they are the left side of a product of matrices."""
        facts, node = spot.facts, spot.node
        match facts.parent.get(node):
            case ast.Assign():
                uses = list(self.uses.of(spot))
                yield from uses
                if not uses:
                    yield False
            case ast.Attribute(attr=name) as func:
                call = facts.parent.get(func)
                if not isinstance(call, ast.Call) or call.func is not func:
                    yield False
                else:
                    yield spot.same(call) if name in _MASKING else name in _PRODUCTS
            case ast.Call(args=args) as call if node in args and self._is_dropout(facts, call):
                yield spot.same(call)
            case ast.expr() as parent:
                factors = self._factors(facts, parent)
                yield factors is not None and factors[0] is node
            case _:
                yield False

    def _is_dropout(self, facts: FileFacts, call: ast.Call) -> bool:
        name = self.project.qualified(facts, call.func) or ""
        made = self.values.of(facts, call.func)
        return name.endswith("functional.dropout") or (made.kind is Kind.MODULE and made.name == "torch.nn.Dropout")


def _is_transposed(node: ast.expr) -> bool:
    """Whether the last dimensions of an expression are exchanged on the spot."""
    return any(isinstance(part, ast.Attribute) and part.attr in _TRANSPOSING for part in walk(node))


def weighs_values(site: Site, call: cst.Call, scores: cst.BaseExpression) -> bool:
    """Return whether a softmax of ``scores`` is attention: ``softmax(q @ k.T / scale) @ v``, its weights unused."""
    twin, inner = site.expression(call), site.expression(scores)
    return isinstance(twin, ast.Call) and inner is not None and site.fact(Attention).of(site.file, twin, inner)
