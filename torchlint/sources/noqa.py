"""Writing ``noqa`` comments."""

from __future__ import annotations

import re
import tokenize
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from torchlint.late import regex
from torchlint.rule import Edit, Finding
from torchlint.sources.edits import apply_edits
from torchlint.sources.lines import LineTable
from torchlint.sources.suppress import suppressions
from torchlint.sources.text import Source
from torchlint.sources.tokens import read_tokens

_NOQA = regex(r"#\s*noqa", re.IGNORECASE)
_IGNORED = regex(r"#\s*torchlint:\s*ignore\s*\[[^][]*[^][\s,](?=[\s,]*\])", re.IGNORECASE)
_LISTED = regex(r"#\s*noqa\s*:\s*[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*", re.IGNORECASE)


def with_noqa(
    source: Source, findings: Sequence[Finding], reason: str, *, ours: bool = False
) -> tuple[Source, list[Finding]]:
    """Return the source with a ``noqa`` comment for each finding, and the findings that no comment could silence.

    A comment stands at the end of the finding's statement; codes join a list that is there already. ``reason`` is put
    behind new comments. With ``ours`` they are comments that torchlint alone reads.
    """
    tokens = read_tokens(source.text) or []
    ends = sorted({token.start for token in tokens if token.type in (tokenize.NEWLINE, tokenize.NL)})
    rows: dict[int, set[str]] = {}
    for finding in findings:
        place = bisect_left(ends, (finding.rows[1], 0))
        if place < len(ends):
            rows.setdefault(ends[place][0], set()).add(finding.code)
    after = apply_edits(source, list((_own_edits if ours else _edits)(source, tokens, rows, reason)))
    marks = suppressions(after)
    return after, [finding for finding in findings if not marks.covers(finding)]


def _edits(
    source: Source, tokens: Iterable[tokenize.TokenInfo], rows: Mapping[int, set[str]], reason: str
) -> Iterable[Edit]:
    table = LineTable(source.utf8)
    comments = {token.start[0]: token for token in tokens if token.type == tokenize.COMMENT}
    for row, codes in rows.items():
        comment = comments.get(row)
        first = _NOQA.search(comment.string) if comment else None
        listed = _LISTED.match(comment.string, first.start()) if comment and first else None
        start = table.offset(row, 0)
        if comment and listed:
            before = table.line(row)[: comment.start[1] + listed.end()]
            place = start + len(before.encode())
            yield Edit(place, place, "".join(f", {code}" for code in sorted(codes)))
        elif comment and first:
            # Of several in one comment the first counts.
            place = start + len(table.line(row)[: comment.start[1]].encode())
            yield Edit(place, place, f"# noqa: {', '.join(sorted(codes))}  ")
        else:
            line = table.line(row)
            place = start + len(line.rstrip().encode())
            told = f" {reason}" if reason else ""
            yield Edit(place, start + len(line.encode()), f"  # noqa: {', '.join(sorted(codes))}{told}")


def _own_edits(
    source: Source, tokens: Iterable[tokenize.TokenInfo], rows: Mapping[int, set[str]], reason: str
) -> Iterable[Edit]:
    table = LineTable(source.utf8)
    comments = {token.start[0]: token for token in tokens if token.type == tokenize.COMMENT}
    for row, codes in rows.items():
        comment = comments.get(row)
        listed = _IGNORED.search(comment.string) if comment else None
        line, start = table.line(row), table.offset(row, 0)
        if comment and listed:
            place = start + len(line[: comment.start[1] + listed.end()].encode())
            yield Edit(place, place, "".join(f", {code}" for code in sorted(codes)))
        else:
            told = f" {reason}" if reason else ""
            end = start + len(line.encode())
            yield Edit(
                start + len(line.rstrip().encode()), end, f"  # torchlint: ignore[{', '.join(sorted(codes))}]{told}"
            )
