"""What is known of an expression's value, asked for when it is needed and followed across functions and files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from torchlint.facts import operators, signatures
from torchlint.facts.annotations import Annotations
from torchlint.facts.callers import Caller, methods, opaque, passed, stores_of
from torchlint.facts.join import INT, NONE, STRING, TENSOR, join, list_of, tuple_of
from torchlint.facts.libraries import library_call, library_name
from torchlint.facts.model import Bind, Binding, FileFacts, Scope, Store
from torchlint.facts.project import Project, is_external_module
from torchlint.facts.solver import NotYetError, Solver
from torchlint.rule import UNKNOWN, Kind, Value

_ENV_NAME = re.compile(r"(^|_)(v?envs?|environments?|vecenv|venv|vec_env|gym_env)\d*$", re.IGNORECASE)
_Question = Scope | tuple[FileFacts, ast.expr | Binding] | tuple[str, str]


@dataclass(eq=False, slots=True)
class Values:
    """Answers what expressions are, with a memory."""

    project: Project
    callers: Mapping[Scope, list[Caller]] = field(default_factory=dict)
    _arrays: bool | None = None
    _solver: Solver[_Question, Value] = field(init=False)

    def __post_init__(self) -> None:
        self._solver = Solver(self._answer, UNKNOWN)

    @property
    def annotations(self) -> Annotations:
        """The reader of annotations."""
        return Annotations(self.project, self.instance)

    def of(self, facts: FileFacts, node: ast.expr) -> Value:
        """What is known of an expression."""
        return self._value(facts, node) or UNKNOWN

    def returned(self, function: Scope) -> Value:
        """What a call of a project function gives."""
        return self._solver.ask(function) or UNKNOWN

    def attribute(self, cls: str, name: str) -> Value:
        """What ``instance.name`` is for an instance of a project class."""
        return self._solver.ask((cls, name)) or UNKNOWN

    def instance(self, cls: str) -> Value:
        """An instance of a class of the project or of a known library."""
        if self.project.is_module(cls):
            return Value(Kind.MODULE, name=cls)
        return Value(Kind.INSTANCE, name=cls)

    # questions: what a function returns, what an expression or a binding is, what an attribute of a class is ----------

    def _answer(self, question: _Question) -> Value | None:
        if isinstance(question, Scope):
            return self._returned(question)
        place, what = question
        if isinstance(place, str):
            return self._attribute(place, str(what))
        if isinstance(what, Binding):
            return self._binding(place, what)
        assert isinstance(what, ast.expr)
        return self._expression(place, what)

    def _value(self, facts: FileFacts, node: ast.expr) -> Value | None:
        return self._solver.ask((facts, node))

    def _known(self, facts: FileFacts, node: ast.expr) -> Value:
        """The value of an operand without which nothing can be said."""
        value = self._value(facts, node)
        if value is None:
            raise NotYetError
        return value

    def _bound(self, facts: FileFacts, bindings: Iterable[Binding]) -> Value | None:
        return join([self._solver.ask((facts, binding)) for binding in bindings])

    # expressions ----------------------------------------------------------------------------------------------------

    def _expression(self, facts: FileFacts, node: ast.expr) -> Value | None:
        if isinstance(node, ast.Name):
            return self._name(facts, node)
        if isinstance(node, ast.Attribute):
            return self._member(facts, node)
        if isinstance(node, ast.Call):
            return self._call(facts, node)
        if isinstance(node, ast.Constant):
            return operators.constant(node.value)
        if isinstance(node, ast.Subscript):
            return self._subscript(facts, node)
        if isinstance(node, ast.BinOp):
            return operators.binary(node.op, self._known(facts, node.left), self._known(facts, node.right))
        if isinstance(node, ast.UnaryOp):
            return operators.unary(node.op, self._known(facts, node.operand))
        if isinstance(node, ast.Compare):
            return operators.compare(node, [self._known(facts, part) for part in [node.left, *node.comparators]])
        if isinstance(node, ast.BoolOp):
            return join([self._value(facts, part) for part in node.values])
        if isinstance(node, ast.IfExp):
            return join([self._value(facts, node.body), self._value(facts, node.orelse)])
        if isinstance(node, (ast.List, ast.Set)):
            if any(isinstance(e, ast.Starred) for e in node.elts):
                return Value(Kind.LIST)
            return operators.listed([self._value(facts, e) for e in node.elts])
        if isinstance(node, ast.Tuple):
            if any(isinstance(e, ast.Starred) for e in node.elts):
                return UNKNOWN
            return tuple_of(*(self._known(facts, e) for e in node.elts))
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return list_of(self._known(facts, node.elt))
        if isinstance(node, (ast.Dict, ast.DictComp)):
            return Value(Kind.DICT)
        if isinstance(node, ast.JoinedStr):
            return STRING
        if isinstance(node, (ast.NamedExpr, ast.Await)):
            return self._value(facts, node.value)
        if isinstance(node, ast.Lambda):
            return Value(Kind.FUNCTION, name=facts.scope_of_node[node.body].function.dotted)
        return UNKNOWN

    def _subscript(self, facts: FileFacts, node: ast.Subscript) -> Value | None:
        source, index = self._known(facts, node.value), node.slice
        if source.kind is Kind.TENSOR:
            return Value(Kind.TENSOR, dtype=source.dtype, device=source.device)
        if source.kind is Kind.NDARRAY:
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            known = [None if isinstance(part, ast.Slice) else self._known(facts, part) for part in parts]
            return operators.array_item(source, known)
        sliced = isinstance(index, ast.Slice)
        if source.kind is Kind.TUPLE and not sliced:
            position = self._known(facts, index).literal
            if isinstance(position, int) and -len(source.items) <= position < len(source.items):
                return source.items[position]
            return source.element
        if source.kind is Kind.LIST:
            return replace(source, nonempty=False) if sliced else source.element
        if source.kind is Kind.SIZE:
            return source if sliced else INT
        return source.element

    # names ----------------------------------------------------------------------------------------------------------

    def _name(self, facts: FileFacts, node: ast.Name) -> Value | None:
        reach = self.project.reaching(facts, node)
        if not reach.bindings:
            name = self.project.qualified(facts, node) or ""
            return self._named(name) if name else UNKNOWN
        result = self._bound(facts, reach.bindings)
        if result is not None and not result.known:
            return operators.by_name(node.id)
        return result

    def _named(self, name: str) -> Value | None:
        """The value of a qualified name outside of any function."""
        known = library_name(name)
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
            return self._bound(file, bindings)
        return UNKNOWN

    def _binding(self, facts: FileFacts, binding: Binding) -> Value | None:
        how = binding.how
        if how is Bind.IMPORT:
            return self._named(self.project.canonical(facts, binding.target))
        if how in (Bind.FUNCTION, Bind.CLASS) and binding.scope is not None:
            kind = Kind.FUNCTION if how is Bind.FUNCTION else Kind.CLASS
            return Value(kind, name=binding.scope.dotted)
        if how is Bind.PARAM:
            return self._parameter(facts, binding)
        if binding.annotation is not None and (annotated := self.annotations.read(facts, binding.annotation)).known:
            if annotated.kind is not Kind.LIST or binding.value is None:
                return annotated
        if binding.value is None:
            return UNKNOWN
        if how is Bind.AUGMENT:
            return self._augmented(facts, binding)
        value = self._value(facts, binding.value)
        if value is None:
            return None
        if how is Bind.ELEMENT:
            value = signatures.element_of(value)
        elif how is Bind.ENTER:
            value = self._entered(value)
        elif how is Bind.OTHER:
            return UNKNOWN
        for step in binding.path:
            value = operators.unpack(value, step)
        if value.kind is Kind.LIST and how is Bind.ASSIGN:
            return self._grown(facts, binding, value)
        return value

    def _entered(self, value: Value) -> Value:
        """What a context manager gives; an environment gives itself."""
        if value.kind is Kind.ENV:
            return value
        own = self.project.implementations(value.name, "__enter__")
        entered = self._results(own) if own else UNKNOWN
        if entered is None:
            raise NotYetError
        return entered

    def _augmented(self, facts: FileFacts, binding: Binding) -> Value | None:
        assert isinstance(binding.stmt, ast.AugAssign) and binding.value is not None
        target = binding.stmt.target
        if not isinstance(target, ast.Name):
            return UNKNOWN
        old = self._bound(facts, self.project.reaching(facts, target).bindings)
        if old is None:
            return None
        return operators.binary(binding.stmt.op, old, self._known(facts, binding.value))

    def _grown(self, facts: FileFacts, binding: Binding, value: Value) -> Value | None:
        """A list with what the same function appends to it under the same name."""
        scope = facts.scope_of(binding.stmt).function
        names = [n for n, bound in scope.bindings.items() if binding in bound]
        if not names:
            return value
        return self._filled(value, ((facts, how, node) for how, node in scope.appends.get(names[0], ())))

    def _filled(self, value: Value, appended: Iterable[tuple[FileFacts, str, ast.expr]]) -> Value | None:
        """A list with what is appended to it; each addition says how."""
        elements: list[Value | None] = list(value.items)
        for facts, how, node in appended:
            item = self._value(facts, node) if how != "unknown" else UNKNOWN
            if item is not None and how == "extend":
                item = signatures.element_of(item)
            elements.append(item)
        if not elements:
            return value
        element = join(elements)
        return replace(value, items=operators.items(element)) if element is not None else None

    # parameters -----------------------------------------------------------------------------------------------------

    def _parameter(self, facts: FileFacts, binding: Binding) -> Value | None:
        annotated = self.annotations.read(facts, binding.annotation) if binding.annotation is not None else UNKNOWN
        if annotated.known and annotated.kind not in (Kind.LIST, Kind.TUPLE):
            return annotated
        scope = binding.scope
        if scope is None:
            return UNKNOWN
        owner = scope.method_of
        if owner is not None and scope.params[:1] == [binding.target] and "staticmethod" not in scope.decorator_names:
            if "classmethod" in scope.decorator_names:
                return Value(Kind.CLASS, name=owner.dotted)
            return self.instance(owner.dotted)
        given = [self._given(scope, binding, caller) for caller in self.callers.get(scope, ())]
        known = join(given)
        if known is not None and known.known:
            items = known.items or (annotated.items if annotated.kind is known.kind else ())
            return replace(known, literal=None, items=items)
        if annotated.known:
            return annotated
        if binding.value is not None and not given:
            default = self._known(facts, binding.value)
            if default.kind in (Kind.DEVICE, Kind.DTYPE):
                return default
        return operators.by_name(binding.target) if known is not None or not given else None

    def _given(self, scope: Scope, binding: Binding, caller: Caller) -> Value | None:
        """What one call gives for a parameter."""
        node = passed(scope, binding.target, caller)
        if node is not None:
            return self._value(caller.facts, node)
        if opaque(caller.call):
            return UNKNOWN
        return self._value(scope.file, binding.value) if binding.value is not None else UNKNOWN

    # attributes -----------------------------------------------------------------------------------------------------

    def _member(self, facts: FileFacts, node: ast.Attribute) -> Value | None:
        name = self.project.qualified(facts, node)
        if name is not None and not name.startswith("builtins."):
            found = self._named(name)
            if found is None or found.known:
                return found
        source = self._value(facts, node.value)
        if source is None:
            return None
        result = self._member_of(source, node.attr)
        if result is not None and not result.known:
            return operators.by_name(node.attr)
        return result

    def _member_of(self, source: Value, attr: str) -> Value | None:
        if source.kind is Kind.TENSOR:
            return signatures.tensor_attribute(attr, source)
        if source.kind is Kind.NDARRAY:
            return signatures.ndarray_attribute(attr, source)
        if source.kind is Kind.DISTRIBUTION:
            tensors = signatures.table()["distribution_methods"]["tensor_attributes"]
            return TENSOR if attr in tensors else UNKNOWN
        if source.kind is Kind.MODULE and attr in ("weight", "bias"):
            return TENSOR
        if source.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and source.name:
            return join([self._solver.ask((name, attr)) for name in source.name.split("|")])
        return UNKNOWN

    def _attribute(self, cls: str, name: str) -> Value | None:
        own = self.project.implementations(cls, name)
        if own:
            if "property" in own[0].decorator_names or "cached_property" in own[0].decorator_names:
                return self._results(own)
            return Value(Kind.FUNCTION, name=own[0].dotted)
        stores = [*stores_of(self.project, cls, name), *self.outside(cls, name)]
        result = join([self._stored(store) for store in stores])
        if result is None:
            return None if stores else UNKNOWN
        if result.kind is Kind.LIST:
            return self._grown_attribute(cls, name, result)
        return result

    def outside(self, cls: str, name: str) -> Iterator[Store]:
        """Assignments to an attribute of what is known to be an instance of a class, or of a relative."""
        for facts, node, store in self.project.outside.get(name, ()):
            value = self._value(facts, node) or UNKNOWN
            if value.kind in (Kind.INSTANCE, Kind.MODULE) and any(
                cls in self.project.ancestry(other) or other in self.project.ancestry(cls)
                for other in value.name.split("|")
            ):
                yield store

    def _stored(self, store: Store) -> Value | None:
        if store.binding.how is Bind.AUGMENT:
            return None  # changes the number, hardly ever the kind
        return self._solver.ask((store.scope.file, store.binding))

    def _grown_attribute(self, cls: str, name: str, value: Value) -> Value | None:
        classes = [*self.project.family(cls), *self.project.descendants(cls)]
        return self._filled(
            value,
            (
                (method.file, how, node)
                for scope in classes
                for method in methods(scope)
                if method.self_name
                for how, node in method.appends.get(f"{method.self_name}.{name}", ())
            ),
        )

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self, facts: FileFacts, node: ast.Call) -> Value | None:
        name = self.project.qualified(facts, node.func)
        if name == "builtins.map" and len(node.args) == 2:
            return self._mapped(facts, node.args[0])
        if name is not None:
            known = library_call(name, node, lambda part: self._known(facts, part))
            if known is not None:
                return known
            if name in self.project.functions:
                function = self.project.functions[name]
                return self._solver.ask(function)
            if name in self.project.classes:
                return self.instance(name)
            if is_external_module(name):
                return Value(Kind.MODULE, name=name)
            foreign = operators.foreign_instance(name)
            if foreign is not None:
                return foreign
        if isinstance(node.func, ast.Attribute):
            return self._method(facts, node, node.func)
        callee = self._value(facts, node.func)
        return None if callee is None else self._called(callee)

    def _mapped(self, facts: FileFacts, function: ast.expr) -> Value | None:
        """``map(np.stack, rows)``: a list of what the function gives."""
        name = self.project.qualified(facts, function) or ""
        if name in self.project.functions:
            element = self._solver.ask(self.project.functions[name])
            return list_of(element) if element is not None else None
        return list_of(signatures.mapped(name))

    def _method(self, facts: FileFacts, node: ast.Call, func: ast.Attribute) -> Value | None:
        if operators.is_super(func.value):
            return self._inherited(facts, func)
        source = self._value(facts, func.value)
        if source is None:
            return None

        def of(part: ast.expr) -> Value:
            return self._known(facts, part)

        if source.kind is Kind.TENSOR:
            return signatures.tensor_method(func.attr, source, node, of)
        if source.kind is Kind.NDARRAY:
            return signatures.ndarray_method(func.attr, source, node, of)
        if source.kind is Kind.DISTRIBUTION:
            tensors = signatures.table()["distribution_methods"]["tensor"]
            return TENSOR if func.attr in tensors else UNKNOWN
        if source.kind is Kind.ENV or (not source.known and self._called_env(func.value)):
            return operators.environment(func.attr, facts.parent.get(node))
        if source.kind is Kind.LIST and func.attr in ("pop", "popleft"):
            return source.element
        if source.kind is Kind.LIST and func.attr == "copy":
            return source
        if source.kind is Kind.DICT and func.attr in ("get", "pop"):
            return source.element if len(node.args) == 1 else UNKNOWN
        if source.kind is Kind.SIZE and func.attr == "numel":
            return INT
        if source.kind in (Kind.MODULE, Kind.DEVICE) and func.attr in ("to", "cuda", "cpu", "eval", "train", "float"):
            return source
        if source.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and source.name:
            return self._project_method(source, func.attr, node)
        return operators.untyped_method(func.attr, node)

    def _called_env(self, node: ast.expr) -> bool:
        """Whether a value of unknown origin is called an environment, in a project whose own ones return arrays."""
        return bool(_ENV_NAME.search(operators.last_name(node))) and self._envs_return_arrays()

    def _envs_return_arrays(self) -> bool:
        if self._arrays is None:
            # Judged apart from what is being answered now, so that the order of questions does not matter.
            apart = Values(self.project, _arrays=True)
            steps = [method for method in self.project.methods.get("step", ()) if len(method.params) > 1]
            self._arrays = not any(operators.first(apart.returned(method)).kind is Kind.TENSOR for method in steps)
        return self._arrays

    def _inherited(self, facts: FileFacts, func: ast.Attribute) -> Value | None:
        """What ``super().method(...)`` gives."""
        owner = facts.scope_of(func).owner
        for base in self.project.ancestry(owner.dotted)[1:] if owner is not None else ():
            method = self.project.method(base, func.attr)
            if method is not None:
                return self._solver.ask(method)
        return UNKNOWN

    def _project_method(self, source: Value, attr: str, node: ast.Call) -> Value | None:
        return join([self._method_of(source.kind, name, attr, node) for name in source.name.split("|")])

    def _method_of(self, kind: Kind, cls: str, attr: str, node: ast.Call) -> Value | None:
        own = self.project.implementations(cls, attr)
        if own:
            return self._results(own)
        if attr == "__call__" and kind is Kind.MODULE:
            return self._called(Value(kind, name=cls))
        member = self._solver.ask((cls, attr))
        if member is None:
            return None
        if member.kind in (Kind.MODULE, Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION):
            return self._called(member)
        return operators.untyped_method(attr, node)

    def _called(self, callee: Value) -> Value | None:
        """The value of calling something."""
        return join([self._called_one(callee.kind, name) for name in callee.name.split("|")])

    def _called_one(self, kind: Kind, name: str) -> Value | None:
        if kind is Kind.CLASS:
            return self.instance(name) if name in self.project.classes else UNKNOWN
        if kind is Kind.FUNCTION:
            function = self.project.functions.get(name)
            return self._solver.ask(function) if function is not None else UNKNOWN
        own = self.project.implementations(name, "forward" if kind is Kind.MODULE else "__call__")
        if own and kind in (Kind.MODULE, Kind.INSTANCE):
            return self._results(own)
        if kind is Kind.MODULE and name.startswith("torch.nn."):
            several = name.rpartition(".")[2] in signatures.table()["modules"]["tuple"]
            return tuple_of(TENSOR, UNKNOWN) if several else TENSOR
        return UNKNOWN

    def _results(self, functions: Iterable[Scope]) -> Value | None:
        """What a call gives that may reach any of these functions."""
        return join([self._solver.ask(function) for function in functions])

    def _returned(self, function: Scope) -> Value | None:
        node = function.node
        if isinstance(node, ast.Lambda):
            return self._value(function.file, node.body)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            promised = self.annotations.read(function.file, node.returns)
            if promised.known and promised.kind not in (Kind.LIST, Kind.TUPLE, Kind.MODULE, Kind.INSTANCE):
                return promised
        if function.yields:
            return UNKNOWN
        values = [self._value(function.file, r.value) if r.value is not None else NONE for r in function.returns]
        return join(values) if values else NONE
