"""Questions about what the lists of objects and datasets hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.engine.place import Place

if TYPE_CHECKING:
    pass


class Holdings(Place):
    """Questions about what only grows, what batches are drawn from, and what lies in memory."""

    __slots__ = ()
