"""What TL208 asks about a site: where Python asks a tensor for its truth, and which such tests one read can answer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike, among, comes_with
from torchlint.facts.code.model import LOOPS, Bind, FileFacts
from torchlint.facts.code.nesting import around, is_above, nodes_of, unconditional
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import root_of, walk
from torchlint.facts.finders import Finder
from torchlint.facts.loops.elements import Elements
from torchlint.facts.values.signatures import rules
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Device, Kind

_TESTING = frozenset({"bool", "reduce_bool"})
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


@dataclass(eq=False, slots=True)
class Sometimes(Fact):
    """Answers which names are a number on some ways and a tensor off the host on the others.

    ``at = size - 1``, or ``at = found[0]``. Their truth waits for the device where they are the tensor.
    """

    project: Project
    values: Values

    def of(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an expression is such a name, or compares one with numbers."""
        if isinstance(node, ast.Compare) and all(isinstance(op, _ORDERS) for op in node.ops):
            sides = [node.left, *node.comparators]
            others = [side for side in sides if not self.of(facts, side)]
            return len(others) < len(sides) and all(self.values.of(facts, o).kind is Kind.NUMBER for o in others)
        if not isinstance(node, ast.Name) or self.values.of(facts, node).known:
            return False
        found = [self.values.of(facts, value) for value in self.project.reaching(facts, node).values]
        kinds = {value.kind for value in found}
        away = all(value.device is not Device.CPU for value in found if value.kind is Kind.TENSOR)
        return kinds == {Kind.NUMBER, Kind.TENSOR} and away


