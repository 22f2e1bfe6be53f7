"""What is proven of tensors that hold one number each, for the fixes of TL203."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.closure import reached
from torchlint.facts.code.earlier import used_before
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.nesting import is_above
from torchlint.facts.code.project import Project
from torchlint.facts.flow.whereabouts import Whereabouts
from torchlint.facts.values.dtypes import is_inexact
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Kind

from ._real_numbers import RealNumbers

# Functions of torch that compare elements, and those that keep numbers real: of such results.
_ORDERED = frozenset({"min", "max", "minimum", "maximum", "clamp", "clip", "amin", "amax", "relu"})
_KEEPING = frozenset({"mean", "sum", "neg", "detach"})
# Reductions that raise for whole numbers and truths, and those that give a number of the dtype of a floating tensor.
_AVERAGING = frozenset({"mean", "std", "var"})
_ALIKE = _AVERAGING | {"max", "min", "amax", "amin", "sum"}
_LOSSES = function_names(loss=True)
# Methods of a tensor that give numbers, or what has a memory of its own.
_READING = frozenset({"item", "backward", "mean", "sum", "abs", "exp", "tolist"})
READER = "read_at_once"
"""The name of the function that ``READING`` defines."""
READING = '''\
def read_at_once(tensors):
    """Read one number from each tensor, by one copy where all are of one dtype and on one accelerator."""
    kinds = {(tensor.dtype, tensor.device) for tensor in tensors}
    if len(kinds) != 1 or tensors[0].device.type == "cpu":
        return [tensor.reshape(()).tolist() for tensor in tensors]
    return {torch}.stack([tensor.reshape(()) for tensor in tensors]).tolist()
'''
"""The function that a fix adds where it is not proven that tensors can be stacked: it asks each for its kind."""
_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_DEEPEST = 12
"""Through how many expressions it is asked what a tensor is computed from."""


@dataclass(eq=False, slots=True)
class Tensors(Fact):
    """Answers what is proven of tensors that hold one number each."""

    project: Project
    graph: CallGraph
    values: Values
    autograd: Autograd
    whereabouts: Whereabouts
    reals: RealNumbers

    def rank(self, facts: FileFacts, node: ast.expr) -> int | None:
        """Return the number of dimensions, ``None`` where it is not known."""
        return self.values.of(facts, node).rank

    def flattening(self, facts: FileFacts, node: ast.expr) -> str:
        """Return the call that takes from a tensor of one number the dimensions that it may have; empty: it has none.

        A tensor of several numbers raises there, as it did where one number was read from it.
        """
        return "" if self.rank(facts, node) == 0 else ".reshape(())"

    def detached(self, facts: FileFacts, source: ast.expr, last: str, *, flat: bool) -> str:
        """Return the source of what to keep for a number: the tensor without its graph, with ``flat`` no dimensions.

        A number that was computed for itself alone, and that nothing writes to later, needs no copy.
        """
        flattening = self.flattening(facts, source) if flat else ""
        if last == "clone" and not flattening and self._stays(facts, source):
            return f"{operand(facts, source)}.detach()"
        return f"{operand(facts, source)}.detach(){flattening}.{last}()"

    def _stays(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a number has a memory of its own, which nothing writes to later."""
        if not isinstance(node, ast.Name):
            return self._is_computed(facts, node)
        scope = facts.scope_of(node).function
        bound = scope.bindings.get(node.id, ())
        if scope.kind != "function" or not bound or node.id in (*scope.globals, *scope.shared):
            return False
        for each in bound:
            if each.how is not Bind.ASSIGN or each.path or each.value is None:
                return False
            if not self._is_computed(facts, each.value):
                return False
        mentions = mentions_of(facts, scope.node, node.id)
        return all(self._only_reads(facts, part) for part in mentions if isinstance(part.ctx, ast.Load))

    def _is_computed(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression allocates what it gives: arithmetic, a reduction, a loss."""
        if isinstance(node, ast.BinOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)):
            return True
        name = (self.project.qualified(facts, node.func) if isinstance(node, ast.Call) else None) or ""
        loss = name.startswith("torch.nn.functional.") and (name in _LOSSES or name.endswith("_loss"))
        return loss or self._reduced(facts, node) is not None

    def _only_reads(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether a mention of a tensor neither writes to it nor gives it another name."""
        above = facts.parent.get(name)
        match above:
            case ast.BinOp() | ast.UnaryOp() | ast.Compare():
                return True
            case ast.Attribute(attr=method):
                return isinstance(facts.parent.get(above), ast.Call) and method in _READING
            case ast.Call(args=[only]) if only is name:
                return self._scaled(facts, above) is name
        return False

    def is_floating(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a tensor holds floating-point numbers.

        What only an inexact dtype can hold, such as a mean, or what has a graph, is floating where the program has no
        complex numbers, or where it is an operand of a sum that ``backward()`` was called on, which would be complex,
        too, and raise, or where it is computed from a minimum or the like, which raises for them. That a tensor is a
        part of what is differentiated says nothing else: whole numbers may be, too.
        """
        value = self.values.of(facts, node)
        if value.dtype in _FLOATS:
            return True
        inexact = is_inexact(value) or self._is_recorded(facts, node)
        if inexact and (
            self.reals.only(facts.scope_of(node)) or self._was_summed(facts, node) or self._was_ordered(facts, node)
        ):
            return True
        return isinstance(node, ast.Name) and self._was_differentiated(facts, node)

    def _is_recorded(self, facts: FileFacts, node: ast.expr, depth: int = 0) -> bool:
        """Whether a tensor is part of a graph whichever of its values it has.

        That a graph is known of an element of a list, or of a name with two values, says nothing of the others.
        """
        found = self.autograd.has_graph(facts, node) is True and depth < _DEEPEST
        return found and self._each_is_recorded(facts, node, depth + 1)

    def _each_is_recorded(self, facts: FileFacts, node: ast.expr, depth: int) -> bool:
        match node:
            case ast.Name():
                value = self.project.reaching(facts, node).value
                return value is not None and self._is_recorded(facts, value, depth)
            case ast.BinOp(left=left, right=right):
                return self._is_recorded(facts, left, depth) or self._is_recorded(facts, right, depth)
            case ast.UnaryOp(operand=inner):
                return self._is_recorded(facts, inner, depth)
            case ast.Call(func=func, args=args) if (self.project.qualified(facts, func) or "").startswith("torch."):
                return any(self._is_recorded(facts, each, depth) for each in args)
            case ast.Call() if targets := self.graph.sure(node):
                given = [(target.file, each) for target in targets for each in target.results]
                return bool(given) and all(self._is_recorded(file, each, depth) for file, each in given)
            case ast.Call() if self.autograd.runs(facts, node):
                return True  # a layer of torch, or a network whose code is not seen
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                return self.values.of(facts, inner).kind is Kind.TENSOR and self._is_recorded(facts, inner, depth)
        return False

    def floating_among(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> frozenset[ast.expr]:
        """Return which of some tensors hold floating-point numbers in every run in which all of them can be computed.

        Of one tensor a mean is computed, which raises for whole numbers, and a maximum, which raises for complex ones.
        """
        reduced = {node: found for node in nodes if (found := self._reduced(facts, node)) is not None}
        averaged = {ast.dump(inner) for name, inner in reduced.values() if name in _AVERAGING}
        ordered = {ast.dump(inner) for name, inner in reduced.values() if name in _ORDERED}
        return frozenset(node for node, (_, inner) in reduced.items() if ast.dump(inner) in averaged & ordered)

    def _reduced(self, facts: FileFacts, node: ast.expr) -> tuple[str, ast.expr] | None:
        """The name of the reduction to one number that a call is, and the tensor of which it is computed."""
        match node:
            case ast.Call(func=func, args=[inner], keywords=[]) if self.project.qualified(facts, func) is not None:
                module, _, name = (self.project.qualified(facts, func) or "").rpartition(".")
                return (name, inner) if module == "torch" and name in _ALIKE else None
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[], keywords=[]) if name in _ALIKE:
                return (name, inner) if self.values.of(facts, inner).kind is Kind.TENSOR else None
        return None

    def _was_differentiated(self, facts: FileFacts, node: ast.Name) -> bool:
        """Whether ``backward()`` of the tensor itself ran before, which raises for whole and for complex numbers.

        A gradient scaler only multiplies it.
        """
        return any(
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "backward"
            and isinstance(loss := self._scaled(facts, call.func.value), ast.Name)
            and loss.id == node.id
            and used_before(self.project, facts, loss, node)
            for call in facts.scope_of(node).function.calls
        )

    def _scaled(self, facts: FileFacts, node: ast.expr) -> ast.expr:
        """What a gradient scaler multiplies, where it gives the value of an expression; else the expression."""
        match node:
            case ast.Call(func=ast.Attribute(value=scaler, attr=name), args=[inner], keywords=[]):
                value = self.values.of(facts, scaler)
                scales = all(name in method_names(cls, scales=True) for cls in value.name.split("|"))
                return inner if value.kind is Kind.INSTANCE and scales and not value.derived else node
        return node

    def _was_summed(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether ``backward()`` ran before of an expression that has a name as an operand, also through other names.

        Arithmetic with a complex operand gives a complex result, of which ``backward()`` raises.
        """
        if not isinstance(node, ast.Name):
            return False
        parts = reached(self._differentiated_above(facts, node), partial(self._operands, facts))
        named = (part for part in parts if isinstance(part, ast.Name) and part.id == node.id)
        return any(used_before(self.project, facts, part, node) for part in named)

    def _was_ordered(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a tensor is a mean, a sum or the negative of what a function gives that compares its elements.

        Complex numbers have no order, so such functions raise for them.
        """
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return self._was_ordered(facts, inner)
            case ast.Call(func=func, args=args):
                module, _, name = (self.project.qualified(facts, func) or "").rpartition(".")
                if module == "torch":
                    return name in _ORDERED or (name in _KEEPING and bool(args) and self._was_ordered(facts, args[0]))
                method = isinstance(func, ast.Attribute) and func.attr in _KEEPING and not module
                return method and isinstance(func, ast.Attribute) and self._was_ordered(facts, func.value)
            case ast.Name():
                return any(self._was_ordered(facts, each) for each in self._operands(facts, node))
        return False

    def _differentiated_above(self, facts: FileFacts, node: ast.Name) -> Iterator[ast.expr]:
        """What ``backward()`` is called on by statements that run in any case before a node."""
        for call in facts.scope_of(node).function.calls:
            func, stmt = call.func, facts.statement(call)
            if isinstance(func, ast.Attribute) and func.attr == "backward" and isinstance(stmt, ast.Expr):
                if call is stmt.value and is_above(facts, stmt, node):
                    yield func.value

    def _operands(self, facts: FileFacts, node: ast.expr) -> Sequence[ast.expr]:
        """The operands of arithmetic, what a scaler multiplies, and what one statement above bound to a name."""
        match node:
            case ast.BinOp(left=left, right=right):
                return left, right
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return (inner,)
            case ast.Call() if (inner := self._scaled(facts, node)) is not node:
                return (inner,)
            case ast.Name():
                value = self.project.reaching(facts, node).value
                return () if value is None else (value,)
        return ()

    def is_whole(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a tensor is proven to hold whole numbers or truths."""
        return (self.values.of(facts, node).dtype or "float32") not in _FLOATS

    def on_accelerator(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a tensor lies on an accelerator where there is one, else on the CPU."""
        return self.whereabouts.on_accelerator(facts, node)

    def on_one_device(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> bool:
        """Return whether all lie on one device."""
        return self.whereabouts.alike(facts, nodes)


def operand(facts: FileFacts, node: ast.expr) -> str:
    """Return the source text of an expression of which a method is to be called."""
    text = text_of(facts, node)
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"


def text_of(facts: FileFacts, node: ast.expr) -> str:
    """Return the source text of an expression, on one row."""
    text = facts.text_of(node)
    return ast.unparse(node) if "\n" in text or "\r" in text else text


def holds_comment(facts: FileFacts, node: ast.expr) -> bool:
    """Return whether an expression of several rows may hold a comment, which would be lost with it."""
    return node.end_lineno != node.lineno and "#" in facts.text_of(node)
