"""Which files are worth parsing: those that mention torch, and those that import or are imported by such a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from torchlint.late import regex
from torchlint.sources.wide import is_wide

GATE_WORDS = (b"torch",)
# A clause of imports at the start of a line or of a statement in it; its names may stand on several rows.
_IMPORT = regex(
    rb"(?:^|[\r\n;:]|\xef\xbb\xbf)[ \t\f]*(?:from[ \t]*([\w.\x80-\xff]+)[ \t]*)?import\b[ \t]*"
    rb"(\((?:[^()#]|#[^\r\n]*[\r\n])*|(?:[^\\\r\n;#]|\\\r?\n)*)"
)
_WORD = regex(r"\w+")


def passing(texts: Mapping[str, bytes], words: Iterable[bytes] = GATE_WORDS) -> frozenset[str]:
    """Return names of the files to parse, of texts by name.

    A torch-free ``train.py`` that imports the agent holds the root of the hot path, and a torch-free replay buffer that
    the agent imports says what a batch is, so the gate widens along imports until nothing is added.
    """
    words = tuple(words)
    speaking = {name for name, text in texts.items() if is_wide(text) or any(word in text for word in words)}
    return spread(speaking, {name: imported(text) for name, text in texts.items()})


def spread(speaking: Iterable[str], imports: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the names of files that mention torch, and of all that their imports may link with these."""
    inside = set(speaking)
    stems: dict[str, set[str]] = {}
    for name in imports:
        stems.setdefault(_stem(name), set()).add(name)
    todo = list(inside)
    users: dict[str, set[str]] = {}
    for name, words_used in imports.items():
        for word in words_used:
            users.setdefault(word, set()).add(name)
    while todo:
        name = todo.pop()
        near = set(users.get(_stem(name), ()))
        for word in imports[name]:
            near |= stems.get(word, set())
        for other in near - inside:
            inside.add(other)
            todo.append(other)
    return frozenset(inside)


def _stem(name: str) -> str:
    """The last component of a file's module name: ``replay`` of ``agent/replay.py``, ``agent`` of its ``__init__``."""
    path = PurePosixPath(name)
    return path.parent.name if path.stem == "__init__" else path.stem


def imported(text: bytes) -> set[str]:
    """Return the components of all modules and names that a text imports, and perhaps a few other words."""
    found: set[str] = set()
    for match in _IMPORT.finditer(text):
        for part in match.groups(b""):
            found.update(_WORD.findall(part.decode("utf-8", "replace")))
    return found
