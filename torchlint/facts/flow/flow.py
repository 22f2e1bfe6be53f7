"""Where values go: followed from an expression through names, containers, calls, returns and attributes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.callers import fields_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.dataflow.literals import Texts
from torchlint.facts.dataflow.spots import Label, Spot, cut, iterated, picked
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.flow.arguments import CallContexts
from torchlint.facts.flow.carriers import Carrier, Next
from torchlint.facts.flow.data import Data
from torchlint.facts.flow.gradients import GraphCarrier
from torchlint.facts.flow.store import Ground
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.phases import UPDATE
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import EVERY_USE, Kind, Use

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)


@dataclass(eq=False, slots=True)
class Flow(Fact):
    """Where values go: followed from an expression through names, containers, calls, returns and attributes."""

    project: Project
    graph: CallGraph
    values: Values
    mentions: Mentions
    texts: Texts
    autograd: Autograd
    heat: Heat
    _data: _Steps = field(init=False)
    _given: _Steps = field(init=False)
    _graph: _Steps = field(init=False)
    _proof: _Steps = field(init=False)

    def __post_init__(self) -> None:
        ground = Ground(self.project, self.graph, self.values, self.mentions, self.texts, self._updates, self._learns)
        self._data = _Steps(ground, Data(ground, self.heat.seldom))
        graph = GraphCarrier(ground, self.autograd.records, self.autograd.has_graph)
        self._given = _Steps(ground, graph)
        graph = replace(graph, differentiated=self._is_differentiated)
        self._graph = _Steps(ground, graph)
        self._proof = _Steps(ground, replace(graph, proves=True))

    def _updates(self, function: Scope) -> bool:
        """Whether a function may run a backward pass, or gives its result to a framework that does for each batch."""
        entry = self.heat.roots.protocols.get(function)
        return self.autograd.updates(function) or (entry is not None and bool(entry.when))

    def _learns(self, function: Scope) -> bool:
        """Whether a function runs a backward pass or moves parameters itself, and does not only call what does."""
        begun = self.heat.roots.begun.get(function.file, ())
        return any(scope is function and kind == UPDATE for scope, _, kind in begun)

    def _is_differentiated(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether ``backward`` runs through what an unknown environment gives, and no network is known to be in it."""
        way = self._given.way(Spot(facts, call), (Use.BACKWARD,))
        return bool(way) and self.autograd.has_graph(way[-1].facts, way[-1].node, trained=True) is not True

    def uses(self, facts: FileFacts, node: ast.expr, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Return the sinks of an expression's value, or some of them once one is not ``within`` the allowed ones."""
        return self._data.ends(Spot(facts, node), within)

    def graph_uses(self, facts: FileFacts, node: ast.expr, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Return the sinks of a tensor's autograd graph, or some once one is not ``within`` the allowed ones."""
        return self._graph.ends(Spot(facts, node), within)

    def way(self, facts: FileFacts, node: ast.expr, ends: Sequence[Use], *, graph: bool = False) -> list[Spot]:
        """Return the spots on the way of a value, or its autograd graph, to the first of some sinks; empty without one.

        The first spot is the expression itself, the last the one that the end is about.
        """
        return (self._graph if graph else self._data).way(Spot(facts, node), ends)

    def graph_stays(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether the autograd graph of a tensor stays in local names of one function."""
        home = facts.scope_of(node).function
        return all(
            spot.facts is facts
            and facts.scope_of(spot.node).function is home
            and (not spot.put or isinstance(spot.node, ast.Name))
            for spot in self._graph.spots(Spot(facts, node))
        )

    def differentiated(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether ``backward()`` runs through what a name or attribute holds, wherever else that is read.

        Then it is a tensor, so a constructor on the way, which takes an array as well, does not count.
        """
        if isinstance(node, ast.Attribute) and not self.values.of(facts, node.value).name:
            return False  # it may be an attribute of anything
        return Use.BACKWARD in self._proof.ends(Spot(facts, node, put=True), EVERY_USE - {Use.BACKWARD})


class _Steps:
    """Follows values from an expression to the expressions around it, and to wherever they are kept; with a memory."""

    def __init__(self, ground: Ground, carrier: Carrier) -> None:
        self.ground = ground
        self.carrier = carrier
        self.calls = CallContexts(ground, carrier)
        self._follower = ValueFlow[Use](self._next, lost=Use.PASSED, deep=Use.COLLECTED)
        self._found: dict[Spot, frozenset[Use]] = {}

    def ends(self, start: Spot, within: frozenset[Use]) -> frozenset[Use]:
        """Return all sinks of a value; if its paths are too many, unknown code is one of them.

        It is followed no further once it comes to an end that is not ``within`` the allowed.
        """
        found = self._found.get(start)
        if found is None:
            found = frozenset(self._follower.trace(start, EVERY_USE - within).ends)
            if found <= within:
                self._found[start] = found
        return found

    def spots(self, start: Spot) -> Iterable[Spot]:
        """Yield all spots that a value reaches."""
        return self._follower.trace(start).before

    def way(self, start: Spot, ends: Sequence[Use]) -> list[Spot]:
        """Return the spots from a value to the first of some sinks that it reaches."""
        trace = self._follower.trace(start)
        end = next(filter(trace.ends.__contains__, ends), None)
        return trace.witness(end) if end is not None else []

    def _next(self, spot: Spot) -> Next:
        if spot.put:
            return self.ground.put(spot)
        parent = spot.facts.parent.get(spot.node)
        step = _STEPS.get(type(parent)) if parent is not None else None
        if parent is None or step is None:
            return iter((Use.PASSED,))
        return step(self, spot, parent)

    # expressions ----------------------------------------------------------------------------------------------------

    def _dropped(self, _spot: Spot, _parent: ast.AST) -> Next:
        return iter(())

    def _text(self, _spot: Spot, _parent: ast.AST) -> Next:
        return iter((self.carrier.text,))

    def _same(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.expr)
        yield spot.same(parent)

    def _attribute(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.Attribute)
        call = spot.facts.parent.get(parent)
        called = isinstance(call, ast.Call) and call.func is parent
        if called and isinstance(call, ast.Call):
            return self._method(spot, call, parent.attr)
        if spot.path:
            if not isinstance(parent.ctx, ast.Load) and not isinstance(call, ast.AugAssign):
                return iter(())  # something else is put in its place
            return self._named_item(spot, parent, spot.path[0])
        return self.carrier.attribute(spot, parent)

    def _named_item(self, spot: Spot, parent: ast.Attribute, key: object) -> Next:
        """An attribute of what holds the value: the value itself, another item, or what is not known."""
        fields = self.ground.values.of(spot.facts, spot.node).keys
        if parent.attr in fields:
            path = picked(spot.path, fields.index(parent.attr))
            if path is not None:
                yield replace(spot.same(parent), path=path)
        elif key == parent.attr or (key == 0 and parent.attr == "values"):
            yield replace(spot.same(parent), path=spot.path[1:])
        elif isinstance(key, int) and parent.attr != "indices":
            holder = self.ground.values.of(spot.facts, spot.node).name
            if parent.attr not in fields_of(self.ground.project, holder):
                yield Use.PASSED  # the fields of a project's class are followed from where it is made

    def _method(self, spot: Spot, call: ast.Call, name: str) -> Next:
        if not spot.path:
            return self.carrier.method(spot, call, name)
        return self.calls.held(spot, call, name)

    def _subscript(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.Subscript)
        if parent.slice is spot.node:
            yield self.carrier.index(spot)
        elif not isinstance(parent.ctx, ast.Load):
            above = spot.facts.parent.get(parent)
            if isinstance(above, ast.AugAssign) and above.target is parent:
                yield from self._element(spot, parent)
        else:
            yield from self._element(spot, parent)

    def _element(self, spot: Spot, node: ast.Subscript) -> Next:
        if not spot.path:
            yield spot.same(node)
        elif isinstance(node.slice, ast.Slice):
            path = cut(spot.path, node.slice)
            if path is not None:
                yield replace(spot.same(node), path=path)
        else:
            yield from self.ground.taken(spot, node, node.slice)

    def _slice(self, spot: Spot, _parent: ast.AST) -> Next:
        return iter((self.carrier.index(spot),))

    def _binary(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.BinOp)
        if isinstance(parent.op, ast.Mod) and isinstance(parent.left, (ast.Constant, ast.JoinedStr)):
            if parent.right is spot.node:
                return iter((self.carrier.text,))
        if spot.path:
            if self.ground.overloads(spot, parent):
                return iter((Use.PASSED,))  # an object of ours that holds the value
            return iter((replace(spot.same(parent), path=(None, *spot.path[1:])),))
        return self.carrier.operation(spot, parent)

    def _unary(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.UnaryOp)
        if isinstance(parent.op, ast.Not):
            return iter(()) if spot.path else self.carrier.branch(spot)
        return self.carrier.operation(spot, parent)

    def _compare(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.Compare)
        if all(isinstance(op, (ast.Is, ast.IsNot)) for op in parent.ops):
            return iter(())
        if spot.path:
            return self.carrier.branch(spot) if self._sought(spot, parent) else iter(())
        return self.carrier.operation(spot, parent)

    def _sought(self, spot: Spot, compare: ast.Compare) -> bool:
        """Whether a comparison looks at the elements of a list: not at the keys of a dict."""
        if not any(isinstance(op, (ast.In, ast.NotIn)) for op in compare.ops):
            return not isinstance(spot.path[0], str)
        kind = self.ground.values.of(spot.facts, spot.node).kind
        return len(spot.path) == 1 and kind in (Kind.LIST, Kind.TUPLE, Kind.SET)

    def _either(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.BoolOp)
        if not spot.path and parent.values[-1] is not spot.node:
            yield from self.carrier.branch(spot)
        yield spot.same(parent)

    def _choice(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.IfExp)
        if parent.test is not spot.node:
            yield spot.same(parent)
        elif not spot.path:
            yield from self.carrier.branch(spot)

    def _tested(self, spot: Spot, _parent: ast.AST) -> Next:
        return iter(()) if spot.path else self.carrier.branch(spot)

    def _display(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, (ast.List, ast.Tuple, ast.Set))
        above = spot.facts.parent.get(parent)
        if isinstance(above, ast.Subscript) and above.slice is parent:
            return iter((self.carrier.index(spot),))
        position = None if isinstance(parent, ast.Set) else parent.elts.index(spot.node)
        if any(isinstance(element, ast.Starred) for element in parent.elts):
            position = None
        return iter((spot.at(parent, position, *spot.path, label=Label.ITEM),))

    def _dict(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.Dict)
        for key, value in zip(parent.keys, parent.values, strict=True):
            if value is spot.node:
                put = self.ground.key(spot, key) if key is not None else None
                yield spot.same(parent) if key is None else spot.at(parent, put, *spot.path, label=Label.ITEM)
            elif key is spot.node:
                yield self.carrier.index(spot)

    def _comprehension(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, _COMPREHENSIONS)
        yield spot.at(parent, None, *spot.path, label=Label.ELEMENT)

    def _dict_comprehension(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.DictComp)
        if parent.value is spot.node:
            yield spot.at(parent, self.ground.key(spot, parent.key), *spot.path, label=Label.ELEMENT)
        else:
            yield self.carrier.index(spot)

    def _generator(self, spot: Spot, parent: ast.AST) -> Next:
        """The part ``for x in y if z`` of a comprehension."""
        assert isinstance(parent, ast.comprehension)
        if parent.iter is not spot.node:
            return self._tested(spot, parent)
        comprehension = spot.facts.parent[parent]
        return self._elements(spot, parent.target, comprehension)

    def _starred(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.Starred)
        above = spot.facts.parent.get(parent)
        path = iterated(spot.path)
        if path is None or self.ground.is_dict(spot):
            return iter(())
        inner = replace(spot.same(parent), path=path)
        if isinstance(above, ast.Call):
            return self.calls.argument(inner, above, None)
        if isinstance(above, (ast.List, ast.Tuple, ast.Set)):
            return iter((inner.at(above, None, *path),))
        return iter((Use.PASSED,))

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.Call)
        if parent.func is spot.node:
            return iter((Use.PASSED,))
        position = parent.args.index(spot.node)
        starred = any(isinstance(argument, ast.Starred) for argument in parent.args[:position])
        return self.calls.argument(spot, parent, None if starred else position)

    def _keyword(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.keyword)
        call = spot.facts.parent[parent]
        if not isinstance(call, ast.Call):
            return iter((Use.PASSED,))
        if parent.arg is not None:
            return self.calls.argument(spot, call, parent.arg)
        key = spot.path[0] if spot.path else None
        if not isinstance(key, str):
            return self.calls.argument(spot, call, None)
        return self.calls.argument(replace(spot, path=spot.path[1:]), call, key)

    def _return(self, spot: Spot, parent: ast.AST) -> Next:
        function = spot.facts.scope_of(parent).function
        inner = spot
        if isinstance(parent, ast.Yield):
            inner = replace(spot, path=(None, *spot.path))
        yield from self.carrier.handed_back(function, self.ground.returned(inner, function))

    def _result(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.Lambda)
        return self.ground.returned(spot, spot.facts.scope_of(parent.body).function)

    # assignments ----------------------------------------------------------------------------------------------------

    def _assign(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, ast.Assign)
        for target in parent.targets:
            yield from self.ground.bound(spot, target, parent, self.carrier)

    def _assign_one(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, (ast.AnnAssign, ast.NamedExpr))
        if parent.value is not spot.node:
            return
        yield from self.ground.bound(spot, parent.target, parent, self.carrier)
        if isinstance(parent, ast.NamedExpr):
            yield spot.same(parent)

    def _augment(self, spot: Spot, parent: ast.AST) -> Next:
        """``x += y``: from ``y`` into ``x``, and from the old ``x`` into the new one."""
        assert isinstance(parent, ast.AugAssign)
        if overloading := self.ground.overloads(spot, parent):
            for function in overloading:
                yield from self.ground.operand(spot, parent, function)
            if spot.node is parent.value:
                return
        if spot.path:
            if parent.value is spot.node:
                yield spot.inside(parent.target, *spot.path)
            yield from self.ground.bound(spot, parent.target, parent, self.carrier)
            return
        changed = spot.node is parent.target and isinstance(parent.target, ast.Attribute)
        for after in self.carrier.operation(spot, parent.target):
            if isinstance(after, Use):
                yield after
            elif not changed:  # else whoever reads the attribute has the value already
                yield from self.ground.bound(after, parent.target, parent, self.carrier)

    def _for(self, spot: Spot, parent: ast.AST) -> Next:
        assert isinstance(parent, (ast.For, ast.AsyncFor))
        return self._elements(spot, parent.target, parent)

    def _elements(self, spot: Spot, target: ast.expr, stmt: ast.AST) -> Next:
        path = iterated(spot.path)
        if path is None or (spot.path and self.ground.is_dict(spot)):
            return iter(())
        return self.ground.bound(replace(spot, path=path), target, stmt, self.carrier)


_STEPS: dict[type, Callable[[_Steps, Spot, ast.AST], Next]] = {
    ast.Expr: _Steps._dropped,
    ast.Delete: _Steps._dropped,
    ast.Raise: _Steps._dropped,
    ast.FormattedValue: _Steps._text,
    ast.JoinedStr: _Steps._text,
    ast.Await: _Steps._same,
    ast.Attribute: _Steps._attribute,
    ast.Subscript: _Steps._subscript,
    ast.Slice: _Steps._slice,
    ast.BinOp: _Steps._binary,
    ast.UnaryOp: _Steps._unary,
    ast.Compare: _Steps._compare,
    ast.BoolOp: _Steps._either,
    ast.IfExp: _Steps._choice,
    ast.If: _Steps._tested,
    ast.While: _Steps._tested,
    ast.Assert: _Steps._tested,
    ast.Match: _Steps._tested,
    ast.match_case: _Steps._tested,
    ast.List: _Steps._display,
    ast.Tuple: _Steps._display,
    ast.Set: _Steps._display,
    ast.Dict: _Steps._dict,
    ast.ListComp: _Steps._comprehension,
    ast.SetComp: _Steps._comprehension,
    ast.GeneratorExp: _Steps._comprehension,
    ast.DictComp: _Steps._dict_comprehension,
    ast.comprehension: _Steps._generator,
    ast.Starred: _Steps._starred,
    ast.Call: _Steps._call,
    ast.keyword: _Steps._keyword,
    ast.Return: _Steps._return,
    ast.Lambda: _Steps._result,
    ast.Yield: _Steps._return,
    ast.Assign: _Steps._assign,
    ast.AnnAssign: _Steps._assign_one,
    ast.NamedExpr: _Steps._assign_one,
    ast.AugAssign: _Steps._augment,
    ast.For: _Steps._for,
    ast.AsyncFor: _Steps._for,
}
