"""The table of what breaks compiled graphs against the torch that is installed."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

import pytest

from torchlint.facts.compiling import breaks

TABLE = json.loads((Path(breaks.__file__).parent.parent / "tables" / "compile.json").read_text(encoding="utf-8"))
PROGRAM = """
import logging, math, time
import numpy as np
import torch

LOGGER = logging.getLogger("compiled")

def traced(x):
    y = x + 1
    {statement}
    return y * 2
"""


def broken(folder: Path, statement: str, number: int) -> bool:
    """Whether tracing a function with this statement in it breaks the graph."""
    import torch

    path = folder / f"program_{number}.py"
    path.write_text(PROGRAM.format(statement=statement), encoding="utf-8")
    names: dict[str, object] = {"__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    torch._dynamo.reset()
    explained = torch._dynamo.explain(names["traced"])(torch.ones(3, 4))
    return bool(explained.break_reasons)


def cases(part: str) -> list[tuple[int, dict[str, object]]]:
    import torch

    version = ".".join(torch.__version__.split(".")[:2])
    return [(number, row) for number, row in enumerate(TABLE[part]) if version in row["torch"]]


@pytest.mark.third
@pytest.mark.torch
def test_what_breaks_graphs(tmp_path: Path) -> None:
    whole = [(row["sample"], broken(tmp_path, f"z = {row['sample']}", n)) for n, row in cases("breaks")]
    assert [sample for sample, breaks_it in whole if not breaks_it] == []


@pytest.mark.torch
def test_which_tests_of_tensors_break_graphs(tmp_path: Path) -> None:
    found = {row["sample"]: broken(tmp_path, str(row["sample"]), n) for n, row in cases("tests")}
    assert found == {row["sample"]: row["breaks"] for _, row in cases("tests")}


@pytest.mark.torch
def test_what_is_traced(tmp_path: Path) -> None:
    whole = [(row["sample"], broken(tmp_path, f"z = {row['sample']}", n)) for n, row in cases("traced")]
    assert [sample for sample, breaks_it in whole if breaks_it] == []


ATTRIBUTE = """
import torch

class Held({base}):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        return x * (self.step + 1)
"""


@pytest.mark.torch
@pytest.mark.parametrize(
    ("base", "kind", "most"), [("torch.nn.Module", int, 8), ("torch.nn.Module", float, 2), ("object", int, 2)]
)
def test_how_often_a_changing_attribute_is_compiled(tmp_path: Path, base: str, kind: type, most: int) -> None:
    """Integers of modules are compiled for each value, up to the limit of 8 graphs; others become symbols."""
    import torch
    from torch._dynamo.testing import CompileCounter

    names: dict[str, object] = {"__name__": "held"}
    exec(ATTRIBUTE.format(base=base), names)
    held = names["Held"]()
    counter = CompileCounter()
    torch._dynamo.reset()
    compiled = torch.compile(held.forward, backend=counter)
    for value in range(13):
        held.step = kind(value)
        compiled(torch.ones(3))
    assert counter.frame_count == most


def test_every_name_exists() -> None:
    modules = {
        "builtins": __builtins__,
        "math": vars(math),
        "time": vars(time),
        "logging": vars(sys.modules["logging"]),
    }
    names = [row["name"].split(".") for row in TABLE["breaks"] if row["how"] in ("argument", "call")]
    assert [name for module, name in names if name not in modules[module]] == []
