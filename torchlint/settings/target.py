"""What packaging files say of a project: the oldest torch and Python that it runs with, and whether others import it.

Files are searched for lines, not parsed: they have many formats, and every run reads them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from torchlint.late import regex

_Version = tuple[int, int]
# The first minor number that the setting knows; older Pythons are dealt with in the same way.
_OLDEST_MINOR = 7

# In this order; the first that gives a bound counts, of a pattern the least bound of all its files.
_DECLARING = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "requirements.txt",
    "requirements.in",
    "requirements*.txt",
    "requirements/*.txt",
    "*.yml",
    "*.yaml",
    "Pipfile",
)
# Of these files only those that describe an environment of conda state versions.
_ENVIRONMENTS = (".yml", ".yaml")
_ENVIRONMENT = regex(r"^dependencies:", re.MULTILINE)
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", "pixi.lock", "conda-lock.yml")

# How the names of these files begin, of which a folder below the root seldom holds one.
_BEGINNINGS = tuple(filter(None, (name.partition("*")[0].partition("/")[0] for name in (*_DECLARING, *_LOCKS))))

# Folders whose names of files decide what is asked, below the project's root.
FOLDERS = ("", "requirements")

_EXTRAS = r"\s*(?:\[[^\]\n]*\])?\s*"
_REQUIREMENTS = (
    regex(rf"""(?<![\w.-])(["'])torch{_EXTRAS}\(?(?P<bound>[<>=!~][^"';#\n]*)"""),  # "torch>=2.1"
    regex(rf"""^[ \t]*(?:-[ \t]+)?(?:py)?torch{_EXTRAS}(?P<bound>[<>=!~][^;#"'{{\n]*)""", re.MULTILINE),  # torch>=2.1
    regex(r"""^[ \t]*["']?torch["']?\s*=\s*["'](?P<bound>[^"'\n]*)["']""", re.MULTILINE),  # torch = "^2.1"
    regex(r"""^[ \t]*["']?torch["']?\s*=\s*\{[^}\n]*\bversion\s*=\s*["'](?P<bound>[^"'\n]*)["']""", re.MULTILINE),
)
# A torchvision before 0.15 runs with one torch only: 0.14 with 1.13, 0.5 with 1.4, 0.4 with 1.2.
_TORCHVISION = (
    regex(rf"""^[ \t]*(?:-[ \t]+)?["']?torchvision{_EXTRAS}(?P<bound>[<>=!~][^;#"'{{\n]*)""", re.MULTILINE),
)
_TORCHVISION_OF_TWO = 15
_LOCKED = (
    regex(r"""^name\s*=\s*"torch"\s*\nversion\s*=\s*"(?P<bound>[^"\n]*)\"""", re.MULTILINE),
    regex(r""""torch":\s*\{[^{}]*"version":\s*"(?P<bound>[^"\n]*)\""""),
    regex(r"""^[ \t-]*name:\s*(?:py)?torch[ \t\r]*\n[ \t]*version:[ \t]*["']?(?P<bound>[^\s"']*)""", re.MULTILINE),
)
_PYTHONS = (
    regex(r"""^[ \t]*(?:requires-python|python)\s*=\s*["'](?P<bound>[^"'\n]*)["']""", re.MULTILINE),
    regex(r"""\bpython_requires\s*=\s*["']?(?P<bound>[^"'\n]*)"""),
)
# What makes a folder a distribution, and the folders that an installer writes beside packages.
_PACKAGING = (
    ("pyproject.toml", regex(r"^[ \t]*\[(?:project|tool\.(?:poetry|flit\.metadata|pdm\.build))\]", re.MULTILINE)),
    ("setup.py", regex(r"\bsetup\s*\(")),
    ("setup.cfg", regex(r"^\[(?:metadata|options)\]", re.MULTILINE)),
)
_NO_PACKAGES = frozenset({"test", "tests", "doc", "docs", "example", "examples", "script", "scripts"})
_INSTALLED = (".dist-info", ".egg-info", ".egg-link")
_CLAUSE = regex(r"\s*(?P<operator>===|==|>=|~=|\^|~|>|=|)\s*v?(?P<major>\d{1,9})(?:\.(?P<minor>\d{1,9}))?")
_PIN = regex(r"\s*={0,3}\s*v?(\d{1,9})\.(\d{1,9})[\w.+*]*\s*(?:\s-.*|=\S*)?")  # torch==1.7.0 -f URL, 1.6.0=py3.6_0


def declaring(root: Path) -> list[Path]:
    """Return the files below a folder that may state versions; those of fixed names need not exist."""
    return [path for name in (*_DECLARING, *_LOCKS) for path in _files(root, name)]


def stating(folder: Path) -> list[Path]:
    """Return the files below a folder that may state versions and are there."""
    if not any(name.startswith(_BEGINNINGS) or name.endswith(_ENVIRONMENTS) for name in _names_in(folder)):
        return []
    return [path for path in declaring(folder) if os.path.isfile(path)]


def torch_of(root: Path) -> str | None:
    """Return the oldest torch that the project in a folder runs with, e.g. ``2.1``, where a file there says it."""
    found = _first(root, _DECLARING, _REQUIREMENTS) or _first(root, _LOCKS, _LOCKED)
    return f"{found[0]}.{found[1]}" if found else None


def pinned_torch_of(root: Path) -> str | None:
    """Return the only torch that the project in a folder allows, e.g. ``1.6`` of ``torch==1.6.0``, if it allows one."""
    if stated := next(filter(None, _stated(root, _DECLARING, _REQUIREMENTS)), None):
        only = _pinned(stated)
        return f"{only[0]}.{only[1]}" if only is not None else None
    beside = _pinned(next(filter(None, _stated(root, _DECLARING, _TORCHVISION)), []))
    if beside is None or beside >= (0, _TORCHVISION_OF_TWO) or beside < (0, 2):
        return None
    return f"1.{beside[1] - (1 if beside >= (0, 5) else 2)}"


def _pinned(stated: Sequence[str]) -> _Version | None:
    """The only version that all of some specifiers allow."""
    pins = {(int(match[1]), int(match[2])) if (match := _PIN.fullmatch(bound)) else None for bound in stated}
    return pins.pop() if len(pins) == 1 else None


def python_of(root: Path) -> str | None:
    """Return the oldest Python that the project in a folder runs with, e.g. ``py310``, where a file there says it."""
    found = _first(root, ("pyproject.toml", "setup.cfg", "setup.py"), _PYTHONS)
    return f"py3{max(found[1], _OLDEST_MINOR)}" if found and found[0] == 3 else None


def is_distribution(root: Path) -> bool:
    """Return whether the project in a folder is packaged or installed, so that programs elsewhere may import it."""
    if any(pattern.search(text_of(root / name)) for name, pattern in _PACKAGING):
        return True
    return any(name.endswith(_INSTALLED) for name in _names_in(root))


def packages_of(root: Path) -> tuple[str, ...]:
    """Return the folders of a distribution that are packages, of those that an installer would take, with ``/``."""
    found = (f"{above}{name}" for above in ("", "src/") for name in _names_in(root / above) if name not in _NO_PACKAGES)
    return tuple(path for path in found if os.path.isfile(root / path / "__init__.py"))


def _first(root: Path, names: Iterable[str], patterns: Sequence[re.Pattern[str]]) -> _Version | None:
    """The least bound that the first file with one gives, or the first pattern of files."""
    for stated in _stated(root, names, patterns):
        bounds = [bound for specifier in stated if (bound := _lowest(specifier)) is not None]
        if bounds:
            return min(bounds)
    return None


def _stated(root: Path, names: Iterable[str], patterns: Sequence[re.Pattern[str]]) -> Iterator[list[str]]:
    """The version specifiers in the files of each name, as they are written."""
    for name in names:
        texts = filter(None, map(text_of, _files(root, name)))  # no pattern is compiled for files that are not there
        if name.endswith(_ENVIRONMENTS) and "*" in name:
            texts = filter(_ENVIRONMENT.search, texts)
        yield [match["bound"] for text in texts for pattern in patterns for match in pattern.finditer(text)]


def _files(root: Path, name: str) -> list[Path]:
    """The files that a name or pattern means."""
    if "*" not in name:
        return [root / name]
    folder, _, pattern = name.rpartition("/")
    start, _, end = pattern.partition("*")
    listed = _names_in(root / folder)
    return [root / folder / entry for entry in listed if entry.startswith(start) and entry.endswith(end)]


def _names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def text_of(path: Path) -> str:
    """Return the text of a file without comment lines; empty where there is none that can be read."""
    if not os.path.isfile(path):  # reading a pipe would wait for ever
        return ""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
    return re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)


def _lowest(specifier: str) -> _Version | None:
    """The lower bound of a version specifier such as ``>=2.1,<3``, ``^2.1``, ``2.1.*`` or ``^1.13 || ^2.0``."""
    either = [_all_of(part) for part in specifier.split("||")]
    known = [bound for bound in either if bound is not None]
    return min(known) if len(known) == len(either) else None


def _all_of(specifier: str) -> _Version | None:
    bounds = []
    for clause in re.split(r"[,\s](?=\s*[<>=!~^])", specifier):
        match = _CLAUSE.match(clause)
        if match:
            bounds.append((int(match["major"]), int(match["minor"] or 0)))
    return max(bounds, default=None)
