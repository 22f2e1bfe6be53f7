"""Makes something that can be called out of an example: a namespace, its inputs, its set-up and its workload."""

from __future__ import annotations

import os
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import torch

from torchlint.rule import Example, Input, Kind

SEED = 20
_SCALE = 4

# What asks for a state of the whole process, and what sets it.
_SWITCHES: tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...] = (
    (torch.get_num_threads, torch.set_num_threads),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (
        lambda: torch.distributions.Distribution._validate_args,
        torch.distributions.Distribution.set_default_validate_args,
    ),
)

Program = Callable[[], object]
"""One version of an example, ready to run: evaluates the workload once and gives back its value."""


def ordinary(example: Example) -> dict[str, object]:
    """Return ordinary values for the inputs of an example, newly made and equal on each call."""
    return {declared.name: make(declared) for declared in example.inputs}


def build(example: Example, source: str, device: str = "cpu", inputs: Mapping[str, object] | None = None) -> Program:
    """Execute a version of an example and its set-up, with these inputs, or fresh ordinary ones.

    Raises whatever the source, the set-up or an input of a kind without a generator (``TypeError``) raises.
    """
    seed()
    namespace: dict[str, object] = {"__name__": "example"}
    exec(compile(source, f"<{example.name}>", "exec"), namespace)
    namespace.update({"torch": torch, "np": np, "device": torch.device(device)})
    namespace.update(ordinary(example) if inputs is None else inputs)
    seed()
    exec(compile(example.setup, f"<setup of {example.name}>", "exec"), namespace)
    workload = f"def __workload():\n    return ({example.workload})\n"
    exec(compile(workload, f"<workload of {example.name}>", "exec"), namespace)
    return cast("Program", namespace["__workload"])


@contextmanager
def left_as_it_was() -> Iterator[None]:
    """Restore on exit what programs change for the whole process."""
    traced = tracemalloc.is_tracing()
    before = [(get, put, get()) for get, put in _SWITCHES]
    environment = dict(os.environ)
    try:
        yield
    finally:
        if not traced:
            tracemalloc.stop()
        for get, put, value in before:
            if get() != value:
                put(value)
        if os.environ != environment:
            os.environ.clear()
            os.environ.update(environment)
        # Compiled code stays with the function that was compiled, and layers of torch.nn share theirs: each later run
        # of such a layer would check the guards of all that was compiled before.
        if "torch._dynamo" in sys.modules:
            torch.compiler.reset()


def seed() -> None:
    """Start all random streams again."""
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)


def make(declared: Input) -> object:
    """Return an ordinary value of a declared input, on the host: normal floats, small integers, fair bools."""
    generator = np.random.default_rng(SEED)
    if declared.kind is Kind.TENSOR:
        return torch.from_numpy(_array(declared, generator))
    if declared.kind is Kind.NDARRAY:
        return _array(declared, generator)
    if declared.kind is Kind.LIST:
        rows: object = list(_array(declared, generator))
        return rows
    if declared.kind is Kind.NUMBER:
        return _array(Input(declared.name, Kind.NDARRAY, (1,), declared.dtype), generator).tolist()[0]
    raise TypeError(f"no generator for an input of kind {declared.kind.value}")


def _array(declared: Input, generator: np.random.Generator) -> np.ndarray:
    shape = declared.shape
    if declared.dtype == "bool":
        return generator.random(shape) < 0.5
    if declared.dtype.startswith(("int", "uint")):
        return generator.integers(0, 255 if declared.dtype == "uint8" else _SCALE, shape).astype(declared.dtype)
    return generator.standard_normal(shape).astype("float64" if declared.dtype == "float" else declared.dtype)
