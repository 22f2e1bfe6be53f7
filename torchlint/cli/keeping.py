"""The cache of a run: opened before it, and written after it."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from torchlint import __version__
from torchlint.cache.key import data_folder, make_key
from torchlint.cache.place import FOLDER
from torchlint.cache.store import Said, packed_world, path_of, read_rest, read_runs, remove_strays, write
from torchlint.cache.tool import code_of
from torchlint.cache.world import LOOKED_FOR, World, around, content, stamp
from torchlint.cli.output import complain
from torchlint.engine.memory import Memory, key_of
from torchlint.engine.packages import installed_folders
from torchlint.late import dataclass
from torchlint.settings.target import FOLDERS, declaring
from torchlint.settings.width import NAMING_WIDTH

if TYPE_CHECKING:
    from torchlint.settings.model import Settings

# Packages of ours, and those of others whose release decides what is found or how it is shown.
_OURS = ("torchlint", "torchlint.rules")
_OTHERS = ("libcst", "rich")
_SUFFIXES = (".py", ".json")
# No one commits a cache.
_IGNORE = "*\n"


@dataclass(eq=False, slots=True)
class Cache:
    """The cache of a project: where it lies, and what the engine remembers by it."""

    path: str
    key: bytes
    memory: Memory
    tool: Sequence[str]
    folders: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """What the folders held that may state versions when the cache was opened: to open it changes one of them."""
    told: list[tuple[bytes, bytes]] = field(default_factory=list)

    @classmethod
    def open(cls, root: Path, folder: Path | None, plugins: Sequence[str]) -> Cache:
        """Open the cache, and make its folder if there is none.

        ``plugins`` are rule packages besides our own.

        Raises:
            OSError: no cache can be kept.
        """
        key = make_key()
        place = os.path.abspath(folder) if folder is not None else os.path.join(root, FOLDER)
        if folder is None and os.path.islink(place):
            # Whoever made the project could have any folder of the user's written to.
            raise OSError(errno.ELOOP, "it is a symbolic link; remove it with torchlint clean", place)
        if not os.path.isdir(place):
            os.makedirs(place)
            with open(os.path.join(place, ".gitignore"), "w", encoding="utf-8") as stream:
                stream.write(_IGNORE)
        path = path_of(place, str(root))
        started = time.time_ns()
        code, beside = dict(_code(plugins)), dict(_releases())
        stands_for = key_of(__version__, sys.version, code_of(code, started), *sorted(beside.values()))
        memory = Memory.of(stands_for, started, read_rest(path, key))
        held = ((entry, stamp(entry, memory.started), content(entry)) for entry in _listed(root))
        folders = {entry: (mark, digest) for entry, mark, digest in held if digest is not None}
        return cls(path, key, memory, [*code, *beside], folders)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record what is written to standard output and standard error."""
        out, err = _Heard(sys.stdout, b"1", self.told), _Heard(sys.stderr, b"2", self.told)
        with redirect_stdout(out.as_text()), redirect_stderr(err.as_text()):
            yield

    def keep(self, wanted: str, code: int, entries: Iterable[str]) -> None:
        """Write the cache: what the engine remembers, and where ``wanted`` is not empty what the run said.

        Raises:
            OSError: it cannot be written.
        """
        runs = read_runs(self.path, self.key)
        if wanted and self.memory.seen:
            seen = {**self.folders, **self.memory.seen}
            world = World.now([*entries, *self.tool, *self.memory.seen], self.memory.started, seen)
            if world is not None:
                runs = [run for run in runs if run.key != wanted]
                runs.insert(0, Said(wanted, code, self.told, packed_world(world)))
        remove_strays(self.path)
        write(self.path, self.key, runs, self.memory.to_bytes())


def entries_of(settings: Settings, read: Iterable[Path], config: Sequence[str], memory: Memory) -> list[str]:
    """Return what a run depends on besides the files that it linted and the folders that it walked."""
    folders = {entry[1:] for entry in memory.seen if entry[0] == "d"}
    files = [entry[1:] for entry in memory.seen if entry[0] == "f"]
    tops = {folder for folder in folders if os.path.dirname(folder) not in folders}
    tops |= {folder for folder in map(os.path.dirname, files) if folder not in folders}
    entries = [entry for top in (*tops, str(settings.root)) for entry in around(top)]
    paths = (os.path.join(folder, name) for folder in folders for name in LOOKED_FOR)
    entries += [f"f{path}" for path in paths if os.path.lexists(path)]
    entries += [f"f{os.path.abspath(path)}" for path in read]
    entries += [f"e{os.path.abspath(item)}" for item in config]
    entries += [f"f{path}" for path in declaring(settings.root)]
    entries += [f"f{os.path.join(settings.root, name)}" for name in NAMING_WIDTH]
    entries += _listed(settings.root)
    for named in (settings.baseline, settings.observations):
        if named is not None:
            entries.append(f"f{os.path.abspath(named)}")
    if not settings.isolated:
        entries += [f"f{os.path.join(data_folder(), f'bench-{device}.json')}" for device in ("cpu", "cuda")]
    return entries


def _listed(root: Path) -> list[str]:
    """The folders of a project that may hold files which state versions, as entries."""
    listed = (os.path.join(root, name).rstrip(os.sep) for name in FOLDERS)
    return [f"d{folder}" for folder in listed if not os.path.isfile(folder)]


def warn(error: OSError) -> None:
    """Warn that nothing is kept."""
    complain(f"warning: cannot cache results: {error.filename or 'the cache'}: {error.strerror or error}")


def _code(plugins: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The code of torchlint and its rules as entries, each with the name that it has wherever it is installed."""
    package, rules = (folder for name in _OURS for folder in _folders(name))
    homes = [package, *([] if rules.startswith(f"{package}{os.sep}") else [rules])]
    homes += [folder for name in plugins for folder in installed_folders(name)]
    for home in homes:
        for below, _, names in os.walk(home):
            for name in names:
                if name.endswith(_SUFFIXES):
                    path = os.path.join(below, name)
                    yield f"s{path}", path[len(os.path.dirname(home)) + 1 :]


def _releases() -> Iterator[tuple[str, str]]:
    """The folders that packages of others lie in as entries, each with the releases there."""
    for name in _OTHERS:
        for folder in _folders(name):
            # Beside a package lies a folder that has its release in its name.
            beside = os.path.dirname(folder)
            releases = sorted(each for each in os.listdir(beside) if each.lower().startswith(f"{name}-"))
            yield f"s{beside}", f"{name} {' '.join(releases)}"


def _folders(package: str) -> Sequence[str]:
    spec = find_spec(package)
    return list(spec.submodule_search_locations or ()) if spec is not None else []


class _Heard:
    """A stream that passes on all it is given, and notes it."""

    def __init__(self, stream: TextIO, name: bytes, told: list[tuple[bytes, bytes]]) -> None:
        self._stream = stream
        self._name = name
        self._told = told

    def as_text(self) -> Any:
        """Return the object itself in the place of a text stream."""
        return self

    @property
    def buffer(self) -> _Heard:
        """Where bytes go."""
        return self

    def write(self, data: str | bytes) -> int:
        """Write bytes and record them; write text, which is only a sign of life, without a record."""
        if isinstance(data, str):
            return self._stream.write(data)
        self._told.append((self._name, data))
        return self._stream.buffer.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
