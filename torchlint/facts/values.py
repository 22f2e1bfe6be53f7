"""What is known of an expression's value, asked for when it is needed and followed across functions and files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from torchlint.facts import signatures
from torchlint.facts.join import BOOL, FLOAT, INT, NDARRAY, NONE, NUMBER, STRING, TENSOR, join, list_of, tuple_of
from torchlint.facts.model import Bind, Binding, FileFacts, Scope, Store
from torchlint.facts.project import Project, is_external_module
from torchlint.facts.reach import before
from torchlint.rule import UNKNOWN, Device, Kind, Value

_DEPTH = 70
_BUDGET = 6000
_DEVICE_NAME = re.compile(r"_*(device|dev|dvc|torch_device|DEVICE)_*$")
_ENV_NAME = re.compile(r"(^|_)(v?envs?|environments?|vecenv|venv|vec_env|gym_env)\d*$", re.IGNORECASE)
_CONTAINERS = ("append", "appendleft", "insert", "add")
_OLD_RESET = frozenset({"reset"})


@dataclass(frozen=True, slots=True)
class Caller:
    """A call of a project function: where, and how many leading parameters the call itself fills (``self``)."""

    facts: FileFacts
    call: ast.Call
    skip: int


@dataclass(eq=False, slots=True)
class Values:
    """Answers what expressions are, with a memory.

    A question met again while it is being answered (a cycle) counts as nothing known yet. Answers that depend on such
    a cut are not remembered, so that every answer is independent of the order of questions.
    """

    project: Project
    callers: Mapping[Scope, list[Caller]] = field(default_factory=dict)
    _memory: dict[object, Value | None] = field(default_factory=dict)
    _open: dict[object, int] = field(default_factory=dict)
    _lowest: int = 1 << 30
    _work: int = 0

    def of(self, facts: FileFacts, node: ast.expr) -> Value:
        """What is known of an expression."""
        if not self._open:
            self._work = 0
        return self._ask(node, facts, node) or UNKNOWN

    def returned(self, function: Scope) -> Value:
        """What a call of a project function gives."""
        if not self._open:
            self._work = 0
        return self._ask(function, function.file, function) or UNKNOWN

    def attribute(self, cls: str, name: str) -> Value:
        """What ``instance.name`` is for an instance of a project class."""
        if not self._open:
            self._work = 0
        return self._ask((cls, name), None, (cls, name)) or UNKNOWN

    def instance(self, cls: str) -> Value:
        """An instance of a class of the project or of a known library."""
        if self.project.is_module(cls):
            return Value(Kind.MODULE, name=cls)
        return Value(Kind.INSTANCE, name=cls)

    # the machinery --------------------------------------------------------------------------------------------------

    def _ask(self, key: object, facts: FileFacts | None, what: object) -> Value | None:
        if key in self._memory:
            return self._memory[key]
        depth = len(self._open)
        if key in self._open:
            self._lowest = min(self._lowest, self._open[key])
            return None
        self._work += 1
        if depth > _DEPTH or self._work > _BUDGET:
            self._lowest = 0
            return UNKNOWN
        outer, self._lowest = self._lowest, 1 << 30
        self._open[key] = depth
        try:
            result = self._answer(facts, what)
        finally:
            del self._open[key]
        if self._lowest >= depth:
            self._memory[key] = result
        else:
            outer = min(outer, self._lowest)
        self._lowest = outer
        return result

    def _answer(self, facts: FileFacts | None, what: object) -> Value | None:
        if isinstance(what, tuple):
            return self._attribute(*what)
        assert facts is not None
        if isinstance(what, Scope):
            return self._returned(what)
        if isinstance(what, Binding):
            return self._binding(facts, what)
        assert isinstance(what, ast.expr)
        return self._expression(facts, what)

    def _value(self, facts: FileFacts, node: ast.expr) -> Value | None:
        return self._ask(node, facts, node)

    def _known(self, facts: FileFacts, node: ast.expr) -> Value:
        return self._ask(node, facts, node) or UNKNOWN

    # expressions ----------------------------------------------------------------------------------------------------

    def _expression(self, facts: FileFacts, node: ast.expr) -> Value | None:
        if isinstance(node, ast.Name):
            return self._name(facts, node)
        if isinstance(node, ast.Attribute):
            return self._member(facts, node)
        if isinstance(node, ast.Call):
            return self._call(facts, node)
        if isinstance(node, ast.Constant):
            return _constant(node.value)
        if isinstance(node, ast.Subscript):
            return self._subscript(facts, node)
        if isinstance(node, ast.BinOp):
            return _binary(node.op, self._known(facts, node.left), self._known(facts, node.right))
        if isinstance(node, ast.UnaryOp):
            return _unary(node.op, self._known(facts, node.operand))
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
            return self._array_item(facts, source, index)
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

    def _array_item(self, facts: FileFacts, source: Value, index: ast.expr) -> Value:
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        values = [None if isinstance(p, ast.Slice) else self._known(facts, p) for p in parts]
        integers = sum(1 for v in values if v is not None and v.kind in (Kind.NUMBER, Kind.SCALAR))
        if not integers and all(v is None or v.kind in (Kind.NONE, Kind.NDARRAY, Kind.LIST) for v in values):
            return Value(Kind.NDARRAY, dtype=source.dtype)
        if source.rank is not None and integers == len(values):
            rank = source.rank - integers
            return Value(Kind.NDARRAY, source.dtype, rank=rank) if rank > 0 else Value(Kind.SCALAR, source.dtype)
        if any(v is None or v.kind in (Kind.NDARRAY, Kind.LIST) for v in values):
            return Value(Kind.NDARRAY, dtype=source.dtype)
        return UNKNOWN

    # names ----------------------------------------------------------------------------------------------------------

    def _name(self, facts: FileFacts, node: ast.Name) -> Value | None:
        reach = self.project.reaching(facts, node)
        if not reach.bindings:
            name = self.project.qualified(facts, node) or ""
            return self._named(name) if name else UNKNOWN
        result = join([self._ask(binding, facts, binding) for binding in reach.bindings])
        if result is not None and not result.known:
            return _by_name(node.id)
        return result

    def _named(self, name: str) -> Value:
        """The value of a qualified name outside of any function."""
        module, _, last = name.rpartition(".")
        if module == "torch" and last in signatures.table()["dtypes"]:
            return Value(Kind.DTYPE, dtype=signatures.table()["dtypes"][last])
        if module == "numpy" and last in signatures.table()["numpy_dtypes"]:
            return Value(Kind.DTYPE, dtype=signatures.table()["numpy_dtypes"][last])
        if name in ("torch.inf", "torch.nan", "torch.pi", "math.inf", "math.pi", "math.nan", "math.e"):
            return FLOAT
        if name in ("numpy.inf", "numpy.nan", "numpy.pi", "numpy.Inf", "numpy.NaN", "numpy.e"):
            return FLOAT
        if name in ("numpy.newaxis", "builtins.None"):
            return NONE
        if name in self.project.classes or (module == "builtins" and last in ("int", "float", "bool", "str")):
            return Value(Kind.CLASS, name=name)
        if name in self.project.functions:
            return Value(Kind.FUNCTION, name=name)
        if "." not in name:
            return Value(Kind.NAMESPACE, name=name)
        file = self.project.modules.get(module)
        if file is not None:
            bindings = file.top.bindings.get(last, [])
            return join([self._ask(b, file, b) for b in bindings]) or UNKNOWN
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
        if binding.annotation is not None and (annotated := self.annotation(facts, binding.annotation)).known:
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
        elif how is Bind.OTHER:
            return UNKNOWN
        for step in binding.path:
            value = _unpack(value, step)
        if value.kind is Kind.LIST and not binding.path and how is Bind.ASSIGN:
            return self._grown(facts, binding, value)
        return value

    def _augmented(self, facts: FileFacts, binding: Binding) -> Value | None:
        assert isinstance(binding.stmt, ast.AugAssign) and binding.value is not None
        scope = facts.scope_of(binding.stmt)
        target = binding.stmt.target
        if not isinstance(target, ast.Name):
            return UNKNOWN
        old = join([self._ask(b, facts, b) for b in before(facts, target.id, binding.stmt, scope.function)])
        if old is None:
            return None
        return _binary(binding.stmt.op, old, self._known(facts, binding.value))

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
            item = self._value(facts, node)
            if item is not None and how == "extend":
                item = signatures.element_of(item)
            elements.append(item)
        if not elements:
            return value
        element = join(elements)
        return replace(value, items=(replace(element, literal=None),) if element is not None and element.known else ())

    # parameters -----------------------------------------------------------------------------------------------------

    def _parameter(self, facts: FileFacts, binding: Binding) -> Value | None:
        if binding.annotation is not None:
            annotated = self.annotation(facts, binding.annotation)
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
            return replace(known, literal=None)
        if binding.value is not None and not given:
            default = self._known(facts, binding.value)
            if default.kind in (Kind.DEVICE, Kind.DTYPE):
                return default
        return _by_name(binding.target) if known is not None or not given else None

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

    def annotation(self, facts: FileFacts, node: ast.expr) -> Value:
        """The value that an annotation promises."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                inner = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):
                return UNKNOWN
            text = ast.unparse(inner)
            known = {"torch.Tensor": TENSOR, "th.Tensor": TENSOR, "Tensor": TENSOR, "np.ndarray": NDARRAY}
            return known.get(text, UNKNOWN)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return join([self.annotation(facts, node.left), self.annotation(facts, node.right)]) or UNKNOWN
        if isinstance(node, ast.Constant) and node.value is None:
            return NONE
        if isinstance(node, ast.Subscript):
            return self._generic(facts, node)
        name = self.project.qualified(facts, node) or ""
        return self._annotated(name)

    def _annotated(self, name: str) -> Value:
        plain = {
            "torch.Tensor": TENSOR,
            "torch._tensor.Tensor": TENSOR,
            "numpy.ndarray": NDARRAY,
            "builtins.int": INT,
            "builtins.float": FLOAT,
            "builtins.bool": BOOL,
            "builtins.str": STRING,
            "torch.device": Value(Kind.DEVICE),
            "torch.dtype": Value(Kind.DTYPE),
            "torch.nn.Module": Value(Kind.MODULE, name="torch.nn.Module"),
            "torch.Size": Value(Kind.SIZE),
            "builtins.list": Value(Kind.LIST),
            "builtins.dict": Value(Kind.DICT),
            "torch.optim.Optimizer": Value(Kind.OPTIMIZER),
        }
        if name in plain:
            return plain[name]
        if name.startswith("torch.distributions."):
            return Value(Kind.DISTRIBUTION)
        if name.startswith("gym") and name.rpartition(".")[2] in ("Env", "VectorEnv", "Wrapper"):
            return Value(Kind.ENV)
        if name in self.project.classes:
            return self.instance(name)
        return Value(Kind.MODULE, name=name) if is_external_module(name) else UNKNOWN

    def _generic(self, facts: FileFacts, node: ast.Subscript) -> Value:
        head = (self.project.qualified(facts, node.value) or "").rpartition(".")[2]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head == "Optional":
            return self.annotation(facts, parts[0])
        if head == "Union":
            return join([self.annotation(facts, part) for part in parts]) or UNKNOWN
        if head in ("List", "list", "Sequence", "Iterable", "Deque", "deque"):
            return list_of(self.annotation(facts, parts[0]))
        if head in ("Tuple", "tuple"):
            if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is ...:
                return list_of(self.annotation(facts, parts[0]))
            return tuple_of(*(self.annotation(facts, part) for part in parts))
        if head in ("Dict", "dict", "Mapping"):
            return Value(Kind.DICT)
        return self.annotation(facts, parts[0]) if head in ("Final", "Annotated", "ClassVar") else UNKNOWN

    # attributes -----------------------------------------------------------------------------------------------------

    def _member(self, facts: FileFacts, node: ast.Attribute) -> Value | None:
        name = self.project.qualified(facts, node)
        if name is not None and not name.startswith("builtins."):
            found = self._named(name)
            if found.known:
                return found
        source = self._value(facts, node.value)
        if source is None:
            return None
        result = self._member_of(source, node.attr)
        if result is not None and not result.known:
            return _by_name(node.attr)
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
            return self._ask((source.name, attr), None, (source.name, attr))
        return UNKNOWN

    def _attribute(self, cls: str, name: str) -> Value | None:
        method = self.project.method(cls, name)
        if method is not None:
            if "property" in method.decorator_names or "cached_property" in method.decorator_names:
                return self._ask(method, method.file, method)
            return Value(Kind.FUNCTION, name=method.dotted)
        stores = list(stores_of(self.project, cls, name))
        result = join([self._stored(store, name) for store in stores])
        if result is None:
            return None if stores else UNKNOWN
        if result.kind is Kind.LIST:
            return self._grown_attribute(cls, name, result)
        return result

    def _stored(self, store: Store, name: str) -> Value | None:
        if store.binding.how is Bind.AUGMENT:
            return None  # changes the number, hardly ever the kind
        return self._ask(store.binding, store.scope.file, store.binding)

    def _grown_attribute(self, cls: str, name: str, value: Value) -> Value | None:
        elements: list[Value | None] = [value]
        for scope in self.project.family(cls):
            for method in _methods(scope):
                for text in (f"{method.self_name}.{name}",):
                    appended = method.appends.get(text)
                    if appended and method.self_name:
                        elements.append(self._with_elements(method.file, Value(Kind.LIST), appended))
        return join(elements)

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self, facts: FileFacts, node: ast.Call) -> Value | None:
        name = self.project.qualified(facts, node.func)
        if name is not None:
            known = self._library(facts, name, node)
            if known is not None:
                return known
            if name in self.project.functions:
                function = self.project.functions[name]
                return self._ask(function, function.file, function)
            if name in self.project.classes:
                return self.instance(name)
            if is_external_module(name):
                return Value(Kind.MODULE, name=name)
        if isinstance(node.func, ast.Attribute):
            return self._method(facts, node, node.func)
        callee = self._value(facts, node.func)
        return None if callee is None else self._called(facts, callee, node)

    def _library(self, facts: FileFacts, name: str, node: ast.Call) -> Value | None:
        def of(part: ast.expr) -> Value:
            return self._known(facts, part)

        head, _, last = name.partition(".")
        if head == "torch":
            return signatures.torch_call(name, node, of)
        if head == "numpy":
            return signatures.numpy_call(name, node, of)
        if head == "builtins":
            if last == "super":
                return UNKNOWN
            return signatures.builtin_call(last, node, of)
        if name in ("collections.deque",):
            return signatures.builtin_call("deque", node, of)
        if name in ("random.sample", "random.choices"):
            source = of(node.args[0]) if node.args else UNKNOWN
            return list_of(signatures.element_of(source))
        if name == "random.choice":
            return signatures.element_of(of(node.args[0])) if node.args else UNKNOWN
        if head in ("random", "math", "time"):
            return FLOAT if last in ("random", "uniform", "time", "perf_counter", "sqrt", "exp", "log") else NUMBER
        if name == "copy.deepcopy" and node.args:
            return of(node.args[0])
        if head in ("gym", "gymnasium", "gymnax", "envpool") and last in ("make", "vector.make", "make_vec"):
            return Value(Kind.ENV, name=head)
        return None

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
        if source.kind is Kind.ENV or (not source.known and _ENV_NAME.search(_last_name(func.value))):
            return _environment(func.attr, facts.parent.get(node))
        if source.kind is Kind.LIST and func.attr in ("pop", "popleft"):
            return source.element
        if source.kind is Kind.LIST and func.attr == "copy":
            return source
        if source.kind is Kind.SIZE and func.attr == "numel":
            return INT
        if source.kind in (Kind.MODULE, Kind.DEVICE) and func.attr in ("to", "cuda", "cpu", "eval", "train", "float"):
            return source
        if source.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and source.name:
            return self._project_method(facts, source, func.attr, node)
        return _untyped_method(func.attr, node)

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

    def _project_method(self, facts: FileFacts, source: Value, attr: str, node: ast.Call) -> Value | None:
        method = self.project.method(source.name, attr)
        if method is not None:
            return self._ask(method, method.file, method)
        if attr == "__call__" and source.kind is Kind.MODULE:
            return self._called(facts, source, node)
        member = self._ask((source.name, attr), None, (source.name, attr))
        if member is None:
            return None
        if member.kind in (Kind.MODULE, Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION):
            return self._called(facts, member, node)
        return _untyped_method(attr, node)

    def _called(self, facts: FileFacts, callee: Value, node: ast.Call) -> Value | None:
        """The value of calling something."""
        if callee.kind is Kind.CLASS:
            return self.instance(callee.name) if callee.name in self.project.classes else UNKNOWN
        if callee.kind is Kind.FUNCTION:
            function = self.project.functions.get(callee.name)
            return self._ask(function, function.file, function) if function is not None else UNKNOWN
        if callee.kind is Kind.MODULE:
            forward = self.project.method(callee.name, "forward")
            if forward is not None:
                return self._ask(forward, forward.file, forward)
            if callee.name.startswith("torch.nn."):
                if callee.name.rpartition(".")[2] in signatures.table()["modules"]["tuple"]:
                    return tuple_of(TENSOR, UNKNOWN)
                return TENSOR
        if callee.kind is Kind.INSTANCE:
            method = self.project.method(callee.name, "__call__")
            return self._ask(method, method.file, method) if method is not None else UNKNOWN
        return UNKNOWN

    def _returned(self, function: Scope) -> Value | None:
        node = function.node
        if isinstance(node, ast.Lambda):
            return self._value(function.file, node.body)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            promised = self.annotation(function.file, node.returns)
            if promised.known and promised.kind not in (Kind.LIST, Kind.TUPLE, Kind.MODULE, Kind.INSTANCE):
                return promised
        if function.yields:
            return UNKNOWN
        values = [self._value(function.file, r.value) if r.value is not None else NONE for r in function.returns]
        return join(values) if values else NONE


