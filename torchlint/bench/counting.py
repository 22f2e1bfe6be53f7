"""Counts what the versions of an example do to an accelerator, on the counted device. No accelerator is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from torchlint.bench.caught import Caught
from torchlint.bench.program import Program, build, ordinary
from torchlint.device.ledger import Ledger
from torchlint.device.session import counted_device
from torchlint.late import regex
from torchlint.rule import Counts, Example

_DEVICE = "cuda"
_PLACES = regex(r"(?<![.\w])device\b(?! *=)|\bcuda\b|\b[A-Z][a-z]+Tensor\(")
"""What a program mentions that places its tensors itself; a legacy constructor does not ask for the default device.

``device=x.device`` follows another tensor, wherever that lies.
"""


class UncountableError(Exception):
    """A program uses something of which the counted device does not know what an accelerator does."""


def count(example: Example, after: str) -> tuple[Counts, Counts] | None:
    """Count the events of one run of the workload before and after the fix, ``None`` if it runs on the host only.

    A program that never mentions a device runs as if the accelerator were torch's default device, with the tensors of
    its inputs there. What happens in the first run alone does not count.

    Raises:
        UncountableError: the device has no model of an operator.
    """
    before, then = (_count(example, source) for source in (example.source, after))
    return None if before is None or then is None else (before, then)


def _count(example: Example, source: str) -> Counts | None:
    with counted_device(Ledger()) as ledger, Caught() as caught, on_accelerator(example, source) as program:
        first = _counts(ledger)
        program()
    if ledger.unknown is not None:
        raise UncountableError(ledger.unknown)
    if caught.error is not None:
        return None
    both = _counts(ledger)
    return Counts(
        waits=both.waits - first.waits,
        launches=both.launches - first.launches,
        copies=both.copies - first.copies,
        bytes=both.bytes - first.bytes,
    )


@contextmanager
def on_accelerator(example: Example, source: str) -> Iterator[Program]:
    """Build a version of an example with its tensors on the accelerator, counted or real, and run it once."""
    # The versions before and after a fix run alike, or their counts could not be compared.
    placed = bool(_PLACES.search(source + example.source + example.setup + example.workload))
    with _default_device(not placed):
        inputs = ordinary(example)
        given = inputs if placed else {name: _moved(value) for name, value in inputs.items()}
        program = build(example, source, _DEVICE, given)
        program()
        yield program


def _counts(ledger: Ledger) -> Counts:
    events = ledger.totals()
    return Counts(events.waits, events.launches, events.copies, events.bytes)


def _moved(value: object) -> object:
    return value.to(_DEVICE) if isinstance(value, torch.Tensor) else value


@contextmanager
def _default_device(wanted: bool) -> Iterator[None]:
    """Within the context torch makes tensors on the accelerator where nothing else is said."""
    if not wanted:
        yield
        return
    torch.set_default_device(_DEVICE)
    try:
        yield
    finally:
        torch.set_default_device(None)
