"""The table of facts about torch against the torch that is installed."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from functools import reduce
from pathlib import Path

import pytest

from torchlint.facts.values import torch_table

TABLE = json.loads((Path(torch_table.__file__).parent.parent / "tables" / "torch.json").read_text(encoding="utf-8"))
# Knobs of older versions that the newest one lacks.
GONE = {"torch.backends.cudnn": {"verbose"}}


# Run in a process of its own: the examples of rules set knobs that do not exist.
NAMES = """
import importlib, json, sys
from functools import reduce
import torch, torch.backends.miopen, torch.backends.xnnpack
for name, listed in json.load(sys.stdin).items():
    thing = reduce(getattr, name.split(".")[1:], torch)
    names = {part for part in [*dir(thing), *dir(type(thing))] if part[0] != "_"}
    print(json.dumps([name, sorted(names | {part for part in listed if hasattr(thing, part)})]))
"""


def found(name: str) -> object:
    """The object of a qualified name."""
    first, *rest = name.split(".")
    return reduce(getattr, rest, importlib.import_module(first))


@pytest.fixture(scope="module")
def installed() -> Mapping[str, list[str]]:
    """The attributes of each backend of the installed torch, but of one that asks the device for each."""
    asked = json.dumps({name: listed for name, listed in TABLE["backends"].items() if not name.endswith("plan_cache")})
    done = subprocess.run([sys.executable, "-c", NAMES], input=asked, capture_output=True, text=True, check=True)
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.third
@pytest.mark.torch
def test_the_knobs_of_the_installed_torch_are_known(installed: Mapping[str, list[str]]) -> None:
    for module, names in installed.items():
        listed = set(TABLE["backends"][module])
        assert set(names) <= listed
        assert listed.difference(names) == GONE.get(module, set())


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


@pytest.mark.third
@pytest.mark.torch
def test_the_methods_of_the_installed_torch_are_known() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import torch_methods, json; print(json.dumps(torch_methods.methods()))"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    installed = json.loads(done.stdout)
    assert len(installed) > 500
    for name, taken in installed.items():
        assert torch_table.is_method(name), f"python tests/torch_methods.py adds {name}"
        call = ast.parse(f"x.{name}({', '.join('0' * (taken[0] if taken is not None else 9))})", mode="eval").body
        assert isinstance(call, ast.Call)
        assert torch_table.may_call(name, call)


def test_what_a_method_of_torch_cannot_be_given_is_no_call_of_it() -> None:
    for text, expected in {
        "x.train()": True,
        "x.train(mode=False)": True,
        "x.train(*modes)": True,
        "x.train(batch, 3)": False,
        "x.sample(batch_size=3)": False,
        "x.select_action(obs)": False,
        "x.sort(1, 2, 3, 4)": True,
    }.items():
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        assert torch_table.may_call(call.func.attr, call) is expected, text
