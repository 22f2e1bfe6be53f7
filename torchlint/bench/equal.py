"""Proves a fix on an example: what the fixer makes of it does the same as before, whatever its inputs are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from torchlint.bench.fixed import Fixed
from torchlint.bench.hostile import Variant, variants
from torchlint.bench.observe import Observation, differences, observe
from torchlint.bench.program import build, left_as_it_was, ordinary, seed
from torchlint.late import dataclass
from torchlint.rule import Change, Example, Rule

ORDINARY = "ordinary"
OTHER_DEFAULT = "float64 by default"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the two versions of an example compare on one set of inputs.

    ``input`` is the one that was awkward and ``kind`` how. ``changes`` are the differences that have a name, ``other``
    the rest in words (empty: none).
    """

    input: str
    kind: str
    changes: frozenset[Change]
    other: str

    @property
    def label(self) -> str:
        """``obs: negative strides``."""
        return f"{self.input}: {self.kind}" if self.input else self.kind


@dataclass(frozen=True, slots=True)
class ExampleVerdict:
    """What all comparisons of an example say.

    Attributes:
        tried: how many sets of inputs were compared.
        changes: the declared changes that were seen.
        exceptions: the labels of the inputs on which the fix does otherwise, as the rule says.
        wrong: the differences that nothing declared, in words; empty: the fix keeps its word.
    """

    tried: int
    changes: frozenset[Change]
    exceptions: tuple[str, ...]
    wrong: tuple[str, ...]


def judge(rule: type[Rule], example: Example, fixed: Fixed, device: str = "cpu") -> ExampleVerdict:
    """Compare both versions on ordinary and on awkward inputs.

    A fix that assumes something is compared on ordinary inputs only, as is a version written by hand. A rule without
    an exception to its name cannot take an input away.
    """
    tried = 0
    changes: set[Change] = set()
    exceptions: list[str] = []
    wrong: list[str] = []
    with left_as_it_was():
        for outcome in outcomes(example, fixed, device):
            tried += 1
            undeclared = outcome.changes - fixed.may_change
            if (outcome.other or undeclared) and outcome.kind in rule.exceptions:
                exceptions.append(outcome.label)
            elif outcome.other or undeclared:
                words = ", ".join(sorted(f"changes {change.value}" for change in undeclared))
                wrong.append(f"{outcome.label}: {'; '.join(filter(None, (outcome.other, words)))}")
            else:
                changes |= outcome.changes
    return ExampleVerdict(tried, frozenset(changes), tuple(exceptions), tuple(wrong))


def outcomes(example: Example, fixed: Fixed, device: str = "cpu") -> Iterator[Comparison]:
    """Run an example and its fixed version on ordinary inputs, then with one awkward input at a time."""
    yield _outcome(example, fixed, device, None)
    if fixed.assumes:
        return
    for declared in example.inputs:
        for variant in variants(declared):
            yield _outcome(example, fixed, device, variant)
    with _default_dtype(torch.float64):
        yield replace(_outcome(example, fixed, device, None), kind=OTHER_DEFAULT)


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _outcome(example: Example, fixed: Fixed, device: str, variant: Variant | None) -> Comparison:
    first, second = (_observed(example, source, device, variant) for source in (example.source, fixed.text))
    strange = variant is not None and variant.nonfinite
    changes, other = differences(first, second, nonfinite=strange, layout_only=example.uninitialised)
    if example.by_hand:
        # What autograd knows and what is shared is its author's business; what it computes is not.
        changes, other = changes & {Change.ROUNDING}, "other results" if "other results" in other else ""
    return Comparison(variant.input if variant else "", variant.label if variant else ORDINARY, changes, other)


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
