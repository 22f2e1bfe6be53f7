"""The file itself: what it holds, and how it is read and written.

First what a run with nothing changed needs, then what the engine knows of files and their findings, each sealed by
itself, so that the first is read alone. All of it is data: no part is ever run, and what is not as it should be counts
as not there.
"""

from __future__ import annotations

import os

from torchlint.cache.digest import digest, seal
from torchlint.cache.pack import pack, unpack
from torchlint.cache.world import World, open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MAGIC = b"torchlint cache 1\n"
_SEAL = 32
# The last runs that differ in their command line, or in what their output goes to.
_RUNS = 8
# No one's project needs more, and a cache is not to be what fills a disk.
_LARGEST = 256 << 20


class Said:
    """What a run wrote and returned.

    ``told`` are pairs of the stream, ``b"1"`` for standard output and ``b"2"`` for standard error, and the bytes.
    ``packed`` is the world that it all depends on: most runs that are read are not asked for theirs.
    """

    __slots__ = ("code", "key", "packed", "told")

    def __init__(self, key: str, code: int, told: Sequence[tuple[bytes, bytes]], packed: bytes) -> None:
        """Take what is to be kept of a run; ``key`` stands for its command line and all around it."""
        self.key = key
        self.code = code
        self.told = told
        self.packed = packed

    def world(self) -> World:
        """Return all that the run depends on.

        Raises:
            ValueError: that is not what is kept.
        """
        parts = unpack(self.packed)
        if len(parts) != len(World.__slots__):
            raise ValueError("no world")
        return World(*(part.decode("utf-8", "surrogateescape").split("\n") for part in parts))


def packed_world(world: World) -> bytes:
    """Return a world in the form in which a run keeps it."""
    columns = (world.entries, world.stamps, world.digests)
    return pack(["\n".join(column).encode("utf-8", "surrogateescape") for column in columns])


def path_of(folder: str, root: str) -> str:
    """Return the cache of the project below ``root`` in a folder of caches."""
    return os.path.join(folder, f"{digest(root.encode('utf-8', 'surrogateescape'))}.cache")


def read_runs(path: str, key: bytes) -> list[Said]:
    """Return the cached runs, newest first; none if the file is missing or not one of ours."""
    try:
        with open_file(path) as stream:
            first, _ = _lengths(stream.read(len(_MAGIC) + 3 * _SEAL))
            stream.seek(len(_MAGIC))
            sealed = stream.read(_SEAL)
            stream.seek(len(_MAGIC) + 3 * _SEAL)
            return _runs(_opened(sealed, stream.read(first), key))
    except (OSError, ValueError):
        return []


def read_rest(path: str, key: bytes) -> bytes:
    """Return what the engine kept; empty if the file is missing or not one of ours."""
    start = len(_MAGIC) + 3 * _SEAL
    try:
        with open_file(path) as stream:
            head = stream.read(start)
            first, second = _lengths(head)
            stream.seek(start + first)
            return _opened(head[len(_MAGIC) + _SEAL : len(_MAGIC) + 2 * _SEAL], stream.read(second), key)
    except (OSError, ValueError):
        return b""


def write(path: str, key: bytes, runs: Sequence[Said], rest: bytes) -> None:
    """Replace the old cache by a new one atomically.

    Raises:
        OSError: it cannot be written.
    """
    first = _packed(runs[:_RUNS])
    if len(first) + len(rest) > _LARGEST:
        return
    lengths = b"%015d %015d\n" % (len(first), len(rest))
    head = [_MAGIC, seal(first, key).encode(), seal(rest, key).encode(), lengths]
    temporary = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(b"".join([*head, first, rest]))
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def remove_strays(path: str) -> None:
    """Remove what runs left beside a cache that were killed while they wrote it."""
    import re

    from torchlint.cache import strays

    folder, name = os.path.split(path)
    strays.remove_strays(folder, re.compile(rf"{re.escape(name)}\.(\d{{1,10}})-[0-9a-f]{{8}}\.tmp"))


def _lengths(head: bytes) -> tuple[int, int]:
    if not head.startswith(_MAGIC) or len(head) != len(_MAGIC) + 3 * _SEAL:
        raise ValueError("no cache of this version")
    first, second = head[len(_MAGIC) + 2 * _SEAL :].split()
    if not (first.isdigit() and second.isdigit() and int(first) + int(second) <= _LARGEST):
        raise ValueError("no lengths")
    return int(first), int(second)


def _opened(sealed: bytes, data: bytes, key: bytes) -> bytes:
    if seal(data, key).encode() != sealed:
        raise ValueError("not sealed with this key")
    return data


def _packed(runs: Sequence[Said]) -> bytes:
    """Runs and their worlds, of which those that are alike are kept once."""
    worlds: dict[bytes, int] = {}
    rows = []
    for run in runs:
        number = worlds.setdefault(run.packed, len(worlds))
        told = [part for pair in run.told for part in pair]
        rows.append(pack([run.key.encode(), b"%d" % run.code, b"%d" % number, *told]))
    return pack([pack(rows), *worlds])


def _runs(data: bytes) -> list[Said]:
    """The runs, strictly checked.

    Raises:
        ValueError: the data are no runs.
    """
    listed, *worlds = unpack(data) or [b""]
    found = []
    for row in unpack(listed):
        key, code, number, *told = unpack(row)
        if len(told) % 2 or not set(told[::2]) <= {b"1", b"2"} or code not in (b"0", b"1", b"2"):
            raise ValueError("no run")
        if not number.isdigit() or int(number) >= len(worlds):
            raise ValueError("no world")
        found.append(
            Said(key.decode("ascii"), int(code), list(zip(told[::2], told[1::2], strict=True)), worlds[int(number)])
        )
    return found
