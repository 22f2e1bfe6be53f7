"""Where a project begins, and where its cache lies."""

from __future__ import annotations

import os
from itertools import chain, islice

from torchlint.cache.world import REPOSITORIES, open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FOLDER = ".torchlint_cache"
PROJECT = ("pyproject.toml", *REPOSITORIES)
SETTINGS = ("torchlint.toml", ".torchlint.toml")
# Weaker marks, the strongest first; nested ones belong to one project, so the outermost counts.
_WEAKER = (("setup.py", "setup.cfg"), SETTINGS, ("requirements.txt",))
MARKS = (*PROJECT, *(mark for marks in _WEAKER for mark in marks))
_PACKAGE = "__init__.py"
_MODULE = ".py"
# How far above a folder without marks a file may import it, and how many files are read to find that out.
_LEVELS = 3
_MOST_READ = 200
_MOST_BYTES = 1_000_000
# A folder without marks that holds more folders and modules, or more of anything, is a place for many projects.
_MOST_PARTS = 5_000
_MOST_ENTRIES = 100_000
_INSTALLED = ("pyvenv.cfg",)
# By convention it holds the packages of the folder above.
_SOURCES = f"{os.sep}src"
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")


def project_root(path: str) -> str:
    """Return the folder in which the project of a path begins; the same for every path in a project.

    It is the nearest folder at or above the path with a ``pyproject.toml`` or a repository; else the outermost one with
    a ``setup.py`` or ``setup.cfg``, with settings of ours, or with a ``requirements.txt``. Without any of these it is
    the folder above the outermost package, or as far above as imports tie folders together, else the path's own.
    """
    path = located(path)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    places = [folder, *folders_above(folder)]
    for place in places:
        if holds(place, PROJECT):
            return place
    common = _shared()
    for marks in _WEAKER:
        marked = [place for place in places if place not in common and holds(place, marks)]
        if marked:
            return _above_packages(marked[-1])
    return _tied(_above_packages(folder), common)


def is_whole(root: str) -> bool:
    """Return whether everything below a root belongs to one project: it is marked, or small enough to be one."""
    return holds(root, PROJECT) or (root not in _shared() and (holds(root, MARKS) or _is_small(root)))


def located(path: str) -> str:
    """Return the absolute path through real folders, not links, so that each path has one name."""
    if os.path.isdir(path):
        return os.path.realpath(path)
    above, name = os.path.split(path)
    return os.path.join(os.path.realpath(above or os.curdir), name)


def folders_above(folder: str) -> Iterable[str]:
    """Yield the folders that hold an absolute path, the closest first."""
    while (above := os.path.dirname(folder)) != folder:
        yield above
        folder = above


def holds(folder: str, marks: Sequence[str]) -> bool:
    """Return whether one of these names is in a folder."""
    return any(os.path.exists(os.path.join(folder, mark)) for mark in marks)


def common(paths: Sequence[str]) -> str:
    """Return the closest folder that holds all paths; of one path, itself."""
    absolute = [located(path) for path in paths]
    try:
        return os.path.commonpath(absolute)
    except ValueError:
        # Paths on different drives have nothing in common.
        return absolute[0]


def package_of(folder: str) -> str | None:
    """Return the outermost package that a folder belongs to."""
    above = _above_packages(folder)
    return os.path.join(above, os.path.relpath(folder, above).split(os.sep)[0]) if above != folder else None


def _above_packages(folder: str) -> str:
    """The folder above the outermost package that a folder is or belongs to, else itself."""
    while os.path.isfile(os.path.join(folder, _PACKAGE)) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def _shared() -> frozenset[str]:
    """The folders that hold many projects, whatever else is in them: home, those above it, and temporary ones."""
    home = os.path.realpath(os.path.expanduser("~"))
    temporary = (os.environ.get(name) for name in _TEMPORARY)
    own = (os.path.realpath(each) for each in ("/tmp", "/var/tmp", *temporary) if each)
    return frozenset({home, *folders_above(home), os.path.abspath(os.sep), *own})


def _tied(folder: str, shared: frozenset[str]) -> str:
    """The outermost folder that imports tie a folder to: ``train.py`` above says ``import agents``, or the reverse."""
    below = folder
    for place in list(folders_above(folder))[:_LEVELS]:
        if place in shared:
            break
        if below.endswith(_SOURCES) or _imports(place, os.path.basename(below), below) or _is_imported(folder, place):
            return _tied(_above_packages(place), shared)
        below = place
    return folder


def _imports(place: str, name: str, below: str) -> bool:
    """Whether a file in a folder, or in one beside ``below``, imports what lies in the folder ``name``."""
    beside = (each for each in _folders_in(place) if each != below and not holds(each, MARKS))
    files = (file for folder in chain([place], beside) for file in _modules_in(folder))
    return any(name in _imported(file, name) for file in islice(files, _MOST_READ))


def _is_imported(folder: str, place: str) -> bool:
    """Whether a file in a folder imports a module of a folder above, by a name that its own folder does not have."""
    for file in _modules_in(folder)[:_MOST_READ]:
        for name in _imported(file):
            inside, above = os.path.join(folder, name), os.path.join(place, name)
            if os.path.exists(inside) or os.path.exists(f"{inside}{_MODULE}"):
                continue
            if os.path.isfile(f"{above}{_MODULE}") or (not holds(above, MARKS) and _modules_in(above)):
                return True
    return False


def _imported(file: str, wanted: str = "") -> set[str]:
    """The first words of the modules that a file imports; none where it does not hold the ``wanted`` one."""
    try:
        with open_file(file) as stream:
            text = stream.read(_MOST_BYTES)
    except OSError:
        return set()
    if os.fsencode(wanted) not in text:
        return set()
    found = set()
    for line in text.decode("utf-8", "replace").splitlines():
        clause, _, rest = line.strip().partition(" ")
        if clause == "from":
            found.add(rest.lstrip().partition(" ")[0])
        elif clause == "import":
            found.update(part.strip().partition(" ")[0] for part in rest.split(","))
    return {dotted.partition(".")[0] for dotted in found if dotted and not dotted.startswith(".")}


def _folders_in(folder: str) -> list[str]:
    return sorted(entry.path for entry in _entries(folder) if entry.is_dir(follow_symlinks=False))


def _modules_in(folder: str) -> list[str]:
    return sorted(entry.path for entry in _entries(folder) if entry.name.endswith(_MODULE))


def _is_small(folder: str) -> bool:
    """Whether few enough files and folders are below a folder for one project."""
    waiting, seen, parts = [folder], 0, 0
    while waiting:
        for entry in _entries(waiting.pop()):
            seen += 1
            if entry.is_dir(follow_symlinks=False):
                parts += 1
                waiting += () if holds(entry.path, _INSTALLED) else (entry.path,)
            elif entry.name.endswith(_MODULE):
                parts += 1
            if parts > _MOST_PARTS or seen > _MOST_ENTRIES:
                return False
    return True


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """What is in a folder, without what is hidden; nothing where it cannot be looked into."""
    try:
        with os.scandir(folder) as scan:
            yield from (entry for entry in scan if not entry.name.startswith("."))
    except OSError:
        return
