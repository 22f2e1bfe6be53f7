"""Temporary files of processes that were killed before they could remove them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re


def remove_strays(folder: str, name: re.Pattern[str]) -> None:
    """Remove the files of a folder whose names fit, if the process whose number is the first group has ended."""
    with suppress(OSError), os.scandir(folder) as scan:
        for entry in scan:
            stray = name.fullmatch(entry.name)
            if stray and entry.is_file(follow_symlinks=False) and not _is_running(int(stray[1])):
                with suppress(OSError):
                    os.unlink(entry.path)


def _is_running(process: int) -> bool:
    if sys.platform == "win32":  # there a signal that asks would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
