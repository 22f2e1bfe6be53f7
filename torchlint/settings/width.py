"""How long the lines of a project may be: what its formatter or its linter is told.

A fact of the project, as the versions it runs with; no setting of ours. Files are searched for lines, not parsed.
"""

from __future__ import annotations

import re
from pathlib import Path

from torchlint.late import regex
from torchlint.settings.target import text_of

_LENGTH = regex(r"""^[ \t]*["']?(?:line[-_]length|max[-_]line[-_]length)["']?[ \t]*[=:][ \t]*(?P<length>\d{1,4})\b""")
_SECTION = regex(r"^[ \t]*\[+(?P<name>[^\]\n]*)\]+")

# In this order, files and the sections of them that mention lines; empty: what stands before any section.
_SAYING = (
    ("ruff.toml", ("", "lint.pycodestyle")),
    (".ruff.toml", ("", "lint.pycodestyle")),
    ("pyproject.toml", ("tool.ruff", "tool.black", "tool.flake8", "tool.pycodestyle", "tool.ruff.lint.pycodestyle")),
    ("setup.cfg", ("flake8", "pycodestyle")),
    ("tox.ini", ("flake8", "pycodestyle")),
    (".flake8", ("flake8",)),
)
NAMING_WIDTH = tuple(name for name, _ in _SAYING)
"""All files that are asked."""
_LEAST, _MOST = 40, 400


def width_of(root: Path) -> int | None:
    """Return the length of line that a project in a folder asks for, ``None`` if it states none."""
    for name, sections in _SAYING:
        found = _lengths(text_of(root / name))
        for section in sections:
            if section in found:
                return found[section]
    return None


def _lengths(text: str) -> dict[str, int]:
    """By section the length that it names, where it is one that lines of code may have."""
    section = ""
    found: dict[str, int] = {}
    for line in text.splitlines():
        header = _SECTION.match(line)
        if header:
            section = re.sub(r"[\s\"']", "", header["name"])
        elif (match := _LENGTH.match(line)) and _LEAST <= int(match["length"]) <= _MOST:
            found.setdefault(section, int(match["length"]))
    return found
