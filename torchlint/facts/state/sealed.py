"""Whether all code that a block may run is seen and keeps no tensor: what a tensor of another world asks for.

A tensor made under ``inference_mode`` raises whenever autograd meets it later. So code that is not seen counts as code
that keeps tensors: modules that come from somewhere unknown, callbacks, methods of unknown objects.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field

from torchlint.facts.code.callers import part_of
from torchlint.facts.code.model import Bind, FileFacts, Scope, decorators, is_super
from torchlint.facts.code.nesting import code_of, nodes_of
from torchlint.facts.code.tree import arguments_of
from torchlint.facts.state.escape import Escapes, is_in_place
from torchlint.facts.state.replaced import Replaced
from torchlint.facts.values.spaces import is_space
from torchlint.late import dataclass, regex
from torchlint.models import method_names
from torchlint.rule import Kind, Value

# Functions of libraries that keep no tensor and run no code but what they are given.
_PLAIN = regex(
    r"torch\.(?!vmap$|compile$|cond$|while_loop$|is_inference|inference_mode$)([a-z0-9_]+|\w*Tensor|Size|Generator)$"
    r"|torch\.nn\.functional\.\w+$|torch\.(nn\.init|linalg|fft|special|random|cuda|mps|xpu|amp|distributions)\."
    r"|torch\.Tensor\.\w+$|numpy\.|math\.|random\.|time\.|os\.|sys\.|warnings\.|typing\.|itertools\.|copy\.|logging\."
    r"|(?:torch\.autograd\.grad_mode\.)?no_grad$"
)
_LAYER = regex(r"torch\.nn\.(modules\.\w+\.)?(?!Lazy|DataParallel|Module$)[A-Z]\w*$")
_RUNNING = frozenset({"map", "filter", "sorted", "min", "max"})
_HIDDEN = frozenset({"next", "exec", "eval", "vars", "globals", "locals", "__import__"})
_READING = method_names("Module ModuleDict", quiet=True)
# Methods of tensors and arrays that no module and no container has.
_OF_TENSORS = method_names(pure=True, moves=False, casts=False, elsewhere=False)
_DATA_LIKE = frozenset(
    {Kind.TENSOR, Kind.NDARRAY, Kind.NUMBER, Kind.SCALAR, Kind.ITEM, Kind.STRING, Kind.SIZE, Kind.NONE, Kind.DEVICE}
) | {Kind.DTYPE, Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.SET}
_HARMLESS_DECORATORS = frozenset(
    """
    staticmethod classmethod property abstractmethod override overload no_grad inference_mode setter wraps
    cached_property lazy_property lru_cache cache
    """.split()
)
_CASTS = method_names("torch.Tensor", casts=True)
# What an inference tensor has not, or says otherwise.
_TELLING = frozenset({"_version", "is_inference", "is_inference_mode_enabled"})
_OPERATORS = frozenset(
    f"__{side}{name}__"
    for side in ("", "r", "i")
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"),
        *("neg", "pos", "invert", "abs", "eq", "ne", "lt", "le", "gt", "ge", "contains"),
    )
)
_ITERATING = frozenset({"__iter__", "__next__", "__getitem__"})
_WRITING = frozenset({"__format__", "__str__", "__repr__"})
# What Python or a library may ask of an object that is handed to a call.
_ASKED = (
    frozenset({"__array__", "__torch_function__", "__int__", "__float__", "__index__", "__complex__", "__bool__"})
    | frozenset({"__len__", "__hash__", "__reversed__", "__round__", "__array_ufunc__", "__array_function__"})
    | (_OPERATORS | _ITERATING | _WRITING)
)
_TRUTH = frozenset({"__bool__", "__len__"})
_SPECIAL: dict[type[ast.AST], frozenset[str]] = {
    ast.Subscript: frozenset({"__getitem__", "__setitem__", "__delitem__", "__missing__"}),
    ast.BinOp: _OPERATORS,
    ast.UnaryOp: _OPERATORS | _TRUTH,
    ast.AugAssign: _OPERATORS,
    ast.Compare: _OPERATORS,
    ast.Attribute: frozenset({"__getattr__", "__getattribute__", "__setattr__", "__delattr__"}),
    ast.Call: _ASKED,
    ast.Assign: _ITERATING,
    ast.Starred: _ITERATING,
    ast.For: _ITERATING,
    ast.comprehension: _ITERATING | _TRUTH,
    ast.withitem: frozenset({"__enter__", "__exit__"}),
    **dict.fromkeys((ast.If, ast.While, ast.IfExp, ast.Assert, ast.BoolOp), _TRUTH),
    ast.FormattedValue: _WRITING,
}
# What a dict may be told to put under a key that is missing, and hold no tensor.
_EMPTY = frozenset(f"builtins.{name}" for name in ("list", "dict", "set", "tuple", "int", "float", "str", "bool"))


@dataclass(eq=False, slots=True)
class Sealed(Escapes):
    """Answers whether tensors leave a place, where code that is not seen counts as code that keeps them."""

    replaced: Replaced = field(kw_only=True)
    _drawing: dict[frozenset[str], bool] = field(default_factory=dict)
    _filling: dict[frozenset[str], bool] = field(default_factory=dict)

    def _keeps_none(self, function: Scope) -> bool:
        return (
            function.decorator_names <= _HARMLESS_DECORATORS
            and self._plain_decorators(function)
            and (Escapes._keeps_none(self, function))
        )

    def _plain_decorators(self, function: Scope) -> bool:
        names = (self.project.qualified(function.file, node) for node in decorators(function.node))
        return not any(name in self.project.functions or name in self.project.classes for name in names)

    def _keeps_part(self, facts: FileFacts, part: ast.AST) -> bool:
        """Whether what Python runs behind an operator, an item, a loop or a ``with`` may keep a tensor."""
        if isinstance(part, (ast.Await, ast.Match)) or (isinstance(part, ast.Attribute) and part.attr in _TELLING):
            return True  # a pattern reads attributes of what it is given
        if isinstance(part, ast.Subscript) and self._fills(facts, part.value):
            return True
        special = _SPECIAL.get(type(part))
        if special is None or (isinstance(part, ast.Call) and self._takes_arrays(facts, part)):
            return False
        special = special & self.project.methods.keys()
        operands = [node for node in _operands(part) if special and not self._is_plain(facts, node)]
        if isinstance(part, (ast.For, ast.comprehension)) and self._draws(facts, part.iter):
            return True
        return not all(self._all_keep_none(self._behind(facts, node, special)) for node in operands)

    def _behind(self, facts: FileFacts, node: ast.expr, names: frozenset[str]) -> list[Scope]:
        """The methods of these names that an object may have: those of its classes, else any in connected files."""
        value = self.values.of(facts, node)
        if value.kind in (Kind.INSTANCE, Kind.MODULE) and value.name:
            classes = value.name.split("|")
            return [m for cls in classes for name in sorted(names) for m in self.project.implementations(cls, name)]
        near = [method for name in sorted(names) for method in self._near(facts, name)]
        return [m for m in near if self._is_of_distribution(m)] if value.kind is Kind.DISTRIBUTION else near

    def _is_of_distribution(self, method: Scope) -> bool:
        owner = method.method_of
        bases = self.project.ancestry(owner.dotted) if owner is not None else ()
        return any(base.startswith("torch.distributions.") for base in bases)

    def _near(self, facts: FileFacts, name: str) -> list[Scope]:
        """All methods of a name in files that imports connect with one."""
        group = self.graph.groups[facts.path]
        return [method for method in self.project.methods.get(name, ()) if method.file.path in group]

    def _takes_arrays(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a function raises for all but arrays of NumPy, so it asks nothing of an object of the project."""
        return self.project.qualified(facts, call.func) == "torch.from_numpy"

    def _is_plain(self, facts: FileFacts, node: ast.expr) -> bool:
        if isinstance(node, ast.Starred):
            whole = self.values.of(facts, node.value)
            return whole.kind is Kind.SIZE or whole.element.kind in _DATA_LIKE
        value = self.values.of(facts, node)
        if value.kind in _DATA_LIKE or value.kind in (Kind.NAMESPACE, Kind.CLASS, Kind.FUNCTION):
            return True
        return (self.project.qualified(facts, node) or "").startswith(("torch.", "numpy."))

    def _fills(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether reading an item may make a dict keep it: near one that is told how to make what is missing."""
        value = self.values.of(facts, node)
        if (value.known and value.kind not in (Kind.DICT, Kind.INSTANCE)) or value.element.is_data:
            return False
        return self._near_any(facts, self._filling, self._makes_missing)

    def _makes_missing(self, facts: FileFacts, call: ast.Call) -> bool:
        if self.project.qualified(facts, call.func) != "collections.defaultdict" or not call.args:
            return False
        return self.project.qualified(facts, call.args[0]) not in _EMPTY

    def _near_any(
        self, facts: FileFacts, known: dict[frozenset[str], bool], is_one: Callable[[FileFacts, ast.Call], bool]
    ) -> bool:
        """Whether a call in a connected file is one of a kind, with a memory."""
        group = self.graph.groups[facts.path]
        if group not in known:
            files = (self.project.files[path] for path in sorted(group))
            calls = ((file, call) for file in files for scope in file.scopes for call in scope.calls)
            known[group] = any(is_one(file, call) for file, call in calls)
        return known[group]

    def _draws(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a loop may go on with a generator from before: over something unknown, with generators near it."""
        value = self.values.of(facts, node)
        if value.known and value.kind is not Kind.INSTANCE:
            return False
        group = self.graph.groups[facts.path]
        if group not in self._drawing:
            files = [self.project.files[path] for path in sorted(group)]
            self._drawing[group] = any(scope.yields for file in files for scope in file.scopes)
        return self._drawing[group]

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self, facts: FileFacts, call: ast.Call, within: set[ast.AST]) -> bool:
        """Whether all that a call runs is known, and none of it keeps a tensor."""
        func = call.func
        name = self.project.qualified(facts, func) or ""
        if name.startswith(("builtins.", "torch.")) or _PLAIN.match(name):
            return Escapes._call(self, facts, call, within) and self._library(facts, call, name, within)
        targets = self.graph.sure(call)
        callee = self.values.of(facts, func)
        if targets and self._is_whole(facts, call, name, callee):
            return self._all_keep_none(targets)
        if callee.kind is Kind.MODULE or (not callee.known and not isinstance(func, ast.Attribute)):
            return self._module(facts, func)
        if not isinstance(func, ast.Attribute):
            return False
        return self._method(facts, func, call, within) or (not callee.known and self._module(facts, func))

    def _is_whole(self, facts: FileFacts, call: ast.Call, name: str, callee: Value) -> bool:
        """Whether what the call graph gives for a call is all that it may reach."""
        if name in self.project.functions or name in self.project.classes:
            return True
        func = call.func
        if isinstance(func, ast.Attribute) and not callee.known:
            return is_super(func.value) or self._has_own(self.values.of(facts, func.value), func.attr)
        if callee.kind is Kind.FUNCTION:
            return all(name in self.project.functions for name in callee.name.split("|"))
        module = callee.kind is Kind.MODULE
        classes = callee.name.split("|") if module or callee.kind is Kind.INSTANCE else []
        return bool(classes) and all(self.project.called(cls, module=module) for cls in classes)

    def _has_own(self, receiver: Value, method: str) -> bool:
        """Whether a receiver is an instance of classes of the project that have a method."""
        known = receiver.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and bool(receiver.name)
        return known and all(self.project.method(cls, method) is not None for cls in receiver.name.split("|"))

    def _library(self, facts: FileFacts, call: ast.Call, name: str, within: set[ast.AST]) -> bool:
        """Whether a function of a library is known to keep nothing, and so is all that it may run."""
        given = arguments_of(call)
        last = name.rpartition(".")[2]
        if name.startswith("builtins."):
            if last in _HIDDEN or "." in name.removeprefix("builtins."):
                return self._data(facts, call)
            running = last in _RUNNING
            keyed = [keyword.value for keyword in call.keywords if keyword.arg == "key"]
            run = keyed or (call.args[:1] if running and last in ("map", "filter") else [])
            if not all(self._callback(facts, node, seen=True) for node in run):
                return False
        elif not _PLAIN.match(name) and not _LAYER.match(name):
            return False
        return all(self._callback(facts, node) and self._untouched(facts, node, within) for node in given)

    def _callback(self, facts: FileFacts, node: ast.expr, *, seen: bool = False) -> bool:
        """Whether what a library is given is not code, or code that keeps nothing; ``seen``: it must be known code."""
        if isinstance(node, ast.Lambda):
            return self._keeps_nothing(facts, list(nodes_of([node.body])))
        value = self.values.of(facts, node)
        if value.kind is Kind.FUNCTION:
            names = value.name.split("|")
            own = [self.project.functions[name] for name in names if name in self.project.functions]
            rest = [name for name in names if name not in self.project.functions]
            return all(_PLAIN.match(name) for name in rest) and self._all_keep_none(own)
        if value.kind is Kind.MODULE:
            return self._module(facts, node)
        name = self.project.qualified(facts, node) or ""
        return not seen or value.kind is Kind.CLASS or name.startswith("builtins.") or bool(_PLAIN.match(name))

    def _untouched(self, facts: FileFacts, node: ast.expr, within: set[ast.AST]) -> bool:
        """Whether an argument is not a distribution from before: it remembers what it computes when first asked."""
        return self.values.of(facts, node).kind is not Kind.DISTRIBUTION or self._fresh(facts, node, within)

    def _method(self, facts: FileFacts, func: ast.Attribute, call: ast.Call, within: set[ast.AST]) -> bool:
        """Whether a method of a value of known kind keeps nothing and runs nothing else."""
        receiver = self.values.of(facts, func.value)
        if receiver.kind is Kind.DISTRIBUTION:
            return self._fresh(facts, func.value, within)
        if receiver.kind is Kind.MODULE:
            own = self.project.implementations(receiver.name, func.attr) if receiver.name else []
            return not own and (func.attr in _READING or (func.attr == "forward" and self._module(facts, func.value)))
        if receiver.kind is Kind.INSTANCE:
            return receiver.name.startswith(("logging.", "numpy.")) or is_space(receiver)
        if receiver.known:
            return receiver.kind in _DATA_LIKE and Escapes._method(self, facts, func, call, within)
        of_tensors = func.attr in _OF_TENSORS or is_in_place(func.attr) or _is_cast_operand(facts, call)
        return of_tensors and self._all_keep_none(self._near(facts, func.attr))

    def _fills_cache(self, facts: FileFacts, node: ast.Attribute, inside: set[ast.AST]) -> bool:
        if self.values.of(facts, node.value).kind is Kind.DISTRIBUTION and not self._fresh(facts, node.value, inside):
            return True
        return Escapes._fills_cache(self, facts, node, inside)

    def _fresh(self, facts: FileFacts, node: ast.expr, within: set[ast.AST], path: tuple[int, ...] = ()) -> bool:
        """Whether a distribution is made in the block or function itself, of nothing but what is made there.

        ``path``: the places in tuples at which what the expression gives holds it.
        """
        if isinstance(node, ast.Name):
            bindings = self.project.reaching(facts, node).bindings
            return bool(bindings) and all(
                b.how is Bind.ASSIGN
                and b.stmt in within
                and b.value is not None
                and self._fresh(facts, b.value, within, b.path)
                for b in bindings
            )
        if not isinstance(node, ast.Call):
            return False
        name = self.project.qualified(facts, node.func) or ""
        if name.startswith("torch.distributions."):
            given = arguments_of(node)
            return not path and all(self._untouched(facts, part, within) for part in given)
        targets = self.graph.sure(node)
        return bool(targets) and all(self._gives_fresh(target, path) for target in targets)

    def _gives_fresh(self, function: Scope, path: tuple[int, ...]) -> bool:
        """Whether a function gives distributions that it made itself, at a place in the tuples that it gives."""
        within, given = set(code_of(function)), [part_of(value, path) for value in function.results]
        return bool(given) and all(value is not None and self._fresh(function.file, value, within) for value in given)

    # modules --------------------------------------------------------------------------------------------------------

    def _module(self, facts: FileFacts, func: ast.expr) -> bool:
        """Whether all that a module is made of is known and keeps nothing."""
        classes = self.parts.classes(facts, func)
        if not classes or self.replaced.near(facts):
            return False
        for cls in sorted(classes):
            own = self.project.called(cls, module=True) if cls in self.project.classes else None
            if own is None and not _LAYER.match(cls) and not _PLAIN.match(cls):
                return False
            if own and not self._all_keep_none(own):
                return False
        return True


