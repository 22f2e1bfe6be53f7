"""Finding the settings that hold for a path, and merging them."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchlint.settings.check import SettingsError, WrongKeyError, check_keys
from torchlint.settings.model import Settings
from torchlint.settings.root import project_root
from torchlint.settings.toml import line_of, read_toml

# In one folder the first that holds settings counts.
_NAMES = (".torchlint.toml", "torchlint.toml", "pyproject.toml")
_SECTION = ("tool", "torchlint")
# What steers one run only: the command line gives it, no file does.
_RUN_ONLY = ("root", "diff", "output_file", "exit_zero", "exit_non_zero_on_fix")


@dataclass(frozen=True, slots=True)
class _File:
    """A settings file: its path, its text, and its table of ours with the names that lead to it."""

    path: Path
    text: str
    table: Mapping[str, object]
    section: tuple[str, ...]


def load_settings(
    start: Path, *, config: Path | str | None, isolated: bool, overrides: Mapping[str, object]
) -> Settings:
    """The settings for a file or folder: those of the closest settings file, of ``config`` and of the command line.

    Args:
        start: where the search begins; the project root is the one of this path.
        config: a settings file that takes the place of the search, or ``key = value`` settings on top of it.
        isolated: search nothing.
        overrides: fields of ``Settings`` by name, from the command line; ``None`` stands for not given.

    Raises:
        SettingsError: a file is missing or no TOML, or a key or value is wrong.
    """
    root = project_root(start)
    inline = isinstance(config, str) and "=" in config and not os.path.exists(config)
    layers: list[dict[str, object]] = []
    if config is not None and not inline:
        if isolated:
            raise SettingsError(f"an isolated run reads no settings file, but one is given: {config}")
        layers += _layers(_read_named(Path(config)), root, base=_base(root))
    elif not isolated:
        found = _closest(Path(os.path.abspath(start)))
        layers += _layers(found, root) if found else []
    if inline:
        layers.append(_relative_to(root, _base(root), _checked_flags("--config", read_toml(str(config), "--config"))))
    given = {name: value for name, value in overrides.items() if value is not None}
    run_only: dict[str, Any] = {name: given.pop(name) for name in _RUN_ONLY if name in given}
    flags = _checked_flags("command line", {name.replace("_", "-"): value for name, value in given.items()})
    layers.append(_relative_to(root, _base(root), flags))
    # check_keys gave every value the type of its field.
    fields: dict[str, Any] = {key.replace("-", "_"): value for key, value in _merged(layers).items()}
    return dataclasses.replace(Settings(root=root, isolated=isolated), **fields, **run_only)


def _closest(start: Path) -> _File | None:
    for folder in (start, *start.parents):
        for name in _NAMES:
            path = folder / name
            if os.path.isfile(path):
                found = _read(path)
                if found is not None:
                    return found
    return None


def _read(path: Path) -> _File | None:
    """A settings file, ``None`` for a ``pyproject.toml`` without a table of ours."""
    try:
        raw = path.read_bytes()
        shared = path.name == "pyproject.toml"
        # Most projects' files say nothing of torchlint; these are not parsed, and the parser is not loaded.
        if shared and b"torchlint" not in raw:
            return None
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8") from error
    document = read_toml(text, str(path))
    if not shared:
        return _File(path, text, document, ())
    tool = document.get("tool")
    if not isinstance(tool, dict) or "torchlint" not in tool:
        return None
    table = tool["torchlint"]
    if not isinstance(table, dict):
        raise SettingsError(f"{path}:{line_of(text, _SECTION)}: tool.torchlint is not a table")
    return _File(path, text, table, _SECTION)


def _read_named(path: Path) -> _File:
    """A settings file that somebody asked for by name: it must exist and hold settings."""
    if not os.path.isfile(path):
        raise SettingsError(f"{path}: no such file")
    found = _read(path)
    if found is None:
        raise SettingsError(f"{path}: there is no [tool.torchlint] in it")
    return found


def _base(root: Path) -> Path:
    """What path patterns of the command line are relative to: the working folder where it lies in the project."""
    here = Path.cwd()
    return here if root in here.parents else root


def _layers(file: _File, root: Path, base: Path | None = None) -> list[dict[str, object]]:
    """The checked tables of a file and of those it extends, the outermost first.

    Their path patterns are relative to ``base``, else to the folder of each file.
    """
    layers: list[dict[str, object]] = []
    seen = set()
    current: _File | None = file
    while current is not None:
        seen.add(current.path.resolve())
        table = _checked(current)
        parent = table.pop("extend", None)
        layers.insert(0, _relative_to(root, base or current.path.parent, table))
        if not isinstance(parent, str):
            break
        path = current.path.parent / Path(parent).expanduser()
        if path.resolve() in seen:
            raise SettingsError(f"{_place(current, ['extend'])}: {parent} extends this file in turn")
        if not os.path.isfile(path):
            raise SettingsError(f"{_place(current, ['extend'])}: there is no file {parent}")
        current = _read_named(path)
    return layers


def _checked(file: _File) -> dict[str, object]:
    try:
        return check_keys(file.table)
    except WrongKeyError as error:
        raise SettingsError(f"{_place(file, error.path)}: {error.message}") from None


def _place(file: _File, path: Iterable[str]) -> str:
    return f"{file.path}:{line_of(file.text, (*file.section, *path))}"


def _checked_flags(shown: str, given: Mapping[str, object]) -> dict[str, object]:
    """Settings of the command line, checked as those of a file are."""
    if "extend" in given:
        raise SettingsError(f"{shown}: extend belongs into a settings file")
    try:
        return check_keys(given)
    except WrongKeyError as error:
        raise SettingsError(f"{shown}: {error.message}") from None


def _merged(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One table of all layers, a later one winning.

    What extends adds up. So do ignored selectors, until a layer selects anew: then nothing that was selected or
    ignored before it counts. Tables of rules are merged by rule.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        if "select" in layer:
            merged.pop("extend-select", None)
            merged.pop("ignore", None)
        for key, value in layer.items():
            before = merged.get(key)
            if key in ("ignore", "extend-select", "extend-exclude") and before:
                merged[key] = (*before, *value)
            elif key == "rules" and before:
                merged[key] = {name: {**before.get(name, {}), **value.get(name, {})} for name in {**before, **value}}
            else:
                merged[key] = value
    return merged


def _relative_to(root: Path, folder: Path, table: dict[str, object]) -> dict[str, object]:
    """The table with the path patterns that are relative to another folder than the root made absolute."""
    if folder == root:
        return table
    anchor = re.sub(r"([*?[])", r"[\1]", folder.as_posix())

    def anchored(pattern: str) -> str:
        return pattern if "/" not in pattern.rstrip("/") or pattern.startswith("/") else f"{anchor}/{pattern}"

    changed = dict(table)
    for key in ("exclude", "extend-exclude"):
        patterns = table.get(key)
        if isinstance(patterns, tuple):
            changed[key] = tuple(map(anchored, patterns))
    ignores = table.get("per-file-ignores")
    if isinstance(ignores, tuple):
        changed["per-file-ignores"] = tuple((anchored(pattern), selectors) for pattern, selectors in ignores)
    return changed
