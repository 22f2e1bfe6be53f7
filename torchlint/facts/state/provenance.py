"""Where a name's value comes from: a loop over parameters, a tensor that was read back, an earlier time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.readers import Readers
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.analysis import Analysis
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind

# NumPy functions that torch has too, and methods of arrays that tensors have too.
_TWINS = frozenset(
    {
        *("abs", "absolute", "add", "array", "asarray", "ascontiguousarray", "clip", "concatenate", "copy", "cumsum"),
        *("diff", "divide", "exp", "expand_dims", "flip", "hstack", "log", "log1p", "maximum", "mean", "minimum"),
        *("multiply", "negative", "reshape", "roll", "sign", "sqrt", "square", "squeeze", "stack", "subtract", "sum"),
        *("swapaxes", "tanh", "transpose", "vstack", "where", "max", "min", "argmax", "argmin", "ravel", "float32"),
    }
)
_METHODS = frozenset(
    {
        *("astype", "clip", "copy", "cumsum", "flatten", "max", "mean", "min", "ravel", "reshape", "squeeze", "sum"),
        *("swapaxes", "transpose", "argmax", "argmin", "std", "var"),
    }
)

_CROSSED = frozenset({Label.COPY, Label.ITEM, Label.RETURN})


@dataclass(eq=False, slots=True)
class Provenance(Fact):
    """Answers where values come from."""

    project: Project
    graph: CallGraph
    values: Values
    heat: Heat
    sources: Sources
    readers: Readers
    _gathering: ValueFlow[bool] = field(init=False)
    _back: Analysis[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._back = Analysis(self.sources, lambda spot: self._is_read_back(spot.facts, spot.node), all, unknown=False)
        self._gathering = ValueFlow(self._gathers, lost=False)

    def loops_over(self, facts: FileFacts, node: ast.expr) -> str:
        """Return the last word of what the loop runs over that binds a name; empty for other expressions.

        ``parameters`` in ``for p in net.parameters()`` and in ``for n, p in net.named_parameters()`` (without
        ``named_``), ``params`` in ``for p in group["params"]``; through ``zip`` and ``enumerate``.
        """
        over = self.sources.looped(facts, node)
        return "" if over is None else last_word(over).removeprefix("named_")

    def made_before(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether what a name or attribute holds was made before the code that reads it ran, so less often."""
        if isinstance(node, ast.Attribute):
            return not self._set_above(facts, node)
        often = self.heat.frequency(facts, node)
        bindings = self.project.reaching(facts, node).bindings
        return bool(bindings) and all(
            binding.how is Bind.PARAM
            or self.heat.frequency(facts, binding.stmt) < often
            or (isinstance(binding.value, ast.Attribute) and self.made_before(facts, binding.value))
            for binding in bindings
        )

    def _set_above(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether a statement above in the same function sets an attribute of ``self``, or calls a method that does."""
        function = facts.scope_of(node).function
        owner = function.method_of
        if owner is None or not facts.is_own(node):
            return False
        setters = {
            store.scope.function.name
            for cls in self.project.family(owner.dotted)
            for store in cls.stores.get(node.attr, ())
        }
        for block, place in facts.blocks(node):
            if block[place] is function.node:
                break
            for above in block[:place]:
                for part in walk(above):
                    if isinstance(part, ast.Attribute) and alike(part.value, node.value):
                        called = part.attr in setters and isinstance(part.ctx, ast.Load)
                        if called or (part.attr == node.attr and isinstance(part.ctx, ast.Store)):
                            return True
        return False

    def read_back(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an array is nothing but a tensor read back from its device, for nothing else.

        Also after NumPy functions that torch has too. A name counts where nothing else reads it, and it as often as
        it is bound.
        """
        return self._back.of(facts, node)

    def _is_read_back(self, facts: FileFacts, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return self._call(facts, node)
        if isinstance(node, ast.Subscript):
            return self.read_back(facts, node.value)
        if isinstance(node, ast.UnaryOp):
            return self.read_back(facts, node.operand)
        if isinstance(node, ast.BinOp):
            return self._all(facts, [node.left, node.right])
        if isinstance(node, ast.Name):
            value = self.project.reaching(facts, node).value
            if value is None or not self._read_once(facts, node) or self.made_before(facts, node):
                return False  # read back once and drawn from often
            return self.read_back(facts, value)
        return False

    def gathered(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an array is picked by an array of rows out of one that an object keeps, as from a replay.

        Followed through names, unpacking, and what functions of the project return.
        """
        return set(self._gathering.ends(facts, node)) == {True}

    def _gathers(self, spot: Spot) -> Iterator[Spot | bool]:
        """From an array to whether what makes it picks rows."""
        node, facts = spot.node, spot.facts
        if isinstance(node, ast.Subscript) and not spot.path:
            rows = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            kept = node.value.value if isinstance(node.value, ast.Subscript) else node.value
            arrays = self._kind(facts, rows) is self._kind(facts, node.value) is Kind.NDARRAY
            yield arrays and isinstance(kept, ast.Attribute)
        elif isinstance(node, (ast.Name, ast.Call, ast.Tuple)):
            yield from self.sources.crossing(spot, _CROSSED, unknown=False)
        else:
            yield False

    def _call(self, facts: FileFacts, call: ast.Call) -> bool:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr == "numpy":
            return self.values.of(facts, func.value).kind is Kind.TENSOR
        if self.readers.called(call):
            return bool(call.args) and self._kind(facts, call.args[0]) is Kind.TENSOR
        if self.graph.sure(call):
            return self._back.through(Spot(facts, call), (Label.RETURN,)) is True
        name = self.project.qualified(facts, func) or ""
        if name.startswith("numpy."):
            first = call.args[0] if call.args else None
            if isinstance(first, (ast.List, ast.Tuple)) and len(call.args) == 1:
                return bool(first.elts) and all(self.read_back(facts, part) for part in first.elts)
            if isinstance(first, (ast.ListComp, ast.GeneratorExp)) and len(call.args) == 1:
                return self.read_back(facts, first.elt)
            return name.removeprefix("numpy.") in _TWINS and self._all(facts, call.args)
        if isinstance(func, ast.Attribute) and func.attr in _METHODS:
            return self.read_back(facts, func.value)
        return False

    def _all(self, facts: FileFacts, nodes: list[ast.expr]) -> bool:
        """Whether some of these are tensors read back, and the others numbers and dtypes."""
        back = [self.read_back(facts, node) for node in nodes]
        others = [node for node, found in zip(nodes, back, strict=True) if not found]
        plain = (Kind.NUMBER, Kind.DTYPE, Kind.NONE)
        return any(back) and all(self._kind(facts, node) in plain for node in others)

    def _kind(self, facts: FileFacts, node: ast.expr) -> Kind:
        return self.values.of(facts, node).kind

    def _read_once(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether a function reads a name, as it is bound there, in one place alone."""
        scope = facts.scope_of(name).function
        bound = self.project.bound_to(facts, name)
        reads = (part for part in mentions_of(facts, scope.node, name.id) if isinstance(part.ctx, ast.Load))
        own = [part for part in reads if not bound.isdisjoint(self.project.bound_to(facts, part))]
        return scope.kind == "function" and own == [name]


def last_word(node: ast.expr) -> str:
    """Return the name after the last dot, or the key of a subscript."""
    if isinstance(node, ast.Call):
        return last_word(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return ""