def _is_cast_operand(facts: FileFacts, call: ast.Call) -> bool:
    """Whether a call casts what arithmetic then takes, so it is no module: ``x.float() / 255``."""
    cast = isinstance(call.func, ast.Attribute) and call.func.attr in _CASTS
    return cast and not call.args and isinstance(facts.parent.get(call), ast.BinOp)


def _operands(part: ast.AST) -> list[ast.expr]:
    """The values whose classes say what Python runs at a node."""
    if isinstance(part, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [part.test]
    if isinstance(part, ast.BoolOp):
        return part.values
    if isinstance(part, ast.Assign):
        return [part.value] if any(isinstance(target, (ast.Tuple, ast.List)) for target in part.targets) else []
    if isinstance(part, ast.BinOp):
        return [part.left, part.right]
    if isinstance(part, ast.UnaryOp):
        return [part.operand]
    if isinstance(part, ast.Compare):
        return [part.left, *part.comparators]
    if isinstance(part, ast.AugAssign):
        return [part.value]
    if isinstance(part, ast.For):
        return [part.iter]
    if isinstance(part, ast.comprehension):
        return [part.iter, *part.ifs]
    if isinstance(part, ast.withitem):
        return [part.context_expr]
    if isinstance(part, ast.Call):
        return arguments_of(part)
    return [part.value] if isinstance(part, (ast.Subscript, ast.Attribute, ast.Starred, ast.FormattedValue)) else []
