"""Random values for the parameters of programs: of the kind that the code states, or of any kind at all."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from fuzz.fixes.program import Given
from torchlint.bench.hostile import Variant, variants
from torchlint.bench.program import make
from torchlint.rule import Input, Kind

_SHAPES = ((), (1,), (3,), (0,), (2, 3), (3, 2), (1, 4), (3, 1), (2, 3, 2), (2, 0, 3))
_DTYPES = ("float32", "float32", "float64", "float16", "int64", "int64", "int32", "int16", "int8", "uint8", "bool")
_ORDINARY = 0.3
"""How often a value is an ordinary one of its kind, shape and dtype."""


class Environment:
    """An environment that always observes the same."""

    def __init__(self, observation: object) -> None:
        """Keep what is observed."""
        self.observation = observation

    def reset(self) -> tuple[object, dict[str, object]]:
        """Begin an episode."""
        return self.observation, {}

    def step(self, action: object) -> tuple[object, float, bool, bool, dict[str, object]]:
        """Go on, whatever the action is."""
        return self.observation, 1.0, False, False, {}


class Holder:
    """An object that NumPy can make an array of, and that is none."""

    def __init__(self, values: np.ndarray) -> None:
        """Keep the values."""
        self.values = values

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        """The values as an array."""
        return np.array(self.values, dtype=dtype)  # type: ignore[arg-type]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.values)


@dataclass(frozen=True)
class Chosen:
    """One value for each parameter, in words and made afresh on each call."""

    words: str
    make: Callable[[], dict[str, Any]]
    default: torch.dtype


def chosen(given: tuple[Given, ...], choice: random.Random) -> Chosen:
    """Random values for the parameters, and a default dtype."""
    variant = {parameter.name: _variant(parameter, choice) for parameter in given}
    words = ", ".join(f"{name}: {one.label}" for name, one in variant.items())
    default = choice.choice((torch.float32,) * 7 + (torch.float64,))
    if default is not torch.float32:
        words += f", {default} by default"
    return Chosen(words, lambda: {name: one.make() for name, one in variant.items()}, default)


def _variant(given: Given, choice: random.Random) -> Variant:
    kind = choice.choice(_ANYTHING) if given.kind == "anything" else given.kind
    return _MAKERS[kind](given.name, choice)


def _declared(
    name: str,
    kind: Kind,
    choice: random.Random,
    shapes: tuple[tuple[int, ...], ...] = _SHAPES,
    dtypes: tuple[str, ...] = _DTYPES,
) -> Variant:
    """An ordinary or awkward value of a kind that the benchmarks know."""
    declared = Input(name, kind, choice.choice(shapes), choice.choice(dtypes))
    plain = not declared.shape or 0 in declared.shape
    awkward = [] if plain and kind is not Kind.LIST else list(variants(declared))
    words = f"{kind.value} {declared.dtype} {list(declared.shape)}"
    if not awkward or choice.random() < _ORDINARY:
        return Variant(name, words, lambda: _ordinary(declared))
    one = choice.choice(awkward)
    return Variant(name, f"{words} {one.label}", one.make)


def _ordinary(declared: Input) -> object:
    """An ordinary value; without dimensions too."""
    if declared.shape or declared.kind not in (Kind.NDARRAY, Kind.TENSOR):
        return make(declared)
    array = np.array(make(replace(declared, kind=Kind.NDARRAY)))
    return array if declared.kind is Kind.NDARRAY else torch.from_numpy(array)


def _array(name: str, choice: random.Random) -> Variant:
    return _declared(name, Kind.NDARRAY, choice)


def _tensor(name: str, choice: random.Random) -> Variant:
    one = _declared(name, Kind.TENSOR, choice)
    change = choice.choice([None] * 8 + list(_OF_TENSORS))
    return one if change is None else Variant(name, f"{one.label} {change}", lambda: _OF_TENSORS[change](one.make()))


def _inference(tensor: Any) -> Any:
    with torch.inference_mode():
        return tensor.detach().clone()


def _grown(tensor: Any) -> Any:
    """A tensor that is part of a graph, where its dtype allows that."""
    return tensor.detach().requires_grad_() * 1 if tensor.is_floating_point() else tensor


_OF_TENSORS: Mapping[str, Callable[[Any], Any]] = {
    "made in inference mode": _inference,
    "on a graph": _grown,
    "transposed": lambda tensor: tensor.t() if tensor.dim() <= 2 else tensor.transpose(0, 1),
}


def _arrays(name: str, choice: random.Random) -> Variant:
    return _several(name, choice, _array, Kind.NDARRAY)


def _tensors(name: str, choice: random.Random) -> Variant:
    return _several(name, choice, _tensor, Kind.TENSOR)


def _several(name: str, choice: random.Random, one: Callable[[str, random.Random], Variant], kind: Kind) -> Variant:
    """A list of values of a kind, mostly of one shape and dtype."""
    if choice.random() < 0.3:
        found = [one(name, choice) for _ in range(choice.randint(1, 3))]
        return Variant(name, f"list of {[v.label for v in found]}", lambda: [v.make() for v in found])
    declared = Input(
        name, kind, choice.choice([shape for shape in _SHAPES if shape and 0 not in shape]), choice.choice(_DTYPES)
    )
    number = choice.randint(1, 3)
    change = choice.choice([None, *variants(declared)])
    label = change.label if change else "ordinary"
    made = change.make if change else lambda: _ordinary(declared)
    return Variant(
        name,
        f"list of {number} {kind.value} {declared.dtype} {list(declared.shape)} {label}",
        lambda: [made() for _ in range(number)],
    )


def _one_of(*values: object) -> Callable[[str, random.Random], Variant]:
    def made(name: str, choice: random.Random) -> Variant:
        value = choice.choice(values)
        return Variant(name, repr(value), lambda: value)

    return made


def _odd(name: str, choice: random.Random) -> Variant:
    """A value of a kind that no name suggests."""
    array, tensor = _array(name, choice), _tensor(name, choice)
    words, made = choice.choice(
        (
            ("a dict", lambda: {"obs": array.make(), "x": tensor.make()}),
            ("a tuple of arrays", lambda: (array.make(), array.make())),
            ("a tuple of tensors", lambda: (tensor.make(), tensor.make())),
            ("a deque of arrays", lambda: deque([array.make(), array.make()])),
            ("a holder of an array", lambda: Holder(np.zeros((2, 3), dtype=np.float32))),
            ("a number of NumPy", lambda: np.sum(np.asarray(array.make()).reshape(-1)[:1])),
            ("a shape", lambda: torch.Size([2, 3])),
            ("a range", lambda: range(3)),
            ("a text", lambda: "text"),
            ("none", lambda: None),
            ("a memory view", lambda: memoryview(np.zeros(3, dtype=np.float32))),
        )
    )
    return Variant(name, f"{words} ({array.label}; {tensor.label})", made)


def _list(name: str, choice: random.Random) -> Variant:
    return _declared(name, Kind.LIST, choice, ((1,), (3,), (2, 3), (0,), (1, 1)))


def _rows(name: str, choice: random.Random) -> Variant:
    """A tensor that a network with three inputs takes, with awkward ones among them."""
    return _declared(name, Kind.TENSOR, choice, ((2, 3), (4, 3), (1, 3), (3,)), ("float32",))


def _observation(name: str, choice: random.Random) -> Variant:
    """An array or a tensor that a network with three inputs takes."""
    kind = choice.choice((Kind.NDARRAY, Kind.NDARRAY, Kind.TENSOR, Kind.LIST))
    return _declared(name, kind, choice, ((3,), (2, 3), (1, 3)), ("float32", "float32", "float64", "int64"))


def _batches_of_rows(name: str, choice: random.Random) -> Variant:
    """A list of tensors that a network with three inputs takes; it may be empty."""
    rows = [_rows(name, choice) for _ in range(choice.randint(0, 3))]
    return Variant(name, ", ".join(row.label for row in rows) or "none", lambda: [row.make() for row in rows])


def _many(name: str, choice: random.Random) -> Variant:
    """Batches of observations."""
    one, number = _observation(name, choice), choice.randint(0, 3)
    return Variant(name, f"{number} of {one.label}", lambda: [one.make() for _ in range(number)])


def _longer(kind: Kind) -> Callable[[str, random.Random], Variant]:
    return lambda name, choice: _declared(
        name, kind, choice, ((8, 3), (8,), (6, 2), (9, 1), (4, 2, 2)), ("float32", "int64", "bool")
    )


def _factor(name: str, choice: random.Random) -> Variant:
    words = choice.choice(
        (
            "0.1",
            "1",
            "np.float32(0.2)",
            "torch.tensor(0.3)",
            "torch.tensor(0.3, dtype=torch.float64)",
            "float('nan')",
            "True",
            "np.float64(0.1)",
            "np.array(0.25)",
            "torch.full((3,), 0.5)",
        )
    )
    return Variant(name, words, lambda: eval(words, {"np": np, "torch": torch}))


def _environment(name: str, choice: random.Random) -> Variant:
    seen = choice.choice((_array, _array, _tensor, _list, _odd))(name, choice)
    return Variant(name, f"environment of {seen.label}", lambda: Environment(seen.make()))


_MAKERS: Mapping[str, Callable[[str, random.Random], Variant]] = {
    "array": _array,
    "tensor": _tensor,
    "arrays": _arrays,
    "tensors": _tensors,
    "list": _list,
    "odd": _odd,
    "integer": _one_of(0, 1, 2, 3, 4, -1, True),
    "start": _one_of(0, 1, -3, 2**24 - 3, 2**31, 2**40, 2**53 - 3),
    "size": _one_of(0, 1, 2, 3, 5, 8),
    "number": _one_of(0, 1, -1, 2, 0.5, -0.0, 1e39, float("nan"), float("inf"), 2**53 + 1, True, 1e-45),
    "truth": _one_of(True, False),
    "environment": _environment,
    "rows": _rows,
    "observation": _observation,
    "batches": _many,
    "tensors of rows": _batches_of_rows,
    "longer": _longer(Kind.TENSOR),
    "longer array": _longer(Kind.NDARRAY),
    "factor": _factor,
}
_ANYTHING = ("array",) * 4 + ("tensor",) * 4 + ("list", "list", "arrays", "tensors", "number", "number", "odd", "odd")