def passed(function: Scope, name: str, caller: Caller) -> ast.expr | None:
    """The argument expression that a call passes for a parameter, ``None`` when the call leaves it out."""
    for keyword in caller.call.keywords:
        if keyword.arg == name:
            return keyword.value
    position = function.params.index(name) - caller.skip if name in function.params else -1
    args = caller.call.args
    if 0 <= position < len(args) and not any(isinstance(a, ast.Starred) for a in args[: position + 1]):
        return args[position]
    return None


def opaque(call: ast.Call) -> bool:
    """Whether star arguments hide what a call passes."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def stores_of(project: Project, cls: str, name: str) -> Iterator[Store]:
    """All assignments to an attribute in a class, its ancestors and its descendants."""
    for scope in [*project.family(cls), *project.descendants(cls)]:
        yield from scope.stores.get(name, ())


def _methods(cls: Scope) -> Iterator[Scope]:
    return (inner for inner in cls.inner if inner.kind == "function")


def _constant(value: object) -> Value:
    if isinstance(value, bool):
        return Value(Kind.NUMBER, dtype="bool", literal=value)
    if isinstance(value, int):
        return Value(Kind.NUMBER, dtype="int", literal=value)
    if isinstance(value, float):
        return Value(Kind.NUMBER, dtype="float", literal=value)
    if isinstance(value, str):
        return Value(Kind.STRING, literal=value)
    return NONE if value is None else UNKNOWN


def _unary(op: ast.unaryop, operand: Value) -> Value:
    if isinstance(op, ast.Not):
        return BOOL
    if isinstance(op, ast.USub) and isinstance(operand.literal, (int, float)):
        return replace(operand, literal=-operand.literal)
    if operand.kind in (Kind.TENSOR, Kind.NDARRAY, Kind.NUMBER, Kind.SCALAR):
        return replace(operand, literal=None)
    return UNKNOWN


def _binary(op: ast.operator, left: Value, right: Value) -> Value:
    kinds = {left.kind, right.kind}
    bits = isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor))
    if Kind.TENSOR in kinds:
        tensors = [v for v in (left, right) if v.kind is Kind.TENSOR]
        same = all(v.dtype == tensors[0].dtype for v in tensors)
        dtype = tensors[0].dtype if same and (bits or not isinstance(op, ast.Div)) else None
        if len(tensors) == 1 and dtype in ("bool", "int64", "int32", "uint8") and not bits:
            dtype = None
        return Value(Kind.TENSOR, dtype=dtype, device=signatures.meeting(tensors))
    if Kind.NDARRAY in kinds:
        other = right if left.kind is Kind.NDARRAY else left
        fine = (Kind.NDARRAY, Kind.NUMBER, Kind.SCALAR, Kind.LIST)
        return Value(Kind.NDARRAY, dtype="bool" if bits else None) if other.kind in fine else UNKNOWN
    if kinds <= {Kind.NUMBER, Kind.SCALAR}:
        if Kind.SCALAR in kinds:
            return Value(Kind.SCALAR)
        floats = isinstance(op, ast.Div) or "float" in (left.dtype, right.dtype)
        return FLOAT if floats else INT if left.dtype == right.dtype == "int" else NUMBER
    if left.kind is Kind.STRING:
        return STRING
    if left.kind is Kind.LIST and isinstance(op, ast.Mult):
        return left
    if kinds == {Kind.LIST} and isinstance(op, ast.Add):
        return join([left, right]) or UNKNOWN
    return UNKNOWN


def _unpack(value: Value, step: int) -> Value:
    if step < 0:
        return UNKNOWN
    if value.kind is Kind.TUPLE:
        return value.items[step] if step < len(value.items) else UNKNOWN
    return signatures.element_of(value)


def _by_name(name: str) -> Value:
    """A value of unknown origin that is called a device is one, by universal convention."""
    return Value(Kind.DEVICE) if _DEVICE_NAME.match(name) else UNKNOWN


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _environment(method: str, use: ast.AST | None) -> Value:
    """What a Gym or Gymnasium environment returns: observations are arrays."""
    if method == "step":
        return tuple_of(NDARRAY, UNKNOWN, UNKNOWN, UNKNOWN, Value(Kind.DICT))
    if method in _OLD_RESET:
        unpacked = isinstance(use, ast.Assign) and isinstance(use.targets[0], (ast.Tuple, ast.List))
        return tuple_of(NDARRAY, Value(Kind.DICT)) if unpacked or isinstance(use, ast.Subscript) else NDARRAY
    return UNKNOWN


def _untyped_method(name: str, node: ast.Call) -> Value:
    """What a method returns whatever it is called on: names that only tensors or arrays have."""
    methods = {
        "item": NUMBER,
        "numpy": NDARRAY,
        "unsqueeze": TENSOR,
        "detach": TENSOR,
        "astype": NDARRAY,
        "argmax": UNKNOWN,
        "masked_fill": TENSOR,
        "log_prob": TENSOR,
        "rsample": TENSOR,
    }
    if name in methods:
        return methods[name]
    if name in ("cpu", "cuda"):
        return Value(Kind.TENSOR, device=Device.CPU if name == "cpu" else Device.CUDA) if not node.args else UNKNOWN
    return UNKNOWN
