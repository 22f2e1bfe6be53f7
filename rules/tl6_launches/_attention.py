"""Attention that is written out: a softmax of scaled products that is multiplied with values and used nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import code_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Kind
from torchlint.rule.site import Site

_PRODUCTS = frozenset({"matmul", "bmm"})
_TRANSPOSING = method_names("torch.Tensor torch", shapes="order")
_MASKING = frozenset({"masked_fill", "masked_fill_", "float", "to", "clamp", "type_as"})
_DEPTH = 8


@dataclass(eq=False, slots=True)
class Attention(Fact):
    """Answers whether a softmax belongs to attention that is written out."""

    project: Project
    values: Values

    def of(self, facts: FileFacts, softmax: ast.Call, scores: ast.expr) -> bool:
        """Whether the weights of a softmax are all of ``softmax(q @ k.T / scale) @ v`` that anyone looks at.

        ``scores`` is what the softmax is of. Masks and dropout may stand between.
        """
        return self._are_scores(facts, scores, _DEPTH) and self._only_weigh(facts, softmax, _DEPTH)

    def _are_scores(self, facts: FileFacts, node: ast.expr, depth: int) -> bool:
        """Whether an expression is a product of queries and transposed keys, on all ways to it."""
        if depth == 0:
            return False
        if isinstance(node, ast.Name):
            values = self.project.reaching(facts, node).values
            return bool(values) and all(self._are_scores(facts, value, depth - 1) for value in values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Mult, ast.Add, ast.Sub)):
            return self._are_scores(facts, node.left, depth - 1) or (
                isinstance(node.op, (ast.Mult, ast.Add)) and self._are_scores(facts, node.right, depth - 1)
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MASKING:
            return self._are_scores(facts, node.func.value, depth - 1)
        factors = self._factors(facts, node)
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

    def _only_weigh(self, facts: FileFacts, node: ast.expr, depth: int) -> bool:
        """Whether a value is the left side of products of matrices and nothing else, also after dropout."""
        parent = facts.parent.get(node)
        if depth == 0 or parent is None:
            return False
        if isinstance(parent, ast.Assign):
            uses = list(self._reads(facts, parent)) if len(parent.targets) == 1 else []
            return bool(uses) and all(self._only_weigh(facts, use, depth - 1) for use in uses)
        if isinstance(parent, ast.Attribute):
            call = facts.parent.get(parent)
            if isinstance(call, ast.Call) and call.func is parent and parent.attr in _MASKING:
                return self._only_weigh(facts, call, depth - 1)
            return isinstance(call, ast.Call) and call.func is parent and parent.attr in _PRODUCTS
        if isinstance(parent, ast.Call) and node in parent.args and self._is_dropout(facts, parent):
            return self._only_weigh(facts, parent, depth - 1)
        factors = self._factors(facts, parent) if isinstance(parent, ast.expr) else None
        return factors is not None and factors[0] is node

    def _reads(self, facts: FileFacts, stmt: ast.Assign) -> Iterator[ast.Name]:
        """Where the function reads the name that a statement sets."""
        target = stmt.targets[0]
        if not isinstance(target, ast.Name):
            return
        for part in code_of(facts.scope_of(stmt).function):
            if isinstance(part, ast.Name) and part.id == target.id and isinstance(part.ctx, ast.Load):
                if any(binding.stmt is stmt for binding in self.project.reaching(facts, part).bindings):
                    yield part

    def _is_dropout(self, facts: FileFacts, call: ast.Call) -> bool:
        name = self.project.qualified(facts, call.func) or ""
        made = self.values.of(facts, call.func)
        return name.endswith("functional.dropout") or (made.kind is Kind.MODULE and made.name == "torch.nn.Dropout")


def _is_transposed(node: ast.expr) -> bool:
    """Whether the last dimensions of an expression are exchanged on the spot."""
    return any(isinstance(part, ast.Attribute) and part.attr in _TRANSPOSING for part in walk(node))


def weighs_values(site: Site, call: cst.Call, scores: cst.BaseExpression) -> bool:
    """Of a softmax of ``scores`` whether it is attention: ``softmax(q @ k.T / scale) @ v``, its weights unused."""
    twin, inner = site.expression(call), site.expression(scores)
    return isinstance(twin, ast.Call) and inner is not None and site.fact(Attention).of(site.file, twin, inner)
