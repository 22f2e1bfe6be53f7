"""Whether a row that this Python cannot read is written for a newer one."""

from __future__ import annotations

import ast
import sys
import warnings

NEWER = f"; a newer Python reads it, and torchlint runs on Python {sys.version_info[0]}.{sys.version_info[1]}"

_LONGEST = 200


def reads_newer(error: SyntaxError) -> bool:
    """Return whether a newer Python reads the row of a syntax error, which this one reads in no place.

    The grammar of LibCST is ahead of old Pythons and refuses what no Python reads. Only the one row is tried, and none
    that is longer than 200 characters: LibCST has no limit of its own to how deeply code is nested. The header of a
    block gets a body, a handler the ``try`` before it.
    """
    row = (error.text or "").strip()
    if not row or len(row) > _LONGEST:
        return False
    block = f"{row} ...\n" if row.endswith(":") else f"{row}\n"
    text = f"try: ...\n{block}" if row.startswith("except") else block
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError:
        return _in_grammar(text)
    except (ValueError, RecursionError, MemoryError):
        return False
    return False


def _in_grammar(text: str) -> bool:
    import libcst  # seldom needed

    try:
        libcst.parse_module(text)
    except (libcst.ParserSyntaxError, ValueError, RecursionError):
        return False
    return True
