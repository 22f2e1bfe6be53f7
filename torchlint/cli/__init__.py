"""The command line."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

OK = 0
FOUND = 1
FAILED = 2
INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run ``torchlint`` with command line arguments (those of the process by default) and return the exit code.

    What goes wrong is told in one line on standard error: wrong usage and wrong settings as well as errors of our own.
    """
    from torchlint.cli.errors import guarded

    if args is not None:
        return guarded(list(args))
    gc.disable()  # the process is short, and syntax trees, which make up its memory, have no cycles
    return guarded(sys.argv[1:])
