"""What TL607 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.makers import Makers
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.relaying import HANDING
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.finders import Finder
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Kind
from torchlint.rule.site import Site

_PASSING = method_names("torch.Tensor torch", elements=("all", "some"), integral=False)
_CROSSED = frozenset({Label.COPY, Label.ITEM, Label.RETURN, Label.ARGUMENT})
_WRAPPING = HANDING | function_names("torch", makes="array")
_HANDED = frozenset({Label.COPY, Label.ARGUMENT})
_ZEROS = frozenset({"zeros", "zeros_like", "new_zeros", "zero_"})
_PRODUCTS = frozenset({"mul", "multiply"})
_MATRIX_PRODUCTS = frozenset({"matmul", "mm"})
_SCATTERS = frozenset({"scatter", "scatter_"})
_SHAPING = frozenset({"view", "reshape"})
_CASTS = (
    frozenset({"detach", "type", "type_as"})
    | method_names("torch.Tensor", casts=True).all
    | method_names("torch.Tensor", moves=True).all
)
ONE_HOT = "torch.nn.functional.one_hot"
"""The function that makes a table of the numbers of its ones."""


@dataclass(eq=False, slots=True)
class OneHotTables(Fact):
    """Answers whether a tensor is a table with a single one in each row, however it is made."""

    sources: Sources
    makers: Makers
    mentions: Mentions
    _tables: ValueFlow[bool] = field(init=False)
    _columns: ValueFlow[bool] = field(init=False)
    _upright: ValueFlow[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._tables = ValueFlow(self._step, lost=False)
        self._columns = ValueFlow(self._shaped, lost=False)
        self._upright = ValueFlow(self._cast, lost=False)

    def picks(self, facts: FileFacts, whole: ast.expr, dim: int) -> bool:
        """Return whether a sum over a dimension takes one of each row: of a product with a table, also by its name."""
        named = self.sources.project.reaching(facts, whole).value
        product = named if isinstance(whole, ast.Name) else whole
        factors = self._factors(facts, product, ast.Mult, _PRODUCTS) if product is not None else ()
        for values, table in (factors, factors[::-1]) if factors else ():
            if self._is_one(facts, table) and not self._is_one(facts, values):
                rank = self.sources.values.of(facts, values).rank
                last = dim in (-1, rank - 1) if rank is not None else dim in (-1, 1)
                return last and not (isinstance(table, ast.Name) and self.mentions.handed_on(facts, table))
        return False

    def reads_rows(self, facts: FileFacts, product: ast.expr) -> bool:
        """Return whether an expression is a product of a table with a matrix, of which it only reads rows."""
        factors = self._factors(facts, product, ast.MatMult, _MATRIX_PRODUCTS)
        if not factors or set(self._upright.ends(facts, factors[0])) != {True}:
            return False
        table = factors[0]
        while isinstance(table, ast.Call) and isinstance(table.func, ast.Attribute) and table.func.attr in _CASTS:
            table = table.func.value
        if not isinstance(table, ast.Name):
            return True
        if isinstance(product, ast.BinOp):
            return not self.mentions.handed_on(facts, table)
        stmts = {binding.stmt for binding in self.sources.project.bound_to(facts, table)}
        return all(read is table for stmt in stmts for read in self.mentions.of_binding(facts, table.id, stmt))

    def _cast(self, spot: Spot) -> Iterator[Spot | bool]:
        """To what makes a table whose last dimension is that of the ones; ``True`` for `one_hot` itself."""
        match spot.node:
            case ast.Call(func=ast.Attribute(value=table, attr=method)) if method in _CASTS:
                yield spot.same(table, Label.RECEIVER)
            case ast.Call(func=func) if self.sources.project.qualified(spot.facts, func) == ONE_HOT:
                yield True
            case _:
                yield from self.sources.crossing(spot, _CROSSED, False)

    def _factors(
        self, facts: FileFacts, product: ast.expr, operator: type[ast.operator], names: frozenset[str]
    ) -> tuple[ast.expr, ...]:
        """The two factors of a product, of an operator, a method or a function of torch; none of anything else."""
        match product:
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, operator):
                return left, right
            case ast.Call(func=ast.Attribute(value=left, attr=name), args=given, keywords=[]) if name in names:
                own = self.sources.project.qualified(facts, product.func) is None
                factors = (left, *given) if own else given
                return tuple(factors) if len(factors) == 2 else ()
        return ()

    def _is_one(self, facts: FileFacts, node: ast.expr) -> bool:
        return self.makers.of(facts, node) == "one_hot" or set(self._tables.ends(facts, node)) == {True}

    def _step(self, spot: Spot) -> Iterator[Spot | bool]:
        """To what a table is a view or cast of; ``True`` where it is rows of a unit matrix, or zeros with ones."""
        match spot.node:
            case ast.Subscript(value=matrix, slice=index):
                rows = self.sources.values.of(spot.facts, index).kind in (Kind.TENSOR, Kind.UNKNOWN)
                rows = rows and not isinstance(index, (ast.Slice, ast.Tuple))
                unit = rows and self.makers.of(spot.facts, matrix) == "eye"
                yield unit or spot.same(matrix, Label.ITEM)
            case ast.Call(func=ast.Attribute(value=table, attr=method)) if method in _PASSING:
                yield spot.same(table, Label.RECEIVER)
            case ast.Call(func=ast.Attribute(value=zeros)) as call if self._puts_ones(spot.facts, call):
                yield self.makers.of(spot.facts, zeros) in _ZEROS
            case ast.Call(func=func, args=[given, *_]) if self.sources.project.qualified(spot.facts, func) in _WRAPPING:
                yield spot.same(given, Label.COPY)
            case ast.Name() as name if self._is_filled(spot.facts, name):
                yield True
            case _:
                yield from self.sources.crossing(spot, _CROSSED, False)

    def _is_filled(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether zeros of a name get ones before it is read: ``table.scatter_(1, index.unsqueeze(1), 1)``."""
        stmts = {binding.stmt for binding in self.sources.project.bound_to(facts, name)}
        reads = [read for stmt in stmts for read in self.mentions.of_binding(facts, name.id, stmt)]
        calls = [facts.parent.get(facts.parent.get(read, read)) for read in reads if read.lineno < name.lineno]
        cleared = any(isinstance(call, ast.Call) and last_name(call.func) == "zero_" for call in calls)
        if not cleared and self.makers.of(facts, name) not in _ZEROS:
            return False
        return any(isinstance(call, ast.Call) and self._puts_ones(facts, call) for call in calls)

    def _puts_ones(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call writes a single one into each row of a tensor."""
        match call:
            case ast.Call(func=ast.Attribute(attr=method), args=[_, index, one], keywords=[]) if method in _SCATTERS:
                column = set(self._columns.ends(facts, index)) == {True}
                return column and self.sources.values.of(facts, one).literal == 1
        return False

    def _shaped(self, spot: Spot) -> Iterator[Spot | bool]:
        """``True`` for what has one number in each row: ``x.unsqueeze(1)``, ``x.view(-1, 1)``, ``x[:, None]``."""
        if any(map(_makes_column, walk(spot.node))):
            yield True
        else:
            yield from self.sources.crossing(spot, _HANDED, False)


@dataclass(eq=False, slots=True)
class RowProducts(Finder):
    """Finds products of a table with a matrix, of which they only read rows: ``F.one_hot(tokens) @ weight``."""

    tables: OneHotTables

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield such products."""
        products = (node for node in file.nodes(ast.BinOp) if isinstance(node.op, ast.MatMult))
        calls = (node for node in file.nodes(ast.Call) if last_name(node.func) in _MATRIX_PRODUCTS)
        for product in (*products, *calls):
            if wanted(product) and self.tables.reads_rows(file, product):
                yield product


def _makes_column(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="unsqueeze")):
            return True
        case ast.Call(func=ast.Attribute(attr=method), args=[*_, ast.Constant(value=1)]):
            return method in _SHAPING
        case ast.Subscript(slice=ast.Tuple(elts=[*_, ast.Constant(value=None)])):
            return True
    return False


def handed_on(site: Site, node: cst.CSTNode) -> bool:
    """Return whether what a name holds also goes elsewhere: to a call, into a container, or out of the function."""
    twin = site.expression(node)
    return isinstance(twin, ast.Name) and site.fact(Mentions).handed_on(site.file, twin)


def picks_by_table(site: Site, whole: cst.CSTNode, dim: int) -> bool:
    """Return whether a sum over a dimension takes one value of each row, by a table that was made before."""
    twin = site.expression(whole)
    return twin is not None and site.fact(OneHotTables).picks(site.file, twin, dim)


def reads_rows(site: Site) -> bool:
    """Return whether a site is a product that only reads rows of a matrix."""
    twin = site.twin
    return isinstance(twin, (ast.BinOp, ast.Call)) and site.fact(OneHotTables).reads_rows(site.file, twin)
