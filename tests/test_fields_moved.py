"""The functions that the fixes of TL704 add give the tensors that copies one by one give, whatever they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torchlint.rules.tl7_rollout._fields_moved import COPYING_HELPER, HELPER  # noqa: E402

from torchlint.device.ledger import Ledger  # noqa: E402
from torchlint.device.session import counted_device  # noqa: E402

pytestmark = pytest.mark.torch
# The host under a name that the functions take for a device of its own.
_OTHER = "cpu:0"


def _moving(helper: str) -> Callable[[Sequence[object], object], list]:
    namespace: dict[str, object] = {"torch": torch}
    exec(compile(helper.format(torch="torch"), __file__, "exec"), namespace)
    return namespace["moved_together"]


def _bytes(tensor) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())


@pytest.mark.parametrize("helper", [HELPER, COPYING_HELPER], ids=("views", "copies"))
def test_tensors_of_all_dtypes_and_shapes_arrive_as_they_were(helper: str) -> None:
    """Widths of one to sixteen bytes, no dimension, no element, NaN and signed zeros, in any order."""
    moved_together = _moving(helper)
    tensors = [
        torch.tensor([True, False, True]),
        torch.tensor([[1.5, float("nan")], [-0.0, float("inf")]]),
        torch.tensor([], dtype=torch.float64),
        torch.tensor(7, dtype=torch.uint8),
        torch.tensor([[2**62, -1]]),
        torch.tensor([1 + 2j, float("nan") - 1j], dtype=torch.complex128),
        torch.tensor([1.0, 65504.0], dtype=torch.float16),
        torch.zeros(0, 3),
        torch.tensor([[-1.0], [2.0]], dtype=torch.float64).expand(2, 3),
        torch.tensor([-3, 4], dtype=torch.int16),
        torch.tensor([0.1], dtype=torch.bfloat16),
    ]
    for order in (tensors, tensors[::-1], tensors[:1], []):
        found = moved_together(order, _OTHER)
        assert len(found) == len(order)
        for after, before in zip(found, order, strict=True):
            assert (after.dtype, after.shape, after.device.type) == (before.dtype, before.shape, before.device.type)
            assert _bytes(before) == _bytes(after)


@pytest.mark.parametrize(("helper", "launches"), [(HELPER, 0), (COPYING_HELPER, 4)], ids=("views", "copies"))
def test_fields_come_by_one_copy(helper: str, launches: int) -> None:
    """Four fields of three dtypes are one copy and one wait on the counted device."""
    fields = [torch.ones(64, 3), torch.arange(64), torch.ones(64), torch.ones(64) > 0]
    with counted_device(Ledger([Path(__file__).resolve().parent])) as counting:
        moved = _moving(helper)(fields, "cuda")
        events = counting.totals()
        shapes = [(part.shape, part.dtype, part.device.type) for part in moved]
    assert (events.waits, events.copies, events.launches) == (1, 1, launches)
    assert shapes == [(part.shape, part.dtype, "cuda") for part in fields]


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_nothing_is_copied_to_the_host(device: object) -> None:
    """Tensors that stay on the host are given back as they are."""
    fields = [torch.ones(64, 3), torch.arange(64)]
    for helper in (HELPER, COPYING_HELPER):
        moved = _moving(helper)(fields, device)
        assert all(one is other for one, other in zip(moved, fields, strict=True))


def test_copies_share_no_memory() -> None:
    """A change in place of one field leaves the others, autograd knows of no view, and no block is held."""
    fields = [torch.ones(64, 3), torch.arange(64), torch.ones(0)]
    moved = _moving(COPYING_HELPER)(fields, _OTHER)
    assert not any(part._is_view() for part in moved)
    held = [part.untyped_storage().nbytes() for part in moved]
    assert held == [part.numel() * part.element_size() for part in fields]
    assert len({part.untyped_storage().data_ptr() for part in moved[:2]}) == 2


def test_copies_keep_the_order_of_their_axes() -> None:
    """A move keeps the strides of a transposed array, and so does the copy."""
    fields = [torch.arange(12.0).reshape(3, 4).T, torch.ones(2, 3, 4).permute(2, 0, 1)]
    moved = _moving(COPYING_HELPER)(fields, _OTHER)
    assert [part.stride() for part in moved] == [part.stride() for part in fields]
    assert all(torch.equal(one, other) for one, other in zip(moved, fields, strict=True))