@dataclass(eq=False, slots=True)
class Truths(Finder):
    """Finds expressions that Python asks for their truth and that are tensors; ``x in t`` with such a ``t`` too.

    Tests of statements, conditional expressions and comprehensions, operands of ``and``, ``or`` and ``not``.
    """

    values: Values
    sometimes: Sometimes

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the expressions."""
        return (node for node in file.tests if wanted(node) and self._reads_tensor(file, node))

    def _reads_tensor(self, file: FileFacts, test: ast.expr) -> bool:
        """Whether a tensor has to be read for the truth of an expression: its own, or a search in it."""
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.In, ast.NotIn)):
            test = test.comparators[0]
        if isinstance(test, ast.Attribute) and test.attr == "grad":
            return False  # asks whether there is one: of a parameter of many numbers it raises, and nothing waits
        return self.values.of(file, test).kind is Kind.TENSOR or self.sometimes.of(file, test)


@dataclass(eq=False, slots=True)
class EarlyEnds(Fact):
    """Answers which tests in a loop read one element of a tensor that was there before the loop."""

    elements: Elements

    def of(self, facts: FileFacts, test: ast.expr) -> bool:
        """Return whether a test, or a side of a comparison, is such an element: ``if ids[i, t] == end: break``."""
        sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
        return any(self._is_element(facts, side) for side in sides)

    def _is_element(self, facts: FileFacts, node: ast.expr) -> bool:
        if not isinstance(node, ast.Subscript):
            return isinstance(node, ast.Name) and self.elements.of(facts, node) is not None
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        counted = any(self.elements.counted(facts, node.value, index) for index in indices)
        return (counted or any(_is_stepped(facts, node, index) for index in indices)) and not _is_written(facts, node)


def _is_stepped(facts: FileFacts, node: ast.Subscript, index: ast.expr) -> bool:
    """Whether a loop goes on to the next place of what it never binds: ``while row[at] == pad: at -= 1``."""
    loop = next((part for part in facts.ancestors(index) if isinstance(part, LOOPS)), None)
    whole = root_of(node.value)
    if not isinstance(loop, ast.While) or not isinstance(whole, ast.Name):
        return False
    steps = (stmt for stmt in loop.body if isinstance(stmt, ast.AugAssign) and isinstance(stmt.value, ast.Constant))
    bound = (part.id for part in walk(loop) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    return any(alike(stmt.target, index) for stmt in steps) and whole.id not in bound


def _is_written(facts: FileFacts, node: ast.Subscript) -> bool:
    """Whether a loop around a subscript writes into what it takes an element of."""
    inside = nodes_of(around(facts, node))
    stored = (each.value for each in inside if isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load))
    return among(node.value, stored)


@dataclass(eq=False, slots=True)
class Tests(Fact):
    """Answers which operands of ``and`` and ``or`` are tensors that the device can join, so that one read is enough."""

    project: Project
    values: Values

    def is_truth(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an expression is proven a tensor that holds one truth and has no dimension.

        ``any`` and ``all`` of bytes give a byte, which is 0 or 1.
        """
        value = self.values.of(facts, node)
        if value.kind is not Kind.TENSOR or value.rank != 0:
            return False
        func = node.func if isinstance(node, ast.Call) else None
        asked = isinstance(func, ast.Attribute) and func.attr in ("any", "all") and value.dtype in (None, "uint8")
        return asked or value.dtype == "bool"

    def names(self, node: ast.expr) -> Sequence[ast.Name]:
        """Return the names that are read in any case where an expression is computed."""
        return [part for part in unconditional(node) if isinstance(part, ast.Name)]

    def doubt(self, facts: FileFacts, node: ast.expr, known: Sequence[ast.Name]) -> str | None:
        """Return what has to be assumed for an expression to be computed although ``and`` or ``or`` would not do so.

        Nothing (an empty text) where it is harmless, ``None`` where it is not even if all that it asks is a tensor.
        ``known``: names that are read before it in any case.
        """
        if self._is_harmless(facts, node, known):
            return ""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name() as asked, attr="any" | "all"), args=[], keywords=[]):
                unknown = self.values.of(facts, asked).kind is Kind.UNKNOWN
                return f"`{asked.id}` is a tensor" if unknown and self._is_harmless(facts, asked, known) else None
        return None

    def _is_harmless(self, facts: FileFacts, node: ast.expr, known: Sequence[ast.Name]) -> bool:
        """Whether an expression may as well be computed where ``and`` or ``or`` would have left it out.

        It only compares, or asks elements for what they are, and neither its names nor what it does with them can fail.
        """
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            bound = any(node.id == each.id or comes_with(self.project, facts, node, each) for each in known)
            return bound or self._is_bound(facts, node)
        if isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id == facts.scope_of(node).function.self_name
            return own and self.values.of(facts, node).known
        if isinstance(node, ast.Compare):
            return self._compares(facts, node, known)
        return isinstance(node, ast.Call) and self._asks(facts, node, known)

    def _compares(self, facts: FileFacts, node: ast.Compare, known: Sequence[ast.Name]) -> bool:
        """Whether a comparison has two sides that fit each other: one is a number, or neither has dimensions."""
        if len(node.ops) != 1 or not isinstance(node.ops[0], _ORDERS):
            return False
        sides = [node.left, node.comparators[0]]
        values = [self.values.of(facts, side) for side in sides]
        if not all(value.kind in (Kind.TENSOR, Kind.NUMBER) for value in values):
            return False
        fit = any(value.kind is Kind.NUMBER for value in values) or all(value.rank == 0 for value in values)
        return fit and all(self._is_harmless(facts, side, known) for side in sides)

    def _asks(self, facts: FileFacts, node: ast.Call, known: Sequence[ast.Name]) -> bool:
        """``torch.isnan(x)``, ``x.any()``: of a tensor, without a further argument."""
        name = self.project.qualified(facts, node.func) or ""
        given = node.args
        if isinstance(node.func, ast.Attribute) and not name:
            given = [node.func.value, *given]
            name = f"torch.{node.func.attr}"
        module, _, last = name.rpartition(".")
        if module != "torch" or rules("operations").get(last) not in _TESTING or len(given) != 1 or node.keywords:
            return False
        return self.values.of(facts, given[0]).kind is Kind.TENSOR and self._is_harmless(facts, given[0], known)

    def _is_bound(self, facts: FileFacts, node: ast.Name) -> bool:
        """Whether a name has a value wherever it is read: a parameter, or a statement of a block around binds it."""
        if node.id in facts.scope_of(node).function.params:
            return True
        bindings = self.project.reaching(facts, node).bindings
        return any(binding.how is Bind.ASSIGN and is_above(facts, binding.stmt, node) for binding in bindings)
