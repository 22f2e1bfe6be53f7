"""On which side a tensor lies: a mark on its storage, which views and detached tensors share."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

import torch

from torchlint.device.events import Events

_MARK = "_torchlint_place"


class Place(enum.Enum):
    """A side of the bus.

    ``UNDECIDED`` is a tensor that an operator of torch made for itself, before it met a tensor that was placed: it
    moves to the side of the first one that it meets.
    """

    HOST = "cpu"
    PINNED = "cpu, pinned"
    DEVICE = "cuda"
    UNDECIDED = "undecided"


class Pending:
    """The mark of an undecided tensor: the events that count once it turns out to lie on the device."""

    __slots__ = ("events", "line")

    def __init__(self, events: Events, line: object) -> None:
        """Keep events and the line that they belong to."""
        self.events = events
        self.line = line


def mark_of(tensor: torch.Tensor) -> Place | Pending:
    """Return the mark of a tensor's storage; tensors without one lie on the host."""
    mark = getattr(tensor.untyped_storage(), _MARK, None)
    return Place.HOST if mark is None else mark


def place_of(tensor: torch.Tensor) -> Place:
    """Return the side on which a tensor lies."""
    mark = mark_of(tensor)
    return mark if isinstance(mark, Place) else Place.UNDECIDED


def on_device(tensor: torch.Tensor) -> bool:
    """Return whether a tensor lies on the device."""
    return getattr(tensor.untyped_storage(), _MARK, None) is Place.DEVICE


def put(tensor: torch.Tensor, mark: Place | Pending) -> None:
    """Mark the storage of a tensor."""
    setattr(tensor.untyped_storage(), _MARK, mark)


def put_storage(storage: torch.UntypedStorage, place: Place) -> None:
    """Mark a storage."""
    setattr(storage, _MARK, place)


def storage_on_device(storage: torch.UntypedStorage) -> bool:
    """Return whether a storage lies on the device."""
    return getattr(storage, _MARK, None) is Place.DEVICE


def tensors_in(values: Iterable[object]) -> Iterator[torch.Tensor]:
    """Yield the tensors in arguments or results of an operator, also those in lists."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)
