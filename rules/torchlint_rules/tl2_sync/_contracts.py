"""Which checks are contracts on what comes from outside, not numerical checks of what a network computes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import passed, stores_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import NESTED, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import rightmost_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import children, walk
from torchlint.facts.state.effects import code_of
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
# Calls that ask data about its elements, or hand it on: what else is called computes something.
_KEEPING = last_names(tests=True) | last_names(reduces=True) | last_names(makes=True) | last_names(casts=True)
_KEEPING |= last_names(moves=True) | last_names(shapes=True)
_MOST = 500


@dataclass(eq=False, slots=True)
class _Origins:
    """Where the tensors of an expression come from: a network's forward, a file or a loader of data, or from outside.

    From outside is what an environment answers, what a memory samples, and what a loop takes from a parameter.
    """

    network: bool = False
    data: bool = False
    outside: bool = False


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
    _known: dict[ast.expr, _Origins] = field(default_factory=dict)

    def of(self, facts: FileFacts, test: ast.expr, *, finite: bool) -> bool:
        """Whether a test is a contract. ``finite``: it asks for NaN or infinity, which only a forward should bring.

        Other tests of values are about the forward only where they read what a network computed.
        """
        function = facts.scope_of(test).function
        if function.name in _DELIVERING or self._of_environment(function) or _handled(facts, test):
            return True
        origins = self._origins(facts, test)
        if finite:
            forward = function.method_of is not None and self.project.is_module(function.method_of.dotted)
            return (origins.data or (origins.outside and not forward)) and not origins.network
        return not origins.network or self._divided_by(function, test)

    def _of_environment(self, function: Scope) -> bool:
        owner = function.method_of
        if owner is None or self.project.is_module(owner.dotted):
            return False
        for cls in self.project.ancestry(owner.dotted):
            known = operators.foreign_instance(f"of.{cls.rpartition('.')[2]}")
            if known is not None and known.kind is Kind.ENV:
                return True
        return False

    def _origins(self, facts: FileFacts, test: ast.expr) -> _Origins:
        found = self._known.get(test)
        if found is None:
            found = self._known[test] = _Origins()
            for where, part, computed in self._sources(facts, test):
                found.network = found.network or self._runs_network(where, part)
                found.data = found.data or self._reads_data(where, part)
                found.outside = found.outside or (not computed and self._comes_in(where, part))
        return found

    def _sources(self, facts: FileFacts, test: ast.expr) -> Iterator[tuple[FileFacts, ast.expr, bool]]:
        """All expressions that an expression is made of, followed through names, arguments and returns.

        The last part says whether something was computed on the way, and not only handed on.
        """
        todo: list[tuple[FileFacts, ast.AST, bool]] = [(facts, test, False)]
        seen: set[ast.AST] = set()
        while todo and len(seen) < _MOST:
            where, part, computed = todo.pop()
            if part in seen or _is_size(part):
                continue
            seen.add(part)
            if not isinstance(part, ast.expr):
                todo.extend((where, child, computed) for child in children(part))
                continue
            yield where, part, computed
            if self._comes_in(where, part):
                continue  # what an environment or a memory gives is no more what a network computed
            computed = computed or _computes(part)
            todo.extend((where, child, computed) for child in children(part))
            if isinstance(part, ast.Name):
                for binding in self.project.reaching(where, part).bindings:
                    todo.extend((file, value, computed) for file, value in self._bound(where, binding))
            elif isinstance(part, ast.Call) and part not in self.graph.weak:
                for target in self.graph.callees.get(part, ()):
                    given = (stmt.value for stmt in target.returns if stmt.value is not None)
                    todo.extend((target.file, value, computed) for value in given)

    def _bound(self, facts: FileFacts, binding: Binding) -> Iterator[tuple[FileFacts, ast.expr]]:
        if binding.how is Bind.PARAM and binding.scope is not None:
            for caller in self.graph.callers.get(binding.scope, ()):
                given = passed(binding.scope, binding.target, caller)
                if given is not None:
                    yield caller.facts, given
        elif binding.value is not None:
            yield facts, binding.value

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
        """Whether an expression runs a network, or is a parameter of one."""
        if isinstance(node, ast.Call):
            return self.values.of(facts, node.func).kind is Kind.MODULE
        if not isinstance(node, ast.Attribute):
            return False
        owner = self.values.of(facts, node.value)
        if owner.kind is not Kind.MODULE:
            return False
        made = [
            store.binding.value for cls in owner.name.split("|") for store in stores_of(self.project, cls, node.attr)
        ]
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
        tested = {ast.dump(part) for part in walk(test) if isinstance(part, (ast.Name, ast.Attribute))}
        for part in code_of(function):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) and not _within(part, test):
                divisor = part.right
                while isinstance(divisor, ast.Call) and isinstance(divisor.func, ast.Attribute):
                    divisor = divisor.func.value
                if ast.dump(divisor) in tested:
                    return True
        return False


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
    inner: ast.AST = test
    for outer in facts.ancestors(test):
        if isinstance(outer, NESTED):
            return False
        if isinstance(outer, ast.Try) and inner in outer.body:
            return any(not isinstance(handler.body[-1], ast.Raise) for handler in outer.handlers)
        inner = outer
    return False


def _within(part: ast.AST, test: ast.expr) -> bool:
    return any(inner is part for inner in walk(test))


def contract(site: Site, test: cst.CSTNode, *, finite: bool) -> bool:
    """Whether a test that raises is a contract on what comes from outside, not a check of what a network computed.

    Such are tests in an environment and in what reads data, of tensors that come from there, and of a divisor.
    ``finite``: the test asks for NaN or infinity; other tests that read nothing of a network are contracts too.
    """
    twin = site.expression(test)
    return twin is not None and site.fact(Contracts).of(site.file, twin, finite=finite)
