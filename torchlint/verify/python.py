"""That the command runs the code of the copy: which Python it is, and where that finds the project's modules."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from torchlint.late import dataclass, regex
from torchlint.verify.scratch import Scratch

_PYTHON = regex(r"(?:python|pypy)[0-9.]*(?:\.exe)?")
_IN_SCRIPT = regex(rb"(/[^\n\"']*?(?:python|pypy)[0-9.]*)(?=[\s\"']|$)")
_ISOLATING = regex(r"-[EIPsS]+")
_PATIENCE = 60.0

# The first entry of the path is the folder of a script, which for the command is another one than for this text.
_PROBE = """
import sys
del sys.path[:0 if sys.flags.isolated or getattr(sys.flags, "safe_path", False) else 1]
import importlib.util, json, os
def root(name):
    try:
        spec = importlib.util.find_spec(name)
        place = list(spec.submodule_search_locations or ())[:1]
        return os.path.dirname(place[0] if place else spec.origin)
    except (AttributeError, ImportError, IndexError, TypeError, ValueError):
        return ""
print(json.dumps([sys.path, {name: root(name) for name in json.load(sys.stdin)}]))
"""


@dataclass(frozen=True, slots=True)
class Python:
    """The Python that a command uses, as far as can be told.

    Attributes:
        words: how to call it, with the options that change where it finds modules.
        certain: whether the command names it; else it is the one on the path.
    """

    words: Sequence[str]
    certain: bool


def python_of(command: Sequence[str], environment: Mapping[str, str]) -> Python | None:
    """Return the Python of a command: the command itself, the one its script names, or the one on the path."""
    path = environment.get("PATH")
    if _PYTHON.fullmatch(os.path.basename(command[0])):
        options = [word for word in command[1:] if word.startswith("-")]
        first = next((index for index, word in enumerate(options) if not _ISOLATING.fullmatch(word)), len(options))
        return Python((command[0], *options[:first]), certain=True)
    program = shutil.which(command[0], path=path)
    named = _in_script(Path(program)) if program else None
    if named is not None:
        return Python((named,), certain=True)
    found = shutil.which("python", path=path) or shutil.which("python3", path=path)
    return Python((found,), certain=False) if found else None


def _in_script(program: Path) -> str | None:
    """The Python that the first lines of a script name."""
    try:
        with program.open("rb") as stream:
            head = stream.read(512)
    except OSError:
        return None
    lines = head.split(b"\n")[:2]
    if not head.startswith(b"#!"):
        return None
    if match := re.match(rb"#!\s*/usr/bin/env\s+(?:-S\s+)?((?:python|pypy)[0-9.]*)", lines[0]):
        return os.fsdecode(match[1])
    match = next(filter(None, (_IN_SCRIPT.search(line.removeprefix(b"#!")) for line in lines)), None)
    return os.fsdecode(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class Imports:
    """Where a Python finds the modules of the project.

    Attributes:
        environment: the variables with which it finds as many in the copy as can be.
        real: by name, the modules that it takes from the real project all the same, with the folder.
    """

    environment: dict[str, str]
    real: Mapping[str, str]


def imports_from(
    scratch: Scratch, python: Python | None, folder: Path, names: Collection[str], environment: Mapping[str, str]
) -> Imports:
    """Make a Python import from the copy: wherever it would search the real project, it searches the copy first.

    Args:
        scratch: the copy.
        python: which Python; without one only the variable that is there already is changed.
        folder: where the command runs.
        names: the top-level names under which the modules of the project may be imported.
        environment: the variables of the command.
    """
    given = environment.get("PYTHONPATH", "").split(os.pathsep) if environment.get("PYTHONPATH") else []
    kept = [str(there) if (there := _there(scratch, place)) else place for place in given]
    found = _probe(python, folder, names, environment) if python else None
    places, modules = found or ([], {})
    ours = [str(there) for place in (*places, *modules.values()) if (there := _there(scratch, place))]
    led = {**environment, "PYTHONPATH": os.pathsep.join(dict.fromkeys((*ours, *kept)))}
    if not led["PYTHONPATH"]:
        del led["PYTHONPATH"]
    again = _probe(python, folder, names, led) if python and ours else None
    real = {name: place for name, place in (again[1] if again else {}).items() if _is_real(scratch, place)}
    return Imports(led, real)


def _there(scratch: Scratch, place: str) -> Path | None:
    """The folder of the copy for one of the real project."""
    return scratch.there(Path(place)) if os.path.isabs(place) and os.path.isdir(place) else None


def _is_real(scratch: Scratch, place: str) -> bool:
    return bool(place) and _there(scratch, place) is not None


def _probe(
    python: Python | None, folder: Path, names: Collection[str], environment: Mapping[str, str]
) -> tuple[list[str], dict[str, str]] | None:
    """The path of a Python, and for each name the folder it is imported from; ``None``: it does not tell."""
    if python is None:
        return None
    try:
        done = subprocess.run(
            [*python.words, "-c", _PROBE],
            input=json.dumps(sorted(names)),
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
            timeout=_PATIENCE,
            check=False,
        )
        told = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    return told[0], told[1]


def module_names(paths: Iterable[Path], base: Path) -> set[str]:
    """Return the names under which files may be imported at the top level, from any folder above them."""
    names: set[str] = set()
    for path in paths:
        if base in path.parents:
            names.update(path.relative_to(base).with_suffix("").parts)
    return {name for name in names if name.isidentifier()}
