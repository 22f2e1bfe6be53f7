"""Running what fixes change, before and after, with random inputs."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torchlint.engine.rules import load_rules
from torchlint.rule import Example, Input, Kind, Rule

if TYPE_CHECKING:
    from torchlint.bench.fixed import Fixed

_LARGEST = 6


def differences(seed: str, inputs: int) -> tuple[int, list[str]]:
    """How many random inputs were tried with the examples of all rules, and what came out differently."""
    if importlib.util.find_spec("torch") is None:
        return 0, []
    choice = random.Random(seed)
    tried, wrong = 0, []
    for rule, example, fixed in safe():
        for _ in range(inputs):
            tried += 1
            told = different(rule, example, fixed, choice)
            if told:
                wrong.append(f"{rule.code} {example.name}: {told}")
    return tried, wrong


def safe() -> Iterator[tuple[type[Rule], Example, Fixed]]:
    """The examples with inputs whose fixes rest on no assumption; compiling again for each input would take minutes."""
    from torchlint.bench.fixed import fixed

    for rule in load_rules():
        for example in rule.examples:
            if example.by_hand or not example.inputs or "compile" in example.source:
                continue
            after = fixed(rule, example)
            if not after.assumes:
                yield rule, example, after


def different(rule: type[Rule], example: Example, fixed: Fixed, choice: random.Random) -> str:
    """What the fixed version does otherwise on one random input, beyond what it declares; empty: nothing."""
    from torchlint.bench.equal import _outcome

    outcome = _outcome(example, fixed, "cpu", _variant(choice.choice(example.inputs), choice, bool(rule.exceptions)))
    undeclared = outcome.changes - fixed.may_change
    return (
        f"{outcome.label}: {outcome.other or sorted(change.value for change in undeclared)}"
        if (outcome.other or undeclared)
        else ""
    )


def _variant(declared: Input, choice: random.Random, careful: bool) -> Any:
    """A random value for an input: other sizes, and other numbers."""
    import numpy as np
    import torch

    from torchlint.bench.hostile import Variant

    shape = tuple(choice.randint(2 if careful else 0, _LARGEST) for _ in declared.shape)
    number, scale = choice.randrange(10**9), choice.choice((0.01, 1.0, 50.0))

    def make() -> object:
        drawn = np.asarray(np.random.default_rng(number).standard_normal(shape) * scale)
        given = drawn > 0 if declared.dtype == "bool" else np.abs(drawn) if "int" in declared.dtype else drawn
        array = np.array(given).astype(declared.dtype)
        if declared.kind is Kind.TENSOR:
            return torch.from_numpy(array)
        return array if declared.kind is Kind.NDARRAY else list(array) if declared.kind is Kind.LIST else array.item()

    return Variant(declared.name, f"{declared.kind.value} {replace(declared, shape=shape).shape} {number}", make)
