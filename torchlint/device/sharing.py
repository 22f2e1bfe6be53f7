"""Tensors that go to other processes keep their side; what shares them on the CPU costs the device nothing."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch

from torchlint.device.dispatch import CountingMode
from torchlint.device.patches import Patches
from torchlint.device.place import Place, put_storage, storage_on_device


def patch_sharing(patches: Patches, counting: CountingMode) -> None:
    """Replace how storages are shared with other processes and sent to them."""
    storage: Any = torch.UntypedStorage
    for name in ("_share_fd_cpu_", "_share_filename_cpu_"):
        patches.set(storage, name, _uncounted(getattr(storage, name), counting))
    reducers = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    if storage in reducers:  # torch.multiprocessing is there
        patches.put(reducers, storage, _with_side(reducers[storage]))


def _uncounted(share: Any, counting: CountingMode) -> Any:
    """Return a method that copies a storage into shared memory; on CUDA memory is shared as it is."""

    def shared(self: Any, *args: Any) -> Any:
        with counting.ledger.paused():
            return share(self, *args)

    return shared


def _with_side(reduce: Any) -> Any:
    """Return how a storage is sent, with its side."""

    def reduced(storage: Any) -> Any:
        make, args = reduce(storage)
        return (received, (make, args)) if storage_on_device(storage) else (make, args)

    return reduced


def received(make: Any, args: Any) -> Any:
    """Return a storage that another process sent, on the device."""
    storage = make(*args)
    put_storage(storage, Place.DEVICE)
    return storage
