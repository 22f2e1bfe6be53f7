"""Which checks are contracts on what comes from outside, not numerical checks of what a network computes."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import field
from functools import partial

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import among
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import NESTED, Bind, FileFacts, Scope
from torchlint.facts.code.naming import rightmost_name
from torchlint.facts.code.nesting import code_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import children, walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.hotness.environments import is_module_and_environment
from torchlint.facts.hotness.iterations import is_generation
from torchlint.facts.values import operators
from torchlint.facts.values.libraries import reads_files
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import last_names, method_names
from torchlint.rule import Kind
from torchlint.rule.site import Site

_LOADERS = last_names(loads=True)
_DELIVERING = frozenset({"__getitem__", "__getitems__", "collate_fn", "collate"})
_SIZES = last_names("Tensor torch", about=True)
# What environments and memories of transitions give.
_ANSWERING = method_names(environment=True)
_SAMPLING = "sample"
_ENDING = frozenset({"exit", "_exit", "quit", "abort"})
# Calls that ask data about its elements, or hand it on: what else is called computes something.
_KEEPING = last_names(tests=True) | last_names(reduces=True) | last_names(makes=True) | last_names(casts=True)
_KEEPING |= last_names(moves=True) | last_names(shapes=True)

# A network behind more parts than this is not what the check is about.
_MOST = 500


class _Origin(enum.Enum):
    """Where a part of an expression comes from."""

    NETWORK = "a network computes it"
    DATA = "a file or a loader of data gives it"
    OUTSIDE = "an environment answers it, a memory samples it, or a loop takes it from a parameter"
    LOST = "from more places than are followed"


@dataclass(eq=False, slots=True)
class Contracts(Fact):
    """Answers what a check that raises is about.

    Behind a debug flag a contract turns a clear error into silent nonsense: an environment's check of an action, one of
    data that was read or sampled, of a batch that has no row left, of a number that is divided by. A check whose error
    the function handles decides what it does.
    """

    project: Project
    graph: CallGraph
    values: Values
    sources: Sources
    _made_of: ValueFlow[_Origin] = field(init=False)
    _handed_on: ValueFlow[_Origin] = field(init=False)

    def __post_init__(self) -> None:
        self._made_of = ValueFlow(partial(self._step, handed=False), lost=_Origin.LOST, most=_MOST)
        self._handed_on = ValueFlow(partial(self._step, handed=True), lost=_Origin.LOST, most=_MOST)

    def of(self, facts: FileFacts, test: ast.expr, *, finite: bool) -> bool:
        """Return whether a test is a contract.

        With ``finite``, it asks for NaN or infinity, which only a forward should bring.

        Other tests of values are about the forward only where they read what a network computed.
        """
        function = facts.scope_of(test).function
        if function.name in _DELIVERING or self._of_environment(function) or _handled(facts, test):
            return True
        origins = self._made_of.ends(facts, test)
        network = _Origin.NETWORK in origins
        if finite:
            forward = function.method_of is not None and self.project.is_module(function.method_of.dotted)
            outside = not forward and _Origin.OUTSIDE in self._handed_on.ends(facts, test)
            return (outside or _Origin.DATA in origins) and not network
        return not network or self._divided_by(function, test)

    def _of_environment(self, function: Scope) -> bool:
        owner = function.method_of
        if owner is None or self.project.is_module(owner.dotted):
            return owner is not None and is_module_and_environment(self.project, owner.dotted)
        for cls in self.project.ancestry(owner.dotted):
            known = operators.foreign_instance(f"of.{cls.rpartition('.')[2]}")
            if known is not None and known.kind is Kind.ENV:
                return True
        return False

    def _step(self, spot: Spot, *, handed: bool) -> Iterator[Spot | _Origin]:
        """From an expression to what it is made of, through names, arguments and returns; ``handed``: on as it is."""
        facts, node = spot.facts, spot.node
        if _is_size(node):
            return
        if self._runs_network(facts, node):
            yield _Origin.NETWORK
        if self._reads_data(facts, node):
            yield _Origin.DATA
        if self._comes_in(facts, node):
            yield _Origin.OUTSIDE  # what an environment or a memory gives is no more what a network computed
        elif not (handed and _computes(node)):
            yield from (Spot(facts, part) for part in _operands(node))
            follows = isinstance(node, ast.Name) or (isinstance(node, ast.Call) and node not in self.graph.weak)
            for source in self.sources.of(Spot(facts, node)) if follows else ():
                if isinstance(source, Spot):
                    yield Spot(source.facts, source.node)

    def _comes_in(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is what an environment answers, a memory samples, or a loop takes its batches from."""
        if not isinstance(node, ast.Call):
            return self._is_stream(facts, node)
        if not isinstance(node.func, ast.Attribute) or node in self.graph.callees:
            return False
        kind = self.values.of(facts, node.func.value).kind
        return kind in (Kind.ENV, Kind.UNKNOWN) and (node.func.attr in _ANSWERING or node.func.attr == _SAMPLING)

    def _is_stream(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a parameter or attribute of unknown kind is what a loop takes its batches from."""
        loop = facts.parent.get(node)
        if not isinstance(loop, (ast.For, ast.AsyncFor)) or loop.iter is not node or self.values.of(facts, node).known:
            return False
        bindings = self.project.reaching(facts, node).bindings if isinstance(node, ast.Name) else []
        return all(b.how is Bind.PARAM and b.scope and not self.graph.callers.get(b.scope) for b in bindings)

    def _runs_network(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression runs a network or has a language model generate, or is a parameter of a network."""
        if isinstance(node, ast.Call):
            return is_generation(node) or self.values.of(facts, node.func).kind is Kind.MODULE
        if not isinstance(node, ast.Attribute):
            return False
        if self.values.of(facts, node.value).kind is not Kind.MODULE:
            return False
        made = [store.binding.value for store in self.sources.stores(facts, node)]
        return any(
            isinstance(value, ast.Call)
            and (self.project.qualified(facts, value.func) or "").endswith(("nn.Parameter", "parameter.Parameter"))
            for value in made
        )

    def _reads_data(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression reads a file, or is a loader of data or a dataset."""
        if not isinstance(node, (ast.Call, ast.Name, ast.Attribute)):
            return False
        if isinstance(node, ast.Call):
            name = self.project.qualified(facts, node.func) or ""
            if reads_files(name):
                return True
        return self.values.of(facts, node).name.rpartition(".")[2] in _LOADERS

    def _divided_by(self, function: Scope, test: ast.expr) -> bool:
        """Whether a tensor of the test is a divisor, or part of one, anywhere else in the function."""
        tested = [part for part in walk(test) if isinstance(part, (ast.Name, ast.Attribute))]
        for part in code_of(function):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) and not _within(part, test):
                divisor = part.right
                while isinstance(divisor, ast.Call) and isinstance(divisor.func, ast.Attribute):
                    divisor = divisor.func.value
                if among(divisor, tested):
                    return True
        return False


def _operands(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that an expression is made of."""
    for part in children(node):
        if isinstance(part, ast.expr):
            yield part
        else:
            yield from _operands(part)


def _computes(node: ast.expr) -> bool:
    """Whether an expression makes other numbers of those that it is given."""
    if isinstance(node, ast.Call):
        return rightmost_name(node.func) not in _KEEPING
    return isinstance(node, ast.BinOp)


def _is_size(node: ast.AST) -> bool:
    """Whether a node says how large a tensor is, or what it is, whatever its elements are."""
    if isinstance(node, ast.Attribute):
        return node.attr in _SIZES
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _handled(facts: FileFacts, test: ast.expr) -> bool:
    """Whether the function itself catches what the check raises, and goes on."""
    for inner, outer in facts.climb(test, *NESTED):
        if isinstance(outer, ast.Try) and inner in outer.body:
            return not all(_ends(handler.body[-1]) for handler in outer.handlers)
    return False


def _ends(stmt: ast.stmt) -> bool:
    """Whether a handler goes on nowhere: it raises, or ends the program."""
    match stmt:
        case ast.Raise():
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return rightmost_name(func) in _ENDING
    return False


def _within(part: ast.AST, test: ast.expr) -> bool:
    return any(inner is part for inner in walk(test))


def contract(site: Site, test: cst.CSTNode, *, finite: bool) -> bool:
    """Return whether a test that raises checks outside input and not what a network computed.

    Such are tests in an environment and in what reads data, of tensors that come from there, and of a divisor.
    ``finite``: the test asks for NaN or infinity; other tests that read nothing of a network are contracts too.
    """
    twin = site.expression(test)
    return twin is not None and site.fact(Contracts).of(site.file, twin, finite=finite)
