"""A run in which nothing changed: what the last one wrote is written again, and nothing else is imported."""

from __future__ import annotations

import os
import sys
import time

from torchlint import __version__
from torchlint.cache.digest import digest
from torchlint.cache.key import read_key
from torchlint.cache.place import FOLDER, common, project_root
from torchlint.cache.store import packed_world, path_of, read_rest, read_runs, write
from torchlint.cli.terminal import look_of, write_bytes
from torchlint.settings.options import OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torchlint.cache.store import Said

_COMMAND = "check"
_STDIN = "-"
# A service's page to which every run adds something.
_PAGE = "GITHUB_STEP_SUMMARY"
_VARIABLES = (
    *("NO_COLOR", "FORCE_COLOR", "TERM", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY"),
    *("TORCHLINT_DATA_DIR", "XDG_DATA_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"),
    *("PYTHONPATH", _PAGE),
    *(option.variable for option in OPTIONS if option.variable),
)


def cache_path(args: Sequence[str]) -> str | None:
    """Return the cache that a run with this command line uses, ``None`` if the run cannot be replayed from one.

    What an option is given is not looked at: a run is kept by its whole command line, and only if click read it.
    """
    if not args or args[0] != _COMMAND or any(word.startswith("@") or "\n" in word for word in args):
        return None
    valued = {word: option.kind != "switch" for option in OPTIONS if not option.once for word in option.spellings()}
    paths: list[str] = []
    given: dict[str, str] = {}
    rest = list(args[:0:-1])
    while rest:
        word = rest.pop()
        if word == _STDIN:
            return None
        if not word.startswith("-"):
            paths.append(word)
            continue
        name, equals, value = word.partition("=")
        takes = valued.get(name)
        if takes is None or (equals and not (takes and name.startswith("--"))) or (takes and not equals and not rest):
            return None
        given[name] = value if equals or not takes else rest.pop()
    root = project_root(common(paths or (os.curdir,)))
    own = given.get("--cache-dir") or os.environ.get("TORCHLINT_CACHE_DIR")
    folder = os.path.abspath(own) if own else os.path.join(root, FOLDER)
    return None if not own and os.path.islink(folder) else path_of(folder, root)


def is_repeatable(given: Mapping[str, object]) -> bool:
    """Return whether a run with these parameters writes to no files but those of its findings."""
    return not (any(given[option.name] for option in OPTIONS if option.once) or os.environ.get(_PAGE))


def run_key(args: Sequence[str]) -> str:
    """Return the key of a cached run: arguments, working folder, output streams and environment.

    Two environments may have the same torchlint and other rule packages, or two copies of it the same version.
    """
    out, err = sys.stdout, sys.stderr
    look = look_of(out)
    shown = (look.terminal, look.color, look.width, look.terminal and look.height, look.links)
    seen = (*shown, out.encoding, out.errors, err.isatty(), err.encoding, err.errors)
    variables = [f"{name}={os.environ.get(name)}" for name in _VARIABLES]
    tool = (__version__, sys.version, sys.prefix, os.path.dirname(__file__))
    parts = (*tool, os.getcwd(), *map(str, seen), *variables, "", *args)
    return digest("\0".join(parts).encode("utf-8", "surrogateescape"))


def served(path: str, wanted: str) -> int | None:
    """Write again what the last such run wrote, if nothing changed, and return its exit code; else ``None``.

    ``path`` is the ``cache_path`` of a command line, ``wanted`` its ``run_key``.
    """
    key = read_key()
    if key is None:
        return None
    runs = read_runs(path, key)
    run = next((run for run in runs if run.key == wanted), None)
    if run is None:
        return None
    try:
        before = run.world()
        now = before.again(time.time_ns())
    except ValueError:
        return None
    if now is None:
        return None
    if now.stamps != before.stamps:
        _refresh(path, key, runs, run, packed_world(now))
    for stream, data in run.told:
        write_bytes(sys.stdout if stream == b"1" else sys.stderr, data)
    return run.code


def _refresh(path: str, key: bytes, runs: list[Said], run: Said, packed: bytes) -> None:
    """Keep how the files look now, so that the next run need not read them."""
    known = run.packed
    for other in runs:
        if other.packed == known:
            other.packed = packed
    try:
        write(path, key, [run, *(other for other in runs if other is not run)], read_rest(path, key))
    except OSError:
        return  # it is as slow again next time, and nothing else
