"""The edits of a fix as an editor takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchlint.late import regex
from torchlint.rule import Edit
from torchlint.sources.edits import dominant_newline
from torchlint.sources.text import Source

_BARE_LF = regex(r"(?<!\r)\n")


def as_in_file(source: Source, edits: Sequence[Edit]) -> Iterator[Edit]:
    """Yield the edits of a fix with the newlines that the file uses."""
    newline = dominant_newline(source.text)
    for edit in sorted(set(edits)):
        yield Edit(edit.start, edit.end, _BARE_LF.sub(newline, edit.text))
