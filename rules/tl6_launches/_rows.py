"""Which element of a collection an expression stands for in each round of a loop, through conversions and names."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import part_of
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.nesting import LoopNode, around, head, inside, nodes_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import first_index, walk
from torchlint.facts.loops.elements import Elements
from torchlint.facts.values.join import TENSOR
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind, Row
from torchlint.rule.site import Site

_SAME = frozenset(
    {
        *("to", "float", "double", "half", "long", "int", "cuda", "cpu", "detach", "contiguous", "clone", "numpy"),
        *("astype", "copy", "type", "requires_grad_", "repeat", "expand"),
    }
)
_CONVERTING = frozenset(
    {
        *("torch.as_tensor", "torch.tensor", "torch.from_numpy", "torch.Tensor", "torch.FloatTensor"),
        *("torch.LongTensor", "torch.autograd.Variable", "numpy.array", "numpy.asarray", "numpy.float32"),
    }
)
_RAISING = frozenset({"torch.unsqueeze", "numpy.expand_dims", "torch.atleast_2d", "numpy.atleast_2d"})
_NUMBERS = frozenset({Kind.NUMBER, Kind.SCALAR})
_DEPTH = 12


@dataclass(eq=False, slots=True)
class Rows(Fact):
    """Answers which element of what an expression is, made from nothing else."""

    project: Project
    values: Values
    elements: Elements

    def of(self, facts: FileFacts, node: ast.expr) -> Row | None:
        """Return the element that an expression is in each round of the innermost loop, ``None`` for other expressions.

        ``o`` of ``for o in xs``, ``xs[i]`` where the loop counts ``i``, a part of an element (``o.state``), and
        conversions of these: ``torch.as_tensor(o).to(d)``, ``o.unsqueeze(0)``, ``xs[i : i + 1]``, also behind names set
        in the same round.
        """
        loop = next(iter(around(facts, node)), None)
        if loop is None or isinstance(loop, ast.While):
            return None
        return self._of(facts, node, loop, set(nodes_of(inside(loop))), single=False)

    def _of(self, facts: FileFacts, node: ast.expr, loop: LoopNode, body: set[ast.AST], *, single: bool) -> Row | None:
        for _ in range(_DEPTH):
            inner = self._unwrapped(facts, node)
            if inner is not None:
                single |= inner[1]
                node = inner[0]
                continue
            if isinstance(node, ast.DictComp):
                return self._in_dict(facts, node, loop)
            found = self._element(facts, node, loop, single=single)
            if found is not None:
                return found
            behind = self._behind(facts, node, body)
            if behind is None:
                return self._of_samples(facts, node, loop, body, single=single)
            node = behind
        return None

    def _of_samples(
        self, facts: FileFacts, node: ast.expr, loop: LoopNode, body: set[ast.AST], *, single: bool
    ) -> Row | None:
        """The row that is a part of what a class of the project picks by a number: ``obs, goal = data[i]``.

        Its ``__getitem__`` gives rows of what it holds: ``return self.obs[index], self.goal[index]``.
        """
        binding = self.project.reaching(facts, node).only if isinstance(node, ast.Name) else None
        picked = binding.value if binding is not None else node
        if not isinstance(picked, ast.Subscript) or facts.statement(picked) not in body:
            return None
        held = self.values.of(facts, picked.value)
        pickers = list(self.project.implementations(held.name, "__getitem__")) if held.kind is Kind.INSTANCE else []
        if len(pickers) != 1 or len(pickers[0].results) != 1 or len(pickers[0].positional) != 2:
            return None
        stretch = isinstance(picked.slice, (ast.Slice, ast.Tuple, ast.List))
        if stretch or not self._is_number_of_round(facts, picked.slice, loop, body):
            return None
        given = part_of(pickers[0].results[0], binding.path if binding is not None else ())
        return self._picked(pickers[0], given, single=single) if given is not None else None

    def _picked(self, picker: Scope, node: ast.expr, *, single: bool) -> Row | None:
        """The row of an attribute that a method picks by its own parameter, also behind names and conversions."""
        for _ in range(_DEPTH):
            inner = self._unwrapped(picker.file, node)
            if inner is not None:
                node, single = inner[0], single or inner[1]
            elif isinstance(node, ast.Name) and (value := self.project.reaching(picker.file, node).value) is not None:
                node = value
            else:
                break
        match node:
            case ast.Subscript(value=ast.Attribute() as whole, slice=ast.Name(id=index)) if (
                index == picker.positional[1] and len(picker.bindings[index]) == 1
            ):
                return Row(over=self.values.of(picker.file, whole), single=single)
        return None

    def _is_number_of_round(self, facts: FileFacts, index: ast.expr, loop: LoopNode, body: set[ast.AST]) -> bool:
        """Whether an index is computed from the count of a loop, or from a number that it goes over."""
        over = head(loop)
        for name in (part for part in walk(index) if isinstance(part, ast.Name)):
            number = self.values.of(facts, name).kind in _NUMBERS
            if _is_bound_by(loop, name):
                return number or (over is not None and self.elements.is_count(facts, over))
            behind = self._behind(facts, name, body)
            if behind is not None and (number or self._is_number_of_round(facts, behind, loop, body)):
                return True
        return False

    def _element(self, facts: FileFacts, node: ast.expr, loop: LoopNode, *, single: bool) -> Row | None:
        """The row that an element of the loop's own collection is; a stretch of one row is a batch of one."""
        while isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and _is_part(node)):
            node = node.value
        over, index = head(loop), node
        if isinstance(node, ast.Subscript):
            index = first_index(node)
            if isinstance(index, ast.Slice):
                index, single = _only(index) or index, True
        if over is None or not isinstance(index, ast.Name) or not _is_bound_by(loop, index):
            return None
        if not isinstance(node, ast.Subscript):
            value = self.elements.collection(facts, node)
            return Row(over=value, single=single) if value is not None else None
        if not self.elements.counted(facts, node.value, index):
            return None
        return Row(over=self.values.of(facts, node.value), single=single, counted=ast.unparse(over))

    def _in_dict(self, facts: FileFacts, whole: ast.DictComp, loop: LoopNode) -> Row | None:
        """The rows that a dict has of the values of another one: ``{k: v[i : i + 1] for k, v in xs.items()}``."""
        match whole:
            case ast.DictComp(
                value=node,
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[_, ast.Name(id=held)]),
                        iter=ast.Call(func=ast.Attribute(value=ast.Name() as rows, attr="items")),
                        ifs=[],
                    )
                ],
            ):
                inner = self._unwrapped(facts, node)
            case _:
                return None
        node, single = inner if inner is not None else (node, False)
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or node.value.id != held:
            return None
        index, over = first_index(node), head(loop)
        if isinstance(index, ast.Slice):
            index, single = _only(index) or index, True
        if over is None or not isinstance(index, ast.Name) or not self.elements.counted(facts, rows, index):
            return None
        known = self.values.of(facts, node.value)
        return Row(over=known if known.known or not single else TENSOR, single=single, counted=ast.unparse(over))

    def _unwrapped(self, facts: FileFacts, node: ast.expr) -> tuple[ast.expr, bool] | None:
        """What a conversion or a view is of, and whether it makes a batch of one; ``None`` for anything else."""
        match node:
            case ast.List(elts=[inner]) | ast.Tuple(elts=[inner]):
                return inner, True
            case ast.Subscript(value=inner, slice=index) if self._adds_dimension(facts, index):
                return inner, True
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _SAME:
                return inner, False
            case ast.Call(func=ast.Attribute(value=inner, attr="unsqueeze"), args=[ast.Constant(value=0)]):
                return inner, True
            case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[ast.Constant(value=1), _, *_]) if attr in (
                "view",
                "reshape",
            ):
                return inner, True
            case ast.Call(args=[inner, *_]):
                name = self.project.qualified(facts, node.func) or ""
                if name in _CONVERTING or name in _RAISING:
                    return inner, name in _RAISING
        return None

    def _adds_dimension(self, facts: FileFacts, index: ast.expr) -> bool:
        """Whether an index puts a dimension before all others: ``None``, ``None, :``."""
        first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
        if isinstance(first, ast.Constant) and first.value is None:
            return True
        return isinstance(first, ast.Attribute) and self.project.qualified(facts, first) == "numpy.newaxis"

    def _behind(self, facts: FileFacts, node: ast.expr, body: set[ast.AST]) -> ast.expr | None:
        """What the only binding of a name, in the same round, gives it."""
        value = self.project.reaching(facts, node).value
        return value if value is not None and facts.statement(value) in body else None


