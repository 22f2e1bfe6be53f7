"""Values of operators, literals, unpacking, and of methods whose receiver is not known."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from torchlint.facts import signatures
from torchlint.facts.join import BOOL, FLOAT, INT, NDARRAY, NONE, NUMBER, STRING, TENSOR, join, tuple_of
from torchlint.rule import UNKNOWN, Device, Kind, Value

_ENV_CLASS = re.compile(r"(Env|Envs|Environment|Wrapper|VecNormalize|VecFrameStack|VecMonitor|Monitor)$")
_DEVICE_NAME = re.compile(r"_*(device|dev|dvc|torch_device|DEVICE)_*$")
_OLD_RESET = frozenset({"reset"})


def constant(value: object) -> Value:
    """The value of a literal."""
    if isinstance(value, bool):
        return Value(Kind.NUMBER, dtype="bool", literal=value)
    if isinstance(value, int):
        return Value(Kind.NUMBER, dtype="int", literal=value)
    if isinstance(value, float):
        return Value(Kind.NUMBER, dtype="float", literal=value)
    if isinstance(value, str):
        return Value(Kind.STRING, literal=value)
    return NONE if value is None else UNKNOWN


def unary(op: ast.unaryop, operand: Value) -> Value:
    """The value of a unary operation."""
    if isinstance(op, ast.Not):
        return BOOL
    if isinstance(op, ast.USub) and isinstance(operand.literal, (int, float)):
        return replace(operand, literal=-operand.literal)
    if operand.kind in (Kind.TENSOR, Kind.NDARRAY, Kind.NUMBER, Kind.SCALAR):
        return replace(operand, literal=None)
    return UNKNOWN


def binary(op: ast.operator, left: Value, right: Value) -> Value:
    """The value of a binary operation."""
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
        fine = (Kind.NDARRAY, Kind.NUMBER, Kind.SCALAR, Kind.ITEM, Kind.LIST)
        return Value(Kind.NDARRAY, dtype="bool" if bits else None) if other.kind in fine else UNKNOWN
    if Kind.ITEM in kinds:
        return Value(Kind.ITEM) if kinds <= {Kind.ITEM, Kind.NUMBER, Kind.SCALAR} else UNKNOWN
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


def unpack(value: Value, step: int) -> Value:
    """One element of an unpacked value; -1 stands for what comes after a starred target."""
    if step < 0:
        return UNKNOWN
    if value.kind is Kind.TUPLE:
        return value.items[step] if step < len(value.items) else UNKNOWN
    return signatures.element_of(value)


def by_name(name: str) -> Value:
    """A value of unknown origin that is called a device is one, by universal convention."""
    return Value(Kind.DEVICE) if _DEVICE_NAME.match(name) else UNKNOWN


def foreign_instance(name: str) -> Value | None:
    """An instance of what is spelled like a class of a library, ``None`` for other names.

    It is known not to be the project's; the libraries' environments are known to be environments.
    """
    head, _, last = name.rpartition(".")
    if not head or head == "builtins" or not last[:1].isupper() or last.isupper():
        return None
    gym = name.startswith(("gym.", "gymnasium.")) and ".spaces." not in name
    return Value(Kind.ENV if gym or _ENV_CLASS.search(last) else Kind.INSTANCE, name=name)


def last_name(node: ast.expr) -> str:
    """The last component of a name or attribute chain, else empty."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def environment(method: str, use: ast.AST | None) -> Value:
    """What a Gym or Gymnasium environment returns: observations are arrays."""
    if method == "step":
        return tuple_of(NDARRAY, UNKNOWN, UNKNOWN, UNKNOWN, Value(Kind.DICT))
    if method in _OLD_RESET:
        unpacked = isinstance(use, ast.Assign) and isinstance(use.targets[0], (ast.Tuple, ast.List))
        return tuple_of(NDARRAY, Value(Kind.DICT)) if unpacked or isinstance(use, ast.Subscript) else NDARRAY
    return UNKNOWN


def untyped_method(name: str, node: ast.Call) -> Value:
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
        "long": Value(Kind.TENSOR, dtype="int64"),
        "bool": Value(Kind.TENSOR, dtype="bool"),
        "logical_not": Value(Kind.TENSOR, dtype="bool"),
        "logical_and": Value(Kind.TENSOR, dtype="bool"),
        "logical_or": Value(Kind.TENSOR, dtype="bool"),
        "rsample": TENSOR,
    }
    if name in methods:
        return methods[name]
    if name in ("cpu", "cuda"):
        return Value(Kind.TENSOR, device=Device.CPU if name == "cpu" else Device.CUDA) if not node.args else UNKNOWN
    return UNKNOWN


def array_item(source: Value, indices: list[Value | None]) -> Value:
    """What indexing an array gives; ``None`` stands for a slice."""
    integers = sum(1 for v in indices if v is not None and v.kind in (Kind.NUMBER, Kind.SCALAR))
    if any(v is None or v.kind in (Kind.NDARRAY, Kind.LIST) for v in indices):
        return Value(Kind.NDARRAY, dtype=source.dtype)
    if not integers:
        fresh = all(v is not None and v.kind is Kind.NONE for v in indices)
        return Value(Kind.NDARRAY, dtype=source.dtype) if fresh else UNKNOWN
    if source.rank is not None and integers == len(indices):
        rank = source.rank - integers
        return Value(Kind.NDARRAY, source.dtype, rank=rank) if rank > 0 else Value(Kind.SCALAR, source.dtype)
    return Value(Kind.ITEM, dtype=source.dtype)


def compare(node: ast.Compare, operands: list[Value]) -> Value:
    """The value of a comparison of these operands."""
    if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
        return BOOL
    kinds = {v.kind for v in operands}
    if Kind.TENSOR in kinds:
        return Value(Kind.TENSOR, dtype="bool", device=signatures.meeting(operands))
    if Kind.NDARRAY in kinds:
        return Value(Kind.NDARRAY, dtype="bool")
    return BOOL if kinds <= {Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SCALAR} else UNKNOWN


def items(element: Value) -> tuple[Value, ...]:
    """The ``items`` of a list that holds such elements."""
    return (replace(element, literal=None),) if element.known else ()


def listed(elements: list[Value | None]) -> Value | None:
    """The list display of these elements, ``None`` when nothing is known of them yet."""
    element = join(elements) if elements else UNKNOWN
    return Value(Kind.LIST, items=items(element), nonempty=bool(elements)) if element is not None else None


def first(value: Value) -> Value:
    """The first element of a tuple."""
    return value.items[0] if value.kind is Kind.TUPLE and value.items else UNKNOWN
