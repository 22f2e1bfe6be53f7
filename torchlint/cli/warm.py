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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchlint.cache.store import Said

_VARIABLES = (
    *("NO_COLOR", "FORCE_COLOR", "TERM", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY"),
    *("TORCHLINT_OUTPUT_FORMAT", "TORCHLINT_DATA_DIR", "XDG_DATA_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"),
    "PYTHONPATH",
)


def cache_path(given: Mapping[str, object]) -> str:
    """The cache that a run with these parameters uses."""
    paths = given["paths"]
    assert isinstance(paths, tuple)
    root = project_root(common(paths or (os.curdir,)))
    own = given["cache_dir"]
    return path_of(os.path.abspath(str(own)) if own is not None else os.path.join(root, FOLDER), root)


def run_key(args: list[str]) -> str:
    """What stands for a command line, where it was typed, where its output goes, and with what it is run.

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


def served(given: Mapping[str, object], wanted: str) -> int | None:
    """Write again what the last such run wrote, if nothing changed, and return its exit code; else ``None``.

    ``wanted`` is the ``run_key`` of a repeatable run with these parameters.
    """
    key = read_key()
    if key is None:
        return None
    path = cache_path(given)
    if given["cache_dir"] is None and os.path.islink(os.path.dirname(path)):
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
