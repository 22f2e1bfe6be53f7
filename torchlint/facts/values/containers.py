"""What builtins and the standard library's containers return, and what iteration gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from torchlint.facts.code.model import Bind, Binding
from torchlint.facts.values.join import BOOL, FLOAT, HOST, INT, NONE, NUMBER, STRING, dict_of, join, list_of, tuple_of
from torchlint.facts.values.signatures import Of, starred
from torchlint.models import function_names, last_names
from torchlint.rule import UNKNOWN, Device, Kind, Value

GENERATOR = "types.GeneratorType"
LOADERS = function_names(loads="batches")
"""Names of torch's loader; the only item of such a value, if any, is what iteration gives."""
HOLDING = last_names("torch.nn", holds="modules")
"""Last names of the classes of torch that hold modules."""
GIVING = frozenset({"values", "items", "get", "pop"})
"""The methods of a dict that give what it holds."""
ANY_MODULE = Value(Kind.MODULE, name="torch.nn.Module", derived=True)
"""A module of a class that is not known."""
# Longer tuples are lists here: their elements are asked for together.
_MOST_PARTS = 8

_OF_PYTHON: Mapping[Kind, type] = {
    Kind.DICT: dict,
    Kind.LIST: list,
    Kind.TUPLE: tuple,
    Kind.STRING: str,
    Kind.NONE: type(None),
}


def builtin_call(name: str, call: ast.Call, of: Of) -> Value | None:
    """Return the value of a call of a builtin, or of one of the standard library's containers."""
    fixed = {
        "int": INT,
        "float": FLOAT,
        "bool": BOOL,
        "len": INT,
        "str": STRING,
        "repr": STRING,
        "round": NUMBER,
        "isinstance": BOOL,
        "hasattr": BOOL,
        "callable": BOOL,
        "id": INT,
        "ord": INT,
        "print": NONE,
        "range": list_of(INT),
        "input": STRING,
        "any": BOOL,
        "all": BOOL,
    }
    if name in fixed:
        return fixed[name]
    first = of(call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else UNKNOWN
    if name == "dict":
        return _dict(call, of)
    if name == "type" and len(call.args) == 1:
        return Value(Kind.CLASS, name="torch.Tensor") if first.kind is Kind.TENSOR else UNKNOWN
    if name == "iter" and call.args and element_of(first) == HOST:
        return generator_of(HOST)
    if name in ("list", "sorted", "reversed", "tuple", "iter", "set", "deque"):
        if not call.args:
            return Value(Kind.LIST)
        if name == "tuple" and (count := _rounds(call.args[0])):
            return tuple_of(*[element_of(first)] * count)
        return _as_list(first)
    if name == "filter" and len(call.args) > 1:
        return list_of(element_of(of(call.args[1])))
    if name == "zip":
        return _zip(call, of)
    if name == "enumerate":
        return list_of(tuple_of(INT, element_of(first)))
    if name == "next":
        return element_of(first)
    if name in ("max", "min", "sum", "abs"):
        if name == "abs" or len(call.args) > 1:
            values = [of(arg) for arg in call.args if not isinstance(arg, ast.Starred)]
            return next(iter(values)) if values and all(v.kind is values[0].kind for v in values) else UNKNOWN
        element = element_of(first)
        return element if element.kind in (Kind.NUMBER, Kind.SCALAR, Kind.TENSOR) else UNKNOWN
    return None


def _rounds(node: ast.expr) -> int:
    """How many elements ``[f(i) for i in range(3)]`` has, zero where that is not written out or where they are many."""
    match node:
        case (
            ast.ListComp(generators=[ast.comprehension(iter=over, ifs=[])])
            | ast.GeneratorExp(generators=[ast.comprehension(iter=over, ifs=[])])
        ):
            match over:
                case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))]) if count <= _MOST_PARTS:
                    return max(count, 0)
    return 0


def _as_list(source: Value) -> Value:
    element = element_of(source)
    return Value(Kind.LIST, items=(element,), nonempty=source.nonempty)


def _dict(call: ast.Call, of: Of) -> Value:
    """``dict(a=x)``, or a copy of a dict."""
    if call.args and not call.keywords and not starred(call):
        source = of(call.args[0])
        return source if source.kind is Kind.DICT else Value(Kind.DICT)
    if call.args or starred(call):
        return Value(Kind.DICT)
    keys = tuple(k.arg for k in call.keywords if k.arg is not None)
    return Value(Kind.DICT, items=tuple(of(k.value) for k in call.keywords), keys=keys)


def generator_of(element: Value) -> Value:
    """Return what a call of a generator function makes; unknown if nothing is known of what it yields."""
    return Value(Kind.INSTANCE, name=GENERATOR, items=(element,)) if element != UNKNOWN else UNKNOWN


def plain(source: Value) -> Value:
    """Return a list or dict in place of a container of modules; other values as they are.

    What it holds may be any module where it is not known.
    """
    last = source.name.rpartition(".")[2] if source.kind is Kind.MODULE and source.name.startswith("torch.nn.") else ""
    if last not in HOLDING:
        return source
    held = source.items[0] if source.items else ANY_MODULE
    held = replace(held, device=source.device) if held.device is Device.UNKNOWN else held
    return Value(Kind.DICT, items=(held,)) if last == "ModuleDict" else list_of(held)


