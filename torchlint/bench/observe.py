"""Runs one version of an example and notes all that someone could notice of it, and says how two runs differ."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping

import numpy as np
import torch

from torchlint.bench.agree import Difference, difference
from torchlint.bench.caught import Caught
from torchlint.bench.program import Program, seed
from torchlint.late import dataclass
from torchlint.rule import Change

_NAMED = {Difference.ROUNDING: Change.ROUNDING, Difference.ZERO: Change.NONFINITE}


@dataclass(frozen=True, slots=True)
class Observation:
    """What a run did.

    Attributes:
        value: what the workload gave, ``None`` when it raised.
        raised: class of the exception, ``None`` when there was none.
        strides: of every tensor and array in the value; none where one or no element leaves them open.
        flags: of every tensor whether it asks for gradients, is a leaf of the graph, is an inference tensor.
        shared: for every tensor and array in the value the inputs whose memory it shares.
        inputs: the inputs after the run.
        gradients: of the tensors in the inputs, after the run; ``None`` where there is none.
        streams: states of all random generators after the run.
    """

    value: object
    raised: type[BaseException] | None
    strides: tuple[tuple[int, ...], ...]
    flags: tuple[tuple[bool, ...], ...]
    shared: tuple[tuple[str, ...], ...]
    inputs: Mapping[str, object]
    gradients: tuple[torch.Tensor | None, ...]
    streams: tuple[bytes, ...]


def observe(program: Program, inputs: Mapping[str, object]) -> Observation:
    """Run a program once from fresh random streams; ``inputs`` are the very objects it was built with."""
    seed()
    value: object = None
    with Caught() as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = program()
    parts = list(_parts(value))
    return Observation(
        value=value,
        raised=type(caught.error) if caught.error is not None else None,
        strides=tuple(_strides(part) for part in parts),
        flags=tuple(_flags(part) for part in parts),
        shared=tuple(_shared(part, inputs) for part in parts),
        inputs=inputs,
        gradients=tuple(_gradient(part) for given in inputs.values() for part in _parts(given)),
        streams=_streams(),
    )


def differences(
    before: Observation, after: Observation, *, nonfinite: bool = False, layout_only: bool = False
) -> tuple[frozenset[Change], str]:
    """Return how two runs differ: the named changes, and the rest in words; both are empty for equal runs.

    A run that raised before promises nothing but that the exception is kept where it was a check's: one that was a
    ``TypeError`` may disappear, any other is ``validation``. ``nonfinite`` says that the inputs held NaN or infinity,
    ``layout_only`` that values mean nothing: memory that nothing wrote to.
    """
    if after.raised is not None and after.raised is not before.raised:
        if before.raised is None:
            return frozenset(), f"raises {after.raised.__name__} where nothing was raised"
        return frozenset({Change.VALIDATION}), ""
    if before.raised is not None:
        kept = after.raised is before.raised or issubclass(before.raised, TypeError)
        return frozenset() if kept else frozenset({Change.VALIDATION}), ""
    found: set[Change] = set()
    unnamed: list[str] = []
    apart = difference(before.value, after.value, layout_only=layout_only)
    touched = max(difference(dict(before.inputs), dict(after.inputs)), difference(before.gradients, after.gradients))
    found |= {_NAMED[each] for each in (apart, touched) if each in _NAMED}
    if apart is Difference.OTHER:
        unnamed.append("other results")
        if nonfinite or _is_nonfinite(before.value) or _is_nonfinite(after.value):
            found.add(Change.NONFINITE)
            unnamed.clear()
    if before.shared != after.shared:
        found.add(Change.ALIASING)
    # What shares an array's memory has its strides, too: that is part of the aliasing.
    elif not unnamed and before.strides != after.strides:
        unnamed.append(f"other strides: {before.strides} and {after.strides}")
    if not unnamed and before.flags != after.flags:
        unnamed.append(f"other flags: {before.flags} and {after.flags}")
    if before.streams != after.streams:
        found.add(Change.RNG)
    if touched is Difference.OTHER:
        unnamed.append("other inputs afterwards")
    return frozenset(found), "; ".join(unnamed)


def _parts(value: object) -> Iterator[torch.Tensor | np.ndarray]:
    """The tensors and arrays in a value, containers opened."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _parts(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _parts(part)


def _strides(part: torch.Tensor | np.ndarray) -> tuple[int, ...]:
    if isinstance(part, np.ndarray):
        return part.strides if part.size > 1 else ()
    return tuple(part.stride()) if part.numel() > 1 else ()


def _flags(part: torch.Tensor | np.ndarray) -> tuple[bool, ...]:
    return () if isinstance(part, np.ndarray) else (part.requires_grad, part.is_leaf, part.is_inference())


def _gradient(part: torch.Tensor | np.ndarray) -> torch.Tensor | None:
    return part.grad if isinstance(part, torch.Tensor) and part.is_leaf else None


def _shared(part: torch.Tensor | np.ndarray, inputs: Mapping[str, object]) -> tuple[str, ...]:
    """Names of the inputs that a result shares memory with."""
    own = _memory(part)
    return tuple(name for name, value in inputs.items() for given in _parts(value) if own & _memory(given))


def _memory(part: torch.Tensor | np.ndarray) -> set[int]:
    """Where a tensor's or array's memory begins; empty where it has none of its own."""
    if isinstance(part, torch.Tensor):
        return {part.untyped_storage().data_ptr()} - {0}
    base = part
    while isinstance(base.base, np.ndarray):
        base = base.base
    return {base.__array_interface__["data"][0]} if base.size else set()


def _streams() -> tuple[bytes, ...]:
    states = [
        repr(random.getstate()).encode(),
        repr(np.random.get_state()).encode(),
        torch.get_rng_state().numpy().tobytes(),
    ]
    if torch.cuda.is_available():
        states.append(torch.cuda.get_rng_state().numpy().tobytes())
    return tuple(states)


def _is_nonfinite(value: object) -> bool:
    if isinstance(value, float):
        return not np.isfinite(value)
    return any(_holds_nonfinite(part) for part in _parts(value))


def _holds_nonfinite(part: torch.Tensor | np.ndarray) -> bool:
    if isinstance(part, np.ndarray):
        return np.issubdtype(part.dtype, np.inexact) and not bool(np.isfinite(part).all())
    return not bool(part.isfinite().all())
