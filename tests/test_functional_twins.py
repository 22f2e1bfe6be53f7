"""The table of modules and their functions agrees with the installed torch."""

from __future__ import annotations

import importlib
import inspect
import json
from itertools import product
from typing import Any

import pytest
from conftest import ROOT

pytestmark = pytest.mark.torch

TABLE = json.loads((ROOT / "rules/tl4_allocation/functional_twins.json").read_text(encoding="utf-8"))
NEEDED: dict[str, dict[str, Any]] = {
    "Softmax": {"dim": 1},
    "LogSoftmax": {"dim": 1},
    "Softmin": {"dim": 1},
    "Threshold": {"threshold": 0.1, "value": -1.0},
    "ZeroPad2d": {"padding": (0, 1, 2, 0)},
    "ConstantPad1d": {"padding": (0, 1), "value": 0.5},
    "ConstantPad2d": {"padding": (0, 1, 2, 0), "value": 0.5},
    **{f"{pool}Pool{axes}d": {"kernel_size": 2} for pool in ("Max", "Avg") for axes in (1, 2, 3)},
}


def resolve(name: str) -> Any:
    """What a qualified name stands for."""
    module, _, member = name.rpartition(".")
    return getattr(importlib.import_module(module), member)


def inputs_of(name: str, count: int) -> list[Any]:
    """Tensors that a module accepts."""
    import torch

    torch.manual_seed(1)
    rows = [torch.rand(4, 6) * 0.8 + 0.1 for _ in range(count)]
    classes = torch.randint(0, 6, (4,))
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0])
    match name:
        case "NLLLoss" | "CrossEntropyLoss":
            return [rows[0], classes]
        case "MultiLabelMarginLoss":
            return [rows[0], torch.randint(0, 6, (4, 6))]
        case "CosineEmbeddingLoss":
            return [rows[0], rows[1], signs]
        case "MarginRankingLoss":
            return [rows[0][:, 0], rows[1][:, 0], signs]
        case "Dropout1d" | "Dropout2d" | "FeatureAlphaDropout":
            return [torch.rand(2, 3, 4, 4)[:, :, 0] if name == "Dropout1d" else torch.rand(2, 3, 4, 4)]
        case "Dropout3d":
            return [torch.rand(2, 3, 4, 4, 4)]
        case "MaxPool1d" | "MaxPool2d" | "MaxPool3d" | "AvgPool1d" | "AvgPool2d" | "AvgPool3d":
            return [torch.rand(2, 3, *[4] * int(name[-2]))]
    return rows


def settings_of(name: str) -> dict[str, inspect.Parameter]:
    """The parameters of a module's constructor."""
    parameters = inspect.signature(resolve(name).__init__).parameters
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {word: given for word, given in parameters.items() if word != "self" and given.kind in named}


@pytest.mark.parametrize("name", TABLE["modules"])
def test_the_constructor_has_these_parameters_in_this_order(name: str) -> None:
    assert list(settings_of(name)) == list(TABLE["modules"][name]["settings"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("explicit", [False, True], ids=["defaults", "all settings"])
@pytest.mark.parametrize("name", TABLE["modules"])
def test_the_function_does_what_the_module_does(name: str, explicit: bool) -> None:
    """With what the constructor is given by default, both left out and written as keywords."""
    import torch

    row, short = TABLE["modules"][name], name.rpartition(".")[2]
    given = dict(NEEDED.get(short, {}))
    if explicit:
        defaults = {word: each.default for word, each in settings_of(name).items()}
        given = {word: value for word, value in {**defaults, **given}.items() if row["settings"][word]}
    keywords = {row["settings"][word]: value for word, value in given.items()}
    always = {word: eval(text) for word, text in row.get("always", {}).items()}
    inputs = inputs_of(short, row["inputs"])
    torch.manual_seed(0)
    expected = resolve(name)(**given)(*(tensor.clone() for tensor in inputs))
    torch.manual_seed(0)
    found = resolve(row["function"])(*(tensor.clone() for tensor in inputs), **{**always, **keywords})
    torch.testing.assert_close(found, expected, rtol=0.0, atol=0.0, equal_nan=True)


@pytest.mark.parametrize("name", TABLE["modules"])
def test_the_module_holds_no_tensors_unless_a_listed_parameter_makes_it(name: str) -> None:
    row, short = TABLE["modules"][name], name.rpartition(".")[2]
    module = resolve(name)(**NEEDED.get(short, {}))
    assert list(module.parameters()) == []
    assert {key for key, value in module.named_buffers() if value is not None} == set()
    assert set(module._buffers) <= set(row.get("buffers", ()))


def accepts(name: str, given: dict[str, Any]) -> bool:
    """Whether a constructor takes these settings."""
    try:
        resolve(name)(**given)
    except (AssertionError, TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("name", TABLE["modules"])
def test_the_constructor_takes_what_is_within_the_bounds_and_every_number_without(name: str) -> None:
    row, short = TABLE["modules"][name], name.rpartition(".")[2]
    needed, bounds = NEEDED.get(short, {}), row.get("bounds", {})
    corners = [
        [edge if edge is not None else wide for edge, wide in zip(pair, (-9, 9), strict=True)]
        for pair in bounds.values()
    ]
    for corner in product(*corners):
        assert accepts(name, {**needed, **dict(zip(bounds, corner, strict=True))}), corner
    numbers = [
        word for word, each in settings_of(name).items() if type(each.default) in (int, float) and word not in bounds
    ]
    refused = [word for word in numbers for number in (-2, 0, 0.5, 3) if not accepts(name, {**needed, word: number})]
    assert refused == []


def test_the_table_says_for_which_torch_it_holds() -> None:
    assert TABLE["torch"] == ">=2.0,<=2.13"


IN_PLACE = [name for name, twin in TABLE["modules"].items() if twin["settings"].get("inplace")]


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_module_works_in_place_where_its_function_does(name: str) -> None:
    """Some modules take ``inplace`` and never hand it on."""
    import torch

    short = name.rpartition(".")[2]
    module = resolve(name)(**NEEDED.get(short, {}), inplace=True)
    (given,) = inputs_of(short, 1)
    before = given.clone() - 0.5
    given = before.clone()
    torch.manual_seed(2)
    result = module(given)
    assert torch.equal(result, given)
    assert result.data_ptr() == given.data_ptr()
