"""What a fix does to the lines it touches: which go, which come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchlint.late import dataclass
from torchlint.report.context import Context
from torchlint.report.escape import visible
from torchlint.rule import Applicability, Change, Edit, Finding, PlainFix
from torchlint.sources.lines import LineTable

# Edits further apart than this, such as an import at the top of a file, make no readable suggestion together.
_ROWS_APART = 30


@dataclass(frozen=True, slots=True)
class Hunk:
    """Consecutive lines before and after a fix, without the lines and the indentation that both have.

    ``row`` is that of the first line that goes, or of the line before which others come.
    """

    row: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


def hunks(utf8: bytes, table: LineTable, edits: Sequence[Edit]) -> list[Hunk]:
    """Return the changes of non-overlapping edits, by place.

    Edits on the same rows or on adjacent ones make one hunk.
    """
    found = (_hunk(utf8, table, group) for group in _groups(table, sorted(edits)))
    return [hunk for hunk in found if hunk.removed or hunk.added]


def hunks_in_files(context: Context, finding: Finding) -> dict[str, list[Hunk]]:
    """Return the changes of a finding's fix in each file, by name: those in the file of the finding first."""
    if finding.fix is None:
        return {}
    return {
        name: hunks(context.sources[name].utf8, context.tables[name], edits)
        for name, edits in finding.fix.by_file(finding.path).items()
        if name in context.tables
    }


def _groups(table: LineTable, edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    group: list[Edit] = []
    for edit in edits:
        if group and table.row(edit.start) > table.row(group[-1].end) + 1:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _hunk(utf8: bytes, table: LineTable, edits: list[Edit]) -> Hunk:
    start = table.offset(table.row(edits[0].start), 0)
    last = table.row(edits[-1].end)
    end = table.offset(last + 1, 0) if last < table.rows else len(utf8)
    before = utf8[start:end].decode()
    after, at = "", start
    for edit in edits:
        after += utf8[at : edit.start].decode() + edit.text
        at = edit.end
    after += utf8[at:end].decode()
    return _trimmed(table.row(start), _lines(before), _lines(after))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def _trimmed(row: int, before: list[str], after: list[str]) -> Hunk:
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    # Blank lines around new ones say nothing.
    while not before and after and not after[-1].strip():
        del after[-1]
    while not before and after and not after[0].strip():
        del after[0]
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return _dedented(row + same, before[same:], after[same:])


def _dedented(row: int, before: list[str], after: list[str]) -> Hunk:
    written = [line for line in (*before, *after) if line.strip()]
    indent = min((len(line) - len(line.lstrip(" \t")) for line in written), default=0)
    return Hunk(row, tuple(line[indent:] for line in before), tuple(line[indent:] for line in after))


def acceptance(fix: PlainFix, taken: bool) -> str:
    """Describe what the fix may change, and how ``--fix`` applies it; ``taken`` if the user has accepted that."""
    if fix.applicability is Applicability.DISPLAY:
        return "would lose a comment, so it is left to you"
    if fix.applicability is Applicability.SAFE:
        return "safe: changes nothing but the time; --fix applies it"
    if taken:
        how = "accepted, --fix applies it"
    elif fix.assumes:
        how = "--fix --unsafe-fixes applies it"
    else:
        how = f"--fix --accept {','.join(change.value for change in fix.may_change)} applies it"
    return f"{effects(fix)}; {how}"


def effects(fix: PlainFix) -> str:
    """Return what the fix may change besides the time, and what must hold for it to be right."""
    changes = [change.value for change in fix.may_change if change is not Change.OBSERVED]
    told = [f"may change {', '.join(changes)}"] if changes else []
    told += ["right by what was seen in a run of yours"] if Change.OBSERVED in fix.may_change else []
    told += [f"right only if {visible(fix.assumes)}"] if fix.assumes else []
    return ", ".join(told) or "safe: changes nothing but the time"


def one_edit(utf8: bytes, table: LineTable, edits: Sequence[Edit]) -> Edit | None:
    """Merge non-overlapping edits into one; return ``None`` if they are too far apart."""
    ordered = sorted(set(edits))
    start, end = ordered[0].start, max(edit.end for edit in ordered)
    if table.row(end) - table.row(start) > _ROWS_APART:
        return None
    text, at = "", start
    for edit in ordered:
        text += utf8[at : edit.start].decode() + edit.text
        at = edit.end
    return Edit(start, end, text)
