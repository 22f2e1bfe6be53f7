"""Whether tensors made in a block or function stay there: what is returned, stored, collected or handed on."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import ClassVar

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.layers import is_kept_layer
from torchlint.facts.autograd.parts import Parts
from torchlint.facts.code.callers import methods
from torchlint.facts.code.decorating import is_property
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FUNCTIONS, NESTED, Bind, FileFacts, Scope, is_super
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.nesting import code_of, nodes_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.solver import Solver
from torchlint.facts.code.tree import walk
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import Names, last_names, method_names
from torchlint.models.protocols import makers
from torchlint.rule import UNKNOWN, Kind

_HARMLESS = frozenset({Kind.TENSOR, Kind.NDARRAY, Kind.DISTRIBUTION, Kind.NUMBER, Kind.SCALAR, Kind.STRING, Kind.SIZE})
_KEEPING = method_names(adds=True)
_PURE = method_names(pure=True, elsewhere=False)
# Written in place, ``state.unsqueeze_(0)``, these give a tensor another shape and write into none.
_RESHAPING = method_names(elements="all", shapes="sizes", pure=True)
_STEPPING = method_names(environment=True, elsewhere=False)
_CACHING = last_names(caches=True)
_CONTAINERS = frozenset(
    {"builtins.list", "builtins.dict", "collections.deque", "collections.defaultdict", "collections.OrderedDict"}
)
_KEEPERS = frozenset(
    {
        *("builtins.setattr", "builtins.object.__setattr__", "builtins.dict.__setitem__", "builtins.list.append"),
        *("builtins.dict.update", "builtins.dict.setdefault", "torch.autograd.grad"),
    }
)
_TOLD = last_names(graph="told")
_DIFFERENTIATING = last_names(autograd=("backward", "gradient", "hooks"))
_GRADIENTS = _DIFFERENTIATING | last_names(autograd=("records", "sets", "leaf"))


@dataclass(eq=False, slots=True)
class Escapes(Fact):
    """Answers whether tensors leave a place, following the calls made there."""

    project: Project
    graph: CallGraph
    values: Values
    parts: Parts
    forbidden: ClassVar[Names] = _GRADIENTS
    _solver: Solver[Scope, bool] = field(init=False)

    def __post_init__(self) -> None:
        self._solver = Solver(self._keeps_none, unknown=False)

    def leaves_as_data(
        self, facts: FileFacts, node: ast.With | ast.AsyncWith | ast.FunctionDef | ast.AsyncFunctionDef
    ) -> bool:
        """Return whether something leaves a ``with`` block or function, and all of it is proven to hold no tensor.

        A block that only writes into tensors (a moving average of parameters, targets in a buffer) is not such a place.
        """
        inside = list(nodes_of(node.body))
        if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in inside):
            return False
        within = set(inside)
        if self._only_environment(facts, inside):
            return False
        if any(self._writes(facts, part, within) for part in inside) or not self._keeps_nothing(facts, inside):
            return False
        returned = [part.value for part in inside if isinstance(part, ast.Return) and part.value is not None]
        if not all(self.values.of(facts, value).is_data for value in returned):
            return False
        if isinstance(node, NESTED):
            return bool(returned)
        names = self._bound_inside(facts, node, within)
        if self._captured(facts.scope_of(node).function, names):
            return False
        uses = self._uses_outside(facts, node, names, within)
        leaves = bool(returned or uses) or any(self._is_filled(facts, part) for part in inside)
        return leaves and all(self._turned_into_data(facts, use) for use in uses)

    def _is_filled(self, facts: FileFacts, part: ast.AST) -> bool:
        """Whether a node writes into an array: ``values[:, t] = value.cpu().numpy()``."""
        targets = part.targets if isinstance(part, ast.Assign) else ()
        owners = [target.value for target in targets if isinstance(target, ast.Subscript)]
        return any(self.values.of(facts, owner).kind is Kind.NDARRAY for owner in owners)

    def _only_environment(self, facts: FileFacts, inside: Sequence[ast.AST]) -> bool:
        """Whether the only calls are those of an environment: one that needs a guard gives tensors."""
        calls = [part for part in inside if isinstance(part, ast.Call)]
        return all(
            isinstance(call.func, ast.Attribute)
            and (call.func.attr in _STEPPING or self.values.of(facts, call.func.value).kind is Kind.ENV)
            for call in calls
        )

    def _writes(self, facts: FileFacts, part: ast.AST, inside: set[ast.AST]) -> bool:
        """Whether a node of the block changes a tensor in place that was there before the block."""
        changed: list[ast.expr] = []
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if is_in_place(part.func.attr) and part.func.attr.removesuffix("_") not in _RESHAPING:
                changed.append(part.func.value)
        elif isinstance(part, (ast.Assign, ast.AugAssign)):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            stored = [target.value for target in targets if isinstance(target, ast.Subscript)]
            changed.extend(value for value in stored if self.values.of(facts, value).kind is Kind.TENSOR)
        return not all(self._made_inside(facts, value, inside) for value in changed)

    def _made_inside(self, facts: FileFacts, node: ast.expr, inside: set[ast.AST]) -> bool:
        """Whether a name is bound in the block alone."""
        if not isinstance(node, ast.Name):
            return False
        return all(binding.stmt in inside for binding in self.project.reaching(facts, node).bindings)

    def _bound_inside(self, facts: FileFacts, block: ast.With | ast.AsyncWith, inside: set[ast.AST]) -> set[str]:
        """The names that a block binds."""
        scope = facts.scope_of(block).function
        return {n for n, bound in scope.bindings.items() for b in bound if b.stmt in inside or b.stmt is block}

    @staticmethod
    def _captured(scope: Scope, names: set[str]) -> bool:
        """Whether functions inside a function, or those of a module, read some of its names, at whatever time."""
        todo = [(inner, names) for inner in scope.inner if inner.kind != "comprehension"]
        while todo:
            inner, free = todo.pop()
            free = free - inner.bindings.keys()
            if free and any(isinstance(part, ast.Name) and part.id in free for part in code_of(inner)):
                return True
            todo.extend((deeper, free) for deeper in inner.inner if free)
        return False

    def _uses_outside(
        self, facts: FileFacts, block: ast.With | ast.AsyncWith, names: set[str], inside: set[ast.AST]
    ) -> list[ast.expr]:
        """Where names that a block binds are read after it."""
        scope = facts.scope_of(block).function
        body = scope.node.body if isinstance(scope.node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)) else []
        found: list[ast.expr] = []
        for part in nodes_of(body):
            if (
                isinstance(part, ast.Name)
                and part.id in names
                and part not in inside
                and isinstance(part.ctx, ast.Load)
            ):
                if any(b.stmt in inside for b in self.project.reaching(facts, part).bindings):
                    found.append(part)
        return found

    def _turned_into_data(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a use goes through a chain of methods that ends in data: ``a.cpu().numpy()``, ``int(a)``."""
        current: ast.expr = node
        while True:
            if self.values.of(facts, current).is_data:
                return True
            parent = facts.parent.get(current)
            if (
                isinstance(parent, ast.Attribute)
                or (isinstance(parent, ast.Subscript) and parent.value is current)
                or (isinstance(parent, ast.Call) and (parent.func is current or self._reads(facts, parent)))
            ):
                current = parent
            else:
                return False

    def _reads(self, facts: FileFacts, call: ast.Call) -> bool:
        """Calls that only read a tensor: builtins and functions of torch and numpy."""
        return (self.project.qualified(facts, call.func) or "").startswith(("builtins.", "torch.", "numpy."))

    # what callees keep ----------------------------------------------------------------------------------------------

    def _keeps_nothing(self, facts: FileFacts, nodes: Sequence[ast.AST]) -> bool:
        within = set(nodes)
        for part in nodes:
            if isinstance(part, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                if not self._assignment(facts, part, within):
                    return False
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and self._shares(facts, part):
                return False
            if isinstance(part, (ast.For, ast.AsyncFor, ast.comprehension)) and not _binds_names(part.target):
                return False
            if isinstance(part, ast.withitem) and part.optional_vars and not _binds_names(part.optional_vars):
                return False
            if isinstance(part, ast.Call) and not self._call(facts, part, within):
                return False
            if isinstance(part, ast.Attribute) and (part.attr in _TOLD or self._fills_cache(facts, part, within)):
                return False
            if isinstance(part, NESTED) and _runs_code(part):
                return False
            if self._keeps_part(facts, part):
                return False
        return True

    def _keeps_part(self, facts: FileFacts, part: ast.AST) -> bool:  # noqa: ARG002
        """Whether what a node runs without a call keeps a tensor; what objects do behind operators is not asked."""
        return False

    def _shares(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether a name that is bound is ``global`` or ``nonlocal``, and what is bound may be a tensor."""
        scope = facts.scope_of(name).function
        body = scope.node.body if isinstance(scope.node, FUNCTIONS) else []
        declared = (part.names for part in nodes_of(body) if isinstance(part, (ast.Global, ast.Nonlocal)))
        if not any(name.id in names for names in declared):
            return False
        stmt = facts.parent.get(name)
        value = stmt.value if isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.AugAssign)) else None
        return value is None or not self.values.of(facts, value).is_data

    def _fills_cache(self, facts: FileFacts, node: ast.Attribute, inside: set[ast.AST]) -> bool:
        """Whether reading an attribute of an object from outside may make it keep what a property computes."""
        named = [m for m in self.project.methods.get(node.attr, ()) if is_property(m)]
        owner = self.values.of(facts, node.value) if named else UNKNOWN
        if not named or owner.kind in _HARMLESS:
            return False
        if owner.kind in (Kind.INSTANCE, Kind.MODULE) and owner.name:
            own = {m for cls in owner.name.split("|") for m in self.project.implementations(cls, node.attr)}
            named = [m for m in named if m in own]
        return not self._all_keep_none(named) and not self._made_inside(facts, node.value, inside)

    def _caches_nothing(self, function: Scope) -> bool:
        """Whether no decorator remembers what a function gives, or that is data."""
        if _CACHING.isdisjoint(function.decorator_names):
            return True
        return all(self.values.of(function.file, value).is_data for value in function.results)

    def _assignment(
        self, facts: FileFacts, node: ast.Assign | ast.AnnAssign | ast.AugAssign, within: set[ast.AST]
    ) -> bool:
        """Whether an assignment stores no tensor in an object; ``buffer[i] = t`` copies into a tensor."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        todo = list(targets)
        while todo:
            target = todo.pop()
            if isinstance(target, (ast.Tuple, ast.List)):
                todo.extend(target.elts)
            elif isinstance(target, ast.Starred):
                todo.append(target.value)
            elif isinstance(target, ast.Attribute):
                free = node.value is not None and self._is_free(facts, node.value)
                if not (free or self._of_new_object(facts, target.value)):
                    return False
            elif isinstance(target, ast.Subscript):
                owner = self.values.of(facts, target.value)
                copies = owner.kind is Kind.TENSOR or (owner.kind is Kind.NDARRAY and owner.dtype is not None)
                data = node.value is not None and self.values.of(facts, node.value).is_data
                data = data and self._plain_key(facts, target.slice)
                if not (copies or data or self._local(facts, target.value, within)):
                    return False
        return True

    def _of_new_object(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a constructor names its own object: what that holds is judged where the object goes."""
        function = facts.scope_of(node).function
        return function.name == "__init__" and isinstance(node, ast.Name) and node.id == function.self_name

    def _constructs(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call of ``__init__`` by its name is a constructor's, for its own object: that of a base class."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        of_base = owner is not None and (is_super(owner) or self.values.of(facts, owner).kind is Kind.CLASS)
        return of_base and facts.scope_of(call).function.name == "__init__"

    def _is_free(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether what an attribute is given holds no tensor that counts as kept."""
        return self.values.of(facts, node).is_data

    def _plain_key(self, facts: FileFacts, key: ast.expr) -> bool:
        """Whether what is in brackets is not a tensor that a dict would keep; a key of a dict has no slice."""
        parts = key.elts if isinstance(key, ast.Tuple) else [key]
        return any(isinstance(part, ast.Slice) for part in parts) or all(
            self.values.of(facts, part).is_data for part in parts
        )

    def _local(self, facts: FileFacts, node: ast.expr, within: set[ast.AST]) -> bool:
        """A container made in the block or function itself: what it holds is judged where the container goes."""
        if not isinstance(node, ast.Name) or facts.scope_of(node).function.kind != "function":
            return False
        bindings = self.project.reaching(facts, node).bindings
        return bool(bindings) and all(
            b.how is Bind.ASSIGN and b.stmt in within and self._makes_container(facts, b.value) for b in bindings
        )

    def _makes_container(self, facts: FileFacts, node: ast.expr | None) -> bool:
        if isinstance(node, ast.Call):
            return self.project.qualified(facts, node.func) in _CONTAINERS
        return isinstance(node, (ast.List, ast.Dict, ast.ListComp, ast.DictComp))

    def _call(self, facts: FileFacts, call: ast.Call, within: set[ast.AST]) -> bool:
        """Whether nothing that a call runs keeps a tensor."""
        func = call.func
        last = last_name(func)
        if last in self.forbidden or (last == "__init__" and not self._constructs(facts, call)):
            return False
        name = self.project.qualified(facts, func) or ""
        if name in _KEEPERS:
            return self._data(facts, call)
        if _raises(name):
            return self._data(facts, call) or self._unknown_keeps_none(call)
        if name.startswith(("builtins.", "torch.", "numpy.", "math.", "random.", "inspect.", "typing.")):
            return True
        if name in self.project.classes and not self._object_keeps_none(name):
            return False
        targets = self.graph.sure(call)
        if targets:
            return self._all_keep_none(targets)
        if isinstance(func, ast.Attribute) and (is_in_place(last) or self._method(facts, func, call, within)):
            return True
        callee = self.values.of(facts, func)
        if callee.kind is Kind.MODULE and all(map(_is_of_library, callee.name.split("|"))):
            return self._parts_keep_none(facts, func)
        if not callee.known and is_kept_layer(self.project, facts, func):
            return self._parts_keep_none(facts, func)
        if isinstance(func, ast.Attribute) and last in _PURE and self._whichever(last):
            return True  # ``x.view(x.size(0), -1)`` of whatever a module is given
        if not isinstance(func, ast.Attribute) or not self._data(facts, call):
            return self._unknown_keeps_none(call)
        arguments = [*call.args, *call.keywords]
        return callee.known or not arguments or self._whichever(last)

    def _object_keeps_none(self, cls: str) -> bool:
        """Whether no method of a new object keeps a tensor: whatever comes to hold the object may call it."""
        return self._all_keep_none(method for scope in self.project.family(cls) for method in methods(scope))

    def _unknown_keeps_none(self, call: ast.Call) -> bool:  # noqa: ARG002
        """Whether what may be given a tensor keeps none: an exception, or a function that someone passed in."""
        return False

    def _whichever(self, method: str) -> bool:
        """Whether none of the project's methods of a name keeps a tensor: one may be meant, and run a network."""
        return self._all_keep_none(self.project.methods.get(method, ()))

    def run_keeps(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether what a call runs stores a tensor in an object, container or global, also deep in a network."""
        targets = self.graph.callees.get(call, ())
        return not (self._all_keep_none(targets) and self._parts_keep_none(facts, call.func))

    def _parts_keep_none(self, facts: FileFacts, module: ast.expr) -> bool:
        """Whether no class of the project that is known to be in a module keeps a tensor in its pass."""
        own = (cls for cls in sorted(self.parts.known(facts, module)) if cls in self.project.classes)
        return all(self._all_keep_none(self.project.called(cls, module=True)) for cls in own)

    def _all_keep_none(self, functions: Iterable[Scope]) -> bool:
        return all(self._solver.ask(function) is not False for function in functions)

    def _method(self, facts: FileFacts, func: ast.Attribute, call: ast.Call, within: set[ast.AST]) -> bool:
        """Whether a method of a value of known kind keeps nothing."""
        receiver = self.values.of(facts, func.value)
        if receiver.kind in _HARMLESS:
            return True
        if receiver.kind in (Kind.LIST, Kind.DICT, Kind.SET):
            return func.attr not in _KEEPING or self._local(facts, func.value, within) or self._data(facts, call)
        own = receiver.kind is Kind.MODULE and _is_of_library(receiver.name)
        return own and (func.attr != "forward" or self._parts_keep_none(facts, func.value))

    def _data(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether all arguments of a call are data; behind a star what holds them must be."""
        arguments = [arg.value if isinstance(arg, ast.Starred) else arg for arg in call.args]
        return all(self.values.of(facts, arg).is_data for arg in [*arguments, *(k.value for k in call.keywords)])

    def _keeps_none(self, function: Scope) -> bool:
        """Whether a project function keeps no tensor anywhere; a recursive call adds nothing to what it does."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return self._keeps_nothing(function.file, list(nodes_of([node.body])))
        if not isinstance(node, FUNCTIONS) or not self._caches_nothing(function):
            return False
        return self._keeps_nothing(function.file, list(nodes_of(node.body)))


@dataclass(eq=False, slots=True)
class Stores(Escapes):
    """Answers whether code that is seen stores tensors: unknown code counts as code that stores none."""

    forbidden: ClassVar[Names] = _DIFFERENTIATING

    def _unknown_keeps_none(self, call: ast.Call) -> bool:
        last = last_name(call.func)
        return last not in _KEEPING and self._whichever(last)

    def _local(self, facts: FileFacts, node: ast.expr, within: set[ast.AST]) -> bool:
        """A container that the function made itself, or one that all its known callers make for it to fill."""
        if Escapes._local(self, facts, node, within):
            return True
        filled = self.project.reaching(facts, node).parameter
        given = list(self.graph.arguments(filled.scope, filled.target)) if filled and filled.scope else []
        return bool(given) and all(arg is not None and self._made_by(each.facts, arg) for each, arg in given)

    def _made_by(self, facts: FileFacts, argument: ast.expr) -> bool:
        """Whether a caller made the container itself that it hands over."""
        body = facts.scope_of(argument).function.node
        return isinstance(body, FUNCTIONS) and Escapes._local(self, facts, argument, set(nodes_of(body.body)))

    def _whichever(self, method: str) -> bool:
        # A constructor that no class of the project has is that of a library's base.
        return method == "__init__" or Escapes._whichever(self, method)


def is_in_place(method: str) -> bool:
    """Return whether a method of that name writes into its tensor: ``copy_``."""
    return method.endswith("_") and not method.endswith("__") and not method.startswith("_")


def _is_of_library(cls: str) -> bool:
    """Whether a module is one of torch, or a pretrained one of a framework: it keeps nothing of what it computes."""
    return cls.startswith("torch.nn.") or bool(makers(cls))


def _raises(name: str) -> bool:
    """Whether a qualified name is that of an exception of Python: whoever catches it finds what it was given."""
    known = getattr(builtins, name.removeprefix("builtins."), None) if name.startswith("builtins.") else None
    return isinstance(known, type) and issubclass(known, BaseException)


def _runs_code(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda) -> bool:
    """Whether a definition calls something where it stands: a class body, a decorator, a default."""
    if isinstance(node, ast.ClassDef):
        return True
    if not isinstance(node, ast.Lambda) and node.decorator_list:
        return True
    given = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    return any(isinstance(part, ast.Call) for default in given for part in walk(default))


def _binds_names(target: ast.expr) -> bool:
    """Whether a target binds names alone, no attributes or items."""
    return not any(isinstance(part, (ast.Attribute, ast.Subscript)) for part in walk(target))
