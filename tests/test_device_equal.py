"""A program ends with the same bits on the counted device as on the CPU: parameters, losses, random states."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from equal_programs import PROGRAMS, Program, flat, run  # noqa: E402
from torch import nn  # noqa: E402

from torchlint.device.ledger import Ledger  # noqa: E402
from torchlint.device.session import counted_device  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.once]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_ends_with_the_same_bits(program: Program) -> None:
    expected = run(program, "cpu")
    with counted_device(Ledger()) as ledger:
        found = run(program, "cuda")
    events = ledger.totals()
    assert events.launches > 10
    assert len(found) == len(expected)
    assert [place for place, (one, other) in enumerate(zip(expected, found, strict=True)) if one != other] == []


OPTIMIZERS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "SGD": (torch.optim.SGD, {}),
    "SGD with momentum": (torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.1, "dampening": 0.1}),
    "SGD with Nesterov's momentum": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "Adam": (torch.optim.Adam, {"weight_decay": 0.1, "amsgrad": True}),
    "AdamW": (torch.optim.AdamW, {"maximize": True}),
    "Adagrad": (torch.optim.Adagrad, {}),
    "Adadelta": (torch.optim.Adadelta, {}),
    "Adamax": (torch.optim.Adamax, {}),
    "RMSprop": (torch.optim.RMSprop, {"centered": True, "momentum": 0.9}),
    "Rprop": (torch.optim.Rprop, {}),
    "NAdam": (torch.optim.NAdam, {}),
    "RAdam": (torch.optim.RAdam, {}),
    "ASGD": (torch.optim.ASGD, {}),
}
OVER_LISTS = {"NAdam", "RAdam", "ASGD"}
"""Optimizers that round otherwise where they work on lists of tensors, which is their default on CUDA alone."""


def optimized(device: str, name: str, **options: bool) -> list[tuple[object, ...]]:
    """Train a network for some steps; its parameters as bits."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
    make, given = OPTIMIZERS[name]
    optimizer = make(net.parameters(), lr=1e-2, **given, **options)
    for _ in range(12):
        loss = net(torch.randn(5, 4).to(device)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return list(flat([parameter.detach() for parameter in net.parameters()]))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_takes_the_way_of_cuda(name: str) -> None:
    """CUDA's default works on lists; asked for the same way, the CPU ends with the same bits."""
    default, lists, loop = (optimized("cpu", name, **way) for way in ({}, {"foreach": True}, {"foreach": False}))
    with counted_device(Ledger()):
        assert optimized("cuda", name) == lists
        assert optimized("cuda", name, foreach=False) == loop
    assert default == loop
    assert (default != lists) == (name in OVER_LISTS)


def test_bits_are_told_apart() -> None:
    one, other = torch.zeros(2), torch.tensor([0.0, -0.0])
    assert torch.equal(one, other)
    assert list(flat(one)) != list(flat(other))
    assert list(flat(one)) != list(flat(one.double()))
    assert list(flat(one)) != list(flat(one.view(2, 1)))
    assert list(flat(torch.tensor(float("nan")))) == list(flat(torch.tensor(float("nan"))))
