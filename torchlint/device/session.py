"""Put the counted device up in this process, and take it down again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from torchlint.device.composites import patch_composites
from torchlint.device.cuda import patch_cuda
from torchlint.device.dispatch import CountingMode
from torchlint.device.factories import patch_factories
from torchlint.device.ledger import Ledger
from torchlint.device.legacy import patch_legacy
from torchlint.device.patches import Patches
from torchlint.device.sharing import patch_sharing
from torchlint.device.tensors import patch_tensors


@contextmanager
def counted_device(ledger: Ledger) -> Iterator[Ledger]:
    """Provide programs in this process with a counted CUDA device, and yield the ledger of its events."""
    import_module("torch._dynamo")  # its tables hold functions of torch as they are when it is imported
    patches = Patches()
    state = threading.local()
    counting = CountingMode(ledger, state)
    patch_tensors(patches, counting)
    patch_factories(patches, counting)
    patch_composites(patches, counting)
    patch_cuda(patches, counting)
    patch_sharing(patches, counting)
    patch_legacy(patches, counting)
    patches.set(threading.Thread, "start", _counted_threads(threading.Thread.start, ledger, state))
    try:
        with counting:
            yield ledger
    finally:
        patches.undo()


def _counted_threads(start: Any, ledger: Ledger, state: threading.local) -> Any:
    """Return ``Thread.start``: dispatch modes hold for one thread, so each new one enters its own."""

    def counted_start(self: threading.Thread) -> None:
        run = self.run

        def counted_run() -> None:
            with CountingMode(ledger, state):
                run()

        self.run = counted_run  # type: ignore[method-assign]
        start(self)

    return counted_start
