"""Unified diffs of fixed files, as ``--diff`` prints them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from torchlint.engine.result import FixedFile
from torchlint.report.context import Context
from torchlint.report.escape import is_obeyed, visible
from torchlint.sources.text import Source

_STYLES = {"-": "31", "+": "32", "@": "36"}
_UNFINISHED = "\\ No newline at end of file\n"


def render(context: Context) -> str:
    """Return the diffs of all fixed files by name, fit for ``patch -p0``; for a terminal controls are made visible."""
    files = sorted(context.fixed.items())
    lines = (line for name, file in files for line in _diffs(name, file))
    if not context.terminal:
        return "".join(lines)
    return "".join(_for_terminal(line, context.color) for line in lines)


def shown(name: str, before: Source, after: Source, *, color: bool) -> list[str]:
    """Return the diff between two texts of a file in lines for a terminal."""
    lines = _diffs(name, FixedFile(before, after, ()))
    return [_for_terminal(line, color).removesuffix("\n") for line in lines]


def obeyed(context: Context) -> Iterator[str]:
    """Yield the files whose diffs hold a line that a service that shows them may take for a command.

    It cannot be written otherwise: a diff that is applied has to be exact.
    """
    for name, file in sorted(context.fixed.items()):
        if any(is_obeyed(line) for line in _diffs(name, file)):
            yield name


def _diffs(name: str, file: FixedFile) -> Iterator[str]:
    """The diff of a file, or of each cell of a notebook."""
    if file.before.notebook is None:
        yield from _diff(name, file.before.text, file.after.text)
        return
    from torchlint.sources.notebook import split_cells

    after = dict(split_cells(file.after.text))
    for number, text in split_cells(file.before.text):
        yield from _diff(f"{name}:cell {number}", text, after.get(number, ""))


def _diff(name: str, text: str, other: str) -> Iterator[str]:
    shown = _quoted(name)
    before, after = _lines(text), _lines(other)
    for line in unified_diff(before, after, shown, shown):
        if line.endswith("\n"):
            yield line
        else:
            yield f"{line}\n"
            yield _UNFINISHED


def _lines(text: str) -> list[str]:
    """Lines as ``patch`` sees them: a newline ends one and nothing else does, no form feed and no Unicode separator."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _quoted(name: str) -> str:
    """A file name as ``git diff`` writes it: like a C string in quotes where it holds quotes or controls."""
    if name.isprintable() and not {'"', "\\"} & set(name) and not is_obeyed(name):
        # Without the tab, patch would read what follows the blank as a time stamp.
        return f"{name}\t" if " " in name else name
    return f'"{"".join(map(_octal, name))}"'


def _octal(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable() and char != "#":
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def _for_terminal(line: str, color: bool) -> str:
    text = visible(line.rstrip("\r\n"), keep="\t")
    if not color:
        return f"{text}\n"
    bold = line.startswith(("--- ", "+++ "))
    style = "1" if bold else _STYLES.get(line[0], "")
    return f"\x1b[{style}m{text}\x1b[0m\n" if style else f"{text}\n"
