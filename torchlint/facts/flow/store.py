"""Where values go that are bound to names, kept in attributes, put into containers, passed or returned."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from torchlint.facts.code.callers import Caller, passed, stores_of
from torchlint.facts.code.decorating import is_property
from torchlint.facts.code.earlier import took_before
from torchlint.facts.code.exporting import exported
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.mentions import Mentions, holder_of
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.overloading import left_of, overloads
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import forms_of
from torchlint.facts.dataflow.literals import Texts
from torchlint.facts.dataflow.spots import INSIDE, FollowedCall, Key, Label, Spot, key_of, picked
from torchlint.facts.flow.carriers import Carrier, Next
from torchlint.facts.values.join import CALLABLE
from torchlint.facts.values.operators import gathers
from torchlint.facts.values.signatures import table
from torchlint.facts.values.tested import never_comes
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.models.protocols import logged, logging_method, logs
from torchlint.rule import Kind, Use

_FRESH = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Constant)
_MAKING = ("builtins.", "collections.", "torch.", "numpy.", "copy.")
# What gives an object that others hold, which the code does not name: ``getattr(self, key).append(x)``.
_FINDING = frozenset(f"builtins.{name}" for name in ("getattr", "vars", "globals", "locals", "next", "max", "min"))
_NESTED = 2
"""Deeper in containers than this, what a function gives to its own calls is no other case: ``[clean(x)]``."""
_ENVIRONMENTS = frozenset({"gym.Env", "gym.core.Env", "gymnasium.Env", "gymnasium.core.Env"})
_GIVING_NEW = method_names("torch.Tensor", moves=("host", "device")) | method_names("torch.Tensor", makes=True)
_VIEWING = method_names("torch.Tensor", elements="all")
_HOLD_NOTHING = frozenset({Kind.NUMBER, Kind.STRING, Kind.NONE})
_ADDING = method_names("list deque set dict", adds=True)
_EXCHANGING = function_names("mpi4py.MPI.COMM_WORLD", exchanges="values")


@dataclass(eq=False, slots=True)
class Ground:
    """What is known of the project, for those who follow values through it."""

    project: Project
    graph: CallGraph
    values: Values
    mentions: Mentions
    texts: Texts
    updates: Callable[[Scope], bool]
    learns: Callable[[Scope], bool]

    # names, attributes, elements ------------------------------------------------------------------------------------

    def key(self, spot: Spot, index: ast.expr) -> Key:
        """Return the key that a subscript means: a literal, a name of one text (``LOSS = "loss"``), or some text.

        Beside a value that a loop takes from a dict, the name of the key stands for the one that the value had there.
        """
        if spot.named is not None and (key := key_of(index, *spot.named)) is not None:
            return key
        texts = self.texts.of(spot.facts, index) if isinstance(index, ast.Name) else frozenset[str]()
        return next(iter(texts)) if len(texts) == 1 else key_of(index)

    def taken(self, spot: Spot, node: ast.expr, index: ast.expr) -> Next:
        """Yield the expression that takes an element out of what holds the value, if that is the value or holds it.

        ``rows[name]`` is the value where ``name`` stands for its key, so it does in all of that expression.
        """
        key = self.key(spot, index)
        path = picked(spot.path, key)
        if path is None:
            return
        found = replace(spot.same(node), path=path)
        own = spot.path[0]
        if key is None and isinstance(index, ast.Name) and isinstance(own, str) and own != INSIDE:
            found = replace(found, named=(index.id, own))
        yield found

    def is_dict(self, spot: Spot) -> bool:
        """Return whether what holds the value is a dict, so that iteration gives its keys."""
        return self.values.of(spot.facts, spot.node).kind is Kind.DICT

    def bound(self, spot: Spot, target: ast.expr, stmt: ast.AST, carrier: Carrier) -> Next:
        """Yield the reads of what the value is assigned to: a name, an attribute, an element or several of these."""
        if isinstance(target, ast.Name):
            for read in self.mentions.of_binding(spot.facts, target.id, stmt):
                yield self._read_again(spot, target, read)
        elif isinstance(target, ast.Attribute):
            yield from self.kept(spot, target)
        elif isinstance(target, ast.Subscript):
            stored = carrier.stored(spot, target)
            if stored is not None:
                yield from stored
            else:
                key = None if isinstance(target.slice, ast.Slice) else self.key(spot, target.slice)
                rest = spot.path[1:] if isinstance(target.slice, ast.Slice) else spot.path
                yield spot.inside(target.value, key, *rest)
        elif isinstance(target, ast.Starred):
            yield from self.bound(spot, target.value, stmt, carrier)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, element in enumerate(target.elts):
                path = unpacked(spot.path, target.elts, position)
                if path is not None:
                    yield from self.bound(replace(spot, path=path), element, stmt, carrier)
        else:
            yield Use.PASSED

    def _read_again(self, spot: Spot, target: ast.Name, read: ast.Name) -> Spot:
        """The value where a name is read; in another function it may have come through other calls."""
        here = spot.facts.scope_of(target).function
        there = spot.facts.scope_of(read).function
        return replace(spot.same(read), named=None) if here is there else spot.elsewhere(spot.facts, read, Label.COPY)

    def kept(self, spot: Spot, node: ast.Attribute) -> Next:
        """Yield the reads of the attribute that keeps the value."""
        last = spot.calls[-1] if spot.calls else None
        if last is not None and isinstance(last.call, ast.AugAssign) and spot.facts.own_object(node.value) is not None:
            yield from self._kept_by(spot, node, last.call, last)
            return
        owner = self.values.of(spot.facts, node.value)
        classes = owner.name if owner.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) else ""
        yield from self.field(spot, classes, node.attr, node)

    def _kept_by(self, spot: Spot, node: ast.Attribute, stmt: ast.AugAssign, last: FollowedCall) -> Next:
        """Yield what holds the object whose method keeps the value, and the method's own reads of the attribute.

        ``losses["actor"] += x`` keeps it in ``losses["actor"]``, and in no other object of the class.
        """
        path = (node.attr, *spot.path)
        yield Spot(last.facts, stmt.target, path, spot.calls[:-1], put=True, quiet=last.quiet, label=Label.STORE)
        function = spot.facts.scope_of(node).function
        owner = function.owner.dotted if function.owner is not None else ""
        for facts, read in self.mentions.of_field(spot.facts, owner, node.attr):
            if read is not node and facts is spot.facts and facts.scope_of(read).function is function:
                yield spot.same(read, Label.FIELD)

    def field(self, spot: Spot, classes: str, attr: str, here: ast.Attribute | None = None) -> Next:
        """Yield the reads of an attribute of instances of classes that is the value, but the one ``here``.

        Of objects of no known class that attribute is nowhere read where all only add to it: such an object may be a
        tuple of lists whose fields are read by position, or by a name that stands nowhere.
        """
        found = False
        callable_ = self.values.of(spot.facts, spot.node).kind in CALLABLE
        for facts, read in self.mentions.of_field(spot.facts, classes, attr):
            if read is not here and (callable_ or not _is_called(facts, read) or self._is_known(facts, read)):
                found = found or bool(classes) or not _is_added_to(facts, read)
                yield spot.elsewhere(facts, read)
        if not found:
            yield Use.STORED
            if here is not None and not classes:
                yield from self._held_as_item(spot, here)

    def _held_as_item(self, spot: Spot, here: ast.Attribute) -> Next:
        """Yield the attribute that holds an object of no known class, in which the value is an item of that name.

        Code may read such a namespace as a dict: ``losses = run.losses``, ``losses.kl += x``, ``run.losses.items()``.
        """
        holder: ast.expr | None = here.value
        if isinstance(holder, ast.Name):
            binding = self.project.reaching(spot.facts, holder).only
            plain = binding is not None and binding.how is Bind.ASSIGN and not binding.path
            holder = binding.value if binding is not None and plain else None
        if isinstance(holder, ast.Attribute) and self.values.of(spot.facts, holder.value).kind is Kind.UNKNOWN:
            yield spot.inside(holder, here.attr, *spot.path)

    def _is_known(self, facts: FileFacts, read: ast.expr) -> bool:
        """Whether it is known of what a place reads an attribute; else what it calls may be a method of the name."""
        return self.values.of(facts, holder_of(read)).known

    # objects that something was put into ----------------------------------------------------------------------------

    def put(self, spot: Spot) -> Next:
        """Yield the reads of the object that the value was put into, which the spot's expression names."""
        node = spot.node
        if spot.path and self.values.of(spot.facts, node).kind in _HOLD_NOTHING:
            return  # a branch that this value does not take: ``{...} if isinstance(x, dict) else x.item()``
        if isinstance(node, ast.Name):
            yield from self._put_name(spot, node)
        elif isinstance(node, ast.Attribute):
            yield from self._put_attribute(spot, node)
        elif isinstance(node, ast.Subscript):
            key = None if isinstance(node.slice, ast.Slice) else self.key(spot, node.slice)
            yield spot.inside(node.value, key, *spot.path)
        elif isinstance(node, ast.Call):
            yield from self._put_call(spot, node)
        elif forms := forms_of(node):
            yield from (spot.inside(part, *spot.path) for part in forms)
        elif isinstance(node, (ast.List, ast.Tuple)):
            for position, part in enumerate(node.elts):
                path = picked(spot.path, position)
                if path is not None and not isinstance(part, _FRESH):
                    yield spot.inside(part, *path)
        elif not isinstance(node, _FRESH):
            yield Use.COLLECTED

    def _put_name(self, spot: Spot, node: ast.Name) -> Next:
        bindings = self.project.reaching(spot.facts, node).bindings
        spot = replace(spot, named=None)
        if not bindings:
            yield Use.COLLECTED
        seen: set[ast.Name] = {node}
        home = spot.facts.scope_of(node).function
        for binding in bindings:
            for read in self.mentions.of_binding(spot.facts, node.id, binding.stmt):
                if spot.past and spot.path and spot.facts.scope_of(read).function is home:
                    continue  # it was read before the function returned
                if took_before(spot.facts, read, node, binding.stmt):
                    continue
                if read not in seen:
                    seen.add(read)
                    yield self._read_again(spot, node, read)
            yield from self._origin(spot, binding)
        if isinstance(stmt := spot.facts.parent.get(node), ast.AugAssign):
            yield from (
                self._read_again(spot, node, read) for read in self.mentions.of_binding(spot.facts, node.id, stmt)
            )

    def _origin(self, spot: Spot, binding: Binding) -> Next:
        """The object that a name was bound to may be known elsewhere under another name."""
        value = binding.value
        if binding.how is Bind.PARAM and binding.scope is not None:
            yield from self._put_argument(spot, binding.scope, binding.target)
        elif value is None or binding.how not in (Bind.ASSIGN, Bind.ELEMENT, Bind.AUGMENT):
            yield Use.COLLECTED
        elif binding.how is Bind.ELEMENT:
            yield spot.inside(value, None, *binding.path, *spot.path)
        elif binding.how is Bind.ASSIGN and not (isinstance(value, _FRESH) and not binding.path):
            yield spot.inside(value, *binding.path, *spot.path)

    def _put_argument(self, spot: Spot, function: Scope, name: str) -> Next:
        """The object came as an argument."""
        if name == function.self_name:
            yield Use.COLLECTED
            return
        callers = self.graph.callers.get(function, [])
        if spot.calls:
            last = spot.calls[-1]
            callers = [caller for caller in callers if caller.call is last.call] or callers
        if not callers:
            yield Use.LOGGED if self._is_log(function) else Use.COLLECTED
        for caller in callers:
            node = passed(function, name, caller)
            if node is not None:
                yield Spot(caller.facts, node, spot.path, put=True)

    def _is_log(self, function: Scope) -> bool:
        """Whether a framework calls a method to log what is in the dict that it hands over."""
        owner = function.method_of
        if owner is None or not logging_method(function.name):
            return False
        return any(function.name in logs(base) for base in self.project.ancestry(owner.dotted))

    def _put_attribute(self, spot: Spot, node: ast.Attribute) -> Next:
        name = self.project.qualified(spot.facts, node)
        owner = self.values.of(spot.facts, node.value)
        if name is not None or owner.kind is Kind.NAMESPACE:
            yield Use.COLLECTED
            return
        bases = (base for cls in owner.name.split("|") for base in self.project.ancestry(cls))
        if any(node.attr in logged(base) for base in bases):
            yield Use.LOGGED
            return
        if owner.kind is Kind.TUPLE and node.attr in owner.keys:
            yield spot.inside(node.value, owner.keys.index(node.attr), *spot.path)
            return
        if owner.kind is Kind.OPTIMIZER:
            yield Use.HOST  # a learning rate, for the optimizer to compute with
            return
        yield from self.kept(spot, node)
        for cls in owner.name.split("|") if owner.kind in (Kind.INSTANCE, Kind.MODULE) else ():
            for store in stores_of(self.project, cls, node.attr):
                value = store.binding.value
                if isinstance(value, (ast.Name, ast.Attribute)) and not store.binding.path:
                    yield Spot(store.scope.file, value, spot.path, put=True)

    def _put_call(self, spot: Spot, node: ast.Call) -> Next:
        """The object is what a call gave: an element of a container, or something that a function of ours keeps."""
        func = node.func
        if isinstance(func, ast.Attribute):
            if func.attr in ("get", "setdefault", "pop") and node.args:
                yield spot.inside(func.value, self.key(spot, node.args[0]), *spot.path)
                return
            if func.attr == "copy" and not node.args:
                return
            if func.attr in _GIVING_NEW:
                return  # a tensor, not what something was put into
            if func.attr in _VIEWING:
                yield spot.inside(func.value, *spot.path)  # a view, or the tensor itself where it has that dtype
                return
            if gathers(func.attr, node):
                return  # a new structure of what all processes have
            if func.attr in ("items", "values") and not node.args:
                inner = spot.path[2 if func.attr == "items" else 1 :]
                yield spot.inside(func.value, None, *inner)
                return
        name = self.project.qualified(spot.facts, func) or ""
        if name in ("builtins.zip", "builtins.enumerate") and len(spot.path) > 1:
            position = spot.path[1] if name == "builtins.zip" else 0
            for index, argument in enumerate(node.args):
                if position in (None, index):
                    yield spot.inside(argument, None, *spot.path[2:])
            return
        if name in _FINDING:
            yield Use.STORED
            return
        if name in self.project.classes or name.rpartition(".")[2][:1].isupper() or name.startswith(_MAKING):
            return  # a new object
        functions = self.graph.callees.get(node, ())
        for function in functions:
            if self.reduces(function):
                continue  # a new dict of numbers of all processes
            calls = spot.entering(node)
            for value in function.results:
                inside = bool(spot.path) and isinstance(value, (ast.Tuple, ast.List))
                if inside or not isinstance(value, _FRESH):
                    yield Spot(function.file, value, spot.path, calls, put=True, past=not function.yields)
        if not functions:
            yield Use.PASSED  # whatever made it may keep it

    # functions ------------------------------------------------------------------------------------------------------

    def reduces(self, function: Scope) -> bool:
        """Return whether a function returns its arguments, reduced over all processes."""
        names = (self.project.qualified(function.file, call.func) or "" for call in function.calls)
        return bool(function.returns) and any(map(_is_collective, names))

    def returned(self, spot: Spot, function: Scope) -> Next:
        """Yield the call that the value is returned to: the one through which it came, else all callers."""
        if spot.calls:
            last = spot.calls[-1]
            if isinstance(last.call, ast.AugAssign):
                yield Spot(last.facts, last.call.target, spot.path, spot.calls[:-1], put=True, label=Label.STORE)
                return
            if function in self.graph.callees.get(last.call, ()):
                yield Spot(last.facts, last.call, spot.path, spot.calls[:-1], quiet=last.quiet, label=Label.RETURN)
                return
        if function.method_of is not None and is_property(function):
            for facts, read in self.mentions.of_field(function.file, function.method_of.dotted, function.name):
                if not _is_called(facts, read) or self._is_known(facts, read):
                    yield spot.elsewhere(facts, read)
            return
        callers = self.graph.callers.get(function, [])
        recorded = self.is_recorded(spot)
        reported = recorded and self._trains(callers)
        for caller in callers:
            nested = len(spot.path) > _NESTED and caller.facts.scope_of(caller.call).function is function
            if not (nested or (reported and caller.call in self.graph.weak)):
                yield spot.elsewhere(caller.facts, caller.call, Label.RETURN)
        if function.name in self.graph.open and function.method_of is not None:
            for facts, read in self.mentions.of_field(function.file, function.method_of.dotted, function.name):
                call = facts.parent.get(read)
                if isinstance(call, ast.Call) and call.func is read and call not in self.graph.callees:
                    yield spot.elsewhere(facts, call, Label.RETURN)
        outside = not function.name.startswith("_") and exported(self.project, function)  # whoever imports the library
        outside = outside or self._steps(function)
        if not callers or outside or any(caller.call in self.graph.weak for caller in callers):
            reported = reported or (recorded and self.updates(function))
            yield Use.REPORTED if reported or self._of_update(spot, function) else Use.RETURNED

    def is_closure(self, function: Scope) -> bool:
        """Return whether a function is made inside of another one and handed on: code that is not known may call it."""
        outer = function.parent
        if outer is None or outer.kind != "function":
            return False
        reads = self.mentions.of_binding(function.file, function.name, function.node)
        calls = ((read, function.file.parent.get(read)) for read in reads)
        return any(not isinstance(call, ast.Call) or call.func is not read for read, call in calls)

    def is_recorded(self, spot: Spot) -> bool:
        """Return whether a value lies in a dict, as records of metrics do, at any depth of lists and tuples.

        A record has a text as key somewhere on the access path, or is a dict with computed keys (``totals[name]``).
        """
        if any(isinstance(key, str) for key in spot.path):
            return True
        return bool(spot.path) and self.values.of(spot.facts, spot.node).kind is Kind.DICT

    def _of_update(self, spot: Spot, function: Scope) -> bool:
        """Whether an update gives its losses as numbers to callers that are known, besides those of a library.

        What the known callers make of a number is followed; whoever else runs the update has it reported.
        """
        if self.values.of(spot.facts, spot.node).kind not in (Kind.NUMBER, Kind.TUPLE) or len(spot.path) > 1:
            return False
        callers = self.graph.callers.get(function, ())
        return self.learns(function) and bool(callers) and all(caller.call not in self.graph.weak for caller in callers)

    def _trains(self, callers: list[Caller]) -> bool:
        """Whether code that only seems to call a function makes updates: a training loop that is handed a loss.

        Such a loop runs backward through the loss and reports what is named beside it. What is not proven to be called
        is not followed for it: that would lead into every loop of the name.
        """
        weak = [caller for caller in callers if caller.call in self.graph.weak]
        return bool(weak) and all(self.updates(each.facts.scope_of(each.call).function) for each in weak)

    def _steps(self, function: Scope) -> bool:
        """Whether a function is what programs and wrappers call of an environment, whoever wrote them."""
        owner = function.method_of if function.name in ("step", "reset") else None
        return owner is not None and any(base in _ENVIRONMENTS for base in self.project.ancestry(owner.dotted))

    def overloads(self, spot: Spot, node: ast.BinOp | ast.AugAssign) -> list[Scope]:
        """Return the methods of the project's objects that an operator runs."""
        return overloads(self.project, self.values.of(spot.facts, left_of(node)), node)

    def operand(self, spot: Spot, stmt: ast.AugAssign, function: Scope) -> Next:
        """Yield the reads of the parameter of an operator's method that is the value, or the object with it."""
        kind = self.values.of(spot.facts, spot.node).kind if not spot.path else Kind.UNKNOWN
        for read in self.parameter(spot, stmt, function, int(spot.node is stmt.value), quiet=spot.quiet):
            name = read.node if isinstance(read, Spot) and kind is Kind.NUMBER else None
            if not isinstance(name, ast.Name) or not never_comes(self.project, function.file, name, kind):
                yield read

    def parameter(self, spot: Spot, call: ast.Call | ast.AugAssign, function: Scope, place: Key, quiet: bool) -> Next:
        """Yield the reads of the parameter of a project function that the value is passed to."""
        caller = self.graph.caller(function, call)
        found = _parameter(function, place, caller.skip if caller is not None else 0, spot.path)
        if found is None:
            yield Use.PASSED
            return
        name, path = found
        for binding in function.bindings.get(name, [])[:1]:
            calls = spot.entering(call)
            for read in self.mentions.of_binding(function.file, name, binding.stmt):
                inside = function.file.scope_of(read).function is function
                yield Spot(
                    function.file, read, path, calls if inside else (), quiet=quiet and inside, label=Label.ARGUMENT
                )


