"""What is known of one file before it is parsed."""

from __future__ import annotations

from torchlint.late import dataclass


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What is known of a file from its bytes alone.

    Attributes:
        stamp: what the file system said of it before it was read. digest: of its bytes.
        spoken: the words of the gate that it holds. words: what it may import, as the gate reads it.
        links: what it imports; ``None``: it was never parsed.
        broken: why it has no facts: the message, row and column, and whether it is only too large.
        sound: whether Python can read it; ``None``: that was never asked.
    """

    stamp: str
    digest: str
    spoken: tuple[str, ...]
    words: tuple[str, ...]
    links: tuple[str, ...] | None = None
    broken: tuple[str, int, int, bool] | None = None
    sound: bool | None = None
