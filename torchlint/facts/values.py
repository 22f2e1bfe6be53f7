"""What is known of an expression's value, asked for when it is needed and followed across functions and files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from torchlint.facts import operators, signatures
from torchlint.facts.annotations import Annotations
from torchlint.facts.callers import Caller, methods, opaque, passed, stores_of
from torchlint.facts.join import BOOL, INT, NONE, STRING, TENSOR, join, list_of, tuple_of
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
            return self._compare(facts, node)
        if isinstance(node, ast.BoolOp):
            return join([self._value(facts, part) for part in node.values])
        if isinstance(node, ast.IfExp):
            return join([self._value(facts, node.body), self._value(facts, node.orelse)])
        if isinstance(node, (ast.List, ast.Set)):
            return self._list(facts, node.elts)
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
        return Value(Kind.FUNCTION) if isinstance(node, ast.Lambda) else UNKNOWN

    def _list(self, facts: FileFacts, elements: list[ast.expr]) -> Value:
        if any(isinstance(e, ast.Starred) for e in elements):
            return Value(Kind.LIST)
        element = join([self._value(facts, e) for e in elements]) if elements else None
        items = (replace(element, literal=None),) if element is not None and element.known else ()
        return Value(Kind.LIST, items=items, nonempty=bool(elements))

    def _compare(self, facts: FileFacts, node: ast.Compare) -> Value:
        if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            return BOOL
        operands = [self._known(facts, part) for part in [node.left, *node.comparators]]
        kinds = {v.kind for v in operands}
        if Kind.TENSOR in kinds:
            return Value(Kind.TENSOR, dtype="bool", device=signatures.meeting(operands))
        if Kind.NDARRAY in kinds:
            return Value(Kind.NDARRAY, dtype="bool")
        plain = {Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SCALAR}
        return BOOL if kinds <= plain else UNKNOWN

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
        return source.element if source.kind is Kind.TUPLE else UNKNOWN

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
        entered = self._method_of(value, "__enter__") if value.kind in (Kind.INSTANCE, Kind.MODULE) else UNKNOWN
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
        appended = scope.appends.get(names[0], [])
        return self._with_elements(facts, value, appended)

    def _with_elements(self, facts: FileFacts, value: Value, appended: Iterable[tuple[str, ast.expr]]) -> Value | None:
        elements: list[Value | None] = list(value.items)
        for how, node in appended:
            item = self._value(facts, node) if how != "unknown" else UNKNOWN
            if item is not None and how == "extend":
                item = signatures.element_of(item)
            elements.append(item)
        if not elements:
            return value
        element = join(elements)
        return replace(value, items=(replace(element, literal=None),) if element is not None and element.known else ())

    # parameters -----------------------------------------------------------------------------------------------------

    def _parameter(self, facts: FileFacts, binding: Binding) -> Value | None:
        annotated = self.annotations.read(facts, binding.annotation) if binding.annotation is not None else UNKNOWN
        if annotated.known and annotated.kind not in (Kind.LIST, Kind.TUPLE):
            return annotated
        scope = self._scope_of_parameter(facts, binding)
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

    def _scope_of_parameter(self, facts: FileFacts, binding: Binding) -> Scope | None:
        return next((s for s in facts.scopes if s.node is binding.stmt), None)

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
        method = self.project.method(cls, name)
        if method is not None:
            if "property" in method.decorator_names or "cached_property" in method.decorator_names:
                return self._solver.ask(method)
            return Value(Kind.FUNCTION, name=method.dotted)
        stores = list(stores_of(self.project, cls, name))
        result = join([self._stored(store) for store in stores])
        if result is None:
            return None if stores else UNKNOWN
        if result.kind is Kind.LIST:
            return self._grown_attribute(cls, name, result)
        return result

    def _stored(self, store: Store) -> Value | None:
        if store.binding.how is Bind.AUGMENT:
            return None  # changes the number, hardly ever the kind
        return self._solver.ask((store.scope.file, store.binding))

    def _grown_attribute(self, cls: str, name: str, value: Value) -> Value | None:
        elements: list[Value | None] = [value]
        for scope in [*self.project.family(cls), *self.project.descendants(cls)]:
            for method in methods(scope):
                appended = method.appends.get(f"{method.self_name}.{name}")
                if appended and method.self_name:
                    elements.append(self._with_elements(method.file, Value(Kind.LIST), appended))
        return join(elements)

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self, facts: FileFacts, node: ast.Call) -> Value | None:
        name = self.project.qualified(facts, node.func)
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
        if isinstance(node.func, ast.Attribute):
            return self._method(facts, node, node.func)
        callee = self._value(facts, node.func)
        return None if callee is None else self._called(callee)

    def _method(self, facts: FileFacts, node: ast.Call, func: ast.Attribute) -> Value | None:
        source = self._receiver(facts, func.value)
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
        if source.kind is Kind.SIZE and func.attr == "numel":
            return INT
        if source.kind in (Kind.MODULE, Kind.DEVICE) and func.attr in ("to", "cuda", "cpu", "eval", "train", "float"):
            return source
        if source.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and source.name:
            return self._project_method(source, func.attr, node)
        return operators.untyped_method(func.attr, node)

    def _called_env(self, node: ast.expr) -> bool:
        """Whether a value of unknown origin is called an environment, in a project whose own ones return arrays."""
        if not _ENV_NAME.search(operators.last_name(node)):
            return False
        own = self.project.methods.get("step", ()) if self.project.methods else ()
        steps = [method for method in own if b"torch" in method.file.source.utf8 and len(method.params) > 1]
        return not any(_first(self._solver.ask(method)).kind is Kind.TENSOR for method in steps)

    def _receiver(self, facts: FileFacts, node: ast.expr) -> Value | None:
        """The value a method is called on; ``super()`` is an instance of the next class."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            owner = facts.scope_of(node).owner
            if owner is not None:
                above = self.project.ancestry(owner.dotted)[1:]
                if above:
                    return self.instance(above[0])
            return UNKNOWN
        return self._value(facts, node)

    def _project_method(self, source: Value, attr: str, node: ast.Call) -> Value | None:
        return join([self._method_of(source.kind, name, attr, node) for name in source.name.split("|")])

    def _method_of(self, kind: Kind, cls: str, attr: str, node: ast.Call) -> Value | None:
        method = self.project.method(cls, attr)
        if method is not None:
            return self._solver.ask(method)
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
        method = self.project.functions.get(name) if kind is Kind.FUNCTION else None
        if kind is Kind.MODULE:
            method = self.project.method(name, "forward")
        elif kind is Kind.INSTANCE:
            method = self.project.method(name, "__call__")
        if method is not None:
            return self._solver.ask(method)
        if kind is Kind.MODULE and name.startswith("torch.nn."):
            several = name.rpartition(".")[2] in signatures.table()["modules"]["tuple"]
            return tuple_of(TENSOR, UNKNOWN) if several else TENSOR
        return UNKNOWN

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


def _first(value: Value | None) -> Value:
    return value.items[0] if value is not None and value.kind is Kind.TUPLE and value.items else UNKNOWN
