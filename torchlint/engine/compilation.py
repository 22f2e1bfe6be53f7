"""What a site knows of ``torch.compile``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.engine.place import Place

if TYPE_CHECKING:
    pass


class Compilation(Place):
    """Questions about what the project compiles."""

    __slots__ = ()