def _is_collective(name: str) -> bool:
    """Whether a function of torch makes one value of those of all processes."""
    if name in _EXCHANGING:
        return True
    module, _, last = name.rpartition(".")
    return module in ("torch.distributed", "torch.distributed.nn") and last in table()["collectives"]


def unpacked(path: tuple[Key, ...], targets: list[ast.expr], position: int) -> tuple[Key, ...] | None:
    """Return the path inside one of several targets, ``None`` when that does not get the value."""
    star = next((index for index, target in enumerate(targets) if isinstance(target, ast.Starred)), len(targets))
    if position < star or not path:
        return picked(path, position)
    if isinstance(path[0], int) and path[0] < star:
        return None
    return (None, *path[1:]) if position == star else path[1:]


def _parameter(function: Scope, place: Key, skip: int, path: tuple[Key, ...]) -> tuple[str, tuple[Key, ...]] | None:
    """The parameter that takes an argument, and the path inside it; ``None`` when there is none."""
    node = function.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return None
    args, positional = node.args, function.positional
    if isinstance(place, int):
        index = place + skip
        if index < len(positional):
            return positional[index], path
        return (args.vararg.arg, (index - len(positional), *path)) if args.vararg is not None else None
    if place in function.params:
        return str(place), path
    return (args.kwarg.arg, (place, *path)) if args.kwarg is not None and place is not None else None


def _is_called(facts: FileFacts, read: ast.expr) -> bool:
    """Whether what a place reads is called there and then."""
    call = facts.parent.get(read)
    return isinstance(call, ast.Call) and call.func is read


def _is_added_to(facts: FileFacts, node: ast.expr) -> bool:
    """Whether an attribute is read only to add to what is in it: ``stats.loss.append(x)``, ``stats.loss += x``."""
    method = facts.parent.get(node)
    if isinstance(method, ast.AugAssign):
        return method.target is node
    call = facts.parent.get(method) if isinstance(method, ast.Attribute) and method.attr in _ADDING else None
    return isinstance(call, ast.Call) and call.func is method and isinstance(facts.parent.get(call), ast.Expr)
