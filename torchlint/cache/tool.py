"""Which torchlint a cache belongs to: a digest of its code that is found again without reading that code.

To read and digest some hundred files takes longer than to lint one. So the digest is kept beside the key of the user,
under the stamps of the files: equal stamps mean that nothing changed.
"""

from __future__ import annotations

import os

from torchlint.cache.digest import digest
from torchlint.cache.key import data_folder
from torchlint.cache.world import DIRTY, content, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "tools"
# Environments whose digests are kept, the last used first.
_MOST = 32


def code_of(files: Mapping[str, str], started: int) -> str:
    """Return the digest of files of code, each an entry of a world with the name that it has wherever it is installed.

    ``started`` is when this run began, in nanoseconds.
    """
    stamps = [stamp(entry, started) for entry in files]
    known = [] if DIRTY in stamps else _known()
    key = _of(*files, *stamps)
    found = next((line.partition(" ")[2] for line in known if line.partition(" ")[0] == key), None)
    if found is not None:
        return found
    made = _of(*sorted(f"{name} {content(f'f{entry[1:]}')}" for entry, name in files.items()))
    if DIRTY not in stamps:
        _keep([f"{key} {made}", *known[: _MOST - 1]])
    return made


def _of(*parts: str) -> str:
    return digest("\0".join(parts).encode("utf-8", "surrogateescape"))


def _known() -> list[str]:
    try:
        with open(os.path.join(data_folder(), _NAME), encoding="ascii") as stream:
            return stream.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _keep(lines: list[str]) -> None:
    """Write the digests; where that fails they are found out again."""
    temporary = None
    try:
        path = os.path.join(data_folder(), _NAME)
        handle = os.open(f"{path}.{os.getpid()}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        temporary = f"{path}.{os.getpid()}.tmp"
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write("\n".join(lines))
        os.replace(temporary, path)
    except OSError:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