def _is_part(node: ast.Subscript) -> bool:
    """Whether a subscript takes a part of an element by a literal key: ``o["image"]``."""
    return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, (str, int))


def _only(index: ast.Slice) -> ast.expr | None:
    """``i`` of ``i : i + 1``."""
    match index:
        case ast.Slice(
            lower=ast.Name(id=low) as name, upper=ast.BinOp(left=ast.Name(id=high), op=ast.Add(), right=one)
        ) if low == high and isinstance(one, ast.Constant) and one.value == 1:
            return name
    return None


def _is_bound_by(loop: LoopNode, name: ast.Name) -> bool:
    """Whether a loop binds a name in its head."""
    targets: Sequence[ast.expr] = ()
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        targets = (loop.target,)
    elif not isinstance(loop, ast.While):
        targets = [part.target for part in loop.generators]
    return any(isinstance(part, ast.Name) and part.id == name.id for target in targets for part in walk(target))


def row_of(site: Site, node: cst.CSTNode) -> Row | None:
    """Return the element of a collection that an expression is in each round of a loop, and of nothing else.

    Like ``element_of``, of any collection, and also through conversions, views that make a batch of one, parts
    (``o.state``), and names: ``x`` after ``x = torch.as_tensor(o).unsqueeze(0)``.
    """
    twin = site.expression(node)
    return site.fact(Rows).of(site.file, twin) if twin is not None else None
