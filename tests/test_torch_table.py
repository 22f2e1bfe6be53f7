"""The table of facts about torch against the torch that is installed."""

from __future__ import annotations

import importlib
import json
from functools import reduce
from pathlib import Path

import pytest

from torchlint.facts import torch_table

TABLE = json.loads((Path(torch_table.__file__).parent / "tables" / "torch.json").read_text(encoding="utf-8"))
# Knobs of older versions that the newest one lacks.
GONE = {"torch.backends.cudnn": {"verbose"}}
# Modules that torch imports only when they are asked for.
LAZY = {"torch.backends": {"xnnpack", "miopen"}}


def found(name: str) -> object:
    """The object of a qualified name; modules that torch does not import itself are imported."""
    try:
        return importlib.import_module(name)
    except ImportError:
        first, *rest = name.split(".")
        return reduce(getattr, rest, importlib.import_module(first))


@pytest.mark.torch
@pytest.mark.parametrize("module", sorted(TABLE["backends"]))
def test_every_knob_of_the_installed_torch_is_known(module: str) -> None:
    if module.endswith("plan_cache"):
        pytest.skip("asks the device for each attribute")
    thing = found(module)
    names = {name for name in (*dir(thing), *dir(type(thing))) if not name.startswith("_")}
    listed = set(TABLE["backends"][module])
    assert names <= listed
    missing = {name for name in listed - names if not hasattr(thing, name)} - LAZY.get(module, set())
    assert missing == GONE.get(module, set())


@pytest.mark.torch
@pytest.mark.parametrize("name", TABLE["starting_cuda"])
def test_what_starts_cuda_exists(name: str) -> None:
    assert callable(found(name))


@pytest.mark.torch
def test_the_table_covers_the_installed_version() -> None:
    import torch

    oldest, newest = ([int(part) for part in version.split(".")] for version in TABLE["versions"])
    assert oldest <= [int(part) for part in torch.__version__.split(".")[:2]] <= newest


def test_attributes_are_known_by_their_qualified_names() -> None:
    assert torch_table.backend_has("torch.backends.cudnn.benchmark")
    assert torch_table.backend_has("torch.backends.cuda.max_split_size_mb") is False
    assert torch_table.backend_has("torch.backends.unheard_of.speed") is None
    assert "torch" in torch_table.loading()
