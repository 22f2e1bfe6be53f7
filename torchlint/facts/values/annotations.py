"""What type annotations promise."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from torchlint.facts.code.hierarchy import is_external_module
from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.values import graphs, tensordicts
from torchlint.facts.values.join import BOOL, FLOAT, INT, NDARRAY, NONE, STRING, TENSOR, join, list_of, tuple_of
from torchlint.rule import UNKNOWN, Kind, Value

_PLAIN = {
    "torch.Tensor": TENSOR,
    "torch._tensor.Tensor": TENSOR,
    "torch.tensor": TENSOR,  # the function, which many write for its type
    "torch.autograd.Variable": TENSOR,
    "numpy.ndarray": NDARRAY,
    "builtins.int": INT,
    "builtins.float": FLOAT,
    "builtins.bool": BOOL,
    "builtins.str": STRING,
    "torch.device": Value(Kind.DEVICE),
    "torch.dtype": Value(Kind.DTYPE),
    "torch.nn.Module": Value(Kind.MODULE, name="torch.nn.Module", derived=True),
    "torch.Size": Value(Kind.SIZE),
    "builtins.list": Value(Kind.LIST),
    "builtins.dict": Value(Kind.DICT),
    "torch.optim.Optimizer": Value(Kind.OPTIMIZER),
    "logging.Logger": Value(Kind.INSTANCE, name="logging.Logger"),
    "torch.BoolTensor": Value(Kind.TENSOR, dtype="bool"),
    "torch.LongTensor": Value(Kind.TENSOR, dtype="int64"),
    "torch.FloatTensor": Value(Kind.TENSOR, dtype="float32"),
}


# What stands around the type of a field and says more than the type.
_AROUND = frozenset({"Final", "Annotated", "ClassVar", "NotRequired", "Required", "ReadOnly"})
# How many aliases of aliases are followed.
_DEEPEST = 8
_NEITHER = frozenset({Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.SIZE, Kind.STRING, Kind.NUMBER})
OPEN = frozenset({Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.TENSOR, Kind.NDARRAY, Kind.DEVICE})
"""Kinds of which callers say more than an annotation."""
_TYPED_DICTS = frozenset({"typing.TypedDict", "typing_extensions.TypedDict"})


def is_typed_dict(project: Project, value: Value) -> bool:
    """Return whether a value is a dict whose class annotates what lies under its keys."""
    if value.kind is not Kind.INSTANCE or "|" in value.name:
        return False
    return not _TYPED_DICTS.isdisjoint(project.ancestry(value.name))


def contradicts(given: Value, promised: Value, each: Iterable[Value | None]) -> bool:
    """Return whether what all callers give a parameter, or a shape that one gives, is not what its annotation promises.

    Of a tensor or array and anything else one annotation is wrong: that of the parameter, or one that the callers read.
    """
    if promised.kind is Kind.DICT:
        return given.kind is Kind.TENSOR
    shapes = any(value is not None and value.kind is Kind.SIZE for value in each)
    return promised.kind in (Kind.TENSOR, Kind.NDARRAY) and (shapes or given.kind in _NEITHER)


class Annotations:
    """Reads annotations with the names of a project."""

    __slots__ = ("_aliases", "_depth", "_known", "instance", "project")

    def __init__(self, project: Project, instance: Callable[[str], Value]) -> None:
        """``instance`` gives the value of an instance of a class of the project."""
        self.project = project
        self.instance = instance
        self._known: dict[ast.expr, Value] = {}
        self._aliases: dict[ast.expr, Value] = {}
        self._depth = 0

    def read(self, facts: FileFacts, node: ast.expr) -> Value:
        """Return the value that an annotation promises."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._read(facts, node)
        return found

    def of_parameter(self, facts: FileFacts, binding: Binding) -> Value:
        """Return the value that the annotation of a parameter promises; of ``layer: nn.Module = nn.Linear`` none."""
        if binding.annotation is None:
            return UNKNOWN
        promised = self.read(facts, binding.annotation)
        if promised.kind in (Kind.MODULE, Kind.INSTANCE) and binding.value is not None:
            default = self.project.qualified(facts, binding.value) or ""
            return UNKNOWN if default in self.project.classes or is_external_module(default) else promised
        return promised

    def _read(self, facts: FileFacts, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                inner = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):
                return UNKNOWN
            return self.read(facts, inner)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return join([self.read(facts, node.left), self.read(facts, node.right)]) or UNKNOWN
        if isinstance(node, ast.Constant) and node.value is None:
            return NONE
        if isinstance(node, ast.Subscript):
            return self._generic(facts, node)
        found = self._annotated(self.project.qualified(facts, node) or "")
        return found if found.known else self._alias(facts, node)

    def _annotated(self, name: str) -> Value:
        if name in _PLAIN:
            return _PLAIN[name]
        if name.startswith("torch.distributions."):
            return Value(Kind.DISTRIBUTION)
        if name.startswith("gym") and name.rpartition(".")[2] in ("Env", "VectorEnv", "Wrapper"):
            return Value(Kind.ENV)
        if name in self.project.classes:
            return self.instance(name)
        if tensordicts.is_class(name):
            return tensordicts.TENSORDICT
        if graphs.is_class(name):
            return graphs.GRAPH
        return Value(Kind.MODULE, name=name, derived=True) if is_external_module(name) else UNKNOWN

    def _alias(self, facts: FileFacts, node: ast.expr) -> Value:
        """What a name promises that is an alias of types, or a variable of types with a bound."""
        where, said = self._said(facts, node)
        if where is None or said is None or (isinstance(said, ast.Call) and self._is_filled_in(facts, node)):
            return UNKNOWN
        if said in self._aliases or self._depth == _DEEPEST:
            return self._aliases.get(said, UNKNOWN)
        self._aliases[said] = UNKNOWN  # an alias may name itself: ``Tree = dict[str, "Tree"]``
        self._depth += 1
        self._aliases[said] = self._meaning(where, said)
        self._depth -= 1
        return self._aliases[said]

    def _said(self, facts: FileFacts, node: ast.expr) -> tuple[FileFacts | None, ast.expr | None]:
        """What a file assigns to the name that an annotation is, and the file."""
        value = self.project.reaching(facts, node).value if isinstance(node, ast.Name) else None
        if value is not None:
            return facts, value
        module, _, last = (self.project.qualified(facts, node) or "").rpartition(".")
        file = self.project.modules.get(module)
        bound = file.top.bindings.get(last, ()) if file is not None else ()
        return file, bound[0].value if len(bound) == 1 and bound[0].how is Bind.ASSIGN else None

    def _is_filled_in(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether other classes derive from the one around an annotation, and say what its variables of types are."""
        if node not in facts.parent:
            return False
        classes = (each for each in facts.ancestors(node) if isinstance(each, ast.ClassDef))
        return any(facts.scope_of(each.body[0]).dotted in self.project.children for each in classes)

    def _meaning(self, facts: FileFacts, said: ast.expr) -> Value:
        match said:
            case ast.Subscript() | ast.BinOp(op=ast.BitOr()):
                return self.read(facts, said)
            case ast.Call(func=func, args=[_, *choices], keywords=named) if last_name(func) == "TypeVar":
                bound = [keyword.value for keyword in named if keyword.arg == "bound"]
                return join([self.read(facts, each) for each in bound or choices]) or UNKNOWN
        return UNKNOWN

    def _generic(self, facts: FileFacts, node: ast.Subscript) -> Value:
        library, _, head = (self.project.qualified(facts, node.value) or "").rpartition(".")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head == "Optional":
            return self.read(facts, parts[0])
        if head == "Union":
            return join([self.read(facts, part) for part in parts]) or UNKNOWN
        if head in ("List", "list", "Sequence", "Iterable", "Deque", "deque"):
            return list_of(self.read(facts, parts[0]))
        if head in ("Tuple", "tuple"):
            if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is ...:
                return list_of(self.read(facts, parts[0]))
            return tuple_of(*(self.read(facts, part) for part in parts))
        if head in ("Dict", "dict", "Mapping", "MutableMapping", "defaultdict"):
            element = self.read(facts, parts[-1])
            return Value(Kind.DICT, items=(element,) if element.known else ())
        if library == "torchtyping":
            return TENSOR
        return self.read(facts, parts[0]) if head in _AROUND or library == "jaxtyping" else UNKNOWN
