"""Finding the settings that hold for a path, and merging them."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from torchlint.late import dataclass
from torchlint.settings.check import SettingsError, WrongKeyError, check_keys
from torchlint.settings.model import Settings
from torchlint.settings.options import in_files, of_runs
from torchlint.settings.root import located, project_root
from torchlint.settings.select import UnknownWordError
from torchlint.settings.target import is_distribution, packages_of, pinned_torch_of, python_of, stating, torch_of
from torchlint.settings.toml import line_of, read_toml
from torchlint.settings.width import width_of

# In one folder the first that holds settings counts.
_NAMES = (".torchlint.toml", "torchlint.toml", "pyproject.toml")
_SECTION = ("tool", "torchlint")


@dataclass(frozen=True, slots=True)
class _File:
    """A settings file: its path, its text, and its table of ours with the names that lead to it."""

    path: Path
    text: str
    table: Mapping[str, object]
    section: tuple[str, ...]


def load_settings(
    start: Path,
    *,
    config: Sequence[Path | str] = (),
    isolated: bool = False,
    overrides: Mapping[str, object],
    root: Path | None = None,
) -> Settings:
    """Return the settings for a file or folder, from the closest settings file, ``config`` and the command line.

    Args:
        start: where the search begins.
        config: ``key = value`` settings on top of those of the file, and at most one settings file that takes the
            place of the search.
        isolated: search no settings file; the versions that the project states hold all the same.
        overrides: fields of ``Settings`` by name, from the command line; ``None`` stands for not given.
        root: the project root; ``None``: that of ``start``.

    Raises:
        SettingsError: a file is missing or no TOML, or a key or value is wrong.
    """
    root = root or project_root(start)
    inline = [str(item) for item in config if _is_inline(item)]
    named = [Path(item) for item in config if not _is_inline(item)]
    if len(named) > 1:
        raise SettingsError(f"--config: more than one settings file: {', '.join(map(str, named))}")
    if named and isolated:
        raise SettingsError(f"--isolated reads no settings file, but --config names one: {named[0]}")
    found = _read_named(named[0]) if named else None if isolated else _closest(located(start))
    layers = _layers(found, root, base=_base(root) if named else None) if found else []
    for text in inline:
        layers.append(_relative_to(root, _base(root), _checked_flags("--config", read_toml(text, "--config"))))
    given = {name: value for name, value in overrides.items() if value is not None}
    run_only: dict[str, Any] = {name: given.pop(name) for name in of_runs() if name in given}
    flags = _checked_flags("command line", {name.replace("_", "-"): value for name, value in given.items()})
    layers.append(_relative_to(root, _base(root), flags))
    # check_keys gave every value the type of its field.
    fields: dict[str, Any] = {key.replace("-", "_"): value for key, value in _merged(layers).items()}
    # What a project runs with, and how long its lines are, are facts of the project and no settings.
    fields["target_stated"] = "target_torch" not in fields
    fields.setdefault("target_torch", torch_of(root))
    fields.setdefault("target_version", python_of(root))
    fields["line_length"] = width_of(root)
    fields["distributed"] = is_distribution(root)
    fields["pinned_torch"] = pinned_torch_of(root)
    fields["packages"] = packages_of(root) if fields["distributed"] else ()
    file = found.path if found else None
    read = tuple(each.path for each in _with_parents(found)) if found else ()
    return dataclasses.replace(Settings(root=root, isolated=isolated, file=file, files=read), **fields, **run_only)


def described(error: SettingsError) -> str:
    """Return what is wrong, with the file and line where the wrong word stands if a settings file holds it."""
    if not isinstance(error, UnknownWordError) or error.file is None:
        return str(error)
    for file in _with_parents(_read_named(error.file)):
        value: object = file.table
        for name in error.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if _holds(value, error.word):
            return f"{_place(file, (*error.path, error.word))}: {error}"
    return str(error)


def _holds(value: object, word: str) -> bool:
    """Whether a word is in a list, in one of the lists of a table, or as the name of one of its keys."""
    if isinstance(value, Mapping):
        return word in value or any(_holds(inner, word) for inner in value.values())
    return isinstance(value, list) and word in value


def _is_inline(item: Path | str) -> bool:
    return isinstance(item, str) and "=" in item and not os.path.exists(item)


class Nested:
    """The settings of single files in a run: those of the settings file closest to each.

    Files whose closest settings file is the run's own share its settings, and so one value. Files of a folder below the
    root that states a torch of its own, as that of an example or of a vendored package may, have that as their target.
    """

    def __init__(self, run: Settings, overrides: Mapping[str, object], config: Sequence[Path | str] = ()) -> None:
        """Take the settings of the run, and what of the command line holds for every file."""
        self._run = run
        self._overrides = overrides
        self._config = config
        self._fixed = run.isolated or any(not _is_inline(item) for item in config)
        self._by_folder: dict[Path, Settings] = {}
        self._by_file: dict[Path | None, Settings] = {run.file: run}
        self._stating: dict[Path, list[Path]] = {}
        self._by_torch: dict[tuple[int, Path], Settings] = {}

    def __call__(self, path: Path) -> Settings:
        """The settings for an absolute path of a file.

        Raises:
            SettingsError: the settings file closest to it is wrong.
        """
        folder = path.parent
        known = self._by_folder.get(folder)
        if known is None:
            known = self._by_folder[folder] = self._stated(folder, self._run if self._fixed else self._of(folder))
        return known

    @property
    def files(self) -> Sequence[Path]:
        """The settings files that were read for single files, and what may state versions of folders below the root."""
        read = [file for settings in self._by_file.values() for file in settings.files]
        return [*read, *(file for files in self._stating.values() for file in files)]

    def _of(self, folder: Path) -> Settings:
        file = _closest(folder)
        path = file.path if file else None
        known = self._by_file.get(path)
        if known is None:
            known = load_settings(folder, config=self._config, overrides=self._overrides, root=self._run.root)
            self._by_file[path] = known
        return known

    def _stated(self, folder: Path, settings: Settings) -> Settings:
        """The settings of a folder with the torch that the closest files below the root state, if no setting does."""
        if not settings.target_stated:
            return settings
        for above in (folder, *folder.parents):
            if above == settings.root or settings.root not in above.parents:
                return settings
            if above not in self._stating:
                self._stating[above] = stating(above)
            torch = torch_of(above) if self._stating[above] else None
            if torch is not None:
                key = id(settings), above
                if key not in self._by_torch:
                    pinned = pinned_torch_of(above)
                    self._by_torch[key] = dataclasses.replace(settings, target_torch=torch, pinned_torch=pinned)
                return self._by_torch[key]
        return settings


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
    """A settings file that someone asked for by name: it must exist and hold settings."""
    if not os.path.isfile(path):
        raise SettingsError(f"{path}: no such file")
    found = _read(path)
    if found is None:
        raise SettingsError(f"{path}: it has no [tool.torchlint]")
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
    for current in _with_parents(file):
        table = _checked(current)
        table.pop("extend", None)
        layers.insert(0, _relative_to(root, base or current.path.parent, table))
    return layers


def _with_parents(file: _File) -> Iterator[_File]:
    """A settings file, the one that it extends, the one that this extends, and so on."""
    seen = set()
    while True:
        yield file
        seen.add(os.path.realpath(file.path))
        parent = file.table.get("extend")
        if not isinstance(parent, str):
            return
        path = file.path.parent / os.path.expanduser(parent)
        if os.path.realpath(path) in seen:
            raise SettingsError(f"{_place(file, ['extend'])}: {parent} extends this file in turn")
        if not os.path.isfile(path):
            raise SettingsError(f"{_place(file, ['extend'])}: there is no file {parent}")
        file = _read_named(path)


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
        raise SettingsError(f"{shown}: extend is allowed in a settings file only")
    try:
        return check_keys(given)
    except WrongKeyError as error:
        raise SettingsError(f"{shown}: {error.message}") from None


def _merged(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One table of all layers, a later one winning.

    What extends adds up. So do ignored selectors, until a layer selects again: then nothing that was selected or
    ignored before it counts. What is ignored besides or in some files, or not fixed, adds up always. Tables of rules
    are merged by rule, and models by name.
    """
    merged: dict[str, Any] = {}
    known = in_files()
    for layer in layers:
        if "select" in layer:
            merged.pop("extend-select", None)
            merged.pop("ignore", None)
        for key, value in layer.items():
            before = merged.get(key)
            if known[key].adds and before:
                merged[key] = (*before, *value)
            elif key == "models" and before:
                from torchlint import models

                merged[key] = models.merged(before, value)
            elif key == "rules" and before:
                merged[key] = {name: {**before.get(name, {}), **value.get(name, {})} for name in {**before, **value}}
            else:
                merged[key] = value
    return merged


def _relative_to(root: Path, folder: Path, table: dict[str, object]) -> dict[str, object]:
    """The table with the path patterns that are relative to another folder than the root made absolute."""
    table = dict(table)
    for key in ("baseline", "observations"):
        if isinstance(path := table.get(key), Path):
            table[key] = folder / os.path.expanduser(path)
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
