"""What is added to a sum or a collection again and again: in a loop, or to an object in every call of a method."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.closure import reached
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import COMPREHENSIONS, FileFacts, Scope
from torchlint.facts.code.nesting import LoopNode, around, code_of, stored_before
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of, forms_of, parts_of, walk
from torchlint.facts.flow.flow import Flow
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Kind

_ADDING = method_names("list deque set", adds="element")
_DEEPEST = 3
_DISPLAYS = (ast.Tuple, ast.List, ast.Dict)


class _Around(NamedTuple):
    """The loops around an expression, and those of them that make it again in each round."""

    all: Sequence[LoopNode]
    made: Sequence[LoopNode]


@dataclass(eq=False, slots=True)
class Growth(Fact):
    """Answers what an expression is added to, with a memory of what functions do with their parameters."""

    project: Project
    graph: CallGraph
    flow: Flow
    _kept: dict[Scope, dict[str, str]] = field(default_factory=dict)

    def of(self, facts: FileFacts, node: ast.expr, *, fresh: bool = False) -> str:
        """Return the source of the sum or collection that an expression is added to.

        The result is empty when there is none that lasts.

        ``again``: only one that outlasts what makes a graph of its own for the expression.
        """
        if isinstance(node, _DISPLAYS) or self._is_parameter(facts, node):
            return ""  # the parts of a display are asked about one by one; a parameter where the function is called
        held, parent = _holder(facts, node)
        if isinstance(parent, ast.Call):
            return self._called(facts, parent, held, fresh)
        if held is not node:
            return ""
        if isinstance(parent, ast.AugAssign):
            adds = isinstance(parent.op, ast.Add) and parent.value is node
            return ast.unparse(parent.target) if adds and self._lasts(facts, node, parent.target, fresh) else ""
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add):
            return self._sum(facts, node, parent, fresh)
        return ""

    def written(self, facts: FileFacts, node: ast.expr, *, fresh: bool = False) -> str:
        """Return the source of the tensor that an expression is written into, ``losses[i] = loss``, if that lasts."""
        match facts.parent.get(node):
            case ast.Assign(targets=[ast.Subscript(value=ast.Name() as whole)], value=value) if value is node:
                tensor = self.flow.values.of(facts, whole).kind is Kind.TENSOR
                return whole.id if tensor and self._lasts(facts, node, whole, fresh) else ""
        return ""

    def places(self, facts: FileFacts, wanted: Callable[[ast.expr], object]) -> Iterator[ast.expr]:
        """Yield the expressions of a file that are written into tensors that last, as far as they are ``wanted``."""
        for scope in facts.scopes:
            for items in scope.appends.values():
                for how, node in items:
                    if how == "item" and wanted(node) and self.written(facts, node):
                        yield node

    def added(self, facts: FileFacts, wanted: Callable[[ast.expr], object]) -> Iterator[ast.expr]:
        """Yield the expressions of a file that are added to something that lasts, as far as they are ``wanted``."""
        for node in self._candidates(facts, wanted):
            for part in parts_of(node):
                if wanted(part) and self.of(facts, part):
                    yield part

    def _candidates(self, facts: FileFacts, wanted: Callable[[ast.expr], object]) -> Iterator[ast.expr]:
        """What may be added to something: arguments, and what is assigned with a sum."""
        for scope in facts.scopes:
            for bound in [*scope.bindings.values(), *([s.binding for s in stores] for stores in scope.stores.values())]:
                for binding in bound:
                    if isinstance(binding.stmt, ast.AugAssign):
                        yield binding.stmt.value
                    elif isinstance(binding.stmt, ast.Assign) and isinstance(
                        made := _element(binding.value), ast.BinOp
                    ):
                        yield from (made.left, made.right)
            for items in scope.appends.values():
                yield from (node for how, node in items if how in ("unknown", "sum") and _is_added(facts, node))
            for call in scope.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr in _ADDING and not call.keywords:
                    yield from call.args[-1:]
                elif targets := self.graph.callees.get(call):
                    given = arguments_of(call)
                    if any(wanted(part) for node in given for part in parts_of(node)) and any(map(self.kept, targets)):
                        yield from given

    # sums -----------------------------------------------------------------------------------------------------------

    def _sum(self, facts: FileFacts, node: ast.expr, sum_: ast.BinOp, fresh: bool) -> str:
        """``total = total + x``, also of each entry: ``totals = {k: totals[k] + x for k, x in parts.items()}``."""
        other = sum_.left if sum_.right is node else sum_.right
        stmt = facts.parent.get(sum_)
        if isinstance(stmt, ast.DictComp) and isinstance(other, ast.Subscript) and alike(other.slice, stmt.key):
            stmt, other = facts.parent.get(stmt), other.value
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
            return ""
        target = stmt.targets[0]
        same = alike(other, target) and not alike(node, target)
        return ast.unparse(target) if same and self._lasts(facts, node, other, fresh) else ""

    # collections ----------------------------------------------------------------------------------------------------

    def _called(self, facts: FileFacts, call: ast.Call, node: ast.expr, fresh: bool) -> str:
        """``items.append(x)``, or a function of the project that does it."""
        func = call.func
        targets = self.graph.callees.get(call)
        if targets:
            text = self._kept_as(call, node, 0)
            return text if not fresh or self._made_in_any(facts, node) else ""
        if not isinstance(func, ast.Attribute) or func.attr not in _ADDING or call.keywords:
            return ""
        if len(call.args) != _taken(func.attr) or call.args[-1] is not node:
            return ""
        return ast.unparse(func.value) if self._lasts(facts, node, func.value, fresh) else ""

    def kept(self, function: Scope, depth: int = 0) -> dict[str, str]:
        """Return the parameters that a function adds to something of its own object, and to what."""
        found = self._kept.get(function)
        if found is not None:
            return found
        self._kept[function] = {}  # a recursive call adds nothing to what it does
        found = {}
        own, facts = function.self_name, function.file
        for part in code_of(function) if own else ():
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and self._is_parameter(facts, part):
                held, parent = _holder(facts, part)
                if isinstance(parent, ast.Call) and (text := self._kept_by(parent, held, own, depth)):
                    found[part.id] = text
        self._kept[function] = found
        return found

    def _kept_by(self, call: ast.Call, node: ast.expr, own: str, depth: int) -> str:
        func = call.func
        if not isinstance(func, ast.Attribute):
            return ""
        targets = self.graph.callees.get(call)
        if not targets:
            adds = func.attr in _ADDING and len(call.args) == _taken(func.attr) and call.args[-1] is node
            return dotted(func.value) if adds and dotted(func.value).startswith(f"{own}.") else ""
        return self._kept_as(call, node, depth + 1) if depth < _DEEPEST else ""

    def _kept_as(self, call: ast.Call, node: ast.expr, depth: int) -> str:
        """What the functions that a call surely means add an argument to."""
        kept = (self.kept(target, depth).get(name) for target, name in self.graph.taking(call, node))
        return next(filter(None, kept), "")

    # what lasts -----------------------------------------------------------------------------------------------------

    def _is_parameter(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a name is a parameter as the caller gave it, of a function whose callers are known."""
        parameter = self.project.reaching(facts, node).parameter
        return parameter is not None and self.graph.is_called(parameter.scope)

    def _lasts(self, facts: FileFacts, node: ast.expr, target: ast.expr, fresh: bool) -> bool:
        """Whether what an expression is added to outlives the function, or a round of a loop (that makes it again)."""
        base = target
        while isinstance(base, ast.Subscript):
            base = base.value
        loops = [loop for loop in around(facts, base) if not isinstance(loop, COMPREHENSIONS)]
        rounds = _Around(loops, [loop for loop in loops if not fresh or self._made_in(facts, node, loop)])
        if isinstance(base, ast.Name):
            comes_in = any(self._comes_in(facts, base, loop) for loop in rounds.made)
            in_place = base is not target or isinstance(facts.parent.get(base), ast.Attribute)
            value = self.project.reaching(facts, base).value if in_place and not comes_in else None
            held = [] if value is None else forms_of(value) or [value]
            own = (isinstance(each, ast.Attribute) and self._is_kept(facts, base, each, rounds, fresh) for each in held)
            return comes_in or (bool(held) and all(own))
        return self._is_kept(facts, base, base, rounds, fresh)

    def _is_kept(self, facts: FileFacts, place: ast.expr, held: ast.expr, loops: _Around, fresh: bool) -> bool:
        """Whether an attribute lasts that a function has at a place, also under another name: ``kept = self.kept``."""
        text = dotted(held)
        root = text.partition(".")[0]
        if not text or root not in facts.scope_of(place).function.params:
            return False
        if (fresh or not loops.all) and stored_before(facts, place, text, None) is None:
            return True
        return any(stored_before(facts, place, text, loop) is None for loop in loops.made)

    def _made_in_any(self, facts: FileFacts, node: ast.expr) -> bool:
        loops = [loop for loop in around(facts, node) if not isinstance(loop, COMPREHENSIONS)]
        return not loops or any(self._made_in(facts, node, loop) for loop in loops)

    def _made_in(self, facts: FileFacts, node: ast.expr, loop: LoopNode) -> bool:
        """Whether a round of a loop makes a graph of its own for a value, not just a few nodes on one from before."""

        def inner(part: ast.expr) -> Iterator[ast.expr]:
            if not isinstance(part, ast.Name):
                return (each for each in walk(part) if isinstance(each, (ast.Name, ast.Call)))
            bindings = self.project.reaching(facts, part).bindings
            return (b.value for b in bindings if b.value is not None and loop in facts.ancestors(b.value))

        parts = reached([node], inner)
        return any(isinstance(part, ast.Call) and not self._only_computes(facts, part) for part in parts)

    def _only_computes(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call is an operation on tensors, one that runs no network and no function of the project."""
        if self.graph.callees.get(call):
            return False
        if (self.project.qualified(facts, call.func) or "").startswith(("torch.", "builtins.", "math.", "numpy.")):
            return True
        return isinstance(call.func, ast.Attribute) and self.flow.values.of(facts, call.func.value).kind is Kind.TENSOR

    def _comes_in(self, facts: FileFacts, name: ast.Name, loop: LoopNode) -> bool:
        """Whether a round of a loop may find under a name what was there before the round."""
        assert not isinstance(loop, COMPREHENSIONS)
        turns = self.project.rounds(facts, name, loop)
        bindings = self.project.reaching(facts, name).bindings
        return bool(turns.before) or any(binding not in turns.same for binding in bindings)


def _holder(facts: FileFacts, node: ast.expr) -> tuple[ast.expr, ast.AST | None]:
    """The outermost display (tuple, list, dict) that an expression is an element of, or itself; and what holds it."""
    parent = facts.parent.get(node)
    while isinstance(parent, _DISPLAYS):
        node, parent = parent, facts.parent.get(parent)
    if isinstance(parent, ast.keyword):
        parent = facts.parent.get(parent)
    return node, parent


def _element(node: ast.expr | None) -> ast.expr | None:
    """The value of each entry that a comprehension of a dict makes, else the expression itself."""
    return node.value if isinstance(node, ast.DictComp) else node


def _is_added(facts: FileFacts, node: ast.expr) -> bool:
    return isinstance(facts.parent.get(node), ast.AugAssign)


def _taken(method: str) -> int:
    """How many arguments a method takes that adds an element, which is the last of them."""
    at = _ADDING[method].get("at", 0)
    assert isinstance(at, int)
    return at + 1
