"""What is known of an expression's value, asked for when it is needed and followed across functions and files."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import field, replace

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import Caller, arguments, calling, passed
from torchlint.facts.code.dynamic import spelling
from torchlint.facts.code.file_edits import FileEdits
from torchlint.facts.code.model import FUNCTIONS, AttributeStore, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.reach import Reaching
from torchlint.facts.code.registering import Registering
from torchlint.facts.code.solver import NotYetError, Provisional, Solver
from torchlint.facts.code.tree import forms_of
from torchlint.facts.values import graphs, operators, tensordicts
from torchlint.facts.values.added import row_of
from torchlint.facts.values.annotations import OPEN, Annotations, contradicts, is_typed_dict
from torchlint.facts.values.arrays import JOINING_SUBSCRIPTS, array_item
from torchlint.facts.values.asking import Ask, Question, concerns
from torchlint.facts.values.attributes import Attributes
from torchlint.facts.values.calls import CallValues
from torchlint.facts.values.containers import element_of, makes_dict, plain
from torchlint.facts.values.contents import read_from
from torchlint.facts.values.displays import display, either_row, field_of, part_of, some_of, unpacked
from torchlint.facts.values.generated import encoded, is_input, of_rows, picks_of_tensor, suggested_for
from torchlint.facts.values.join import (
    HOST,
    INT,
    NDARRAY,
    TENSOR,
    as_annotated,
    bounded,
    completed,
    dict_of,
    join,
    list_of,
    registry,
    told_more,
    tuple_of,
)
from torchlint.facts.values.libraries import library_name
from torchlint.facts.values.loaders import moves_itself
from torchlint.facts.values.needed import Needed
from torchlint.facts.values.rewriting import rewritten
from torchlint.facts.values.signatures import starred, table
from torchlint.facts.values.tensors import tensor_item
from torchlint.facts.values.tested import behind_flags, is_never_chosen, possible, within_test
from torchlint.facts.values.torch_objects import on_device
from torchlint.late import dataclass
from torchlint.models import Row
from torchlint.rule import UNKNOWN, Device, Kind, Value


@dataclass(eq=False, slots=True)
class Values(Fact):
    """Answers what expressions are, with a memory.

    ``provisional``: more callers are to come, and ``again`` is to give the values for these. ``guesses``: see ``Ask``.
    ``seen``: what a run showed of expressions, where more is not known. ``note`` is told of what is asked from outside.
    """

    project: Project
    callers: Mapping[Scope, list[Caller]] = field(default_factory=dict)
    provisional: bool = False
    guesses: bool = True
    seen: Mapping[ast.expr, Value] = field(default_factory=dict)
    note: Callable[[FileFacts, ast.expr, Value], None] | None = None
    _arrays: bool | None = None
    _ask: Ask = field(init=False)
    _attributes: Attributes = field(init=False)
    _calls: CallValues = field(init=False)
    _needed: Needed = field(init=False)
    _registering: Registering = field(init=False)

    def __post_init__(self) -> None:
        solver = (Provisional if self.provisional else Solver)(self._answer, UNKNOWN)
        self._ask = Ask(self.project, self.callers, solver, self.guesses)
        self._attributes = Attributes(self._ask)
        solver.floor = self._attributes.floor
        self._calls = CallValues(self._ask, self._envs_return_arrays)
        self._needed = Needed(self.project, self._ask.gives_tensor)
        self._registering = Registering(self.project)

    def again(self, callers: Mapping[Scope, list[Caller]], *, provisional: bool = False) -> Values:
        """Return the values of the same project for more callers; what depends on no caller is kept."""
        values = Values(self.project, callers, provisional, _arrays=self._arrays)
        values._ask.annotations = self._ask.annotations
        values._ask.guessed = self._ask.guessed
        if isinstance(self._ask.solver, Provisional):
            values._ask.solver.learn(self._ask.solver.lasting())
        return values

    def edited(self, project: Project, callers: Mapping[Scope, list[Caller]], edits: FileEdits) -> Values:
        """Return the values of a project after edits of files; answers about the rest are kept.

        They may rest on what the edit changed, so they are no proof.
        """
        values = Values(project, callers, provisional=True, guesses=self.guesses, _arrays=self._arrays)
        values._ask.guessed = self._ask.guessed
        values._ask.solver.learn(self._ask.solver.about(lambda question: not concerns(question, edits)))
        return values

    @property
    def guessed(self) -> bool:
        """Whether an answer given so far rests on a guess."""
        return self._ask.guessed

    def guess(self, value: Value, otherwise: Value) -> Value:
        """Take what only a name suggests, where guesses count."""
        return self._ask.guess(value) if self.guesses else otherwise

    def proven(self, weak: Container[ast.Call]) -> Values:
        """Return the values of the same project without any guess: what a safe fix may rest on.

        Of a function that a ``weak`` call may reach, one that is linked by the name of a method alone, not all callers
        are known, so its parameters may be anything.
        """
        known = {
            scope: callers
            for scope, callers in self.callers.items()
            if not any(caller.call in weak for caller in callers)
        }
        return self._like(Values(self.project, known, guesses=False, note=self.note, _arrays=self._arrays))

    def seeing(self, seen: Mapping[ast.expr, Value]) -> Values:
        """Return the values of the same project with what a run showed of expressions."""
        return self._like(Values(self.project, self.callers, guesses=self.guesses, seen=seen))

    def noting(self, note: Callable[[FileFacts, ast.expr, Value], None]) -> Values:
        """Return the same values, which note the questions asked of them, as do those without guesses."""
        return self._like(Values(self.project, self.callers, guesses=self.guesses, note=note))

    def _like(self, values: Values) -> Values:
        values._ask.annotations = self._ask.annotations
        return values

    @property
    def annotations(self) -> Annotations:
        """The reader of annotations."""
        return self._ask.annotations

    def of(self, facts: FileFacts, node: ast.expr) -> Value:
        """Return what is known of an expression."""
        found = self._ask.value(facts, node) or UNKNOWN
        if self.note is not None:
            self.note(facts, node, found)
        return found

    def handed(self, facts: FileFacts, name: ast.Name) -> frozenset[Kind]:
        """Return the kinds of the arguments of a parameter where its name is read; none for any other name."""
        parameter = self.project.reaching(facts, name).parameter
        calls = arguments(self.callers, parameter.scope, name.id) if parameter is not None else ()
        return frozenset(self.of(caller.facts, node).kind for caller, node in calls if node is not None)

    def spelled(self, facts: FileFacts, node: ast.expr) -> frozenset[str]:
        """Return the texts that an expression may be."""
        return spelling(self._ask, facts, node).texts

    def row(self, facts: FileFacts, call: ast.Call) -> Row:
        """Return what the rows that a project adds say of a call, empty where they say nothing."""
        return row_of(self.project, facts, call, lambda node: self.of(facts, node))

    def returned(self, function: Scope) -> Value:
        """Return what a call of a project function gives."""
        return self._ask.solver.ask(function) or UNKNOWN

    def attribute(self, cls: str, name: str) -> Value:
        """Return what ``instance.name`` is for an instance of a project class."""
        return self._ask.attribute(cls, name) or UNKNOWN

    def outside(self, cls: str, name: str) -> Iterator[AttributeStore]:
        """Yield the assignments to an attribute from outside of an instance of a class or of a relative."""
        return self._attributes.outside(cls, name)

    # questions: what a function returns, what an expression or a binding is, what an attribute of a class is ----------

    def _answer(self, question: Question) -> Value | None:
        return bounded(self._found(question))

    def _found(self, question: Question) -> Value | None:
        if isinstance(question, Scope):
            return self._calls.result(question)
        place, what = question
        if isinstance(place, str):
            return self._attributes.of_class(place, str(what))
        if isinstance(what, Binding):
            return self._binding(place, what)
        if isinstance(what, Reaching):
            return self._ask.bound(place, what.bindings)
        assert isinstance(what, ast.expr)
        seen = self.seen.get(what)
        return self._expression(place, what) if seen is None else self._completed(place, what, seen)

    def _completed(self, facts: FileFacts, node: ast.expr, seen: Value) -> Value:
        try:
            known = self._expression(facts, node)
        except NotYetError:
            known = None
        return completed(known, seen)

    # expressions ----------------------------------------------------------------------------------------------------

    def _expression(self, facts: FileFacts, node: ast.expr) -> Value | None:
        if isinstance(node, (ast.Name, ast.Attribute)):
            found = self._name(facts, node) if isinstance(node, ast.Name) else self._member(facts, node)
            return self._attributes.read(facts, node, found)
        if isinstance(node, ast.Call):
            return self._calls.of(facts, node)
        if isinstance(node, ast.Constant):
            return operators.constant(node.value)
        if isinstance(node, ast.Subscript):
            return self._subscript(facts, node)
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self._ask.known(facts, node.left), self._ask.known(facts, node.right))
        if isinstance(node, ast.UnaryOp):
            return self._unary(facts, node)
        if isinstance(node, ast.Compare):
            compared = [self._ask.known(facts, part) for part in [node.left, *node.comparators]]
            result = operators.compare(node, compared)
            return self._ask.guess(operators.by_use(facts, node, compared)) if result == UNKNOWN else result
        if isinstance(node, (ast.BoolOp, ast.IfExp, ast.NamedExpr, ast.Await)):
            forms = ((part, self._ask.value(facts, part)) for part in forms_of(node))
            found = join(value for part, value in forms if not is_never_chosen(self._ask, facts, part, value))
            return self._ask.guess(behind_flags(node, self._ask.knower(facts))) if found == UNKNOWN else found
        if isinstance(node, (ast.List, ast.Set, ast.Tuple, ast.Dict)):
            return self._display(facts, node)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return list_of(self._ask.known(facts, node.elt))
        if isinstance(node, ast.DictComp):
            return dict_of(self._ask.known(facts, node.value))
        if isinstance(node, ast.JoinedStr):
            return operators.formatted(node)
        return self._lambda(facts, node) if isinstance(node, ast.Lambda) else UNKNOWN

    def _binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        """A binary operation; a tensor of unknown dtype that a mask is joined with is taken for a mask."""
        found = operators.binary(op, left, right)
        masks = isinstance(op, (ast.BitAnd, ast.BitOr)) and "bool" in (left.dtype, right.dtype)
        if masks and found.kind is Kind.TENSOR and found.dtype is None and self.guesses:
            return self._ask.guess(replace(found, dtype="bool"))
        return found

    def _unary(self, facts: FileFacts, node: ast.UnaryOp) -> Value:
        """A unary operation; a tensor of unknown dtype that ``~`` inverts is taken for a mask."""
        found = operators.unary(node.op, self._ask.known(facts, node.operand))
        if isinstance(node.op, ast.Invert) and found.kind is Kind.TENSOR and found.dtype is None and self.guesses:
            return self._ask.guess(replace(found, dtype="bool"))
        return found

    def _lambda(self, facts: FileFacts, node: ast.Lambda) -> Value:
        own = next((scope for scope in facts.scope_of(node).inner if scope.node is node), None)
        return Value(Kind.FUNCTION, name=own.dotted if own is not None else "")

    def _display(self, facts: FileFacts, node: ast.List | ast.Set | ast.Tuple | ast.Dict) -> Value | None:
        if isinstance(node, ast.Dict):
            values = [self._ask.value(facts, part) for part in node.values]
            table = registry(value or UNKNOWN for value in values)
            made = table if table.items else operators.mapping(node, values)
            spread = made is not None and made.keys and None in node.keys
            return (self._ask.guess(made) if self.guesses else Value(Kind.DICT)) if made and spread else made
        return display(self._ask, facts, node)

    def _subscript(self, facts: FileFacts, node: ast.Subscript) -> Value | None:
        source, index = plain(self._ask.known(facts, node.value)), node.slice
        if source.kind in (Kind.TENSOR, Kind.NDARRAY):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            known = [None if operators.is_slice(part) else self._ask.known(facts, part) for part in parts]
            if source.kind is Kind.TENSOR:
                return tensor_item(source, known)
            return array_item(source, known, sum(isinstance(part, ast.Slice) for part in parts))
        key = index.value if isinstance(index, ast.Constant) else None
        if source == HOST:
            return self._ask.guess(encoded(key)) if key in table()["outputs"]["inputs"] else HOST
        if source == tensordicts.TENSORDICT:
            return self._ask.entry(facts, key) if isinstance(key, str) else source
        if not source.known and self.project.qualified(facts, node.value) in JOINING_SUBSCRIPTS:
            return NDARRAY
        if not source.known and isinstance(key, str):
            return self._ask.promised(facts, key)
        if source == UNKNOWN and picks_of_tensor(node, self._ask.knower(facts)):
            return self._ask.guess(TENSOR)
        if isinstance(key, str) and (graphs.is_graph(source) or is_typed_dict(self.project, source)):
            return self._attributes.of(source, key)
        if source.kind is Kind.DICT:
            return read_from(self._ask, facts, source, index) or UNKNOWN
        if source.kind is Kind.INSTANCE and not source.items:
            return (isinstance(key, int) and field_of(self._ask, source, key)) or self._ask.item(source.name)
        if source.kind is Kind.TUPLE:
            if isinstance(index, ast.Slice):
                return some_of(source, index)
            position = self._ask.known(facts, index).literal
            if isinstance(position, int) and -len(source.items) <= position < len(source.items):
                return source.items[position]
            return source.element
        if source.kind is Kind.LIST:
            return replace(source, nonempty=False) if isinstance(index, ast.Slice) else source.element
        if source.kind is Kind.SIZE:
            return source if isinstance(index, ast.Slice) else INT
        return source.element

    # names ----------------------------------------------------------------------------------------------------------

    def _name(self, facts: FileFacts, node: ast.Name) -> Value | None:
        reach = self.project.reaching(facts, node)
        if not reach.bindings:
            name = self.project.qualified(facts, node) or ""
            return self._named(facts, name) if name else UNKNOWN
        seen = possible(self.project, facts, node, reach.bindings, lambda each: self._ask.solver.ask((facts, each)))
        found = self._ask.reached(facts, reach) if seen is reach.bindings else self._ask.bound(facts, seen)
        if (result := rewritten(self._ask, facts, node, found)) is None:
            return None
        result = self._needed.as_asserted(facts, node, within_test(self.project, facts, node, result))
        if result == UNKNOWN:
            if (named := operators.by_name(node.id)).known or not self._needed.is_tensor(facts, node):
                return named
            return TENSOR if self._needed.was_tensor(facts, node) else self._ask.guess(TENSOR)
        return result

    def _named(self, facts: FileFacts, name: str) -> Value | None:
        """The value of a qualified name outside of any function, in a file."""
        known = library_name(name, lambda: self.project.groups[facts.path])
        if known is not None:
            return known
        module, _, last = name.rpartition(".")
        if name in self.project.classes or (module == "builtins" and last in ("int", "float", "bool", "str")):
            return Value(Kind.CLASS, name=name)
        if name in self.project.functions:
            return Value(Kind.FUNCTION, name=name)
        if "." not in name:
            return Value(Kind.NAMESPACE, name=name)
        file = self.project.modules.get(module)
        if file is not None:
            bindings = file.top.bindings.get(last, [])
            return self._ask.bound(file, bindings)
        return UNKNOWN

    def _binding(self, facts: FileFacts, binding: Binding) -> Value | None:
        how = binding.how
        if how is Bind.IMPORT:
            return self._named(facts, self.project.canonical(facts, binding.target))
        if how in (Bind.FUNCTION, Bind.CLASS) and binding.scope is not None:
            kind = Kind.FUNCTION if how is Bind.FUNCTION else Kind.CLASS
            return Value(kind, name=binding.scope.dotted)
        if how is Bind.PARAM:
            return self._parameter(facts, binding)
        if how is Bind.REST:
            return self._rest(binding)
        if (
            binding.annotation is not None
            and (annotated := self._ask.annotations.read(facts, binding.annotation)).known
        ):
            if annotated.kind in (Kind.TENSOR, Kind.NDARRAY) and binding.value is not None and how is Bind.ASSIGN:
                return told_more(annotated, self._ask.value(facts, binding.value))
            # What is put into a list, or into a dict that promises nothing of its values, says more.
            grows = annotated.kind is Kind.LIST or (annotated.kind is Kind.DICT and makes_dict(binding.value))
            if binding.value is None or not grows or (annotated.kind is Kind.DICT and annotated.items):
                return annotated
        if binding.value is None or how is Bind.AUGMENT:
            return self._augmented(facts, binding) if binding.value is not None else UNKNOWN
        value = unpacked(self._ask, facts, binding, self._ask.value(facts, binding.value))
        if value is None:
            return None
        if how is Bind.ELEMENT:
            value = element_of(value)
        elif how is Bind.ENTER:
            value = self._entered(value)
        elif how is Bind.OTHER:
            return UNKNOWN
        for step in binding.path:
            value = part_of(self._ask, value, step)
        if how is Bind.ELEMENT and not value.known and moves_itself(self._ask, facts, binding):
            return self._ask.guess(HOST)
        if value.kind in (Kind.LIST, Kind.DICT, Kind.MODULE) and how is Bind.ASSIGN:
            return self._attributes.contents.of_name(facts, binding, value)
        return value

    def _entered(self, value: Value) -> Value:
        """What a context manager gives; an environment gives itself."""
        if value.kind is Kind.ENV:
            return value
        own = self.project.implementations(value.name, "__enter__")
        entered = self._ask.returned(own) if own else UNKNOWN
        if entered is None:
            raise NotYetError
        return entered

    def _augmented(self, facts: FileFacts, binding: Binding) -> Value | None:
        assert isinstance(binding.stmt, ast.AugAssign) and binding.value is not None
        target = binding.stmt.target
        if not isinstance(target, ast.Name):
            return UNKNOWN
        old = self._ask.reached(facts, self.project.reaching(facts, target))
        if old is None:
            return None
        return self._ask.augmented(facts, binding.stmt, old)

    def _parameter(self, facts: FileFacts, binding: Binding) -> Value | None:
        annotated = self._ask.annotations.of_parameter(facts, binding)
        if annotated.known and annotated.kind not in OPEN:
            return annotated
        scope = binding.scope
        if scope is None:
            return UNKNOWN
        owner = scope.method_of
        if owner is not None and scope.params[:1] == [binding.target] and "staticmethod" not in scope.decorator_names:
            if "classmethod" in scope.decorator_names:
                return Value(Kind.CLASS, name=owner.dotted, derived=True)
            return self._ask.instance(owner.dotted, derived=True)
        idle, own = self.project.unused(), scope.file.path
        self._ask.solver.passing()
        each_call = calling(self.callers, scope, binding.target)
        callers = [each for each in each_call if each.facts.path == own or each.facts.path not in idle]
        given = [*self._registered(scope, binding.target), *(self._given(scope, binding, each) for each in callers)]
        known = join(given)
        if annotated.kind is Kind.DEVICE:
            told = known is not None and known.kind is Kind.DEVICE and not self.project.is_handed_over(scope)
            return known if told else annotated
        if known == HOST:
            return on_device(annotated, Device.CPU) if annotated.known else HOST
        if known is not None and contradicts(known, annotated, given):
            return UNKNOWN
        if annotated.kind in (Kind.TENSOR, Kind.NDARRAY) and (known is None or known.kind is not annotated.kind):
            return annotated
        if known is not None and known.known:
            known = as_annotated(known, annotated)
            return self._ask.guess(of_rows(binding, known)) if is_input(self.project, binding) else known
        if annotated.known:
            return annotated
        if binding.value is not None and not callers:
            default = self._ask.known(facts, binding.value)
            names_device = default.kind is Kind.STRING and default.device is not Device.UNKNOWN
            if names_device or default.kind in (Kind.DEVICE, Kind.DTYPE, Kind.CLASS):
                return self._ask.guess(default) if default.kind is Kind.CLASS else default
        if known is None and callers:
            return None
        suggested = suggested_for(self.project, binding)
        return self._ask.guess(suggested) if suggested.known else operators.by_name(binding.target)

    def _registered(self, scope: Scope, name: str) -> Sequence[Value]:
        """The functions and classes that a decorator takes which gives them back: ``@register("ppo")``."""
        found: list[Value] = []
        for each, maker in self._registering.taken(scope, name):
            if maker.dotted in self._ask.known(each.facts, each.decorator).name.split("|"):
                kind = Kind.CLASS if each.scope.kind == "class" else Kind.FUNCTION
                found.append(Value(kind, name=each.scope.dotted))
        return found

    def _rest(self, binding: Binding) -> Value | None:
        """``*args``: the tuple of what the calls give that no parameter takes."""
        scope = binding.scope
        if scope is None or not isinstance(scope.node, FUNCTIONS):
            return UNKNOWN
        taken = len(scope.positional)
        given: list[Value | None] = []
        self._ask.solver.passing()
        for caller in self.callers.get(scope, ()):
            values = self._ask.arguments(caller.facts, caller.call.args)
            given.append(UNKNOWN if values is None else tuple_of(*values[max(taken - caller.skip, 0) :]))
        return either_row(given) if given else UNKNOWN

    def _given(self, scope: Scope, binding: Binding, caller: Caller) -> Value | None:
        """What one call gives for a parameter."""
        node = passed(scope, binding.target, caller)
        if node is not None:
            return self._ask.value(caller.facts, node)
        if starred(caller.call):
            return UNKNOWN
        return self._ask.value(scope.file, binding.value) if binding.value is not None else UNKNOWN

    def _member(self, facts: FileFacts, node: ast.Attribute) -> Value | None:
        name = self.project.qualified(facts, node)
        if name is not None and not name.startswith("builtins."):
            found = self._named(facts, name)
            if found is None or found.known:
                return found
        source = self._ask.value(facts, node.value)
        if source is None:
            return None
        result = self._attributes.of(source, node.attr)
        if result == UNKNOWN and source == UNKNOWN:
            result = self._attributes.of_unknown(facts, node)
        return operators.by_name(node.attr) if result == UNKNOWN else result

    def _envs_return_arrays(self) -> bool:
        if self._arrays is None:
            # Judged apart from what is being answered now, so that the order of questions does not matter.
            apart = Values(self.project, _arrays=True)
            steps = [method for method in self.project.methods.get("step", ()) if len(method.params) > 1]
            self._arrays = not any(operators.first(apart.returned(method)).kind is Kind.TENSOR for method in steps)
        return self._arrays
