"""Values of operators, literals, unpacking, and of methods whose receiver is not known."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name, rightmost_name
from torchlint.facts.values import arrays, tensordicts, tensors
from torchlint.facts.values.containers import element_of
from torchlint.facts.values.creation import fresh, meeting
from torchlint.facts.values.dtypes import arithmetic_is_inexact, cast, floating, is_counting, promoted, typed
from torchlint.facts.values.join import (
    BOOL,
    FLOAT,
    HOST,
    INT,
    NDARRAY,
    NONE,
    NUMBER,
    STRING,
    TENSOR,
    dict_of,
    join,
    list_of,
    picked,
    tuple_of,
)
from torchlint.facts.values.ranks import broadcast
from torchlint.facts.values.signatures import Of, device_called, rules, table
from torchlint.late import regex
from torchlint.models import Word
from torchlint.rule import UNKNOWN, Device, Kind, Value

_LIMITS = frozenset({"numpy.finfo", "numpy.iinfo", "torch.finfo", "torch.iinfo"})  # spelled like functions
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.FloorDiv, ast.Mod, ast.MatMult)
_ENV_CLASS = regex(r"(Env|Envs|Environment|Wrapper|VecNormalize|VecFrameStack|VecMonitor|Monitor)$")
_DEVICE_NAME = regex(r"_*(device|dev|dvc|torch_device|DEVICE)_*$")

# Methods that neither arrays nor containers have; with ``dim=`` (arrays say ``axis=``) also those that reduce.
_TENSOR_ONLY = frozenset(
    """
    gather scatter scatter_add index_select expand_as permute clamp clamp_min clamp_max log_softmax logsumexp
    masked_select addmm bmm index_add index_fill type_as detach_ mul
    """.split()
)
# Methods of tensors that count without an argument, as ``x.size(0)`` does with one.
_COUNTING = frozenset({"numel", "dim"})
_SHARED = Word("tensor of a simulator")
# What iteration gives over methods that nothing but modules have.
_OF_MODULES = {"parameters": TENSOR, "named_parameters": tuple_of(STRING, TENSOR)}
# Methods that tensors share with modules alone, which have no operators.
_OF_COMPUTED = frozenset({"to", "clone", "float", "double", "half", "bfloat16", "int", "contiguous"})
_REDUCING = frozenset({"max", "min", "sum", "mean", "prod", "std", "var", "all", "any", "softmax", "argmax", "argmin"})
_PLACES = "nonzero"
_OF_TUPLES = frozenset({"count", "index"})
# Libraries whose arrays have the operators and methods that tensors have.
_ARRAY_LIBRARIES = frozenset({"numpy", "pandas", "scipy", "jax", "tensorflow", "cupy", "mxnet", "polars", "xarray"})


def constant(value: object) -> Value:
    """Return the value of a literal."""
    if isinstance(value, bool):
        return Value(Kind.NUMBER, dtype="bool", literal=value)
    if isinstance(value, int):
        return Value(Kind.NUMBER, dtype="int", literal=value)
    if isinstance(value, float):
        return Value(Kind.NUMBER, dtype="float", literal=value)
    if isinstance(value, str):
        return Value(Kind.STRING, literal=value, device=device_called(value))
    return NONE if value is None else UNKNOWN


def unary(op: ast.unaryop, operand: Value) -> Value:
    """Return the value of a unary operation."""
    if isinstance(op, ast.Not):
        return BOOL
    if isinstance(op, ast.USub) and isinstance(operand.literal, (int, float)):
        return replace(operand, literal=-operand.literal)
    if operand.kind in (Kind.TENSOR, Kind.NDARRAY, Kind.NUMBER, Kind.SCALAR):
        return replace(operand, literal=None)
    return UNKNOWN


def binary(op: ast.operator, left: Value, right: Value) -> Value:
    """Return the value of a binary operation."""
    kinds = {left.kind, right.kind}
    if left.kind is Kind.LIST and isinstance(op, ast.Mult) and Kind.NDARRAY not in kinds:
        return left  # also times a number that lies in a tensor
    if Kind.TENSOR in kinds:
        return _on_tensors(op, left, right)
    if HOST in (left, right):
        return HOST if kinds <= {Kind.UNKNOWN, Kind.NUMBER} and UNKNOWN not in (left, right) else UNKNOWN
    if Kind.NDARRAY in kinds:
        other = right if left.kind is Kind.NDARRAY else left
        fine = (Kind.NDARRAY, Kind.NUMBER, Kind.SCALAR, Kind.ITEM, Kind.LIST)
        if other.kind not in fine:
            return UNKNOWN
        if isinstance(op, ast.MatMult):
            return replace(arrays.combined(left, right), rank=None, shaped=False)
        return arrays.divided(left, right) if isinstance(op, ast.Div) else arrays.combined(left, right)
    if Kind.ITEM in kinds:
        return Value(Kind.ITEM) if kinds <= {Kind.ITEM, Kind.NUMBER, Kind.SCALAR} else UNKNOWN
    if kinds <= {Kind.NUMBER, Kind.SCALAR}:
        if Kind.SCALAR in kinds:
            return Value(Kind.SCALAR)
        floats = isinstance(op, ast.Div) or "float" in (left.dtype, right.dtype)
        return FLOAT if floats else INT if left.dtype == right.dtype == "int" else NUMBER
    if left.kind is Kind.STRING:
        return STRING
    if kinds == {Kind.LIST} and isinstance(op, ast.Add):
        return join([left, right]) or UNKNOWN
    if kinds == {Kind.TUPLE} and isinstance(op, ast.Add):
        return tuple_of(*left.items, *right.items)
    return UNKNOWN


def in_place(op: ast.operator, target: Value, operand: Value) -> Value:
    """Return the value of a name after ``target op= operand``: a tensor is changed where it lies."""
    result = binary(op, target, operand)
    if target.kind is not Kind.TENSOR or result.kind is not Kind.TENSOR or isinstance(op, ast.MatMult):
        return result
    return replace(result, device=Device.CPU, pinned=target.pinned) if target.device is Device.CPU else result


def _on_tensors(op: ast.operator, left: Value, right: Value) -> Value:
    first = left if left.kind is Kind.TENSOR else right
    known = all(v.kind in (Kind.TENSOR, Kind.NUMBER, Kind.SCALAR) for v in (left, right))
    dtype = promoted(left, right) if known else None
    rank = broadcast([left, right])
    if isinstance(op, ast.MatMult):
        rank = 2 if left.rank == right.rank == 2 else None
    if isinstance(op, ast.Div):
        dtype = floating(dtype) if known else None
    inexact = isinstance(op, ast.Div) or (isinstance(op, _ARITHMETIC) and arithmetic_is_inexact(left, right))
    result = typed(Value(Kind.TENSOR, device=meeting([left, right]), rank=rank), dtype, inexact=inexact)
    number = (right if first is left else left).kind is Kind.NUMBER
    return replace(fresh(result), widened=_still_widened(first, dtype) if number else "")


def _still_widened(source: Value, dtype: str | None) -> str:
    """The narrow dtype that a result on the host still comes from: of ``u8.float() / 255`` and of ``u8 / 255``."""
    return cast(source, dtype).widened if source.device is Device.CPU else ""


def of_host(name: str, node: ast.Call, of: Of) -> Value:
    """Return the result of a method of an object whose tensors are on the host: a tensor there, or a part of it."""
    result = untyped_method(name, node, of)
    if name in ("cuda", "to"):
        return result
    if result.kind is Kind.TENSOR:
        return replace(result, device=Device.CPU)
    if result.kind is Kind.TUPLE:
        return replace(result, items=tuple(replace(item, device=Device.CPU) for item in result.items))
    parts = name in ("items", "values", "get", "pop", "copy") or name in table()["tensor_methods"]["cast"]
    return HOST if result == UNKNOWN and (parts or name in rules("operations")) else result


def unpack(value: Value, step: int) -> Value:
    """Return one element of an unpacked value; -1 stands for what comes after a starred target."""
    if step < 0:
        return UNKNOWN
    if value.kind is Kind.TUPLE:
        return value.items[step] if step < len(value.items) else UNKNOWN
    return element_of(value)


def by_name(name: str) -> Value:
    """Return a device for a value of unknown origin that is called one, by universal convention."""
    return Value(Kind.DEVICE) if _DEVICE_NAME.match(name) else UNKNOWN


def foreign_instance(name: str) -> Value | None:
    """Return an instance of what is spelled like a class of a library, ``None`` for other names.

    It is known not to be the project's; the libraries' environments are known to be environments.
    """
    head, _, last = name.rpartition(".")
    if name in _LIMITS:
        return Value(Kind.INSTANCE, name=name)
    if not head or head == "builtins" or not last[:1].isupper() or last.isupper():
        return None
    gym = name.startswith(("gym.", "gymnasium.")) and ".spaces." not in name
    return Value(Kind.ENV if gym or _ENV_CLASS.search(last) else Kind.INSTANCE, name=name)


def base_env(line: Iterable[str]) -> Value:
    """Return the environment of a library from which a class derives, by its bases, unknown if there is none."""
    bases = (foreign_instance(base) for base in line)
    return next((base for base in bases if base is not None and base.kind is Kind.ENV), UNKNOWN)


def observes(line: Iterable[str]) -> bool:
    """Return whether a class, by its bases, is a wrapper whose ``observation`` makes what steps give."""
    return base_env(line).name.endswith("ObservationWrapper")


def untyped_method(name: str, node: ast.Call, of: Of) -> Value:
    """Return what a method returns whatever it is called on: names that only tensors or arrays have."""
    if name == "astype":
        return arrays.ndarray_method(name, NDARRAY, node, of)
    methods = {
        "item": NUMBER,
        "numpy": NDARRAY,
        "unsqueeze": TENSOR,
        "detach": TENSOR,
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
    if name == "to_torch" and not node.args and isinstance(node.func, ast.Attribute):
        return TENSOR if _SHARED.fits(rightmost_name(node.func.value)) else UNKNOWN
    if len(node.args) == 1 if name == "size" else name in _COUNTING and not node.args:
        return INT
    if name in _OF_MODULES and not node.args:
        return list_of(_OF_MODULES[name])
    if name in _OF_COMPUTED and isinstance(node.func, ast.Attribute) and _is_computed(node.func.value):
        dtype = "bool" if isinstance(node.func.value, ast.Compare) else None
        return tensors.tensor_method(name, Value(Kind.TENSOR, dtype=dtype), node, of)
    if gathers(name, node):
        return gathered(of(node.args[0]))
    if name in _TENSOR_ONLY:
        return tensors.tensor_method(name, TENSOR, node, of)
    if name == "entropy" and not node.args and not node.keywords:
        return TENSOR
    if any(keyword.arg == "dim" for keyword in node.keywords) and name in _REDUCING:
        return picked(TENSOR, Value(Kind.TENSOR, dtype="int64")) if name in ("max", "min") else TENSOR
    if name == "to":  # a module takes no dtype of integers
        moved = tensors.tensor_method(name, TENSOR, node, of)
        return moved if is_counting(moved.dtype) else UNKNOWN
    if name in ("cpu", "cuda"):
        return Value(Kind.TENSOR, device=Device.CPU if name == "cpu" else Device.CUDA) if not node.args else UNKNOWN
    return tensordicts.untyped_method(name)


def computed_method(facts: FileFacts, name: str, node: ast.Call, of: Of) -> Value:
    """Return what a method that arrays have, too, gives of what an operator gave, in a file without arrays.

    Of ``mask[:, 1:].sum(1)``: a file that imports torch and no library of arrays computes with tensors.
    """
    reduced = name in _REDUCING and isinstance(node.func, ast.Attribute) and _is_computed(node.func.value)
    return tensors.tensor_method(name, TENSOR, node, of) if reduced and knows_no_arrays(facts) else UNKNOWN


def by_use(facts: FileFacts, node: ast.Compare, operands: list[Value]) -> Value:
    """Return what a comparison of operands of unknown kind gives, by what is compared and by the method it has.

    ``(ids == end).nonzero()`` is one of tensors in a file without arrays; and what ``nonzero`` of an array gives is a
    tuple, which has no methods of tensors: ``(ids == end).nonzero().squeeze(-1)``.
    """
    if HOST in operands:
        return HOST
    func = facts.parent.get(node)
    call = facts.parent.get(func) if isinstance(func, ast.Attribute) else None
    if not isinstance(func, ast.Attribute) or not isinstance(call, ast.Call):
        return UNKNOWN
    above = facts.parent.get(call)
    listed = func.attr == _PLACES and isinstance(above, ast.Attribute) and above.attr not in _OF_TUPLES
    shared = func.attr in _OF_COMPUTED or func.attr in _REDUCING or func.attr == _PLACES
    return Value(Kind.TENSOR, dtype="bool") if listed or (shared and knows_no_arrays(facts)) else UNKNOWN


def knows_no_arrays(facts: FileFacts) -> bool:
    """Return whether a file imports torch and no library whose arrays have the methods of tensors."""
    heads = {name.partition(".")[0] for name in (*facts.imports, *facts.star_imports)}
    return "torch" in heads and _ARRAY_LIBRARIES.isdisjoint(heads)


def _is_computed(node: ast.expr) -> bool:
    """Whether an expression is what an operator gives, or a part that only arrays and tensors have: ``x[:, 1:]``."""
    if isinstance(node, ast.Subscript):
        return is_part_along_axes(node)
    inverted = isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not)
    return inverted or isinstance(node, (ast.BinOp, ast.Compare))


def is_part_along_axes(node: ast.Subscript) -> bool:
    """Return whether a subscript takes a part along several axes, as only arrays and tensors have them: ``x[:, 1]``."""
    return isinstance(node.slice, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.slice.elts)


def is_mask(index: ast.expr, of: Of) -> bool:
    """Return whether an index is a tensor of truth values, which nothing but tensors take on a device."""
    if isinstance(index, (ast.Slice, ast.Tuple, ast.Constant)):
        return False
    value = of(index)
    return value.kind is Kind.TENSOR and value.dtype == "bool"


def gathers(name: str, node: ast.Call) -> bool:
    """Return whether a method gives its argument as all processes have it: ``accelerator.gather_for_metrics(x)``."""
    outputs = table()["outputs"]
    if not node.args or not isinstance(node.func, ast.Attribute):
        return False
    by_accelerator = name in outputs["gathered_by_accelerator"] and last_name(node.func.value).endswith("accelerator")
    return by_accelerator or name in outputs["gathered"]


def gathered(given: Value) -> Value:
    """Return the result of a collective: the tensors of all processes, or their mean."""
    if given.kind is Kind.TENSOR:
        return Value(Kind.TENSOR, dtype=given.dtype, inexact=given.inexact)
    if given.kind in (Kind.DICT, Kind.TUPLE) and given.items:
        parts = tuple(gathered(part) if part.kind is Kind.TENSOR else UNKNOWN for part in given.items)
        return replace(given, items=parts)
    return UNKNOWN if given.known else TENSOR


def compare(node: ast.Compare, operands: list[Value]) -> Value:
    """Return the value of a comparison of these operands."""
    if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
        return BOOL
    kinds = {v.kind for v in operands}
    if Kind.TENSOR in kinds:
        if Kind.NONE in kinds:  # as `is`: a tensor equals no None
            return BOOL
        where = meeting(operands)
        return fresh(Value(Kind.TENSOR, dtype="bool", device=where, rank=broadcast(operands)))
    if Kind.NDARRAY in kinds:
        ranks = {v.rank for v in operands if v.kind is Kind.NDARRAY}
        plain = len(ranks) == 1 and kinds <= {Kind.NDARRAY, Kind.NUMBER}
        rank = ranks.pop() if plain else None
        shaped = rank is None and any(v.has_axes for v in operands if v.kind is Kind.NDARRAY)
        return Value(Kind.NDARRAY, dtype="bool", rank=rank, shaped=shaped)
    return BOOL if kinds <= {Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SCALAR} else UNKNOWN


def mapping(node: ast.Dict, values: list[Value | None]) -> Value | None:
    """Return a dict display: with literal keys one item each, else one for all elements."""
    keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    if len(keys) == len(node.keys) == len(set(keys)):
        if any(value is None for value in values):
            return None
        return Value(Kind.DICT, items=tuple(value or UNKNOWN for value in values), keys=tuple(keys))
    if any(key is None for key in node.keys):
        return _spread(node, values)
    element = join(values)
    return dict_of(element) if element is not None else None


def _spread(node: ast.Dict, values: list[Value | None]) -> Value:
    """``{"loss": loss, **metrics}``: what is known under its keys, as if what is not known held none of them."""
    entries: dict[str, Value] = {}
    for key, value in zip(node.keys, values, strict=True):
        if key is None and value is not None and value.kind is Kind.DICT:
            entries.update(zip(value.keys, value.items, strict=False))
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            entries[key.value] = value or UNKNOWN
    return Value(Kind.DICT, items=tuple(entries.values()), keys=tuple(entries))


def formatted(node: ast.JoinedStr) -> Value:
    """Return an f-string; ``f"cuda:{index}"`` names an accelerator."""
    first = node.values[0] if node.values else None
    start = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return replace(STRING, device=device_called(start) if ":" in start else Device.UNKNOWN)


def listed(elements: list[Value | None]) -> Value | None:
    """Return the list display of these elements, ``None`` when nothing is known of them yet."""
    if not elements:
        return Value(Kind.LIST)
    element = join(elements)
    return list_of(element, nonempty=True) if element is not None else None


def first(value: Value) -> Value:
    """Return the first element of a tuple."""
    return value.items[0] if value.kind is Kind.TUPLE and value.items else UNKNOWN


def is_slice(index: ast.expr) -> bool:
    """Return whether one place of a subscript keeps its dimension: ``:``, ``1:3``, ``slice(1, 3)``, ``...``."""
    match index:
        case ast.Slice() | ast.Call(func=ast.Name(id="slice")):
            return True
    return isinstance(index, ast.Constant) and index.value is ...
