"""The counted device against what CUDA is documented or published to do, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from device_table import BASES, PAGE, Row, rows, with_table

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from torchlint.device.events import Events  # noqa: E402
from torchlint.device.ledger import Ledger  # noqa: E402
from torchlint.device.session import counted_device  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.once]

ROWS = rows()


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    """One device for all rows, as a program has: what a row leaves behind changes no row after it."""
    with counted_device(Ledger()) as counting:
        yield counting


def names() -> dict[str, Any]:
    """What the code of a row may use: tensors of the device, of the host and in pinned memory, and a network."""
    torch.manual_seed(0)
    x, host = torch.randn(8, 4, device="cuda"), torch.randn(8, 4)
    return {
        "torch": torch,
        "nn": nn,
        "F": F,
        "np": np,
        "x": x,
        "y": torch.randn(8, 4, device="cuda"),
        "v": torch.randn(4, device="cuda"),
        "i": torch.arange(4, device="cuda"),
        "one": torch.ones((), device="cuda"),
        "mask": x > 0,
        "host": host,
        "pinned": host.pin_memory(),
        "net": nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to("cuda"),
        "autocast": under_autocast,
    }


def under_autocast(program: Callable[[], object]) -> object:
    """Run a function in mixed precision."""
    with torch.autocast("cuda"):
        return program()


def counts(events: Events) -> tuple[int, int, int, int]:
    return events.launches, events.waits, events.copies_in, events.copies_out


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.group}: {row.idiom}")
def test_a_row(row: Row, ledger: Ledger) -> None:
    given = names()
    exec(row.setup, given)
    ledger.lines.clear()
    exec(row.code, given)
    assert counts(ledger.totals()) == row.counts


def test_the_table_is_large_and_every_row_has_a_source() -> None:
    assert len(ROWS) >= 120
    assert len({(row.group, row.idiom) for row in ROWS}) == len(ROWS)
    assert all(row.source and row.basis in BASES for row in ROWS)


def test_the_page_shows_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page
