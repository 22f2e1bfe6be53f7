"""What a program calls a device, and which side that is."""

from __future__ import annotations

import torch

from torchlint.device.place import Place

DEVICE = torch.device("cuda", 0)
HOST = torch.device("cpu")


def side(device: object) -> Place | None:
    """Return the side that a device argument names; ``None`` where it names none, or a device that is not counted.

    Raises:
        RuntimeError: it names a second accelerator; there is one.
    """
    if device is None or isinstance(device, bool):
        return None
    if isinstance(device, int):
        named = torch.device("cuda", device)
    elif isinstance(device, (str, torch.device)):
        named = torch.device(device)
    else:
        return None
    if named.type == "cuda":
        if named.index not in (None, 0):
            raise RuntimeError(f"CUDA error: invalid device ordinal ({named}); the counted device is cuda:0 alone")
        return Place.DEVICE
    return Place.HOST if named.type == "cpu" else None


def as_cpu(device: object) -> object:
    """Return the device to compute on in place of the one named."""
    return HOST if side(device) is Place.DEVICE else device
