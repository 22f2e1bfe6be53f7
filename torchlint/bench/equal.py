"""Proves a fix on an example: what the fixer makes of it does the same as before, whatever its inputs are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchlint.bench.hostile import Variant, variants
from torchlint.bench.observe import Observation, differences, observe
from torchlint.bench.program import build, ordinary, seed
from torchlint.rule import Change, Example


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the two versions of an example compare on one set of inputs.

    ``changes`` are the differences that have a name, ``other`` the rest in words (empty: none).
    """

    label: str
    changes: frozenset[Change]
    other: str


def outcomes(example: Example, after: str, device: str = "cpu") -> Iterator[Outcome]:
    """Run an example and its fixed source ``after`` on ordinary inputs, then with one awkward input at a time."""
    yield _outcome(example, after, device, None)
    for declared in example.inputs:
        for variant in variants(declared):
            yield _outcome(example, after, device, variant)


def _outcome(example: Example, after: str, device: str, variant: Variant | None) -> Outcome:
    label = f"{variant.input}: {variant.label}" if variant is not None else "ordinary"
    first, second = (_observed(example, source, device, variant) for source in (example.source, after))
    changes, other = differences(first, second, variant is not None and variant.nonfinite)
    return Outcome(label, changes, other)


def _observed(example: Example, source: str, device: str, variant: Variant | None) -> Observation:
    inputs = ordinary(example)
    if variant is not None:
        inputs[variant.input] = variant.make()

    def whole() -> object:
        # The set-up counts: with an awkward input it may be what raises.
        program = build(example, source, device, inputs)
        seed()
        return program()

    return observe(whole, inputs)
