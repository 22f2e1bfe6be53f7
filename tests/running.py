"""Running examples: their inputs as test data, their files in one namespace, and what two runs have in common."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest

from torchlint.rule import Example, Input, Kind


def values_of(given: Input) -> Any:
    """Test data of the stated kind, dtype and shape, the same for the same input."""
    import numpy as np
    import torch

    random = np.random.default_rng(0)
    if given.dtype == "bool":
        array = random.random(given.shape) < 0.5
    elif given.dtype.startswith(("int", "uint")):
        array = random.integers(0, 100, given.shape).astype(given.dtype)
    else:
        array = random.standard_normal(given.shape).astype(given.dtype)
    match given.kind:
        case Kind.NDARRAY:
            return array
        case Kind.TENSOR:
            return torch.from_numpy(array)
        case Kind.LIST | Kind.NUMBER:
            return array.tolist()
    raise ValueError(f"no test data of kind {given.kind.value}")


def run(
    texts: Mapping[str, str],
    example: Example,
    setup: str | None = None,
    workload: str | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Any:
    """The value of an example's workload with one version of its files, which share a namespace.

    ``setup`` and ``workload`` stand for the example's own, ``renamed`` tells other names of its inputs.
    """
    import numpy as np
    import torch

    from torchlint.bench.program import left_as_it_was

    torch.manual_seed(0)
    np.random.seed(0)
    names: dict[str, Any] = {"__name__": "example", "torch": torch, "np": np, "device": "cpu"}
    for name, text in texts.items():
        exec(compile(text, name, "exec"), names)
        module = ModuleType(name)
        vars(module).update(names)
        sys.modules[name.removesuffix(".py")] = module
    for name in texts:
        del sys.modules[name.removesuffix(".py")]
    names.update(((renamed or {}).get(given.name, given.name), values_of(given)) for given in example.inputs)
    with left_as_it_was():
        exec(compile(example.setup if setup is None else setup, "setup", "exec"), names)
        return eval(compile(example.workload if workload is None else workload, "workload", "eval"), names)


def assert_same(ours: Any, theirs: Any, exact: bool) -> None:
    """Compare results: tensors with dtype, device and what autograd knows, containers item by item."""
    import numpy as np
    import torch

    assert type(ours) is type(theirs)
    if isinstance(ours, torch.Tensor):
        assert (ours.shape, ours.dtype, ours.device) == (theirs.shape, theirs.dtype, theirs.device)
        assert (ours.requires_grad, ours.is_inference()) == (theirs.requires_grad, theirs.is_inference())
        tolerance = {"rtol": 0.0, "atol": 0.0} if exact else {}
        torch.testing.assert_close(ours, theirs, equal_nan=True, **tolerance)
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs) if exact else np.testing.assert_allclose(ours, theirs)
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key, value in ours.items():
            assert_same(value, theirs[key], exact)
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, exact)
    elif isinstance(ours, float) and not exact:
        assert ours == pytest.approx(theirs)
    else:
        assert ours == theirs
