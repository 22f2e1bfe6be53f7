"""Replace attributes of modules and classes, and values of dictionaries, for a while, and put back what was there."""

from __future__ import annotations

from typing import Any

_ABSENT = object()


class Patches:
    """Replacements, undone in the reverse order."""

    def __init__(self) -> None:
        """Start with none."""
        self._undo: list[tuple[Any, str, object]] = []
        self._entries: list[tuple[dict[Any, Any], object, object]] = []

    def set(self, owner: Any, name: str, value: object) -> None:
        """Replace an attribute; one that the owner only inherits is covered, not changed."""
        self._undo.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def put(self, entries: dict[Any, Any], key: object, value: object) -> None:
        """Replace a value of a dictionary."""
        self._entries.append((entries, key, entries[key]))
        entries[key] = value

    def undo(self) -> None:
        """Restore everything that was replaced."""
        while self._entries:
            entries, key, value = self._entries.pop()
            entries[key] = value
        while self._undo:
            owner, name, before = self._undo.pop()
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
