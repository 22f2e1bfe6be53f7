"""Results of the benchmark suite made up for tests."""

from __future__ import annotations

import dataclasses
from typing import Any

from torchlint.bench.result import ExampleStatus, Figure, Machine, ResultRow, Results

FIGURE = Figure(ratio=2.5, low=2.25, high=3.0, saves_us=15.0, before_us=25.0, after_us=10.0, control=1.01)
NOISE = Figure(ratio=1.02, low=0.98, high=1.06, saves_us=0.5, before_us=25.5, after_us=25.0, control=0.99)
WILD = Figure(ratio=1.5, low=0.5, high=3.0, saves_us=5.0, before_us=15.0, after_us=10.0, control=1.21)
MACHINE = Machine("cpu", "Some Processor", 1, "3.11.7", "2.13.0+cpu", "2.4.6")


def row(code: str = "TL101", example: str = "first", **more: Any) -> ResultRow:
    """A row that was measured, unless told otherwise."""
    measured = ResultRow(
        code=code,
        name="some-smell",
        example=example,
        size=f"{example}, x 4",
        device="cpu",
        by_hand=False,
        status=ExampleStatus.MEASURED,
        inputs=16,
        figure=FIGURE,
        rounds=21,
    )
    return dataclasses.replace(measured, **more)


def results(*rows: ResultRow, **more: Any) -> Results:
    """A run on a made-up machine."""
    return Results(**{"machine": MACHINE, "rows": rows, "version": "0.1.0", **more})
