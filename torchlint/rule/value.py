"""What is known of a value: its kind, dtype, device and elements."""

from __future__ import annotations

import enum

from torchlint.late import dataclass

PYTHON_DTYPES = {"builtins.float": "float64", "builtins.int": "int64", "builtins.bool": "bool"}
"""The dtype that a type of Python means as a ``dtype=``."""


class Kind(enum.Enum):
    """What a value is. ``UNKNOWN`` never makes a rule fire and never makes a fix safe."""

    UNKNOWN = "unknown"
    TENSOR = "tensor"
    NDARRAY = "ndarray"
    SCALAR = "numpy scalar"
    ITEM = "array or numpy scalar"
    NUMBER = "Python number"
    STRING = "string"
    NONE = "None"
    LIST = "list"
    TUPLE = "tuple"
    DICT = "dict"
    SET = "set"
    SIZE = "torch.Size"
    DEVICE = "device"
    DTYPE = "dtype"
    MODULE = "module"
    OPTIMIZER = "optimizer"
    DISTRIBUTION = "distribution"
    ENV = "environment"
    FUNCTION = "function"
    CLASS = "class"
    INSTANCE = "instance"
    NAMESPACE = "imported module"

    __hash__ = object.__hash__  # that of enumerations is written in Python, and kinds are hashed very often


class Device(enum.Enum):
    """Where a tensor lives: on the host, on an accelerator, on one where there is one, or not known."""

    UNKNOWN = "unknown"
    CPU = "cpu"
    CUDA = "cuda"
    EITHER = "cuda or cpu"

    __hash__ = object.__hash__  # as of kinds


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value.

    Attributes:
        kind: what it is.
        dtype: for tensors, arrays and numpy scalars a torch dtype name (``float32``, ``int64``, ``bool``); for Python
            numbers ``int``, ``float`` or ``bool``; for a dtype the dtype it names. ``None``: not known.
        device: where it lives (tensors, modules), or which device it names (devices).
        rank: number of dimensions, ``None`` when not known.
        shaped: of an array whose rank is not known, whether it is proven to have at least one dimension.
        items: of a tuple its elements in order; of a list or dict one value, that of all elements (empty: not known);
            of a ``functools.partial`` the function.
        keys: names of the ``items``, of a named tuple and of a dict whose keys are literal: then one item each.
        nonempty: a list or tuple that is proven to hold at least one element.
        name: qualified name of a class, function, imported module, or of an instance's class; of one of several classes
            or functions, or an instance of one of several classes, their names separated by ``|``.
        derived: whether an instance may also be of a class that derives from the named one, as where an annotation
            promises it; one that a constructor made may not. Of a class: whether it may be one that derives from it.
        literal: the value of a literal number, string or bool, else ``None``.
        pinned: whether a tensor's memory is page-locked (``pin_memory``), ``None`` when not known.
        inexact: of a tensor whose dtype is not known, whether it is a floating or a complex one.
        widened: of a tensor or array the narrower dtype that it was cast or divided from where it lies, such as
            ``uint8`` of ``frames.astype(np.float32)`` or ``frames / 255.0``; empty: none known.
    """

    kind: Kind = Kind.UNKNOWN
    dtype: str | None = None
    device: Device = Device.UNKNOWN
    rank: int | None = None
    shaped: bool = False
    items: tuple[Value, ...] = ()
    keys: tuple[str, ...] = ()
    nonempty: bool = False
    name: str = ""
    literal: int | float | bool | str | None = None
    pinned: bool | None = None
    widened: str = ""
    derived: bool = False
    inexact: bool = False

    @property
    def known(self) -> bool:
        """Whether anything at all is known."""
        return self.kind is not Kind.UNKNOWN

    @property
    def has_axes(self) -> bool:
        """Whether a tensor or array is proven to have at least one dimension."""
        return self.shaped if self.rank is None else self.rank > 0

    def item(self, key: str) -> Value | None:
        """Return the value under a key of a named tuple or a dict with literal keys; ``None`` if the key is missing."""
        return self.items[self.keys.index(key)] if key in self.keys else None

    @property
    def element(self) -> Value:
        """Of a list or dict, the value of its elements; of a tuple, what holds for all of them; else unknown."""
        if self.kind not in (Kind.LIST, Kind.TUPLE, Kind.DICT) or not self.items:
            return UNKNOWN
        first, *others = self.items
        if all(item == first for item in others):
            return first
        return Value(kind=first.kind) if all(item.kind is first.kind for item in others) else UNKNOWN

    @property
    def is_data(self) -> bool:
        """Whether it is proven to hold no tensor: numbers, arrays, strings, None, and containers of these."""
        if self.kind in (Kind.LIST, Kind.TUPLE, Kind.DICT):
            return bool(self.items) and all(item.is_data for item in self.items)
        return self.kind in _DATA


_DATA = frozenset(
    {Kind.NDARRAY, Kind.SCALAR, Kind.ITEM, Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SIZE, Kind.DEVICE, Kind.DTYPE}
)
UNKNOWN = Value()
