"""Numbers of events of an accelerator in words."""

from __future__ import annotations

_PLURALS = {"copy": "copies", "launch": "launches"}


def events(number: int, noun: str) -> str:
    """Return ``1 sync``, ``1,340 syncs``, ``2 launches``, ``3 copies``."""
    return f"{number:,} {noun if number == 1 else _PLURALS.get(noun, f'{noun}s')}"
