"""From one text to another in edits of lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from torchlint.late import regex
from torchlint.rule import Edit
from torchlint.sources.text import Source

_LINE = regex(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def between(before: Source, after: Source) -> list[Edit]:
    """Return edits of whole lines that make one text of the other."""
    old, new = _LINE.findall(before.text), _LINE.findall(after.text)
    starts = _starts(old)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        Edit(starts[first], starts[last], "".join(new[start:end]))
        for kind, first, last, start, end in matcher.get_opcodes()
        if kind != "equal"
    ]


def _starts(lines: Sequence[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    return starts
