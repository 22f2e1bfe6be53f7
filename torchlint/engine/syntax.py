"""Whether Python can read a text: all that is known of a file that no rule looks at."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

from torchlint.engine.ahead import NEWER, reads_newer
from torchlint.engine.limits import too_long_to_parse
from torchlint.late import dataclass
from torchlint.sources.text import Source

SYNTAX_ERROR = "TL000"
"""The code of the finding for a file that Python cannot read."""

# Of a file that is too large to be read: how much is parsed, and how errors begin that no rest could mend.
_BEGINNING = 256_000
_LIMIT = "too many "


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A file that Python cannot read: the message, and where; ``too_much``: it could, but the file is too large."""

    message: str
    row: int = 1
    column: int = 1
    too_much: bool = False


def tree_of(text: str) -> ast.Module | Unparsed:
    """Return the syntax tree of a text, or why Python cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Not the bytes: in those Python would obey a declaration of another encoding.
            return ast.parse(text)
    except SyntaxError as error:
        doubt = NEWER if reads_newer(error) else ""
        return Unparsed(f"{error.msg or 'invalid syntax'}{doubt}", error.lineno or 1, error.offset or 1)
    except ValueError as error:
        return Unparsed(f"cannot be parsed: {error}")
    except (RecursionError, MemoryError):
        return Unparsed("cannot be parsed: its code is nested too deeply for Python")


def begins_too_deep(path: Path) -> Unparsed | None:
    """Return Python's error for a file whose first part is nested too deeply, whatever follows.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        begun = tree_of(stream.read(_BEGINNING).decode("latin-1"))
    return begun if isinstance(begun, Unparsed) and begun.message.startswith(_LIMIT) else None


def is_sound(source: Source) -> bool:
    """Return whether Python can parse a text, or would take too long to find out."""
    if too_long_to_parse(source.utf8):
        return True
    return isinstance(tree_of(source.text), ast.Module) and not (source.notebook and any(source.notebook.faults()))
