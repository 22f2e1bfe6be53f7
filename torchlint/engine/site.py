"""A site: what a rule sees of one node, and the questions it may ask."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.engine.compilation import Compilation
from torchlint.engine.holdings import Holdings
from torchlint.engine.learning import Learning
from torchlint.engine.place import place_of
from torchlint.engine.rework import Rework
from torchlint.engine.surroundings import Surroundings
from torchlint.facts.autograd.members import Members
from torchlint.facts.code.callers import stores_of
from torchlint.facts.code.model import Bind, Scope, decorators
from torchlint.facts.code.occurrences import Occurrences
from torchlint.facts.code.project import Project
from torchlint.facts.code.readers import Readers
from torchlint.facts.code.tree import walk
from torchlint.facts.compiling.inside import Inside
from torchlint.facts.flow.flow import Flow
from torchlint.facts.hotness.guards import raises, reports
from torchlint.facts.state.constant import Constants
from torchlint.facts.state.escape import Escapes
from torchlint.facts.state.provenance import Provenance
from torchlint.facts.state.sealed import Sealed
from torchlint.facts.state.uses import accumulated, mutated
from torchlint.facts.values.accelerators import Accelerators
from torchlint.facts.values.values import Values
from torchlint.late import regex
from torchlint.rule import EVERY_USE, Link, Use

if TYPE_CHECKING:
    import libcst as cst


_FLAG = regex(r"(^|_)(debug\w*|sanity\w*|check_nans?|check_finite|check_numerics|validate|validation)($|_)")


class PairedSite(Learning, Surroundings, Holdings, Compilation, Rework):
    """All that a rule may ask about a node."""

    __slots__ = ()

    def name(self, node: cst.CSTNode) -> str | None:
        """Qualified name through the imports."""
        twin = self._expr(node)
        return self.analyses[Project].qualified(self.facts, twin) if twin is not None else None

    def constructor(self, call: cst.Call) -> str | None:
        """The class whose ``__init__`` a call runs."""
        twin = self._ast(call)
        return self.analyses[Project].constructor(self.facts, twin.func) if isinstance(twin, ast.Call) else None

    def module_name(self, module: str) -> str | None:
        """The name a module is bound to by an import of this file that the node sees."""
        scope: Scope | None = self.facts.scope_of(self.twin)
        while scope is not None:
            if scope.kind != "class" and module in scope.imported:
                return scope.imported[module]
            scope = scope.parent
        return None

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
        return twin is not None and self.analyses[Constants].of(self.facts, twin)

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
        project = self.analyses[Project]
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
        """Of an ``if`` or its test, whether the body exists to raise; an assert does."""
        branch = self._decided()
        return isinstance(branch, ast.Assert) or (isinstance(branch, ast.If) and raises(branch.body))

    def reports(self) -> bool:
        """Of an ``if`` or its test, whether the body only writes messages."""
        branch = self._decided()
        return isinstance(branch, ast.If) and not branch.orelse and reports(branch.body)

    def ends_loop(self) -> bool:
        """Of an ``if`` or its test, whether the body ends in ``break``; of the test of a ``while``, true."""
        branch = self._decided()
        return isinstance(branch, ast.While) or (isinstance(branch, ast.If) and isinstance(branch.body[-1], ast.Break))

    def _decided(self) -> ast.AST | None:
        """The statement that the node is, or whose test it is or stands in."""
        branch: ast.AST | None = self.twin
        child: ast.AST | None = None
        while isinstance(branch, ast.expr):
            branch, child = self.facts.parent.get(branch), branch
        return branch if child in (None, getattr(branch, "test", None)) else None

    def scripted(self) -> bool:
        """Whether the node stands in TorchScript code."""
        if self._script_decorated(self.twin):
            return True
        scope: Scope | None = self.facts.scope_of(self.twin)
        while scope is not None:
            if self._script_decorated(scope.node):
                return True
            if scope.kind == "class" and any(
                base.rpartition(".")[2] == "ScriptModule" for base in self.analyses[Project].ancestry(scope.dotted)
            ):
                return True
            scope = scope.parent
        return False

    def _script_decorated(self, node: ast.AST) -> bool:
        names = [self.analyses[Project].qualified(self.facts, part) or "" for part in decorators(node)]
        return any(name.startswith("torch.jit.") for name in names)

    def compiled(self) -> bool:
        """Whether the node stands in a function or class that the project compiles, or calls one that is."""
        compiled = self.analyses[Inside].names()
        if not compiled:
            return False
        scope: Scope | None = self.facts.scope_of(self.twin)
        while scope is not None:
            if scope.dotted in compiled:
                return True
            scope = scope.parent
        body = self.twin if isinstance(self.twin, (ast.With, ast.FunctionDef, ast.AsyncFunctionDef)) else None
        calls = [part for part in walk(body) if isinstance(part, ast.Call)] if body is not None else []
        return any(self._calls_compiled(call.func, compiled) for call in calls)

    def _calls_compiled(self, func: ast.expr, compiled: frozenset[str]) -> bool:
        if self.analyses[Values].of(self.facts, func).name in compiled:
            return True
        if not isinstance(func, ast.Attribute):
            return False
        owner = self.analyses[Values].of(self.facts, func.value).name
        return any(f"{cls}.{func.attr}" in compiled for cls in self.analyses[Project].ancestry(owner))

    def may_use_cuda(self) -> bool:
        """Whether the project may run on an accelerator."""
        return self.analyses[Accelerators].may_run(self.facts, place_of(self.twin))

    def mutated(self, node: cst.CSTNode) -> bool:
        """Whether what an expression is assigned to is changed in place later."""
        twin = self._expr(node)
        return twin is not None and mutated(self.facts, twin)

    def accumulated(self, node: cst.CSTNode) -> bool:
        """Whether what an expression is assigned to is added up later."""
        twin = self._expr(node)
        return twin is not None and accumulated(self.facts, twin)

    def leaves_as_data(self, *, sealed: bool = False) -> bool:
        """Whether nothing that leaves a ``with`` block or function can be a tensor."""
        twin = self.twin
        if not isinstance(twin, (ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)):
            twin = self.facts.scope_of(twin).function.node
        if not isinstance(twin, (ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        answering = self.analyses[Sealed] if sealed else self.analyses[Escapes]
        return answering.leaves_as_data(self.facts, twin)

    def uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Where the value of an expression goes."""
        twin = self._expr(node)
        return self.analyses[Flow].uses(self.facts, twin, within) if twin is not None else frozenset({Use.PASSED})

    def copies(self, node: cst.CSTNode) -> bool:
        """Whether a call is one of a project function that only copies its argument to the host."""
        twin = self._expr(node)
        return isinstance(twin, ast.Call) and self.analyses[Readers].called(twin)

    def copying(self) -> bool:
        """Whether the function that holds the node only copies its argument to the host."""
        return self.analyses[Readers].within(self.facts, place_of(self.twin))

    def shares_memory(self) -> bool:
        """Whether the files tied to this one share tensors with other processes."""
        return self.analyses[Occurrences].mentioned(self.facts, "share_memory")

    def free_attribute(self, name: str) -> str | None:
        """An attribute that the enclosing module could set at the end of its ``__init__``."""
        return self.analyses[Members].free_attribute(self.facts, self.twin, name)

    def settled(self, node: cst.CSTNode) -> bool:
        """Whether an expression means the same at the end of ``__init__``."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Members].settled(self.facts, twin)

    def made_before(self, node: cst.CSTNode) -> bool:
        """Whether what a name holds is made less often than the code at it runs."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Provenance].made_before(self.facts, twin)

    def read_back(self, node: cst.CSTNode) -> bool:
        """Whether an array is a tensor read back for nobody else."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Provenance].read_back(self.facts, twin)


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