def element_of(source: Value) -> Value:
    """Return what iteration over a value yields."""
    source = plain(source)
    if source.kind in (Kind.LIST, Kind.TUPLE):
        return source.element
    if source.kind is Kind.TENSOR:
        return replace(source, rank=source.rank - 1 if source.rank else None, literal=None)
    if source.kind is Kind.NDARRAY and source.rank is not None:
        rank = source.rank - 1
        return replace(source, rank=rank) if rank > 0 else Value(Kind.SCALAR, dtype=source.dtype)
    if source.kind is Kind.DICT and source.keys:
        return STRING
    if source == HOST:
        return HOST
    if source.name == GENERATOR or (source.kind is Kind.INSTANCE and source.name in LOADERS and source.items):
        return source.items[0]
    return INT if source.kind is Kind.SIZE else UNKNOWN


def _zip(call: ast.Call, of: Of) -> Value:
    if len(call.args) == 1 and isinstance(call.args[0], ast.Starred):
        rows = element_of(of(call.args[0].value))
        if rows.kind is Kind.TUPLE:
            return tuple_of(*(list_of(item) for item in rows.items))
        return list_of(list_of(UNKNOWN))  # whatever the rows are, each column is a tuple
    return list_of(tuple_of(*_zipped(call, of)))


def _zipped(call: ast.Call, of: Of) -> Iterator[Value]:
    for arg in call.args:
        yield UNKNOWN if isinstance(arg, ast.Starred) else element_of(of(arg))


def named_tuple(call: ast.Call, of: Of) -> Value:
    """Return the class that ``namedtuple("Step", "obs action")`` makes: its field names are the value's keys."""
    fields = call.args[1] if len(call.args) > 1 and not starred(call) else None
    keys: list[str] = []
    if isinstance(fields, ast.Constant) and isinstance(fields.value, str):
        keys = fields.value.replace(",", " ").split()
    elif isinstance(fields, (ast.Tuple, ast.List)):
        for part in fields.elts:
            name = of(part.elts[0] if isinstance(part, ast.Tuple) and part.elts else part).literal
            keys.append(name if isinstance(name, str) else "")
    return Value(Kind.CLASS, name="collections.namedtuple", keys=tuple(keys)) if all(keys) and keys else UNKNOWN


def named_items(cls: Value, positional: list[Value] | None, call: ast.Call, of: Of) -> Value:
    """Return an instance of such a class, from the arguments of its call.

    ``positional``: ``None`` where they are hidden.
    """
    given = dict(zip(cls.keys, positional or [], strict=False))
    given.update({k.arg: of(k.value) for k in call.keywords if k.arg is not None})
    return Value(Kind.TUPLE, items=tuple(given.get(key, UNKNOWN) for key in cls.keys), keys=cls.keys, nonempty=True)


def container_method(name: str, source: Value, call: ast.Call, of: Of) -> Value:
    """Return the value of ``x.name(...)`` of a list, a dict, a size or a named tuple."""
    if source.kind is Kind.SIZE:
        return INT if name == "numel" else UNKNOWN
    if name == "copy":
        return source
    if source.kind is Kind.TUPLE:
        told = {keyword.arg: of(keyword.value) for keyword in call.keywords}
        items = tuple(told.get(key, item) for key, item in zip(source.keys, source.items, strict=True))
        return replace(source, items=items) if name == "_replace" and None not in told else UNKNOWN
    if source.kind is Kind.LIST:
        return source.element if name in ("pop", "popleft") else INT if name in ("index", "count") else UNKNOWN
    if name in ("get", "pop", "setdefault") and call.args:
        key = of(call.args[0]).literal
        default = of(call.args[1]) if len(call.args) > 1 else None
        found = source.item(key) if isinstance(key, str) and source.keys else join(source.items)
        return join([found or UNKNOWN, default]) or UNKNOWN
    if name == "values":
        return list_of(join(source.items) or UNKNOWN)
    if name == "items":
        return list_of(tuple_of(STRING if source.keys else UNKNOWN, join(source.items) or UNKNOWN))
    return list_of(STRING) if name == "keys" and source.keys else UNKNOWN


def makes_dict(node: ast.expr | None) -> bool:
    """Return whether an expression makes a new dict: ``{}``, ``dict()``."""
    return isinstance(node, ast.Dict) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict"
    )


def displayed(binding: Binding) -> Value | None:
    """Return a list or dict of unknown elements for a binding to a new one, else ``None``."""
    if binding.how is not Bind.ASSIGN or binding.path:
        return None
    if makes_dict(binding.value):
        return dict_of(UNKNOWN)
    return list_of(UNKNOWN) if isinstance(binding.value, ast.List) else None


def lacks(value: Value, method: str) -> bool:
    """Return whether a value is one of Python itself whose class has no method of a name."""
    return value.kind in _OF_PYTHON and not hasattr(_OF_PYTHON[value.kind], method)
