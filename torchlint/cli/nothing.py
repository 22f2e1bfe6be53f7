"""Files that have nothing to do with torch: told without the engine, whose modules take longer to load than to say so.

Only the simplest case is answered here, a few files without settings; every doubt is left to the engine.
"""

from __future__ import annotations

import os
import sys
from _ast import PyCF_ONLY_AST

from torchlint.cache.place import common, folders_above, is_whole, located, package_of, project_root
from torchlint.cache.world import LOOKED_FOR, SETTINGS_FILES, SUFFIXES, open_file
from torchlint.cli.flags import START
from torchlint.cli.terminal import write_bytes
from torchlint.settings.defaults import DEFAULT_EXCLUDE, MOST_BYTES
from torchlint.sources.wide import is_wide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Without it a file is of no interest to any rule of the default set; a test holds the rules to it.
WORD = b"torch"
_MOST_FILES = 200
_PYTHON = ".py"
_CHANGING_NOTHING = frozenset({"paths", "isolated", "quiet", "silent", "no_cache", "cache_dir", "jobs"})


class _DoubtError(Exception):
    """Something that the engine is to decide."""


def nothing_to_do(given: Mapping[str, object]) -> int | None:
    """Say that nothing was found, if no file of the project speaks of torch; ``None``: the engine is to look."""
    if any(value != START[name] for name, value in given.items() if name not in _CHANGING_NOTHING):
        return None
    paths = given["paths"]
    assert isinstance(paths, tuple)
    if sys.stdout.isatty() or "-" in paths:
        return None
    try:
        files = _files(paths or (os.curdir,), bool(given["isolated"]))
    except (_DoubtError, OSError):
        return None
    if not files:
        return None
    if not (given["quiet"] or given["silent"]):
        told = f"Nothing slow found in {len(files)} file{'s' if len(files) > 1 else ''}\n"
        write_bytes(sys.stderr, told.encode("ascii"))
    return 0


def _files(paths: tuple[str, ...], isolated: bool) -> set[str]:
    """The files to lint, none of which, and none of whose project, speaks of torch.

    Raises:
        _DoubtError: one does, or it is not as simple as that.
    """
    root = project_root(common(paths))
    wanted: set[str] = set()
    for path in paths:
        absolute = located(path)
        if os.path.islink(path) or ".." in path.split(os.sep):
            raise _DoubtError
        _refuse_settings(absolute, isolated)
        if os.path.isdir(path):
            _refuse_patterns(absolute)
            wanted |= _below(absolute, LOOKED_FOR)
        else:
            wanted.add(absolute)
    # Patterns of git can only make the project smaller, and a file that is given is linted whatever they say.
    project = _below(root, SETTINGS_FILES) if is_whole(root) else _around(root, wanted)
    for file in wanted | project:
        with open_file(file) as stream:
            text = stream.read(MOST_BYTES + 1)
            if WORD in text or is_wide(text) or (file in wanted and not _is_sound(file, text)):
                raise _DoubtError
    return wanted


def _is_sound(file: str, text: bytes) -> bool:
    """Whether Python reads the text of a file; what is no plain text of Python is left to the engine."""
    if len(text) > MOST_BYTES or not file.endswith(_PYTHON) or text.lstrip().startswith(b"{"):
        return False
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, file, "exec", PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _refuse_settings(path: str, isolated: bool) -> None:
    """Raise where settings may hold for a path."""
    for folder in (path, *folders_above(path)):
        for name in () if isolated else SETTINGS_FILES:
            file = os.path.join(folder, name)
            if os.path.exists(file):
                with open_file(file) as stream:
                    if name != "pyproject.toml" or b"torchlint" in stream.read():
                        raise _DoubtError


def _refuse_patterns(folder: str) -> None:
    """Raise where patterns of git may hold for what is in a folder."""
    if any(os.path.exists(os.path.join(place, ".gitignore")) for place in (folder, *folders_above(folder))):
        raise _DoubtError


def _below(folder: str, doubtful: Sequence[str]) -> set[str]:
    """All files below a folder that a run looks at, or more; none of the ``doubtful`` names may be among them."""
    found: set[str] = set()
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as scan:
            for entry in scan:
                if entry.name in DEFAULT_EXCLUDE:
                    continue
                if entry.name in doubtful and entry.path != os.path.join(folder, "pyproject.toml"):
                    raise _DoubtError
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.name.endswith(SUFFIXES):
                    found.add(_plain(entry))
        if len(found) > _MOST_FILES:
            raise _DoubtError
    return found


def _around(root: str, files: set[str]) -> set[str]:
    """The Python files in a root, in the folders of these files and in their packages."""
    found: set[str] = set()
    folders = {os.path.dirname(file) for file in files}
    for package in {package for folder in folders if (package := package_of(folder)) is not None}:
        found |= _below(package, LOOKED_FOR)
    for folder in {root, *folders}:
        with os.scandir(folder) as scan:
            found |= {_plain(entry) for entry in scan if entry.name.endswith(".py") and not entry.is_dir()}
        if len(found) > _MOST_FILES:
            raise _DoubtError
    return found


def _plain(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink() or not entry.is_file():
        raise _DoubtError
    return entry.path
