"""The key that a user's caches are sealed with, so that a file that someone else put there counts for nothing.

A cache lies among the files it is about, and these may come from anyone: a cloned repository may bring one along. What
it says would be printed, and believed. So a cache is taken only if it was sealed with a key that lies where programs
keep the data of this user.
"""

from __future__ import annotations

import os
import sys

_NAME = "cache.key"
_SIZE = 32


def data_folder() -> str:
    """Return the folder of a user's data: ``$TORCHLINT_DATA_DIR``, else where programs of this system keep such data.

    Raises:
        OSError: it is not known of a home folder of this user, as in containers that run with any user's number.
    """
    own = os.environ.get("TORCHLINT_DATA_DIR")
    if own:
        return own
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        import errno

        raise OSError(errno.ENOENT, "there is no home folder", home)
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "torchlint")
    return os.path.join(os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "torchlint")


def read_key() -> bytes | None:
    """Return the key, ``None`` if there is none yet."""
    try:
        with open(os.path.join(data_folder(), _NAME), "rb") as stream:
            key = stream.read(_SIZE + 1)
    except OSError:
        return None
    return key if len(key) == _SIZE else None


def make_key() -> bytes:
    """Return the key; make one first if there is none.

    Raises:
        OSError: it cannot be kept.
    """
    known = read_key()
    if known is not None:
        return known
    folder = data_folder()
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, _NAME)
    temporary = f"{path}.{os.getpid()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(os.urandom(_SIZE))
        # Of two runs that make one at once the last wins, and the cache of the other counts for nothing once.
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    known = read_key()
    if known is None:
        raise OSError(f"{path} cannot be read")
    return known
