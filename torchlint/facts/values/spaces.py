"""Spaces of Gym and Gymnasium, environments made by name, and what both give."""

from __future__ import annotations

import ast
from dataclasses import replace

from torchlint.facts.values.join import INT, NDARRAY, list_of, tuple_of
from torchlint.facts.values.signatures import Of, argument, dtype_of, keyword, table
from torchlint.rule import UNKNOWN, Kind, Value

_ROOTS = ("gym", "gymnasium", "gymnax", "envpool")
_SPACES = ("observation_space", "single_observation_space")
_ACTIONS = ("action_space", "single_action_space")


def made(name: str, call: ast.Call, of: Of) -> Value | None:
    """Return an environment made by name, or a space; ``None`` for other calls."""
    head, _, last = name.partition(".")
    if head not in _ROOTS:
        return None
    if last in ("make", "vector.make", "make_vec"):
        made_of = of(call.args[0]).literal if call.args and not isinstance(call.args[0], ast.Starred) else None
        space = _observed(str(made_of)) if last == "make" and isinstance(made_of, str) else UNKNOWN
        return Value(Kind.ENV, name=head if last == "make" else f"{head}.vector", items=(space,) if space.known else ())
    kind = name.rpartition(".")[2]
    if ".spaces." in name and kind in table()["spaces"]["classes"]:
        return space_of(kind, call, of)
    if name.startswith(f"{head}.wrappers.") and kind in table()["spaces"]["plain_wrappers"] and call.args:
        inner = of(call.args[0])
        return inner if inner.kind is Kind.ENV else None
    return None


def _observed(made_of: str) -> Value:
    """The observation space of an environment that the library brings along, by its name without the version."""
    base = made_of.rpartition("/")[2].rpartition("-v")[0]
    for dtype, names in table()["spaces"]["observations"].items():
        if base in names:
            return Value(Kind.INSTANCE, dtype=dtype, name="gymnasium.spaces.Box", rank=3 if dtype == "uint8" else 1)
    return UNKNOWN


def space_of(kind: str, call: ast.Call, of: Of) -> Value:
    """Return a space: its class, and of arrays the dtype and the rank that its shape gives."""
    dtype: str | None = table()["spaces"]["classes"][kind] or None
    position = {"Box": 3, "Discrete": -1, "MultiDiscrete": 1}.get(kind, -1)
    told = argument(call, position, "dtype") if position >= 0 else None
    if told is not None:
        dtype = dtype_of(of(told))
    shape = argument(call, 2, "shape") if kind == "Box" else keyword(call, "shape")
    size = of(shape) if shape is not None else UNKNOWN
    rank = len(size.items) if size.kind is Kind.TUPLE else None
    return Value(Kind.INSTANCE, dtype=dtype, rank=rank, name=f"gymnasium.spaces.{kind}")


def is_space(value: Value) -> bool:
    """Return whether a value is a space."""
    return value.kind is Kind.INSTANCE and value.name.startswith("gymnasium.spaces.")


def sample(space: Value) -> Value:
    """Return what a space holds: an array, or a number of NumPy."""
    if space.name.endswith(".Discrete"):
        return Value(Kind.SCALAR, dtype="int64")
    if space.name.endswith((".Box", ".MultiBinary", ".MultiDiscrete")):
        return Value(Kind.NDARRAY, dtype=space.dtype, rank=space.rank or None)
    return UNKNOWN


def space_attribute(space: Value, name: str) -> Value:
    """Return an attribute of a space."""
    if name == "shape":
        return tuple_of(*[INT] * space.rank) if space.rank else list_of(INT)
    if name in ("low", "high"):
        return sample(space)
    if name == "dtype":
        return Value(Kind.DTYPE, dtype=space.dtype)
    return INT if name in ("n", "start") else UNKNOWN


def returns_arrays(env: Value) -> bool:
    """Return whether an environment is proven to return arrays: one of a library, not one that is only called so."""
    return env.name.partition(".")[0] in ("gym", "gymnasium")


def env_attribute(env: Value, name: str) -> Value:
    """Return an attribute of an environment of a library."""
    if name in _SPACES and env.items:
        return env.items[0]
    if name in (*_SPACES, *_ACTIONS):
        return Value(Kind.INSTANCE, name="gymnasium.spaces.Space")
    if name == "num_envs":
        return INT
    return env if name in ("unwrapped", "env") else UNKNOWN


def env_method(env: Value, method: str, use: ast.AST | None, seen: Value = NDARRAY) -> Value:
    """Return what a Gym or Gymnasium environment returns: observations are arrays, unless a wrapper makes others.

    Of what is only called an environment, a step gives a tuple only where the code takes it apart.
    """
    unpacked = isinstance(use, ast.Assign) and isinstance(use.targets[0], (ast.Tuple, ast.List))
    apart = unpacked or isinstance(use, ast.Subscript)
    observation = sample(env.items[0]) if env.items else seen
    if env.items and observation.kind is not Kind.NDARRAY:
        observation = NDARRAY
    if not returns_arrays(env):
        observation = replace(observation, rank=None)
    if ".vector" in env.name:
        observation = replace(observation, rank=None, shaped=True)  # one row for each environment
    if method == "step" and (apart or env.known):
        return tuple_of(observation, UNKNOWN, UNKNOWN, UNKNOWN, Value(Kind.DICT))
    if method == "reset":
        return tuple_of(observation, Value(Kind.DICT)) if apart else observation
    return UNKNOWN
