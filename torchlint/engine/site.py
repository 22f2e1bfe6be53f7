"""The engine's answer to the questions a rule may ask: a ``Site`` over paired trees and facts."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.facts.callers import stores_of
from torchlint.facts.guards import raises
from torchlint.facts.model import Bind, FileFacts, Scope, decorators
from torchlint.rule import UNKNOWN, Average, CallSite, Frequency, Hotness, Link, Loop, Network, Picked, Run, Use, Value

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.engine.analysis import Analysis
    from torchlint.engine.pair import Pairs

_FEW_CALLS = 5
_FLAG = re.compile(r"(^|_)(debug\w*|sanity\w*|check_nans?|check_finite|check_numerics|validate|validation)($|_)")


class PairedSite:
    """A node of a statement whose LibCST tree was paired with its ``ast`` twin."""

    __slots__ = ("_hot", "analysis", "facts", "node", "pairs", "twin")

    def __init__(self, analysis: Analysis, facts: FileFacts, pairs: Pairs, node: cst.CSTNode, twin: ast.AST) -> None:
        """Stand at ``node``, whose twin is ``twin``."""
        self.analysis = analysis
        self.facts = facts
        self.pairs = pairs
        self.node = node
        self.twin = twin
        self._hot: Hotness | None = None

    def __repr__(self) -> str:
        """Where the site stands, for messages about rules that fail."""
        return f"{self.facts.path}:{getattr(self.twin, 'lineno', 1)}"

    def _ast(self, node: cst.CSTNode) -> ast.AST | None:
        found = self.pairs.ast_of(node)
        if found is None and node not in self.pairs:
            raise TypeError(f"{type(node).__name__} was built by the rule and has no facts")
        return found

    def _expr(self, node: cst.CSTNode) -> ast.expr | None:
        found = self._ast(node)
        return found if isinstance(found, ast.expr) else None

    @property
    def hot(self) -> Hotness:
        """How often the node runs; of a function, its body."""
        if self._hot is None:
            self._hot = self.analysis.heat.at(self.facts, place_of(self.twin))
        return self._hot

    def acting(self) -> bool:
        """Whether something else than gradient updates makes the node hot."""
        return self.analysis.heat.kinds(self.facts, place_of(self.twin)) != {"update"}

    def frequency(self, node: cst.CSTNode) -> Frequency:
        """How often one node of the statement runs."""
        twin = self._ast(node)
        return self.analysis.heat.frequency(self.facts, twin) if twin is not None else Frequency.ONCE

    def name(self, node: cst.CSTNode) -> str | None:
        """Qualified name through the imports."""
        twin = self._expr(node)
        return self.analysis.project.qualified(self.facts, twin) if twin is not None else None

    def constructor(self, call: cst.Call) -> str | None:
        """The class whose ``__init__`` a call runs."""
        twin = self._ast(call)
        return self.analysis.project.constructor(self.facts, twin.func) if isinstance(twin, ast.Call) else None

    def module_name(self, module: str) -> str | None:
        """The name a module is bound to by an import of this file that the node sees."""
        scope: Scope | None = self.facts.scope_of(self.twin)
        while scope is not None:
            if scope.kind != "class":
                for name, bindings in scope.bindings.items():
                    if all(b.how is Bind.IMPORT and b.target == module for b in bindings):
                        return name
            scope = scope.parent
        return None

    def value(self, node: cst.CSTNode) -> Value:
        """What is known of an expression."""
        twin = self._expr(node)
        return self.analysis.values.of(self.facts, twin) if twin is not None else UNKNOWN

    def chain(self, node: cst.CSTNode) -> Sequence[Link]:
        """Method calls and subscripts on top of an expression."""
        import libcst as cst

        links: list[Link] = []
        current = node
        while True:
            above = self.pairs.parent(current)
            if isinstance(above, cst.Attribute) and above.value is current:
                call = self.pairs.parent(above)
                if not isinstance(call, cst.Call) or call.func is not above:
                    break
                links.append(Link(above.attr.value, call))
                current = call
            elif isinstance(above, cst.Subscript) and above.value is current:
                links.append(Link("[]", above))
                current = above
            else:
                break
        return links

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds another one."""
        return self.pairs.parent(node)

    def argument(self, call: cst.Call, position: int, keyword: str) -> cst.BaseExpression | None:
        """An argument by position or keyword."""
        index = 0
        for arg in call.args:
            if arg.star:
                return None
            if arg.keyword is not None:
                if arg.keyword.value == keyword:
                    return arg.value
            else:
                if index == position:
                    return arg.value
                index += 1
        return None

    def plain(self, call: cst.Call) -> bool:
        """Whether a call has no star arguments."""
        return not any(arg.star for arg in call.args)

    def constant(self, node: cst.CSTNode) -> bool:
        """Whether an expression has the same value on every call."""
        twin = self._expr(node)
        return twin is not None and self.analysis.constants.of(self.facts, twin)

    def debug_flag(self) -> str | None:
        """A debug attribute or parameter in scope whose default is false."""
        scope: Scope | None = self.facts.scope_of(self.twin).function
        while scope is not None and scope.kind == "function":
            for name in scope.params:
                default = scope.bindings[name][0].value
                if _FLAG.search(name) and len(scope.bindings[name]) == 1 and _is_false(default):
                    return name
            owner = scope.method_of
            if owner is not None and scope.self_name:
                attribute = self._debug_attribute(owner)
                return f"{scope.self_name}.{attribute}" if attribute else None
            scope = scope.parent
        return None

    def _debug_attribute(self, owner: Scope) -> str | None:
        project = self.analysis.project
        names = {name for cls in project.family(owner.dotted) for name in cls.stores if _FLAG.search(name)}
        for name in sorted(names):
            stores = list(stores_of(project, owner.dotted, name))
            if all(store.scope.kind == "class" or store.scope.name == "__init__" for store in stores) and all(
                self._false_by_default(store.scope, store.binding.value) for store in stores
            ):
                return name
        return None

    def _false_by_default(self, scope: Scope, value: ast.expr | None) -> bool:
        if _is_false(value):
            return True
        if not isinstance(value, ast.Name):
            return False
        bound = scope.bindings.get(value.id, [])
        return len(bound) == 1 and bound[0].how is Bind.PARAM and _is_false(bound[0].value)

    def raises(self) -> bool:
        """Of an ``if``, whether its body exists to raise; an assert does."""
        if isinstance(self.twin, ast.If):
            return raises(self.twin.body)
        return isinstance(self.twin, ast.Assert)

    def scripted(self) -> bool:
        """Whether the node stands in TorchScript code."""
        if self._script_decorated(self.twin):
            return True
        scope: Scope | None = self.facts.scope_of(self.twin)
        while scope is not None:
            if self._script_decorated(scope.node):
                return True
            if scope.kind == "class" and any(
                base.rpartition(".")[2] == "ScriptModule" for base in self.analysis.project.ancestry(scope.dotted)
            ):
                return True
            scope = scope.parent
        return False

    def _script_decorated(self, node: ast.AST) -> bool:
        names = [self.analysis.project.qualified(self.facts, part) or "" for part in decorators(node)]
        return any(name.startswith("torch.jit.") for name in names)

    def compiled(self) -> bool:
        """Whether the node stands in a function or class that the project compiles, or calls one that is."""
        compiled = self.analysis.compiled()
        if not compiled:
            return False
        scope: Scope | None = self.facts.scope_of(self.twin)
        while scope is not None:
            if scope.dotted in compiled:
                return True
            scope = scope.parent
        body = self.twin if isinstance(self.twin, (ast.With, ast.FunctionDef, ast.AsyncFunctionDef)) else None
        calls = [part for part in ast.walk(body) if isinstance(part, ast.Call)] if body is not None else []
        return any(self._calls_compiled(call.func, compiled) for call in calls)

    def _calls_compiled(self, func: ast.expr, compiled: frozenset[str]) -> bool:
        if self.analysis.values.of(self.facts, func).name in compiled:
            return True
        if not isinstance(func, ast.Attribute):
            return False
        owner = self.analysis.values.of(self.facts, func.value).name
        return any(f"{cls}.{func.attr}" in compiled for cls in self.analysis.project.ancestry(owner))

    def may_use_cuda(self) -> bool:
        """Whether the project may run on an accelerator."""
        return self.analysis.may_use_cuda(self.facts)

    def mutated(self, node: cst.CSTNode) -> bool:
        """Whether what an expression is assigned to is changed in place later."""
        twin = self._expr(node)
        return twin is not None and self.analysis.uses.mutated(self.facts, twin)

    def leaves_as_data(self) -> bool:
        """Whether nothing that leaves a ``with`` block or function can be a tensor."""
        twin = self.twin
        if not isinstance(twin, (ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)):
            twin = self.facts.scope_of(twin).function.node
        if not isinstance(twin, (ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        return self.analysis.escapes.leaves_as_data(self.facts, twin)

    def calls_of(self, node: cst.CSTNode) -> Sequence[CallSite]:
        """All places that call what an expression is assigned to."""
        twin = self._expr(node)
        return self.analysis.uses.calls_of(self.facts, twin) if twin is not None else []

    def uses(self, node: cst.CSTNode) -> frozenset[Use]:
        """Where the value of an expression goes."""
        twin = self._expr(node)
        return self.analysis.flow.uses(self.facts, twin) if twin is not None else frozenset({Use.PASSED})

    def graph_uses(self, node: cst.CSTNode) -> frozenset[Use]:
        """Where the autograd graph of a tensor goes."""
        twin = self._expr(node)
        return self.analysis.flow.graph_uses(self.facts, twin) if twin is not None else frozenset({Use.PASSED})

    def copies(self, node: cst.CSTNode) -> bool:
        """Whether a call is one of a project function that only copies its argument to the host."""
        twin = self._expr(node)
        return isinstance(twin, ast.Call) and self.analysis.readers.called(twin)

    def copying(self) -> bool:
        """Whether the function that holds the node only copies its argument to the host."""
        return self.analysis.readers.within(self.facts, place_of(self.twin))

    def differentiated(self, node: cst.CSTNode) -> bool:
        """Whether ``backward()`` runs through what a name or attribute holds."""
        twin = self._expr(node)
        return twin is not None and self.analysis.flow.differentiated(self.facts, twin)

    def records(self) -> bool | None:
        """Whether autograd records what runs at the node."""
        return self.analysis.autograd.records(self.facts, place_of(self.twin))

    def has_graph(self, node: cst.CSTNode, *, trained: bool = False) -> bool | None:
        """Whether a tensor hangs on a recorded graph."""
        twin = self._expr(node)
        return self.analysis.autograd.has_graph(self.facts, twin, trained=trained) if twin is not None else None

    def run(self, node: cst.CSTNode) -> Run | None:
        """What a call does that runs a network."""
        twin = self._expr(node)
        if not isinstance(twin, ast.Call) or not self.analysis.autograd.runs(self.facts, twin):
            return None
        keeps = not self.analysis.escapes.keep_nothing(self.analysis.graph.callees.get(twin, ()))
        return self.analysis.autograd.run(self.facts, twin, keeps=keeps)

    def network(self, node: cst.CSTNode) -> Network:
        """What is known of a module."""
        twin = self._expr(node)
        return self.analysis.networks.of(self.facts, twin) if twin is not None else Network()

    def reaches(self, names: frozenset[str]) -> bool:
        """Whether the function that holds the node may run one of these."""
        return self.analysis.autograd.reaches(self.facts.scope_of(place_of(self.twin)).function, names)

    def average(self, node: cst.CSTNode) -> Average | None:
        """The average of two networks that an expression keeps up."""
        twin = self._expr(node)
        return self.analysis.averages.of(self.facts, twin) if twin is not None else None

    def made_by(self, node: cst.CSTNode) -> str:
        """The function that made a tensor."""
        twin = self._expr(node)
        return self.analysis.makers.of(self.facts, twin) if twin is not None else ""

    def loops(self, node: cst.CSTNode) -> Sequence[Loop]:
        """The loops around an expression, innermost first."""
        twin = self._expr(node)
        return self.analysis.loops.of(self.facts, twin) if twin is not None else ()

    def element_of(self, node: cst.CSTNode) -> Value | None:
        """The tensor whose element an expression is in each round of a loop."""
        twin = self._expr(node)
        return self.analysis.elements.of(self.facts, twin) if twin is not None else None

    def picked(self) -> Picked | None:
        """What a loop computes with elements of tensors."""
        return self.analysis.elements.picked(self.facts, self.twin) if isinstance(self.twin, ast.For) else None

    def batchable(self, call: cst.Call) -> bool:
        """Whether a call in a loop could be made once for all rounds."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analysis.batching.batchable(self.facts, twin)

    def ensemble(self, call: cst.Call) -> bool:
        """Whether a call runs one of several networks built alike."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analysis.batching.ensemble(self.facts, twin)

    def grows(self, node: cst.CSTNode) -> str:
        """What an expression is added to again and again."""
        twin = self._expr(node)
        return self.analysis.growth.of(self.facts, twin) if twin is not None else ""

    def is_loss(self, node: cst.CSTNode) -> bool:
        """Whether backward() is called on what an expression stands for."""
        twin = self._expr(node)
        return twin is not None and self.analysis.growth.is_loss(self.facts, twin)

    def backpropagated(self, node: cst.CSTNode) -> bool:
        """Whether backward() runs through what an expression is made of."""
        twin = self._expr(node)
        return twin is not None and self.analysis.growth.backpropagated(self.facts, twin)

    def project_calls(self, name: str) -> Sequence[Sequence[Value]]:
        """The positional arguments of every call of a qualified name in the project."""
        return self.analysis.calls_of(name)

    def nearby(self, names: frozenset[str]) -> bool:
        """Whether the function that holds the node calls one of these, or of a short helper all its callers do."""
        scope = self.facts.scope_of(place_of(self.twin)).function
        if any(self._calls_one_of(function, names) for function in [scope, *_other_end(scope)]):
            return True
        callers = self.analysis.graph.callers.get(scope, ()) if len(scope.calls) <= _FEW_CALLS else ()
        around = [caller.facts.scope_of(caller.call).function for caller in callers]
        return bool(around) and all(self._calls_one_of(function, names) for function in around)

    def _calls_one_of(self, function: Scope, names: frozenset[str]) -> bool:
        return any(self.analysis.project.qualified(function.file, call.func) in names for call in function.calls)

    def free_attribute(self, name: str) -> str | None:
        """An attribute that the enclosing module could set at the end of its ``__init__``."""
        return self.analysis.members.free_attribute(self.facts, self.twin, name)

    def settled(self, node: cst.CSTNode) -> bool:
        """Whether an expression means the same at the end of ``__init__``."""
        twin = self._expr(node)
        return twin is not None and self.analysis.members.settled(self.facts, twin)

    def of_parameter(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a parameter of its function."""
        twin = self._expr(node)
        return twin is not None and self.analysis.members.of_parameter(self.facts, twin)

    def loops_over(self, node: cst.CSTNode) -> str:
        """What the loop runs over that binds a name."""
        twin = self._expr(node)
        return self.analysis.provenance.loops_over(self.facts, twin) if twin is not None else ""

    def made_before(self, node: cst.CSTNode) -> bool:
        """Whether what a name holds is made less often than the code at it runs."""
        twin = self._expr(node)
        return twin is not None and self.analysis.provenance.made_before(self.facts, twin)

    def read_back(self, node: cst.CSTNode) -> bool:
        """Whether an array is a tensor read back for nobody else."""
        twin = self._expr(node)
        return twin is not None and self.analysis.provenance.read_back(self.facts, twin)

    def switches_mode(self, call: cst.Call) -> bool:
        """Whether a call makes a context manager that switches modules."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analysis.switching.switches(self.facts, twin)

    def hands_mode_on(self) -> bool:
        """Whether the node stands where somebody else's switch is carried out."""
        return self.analysis.switching.hands_on(self.facts, self.twin)

    def mode_matters(self, node: cst.CSTNode) -> bool:
        """Whether a module may compute something else in the other mode."""
        twin = self._expr(node)
        return twin is None or self.analysis.switching.matter(self.facts, twin)

    def keeps_graph_for_nothing(self, call: cst.Call) -> bool:
        """Whether a backward pass keeps a graph that no other runs through again."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analysis.backwards.kept_for_nothing(self.facts, twin)


def _other_end(function: Scope) -> list[Scope]:
    """Of a context manager's ``__exit__`` its ``__enter__``, and the other way round."""
    other = {"__enter__": "__exit__", "__exit__": "__enter__"}.get(function.name)
    bound = function.method_of.bindings.get(other, ()) if other is not None and function.method_of is not None else ()
    return [binding.scope for binding in bound if binding.scope is not None]


def place_of(twin: ast.AST) -> ast.AST:
    """The node whose hotness is meant: of a function its body, else the node itself."""
    return twin.body[0] if isinstance(twin, (ast.FunctionDef, ast.AsyncFunctionDef)) else twin


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
