"""What the settings of Ruff in a project do to comments of ours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from torchlint.settings.check import SettingsError
from torchlint.settings.toml import read_toml

# In one folder the first that holds settings counts.
_NAMES = (".ruff.toml", "ruff.toml", "pyproject.toml")
# Rules that take codes which they do not know out of a noqa: those of unused and of invalid ones.
_REMOVING = ("RUF100", "RUF102")
_CHOOSING = ("select", "extend-select")
_MOST_PARENTS = 10


def removes_code(file: Path, code: str) -> bool:
    """Return whether Ruff, as it is set up for a file, takes a code of ours out of a ``noqa``."""
    tables = list(_tables(file))
    chosen = _words(tables, "select") | _every(tables, "extend-select")
    dropped = _every(tables, "ignore") | _every(tables, "extend-ignore")
    external = _words(tables, "external")
    if any(code.startswith(prefix) for prefix in external if prefix):
        return False
    return any(_reach(rule, chosen) > _reach(rule, dropped) for rule in _REMOVING)


def _reach(rule: str, selectors: frozenset[str]) -> int:
    """How closely the closest of some selectors names a rule; -1: none does."""
    return max(
        (0 if word == "ALL" else len(word) for word in selectors if word == "ALL" or rule.startswith(word)), default=-1
    )


def _words(tables: list[Mapping[str, object]], key: str) -> frozenset[str]:
    """The words under a key of the closest table that has it."""
    return next((_strings(table[key]) for table in tables if key in table), frozenset())


def _every(tables: list[Mapping[str, object]], key: str) -> frozenset[str]:
    """The words under a key in any of the tables."""
    return frozenset().union(*(_strings(table[key]) for table in tables if key in table))


def _strings(value: object) -> frozenset[str]:
    return (
        frozenset(word for word in value if isinstance(word, str) and word) if isinstance(value, list) else frozenset()
    )


def _tables(file: Path) -> Iterator[Mapping[str, object]]:
    """The settings of Ruff for a file, and those that they extend."""
    path: Path | None = next(
        (found for folder in file.parents for name in _NAMES if _ruff(found := folder / name)), None
    )
    for _ in range(_MOST_PARENTS):
        table = _ruff(path) if path is not None else None
        if path is None or table is None:
            return
        lint = table.get("lint")
        if isinstance(lint, Mapping):
            yield lint
        yield table
        parent = table.get("extend")
        path = path.parent / os.path.expanduser(parent) if isinstance(parent, str) else None


def _ruff(path: Path) -> Mapping[str, object] | None:
    """The table of Ruff in a file of settings; ``None`` where there is none, or none that can be read."""
    if not os.path.isfile(path):
        return None
    try:
        found: object = read_toml(path.read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError, SettingsError):
        return None
    if path.name == "pyproject.toml":
        for name in ("tool", "ruff"):
            found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None
