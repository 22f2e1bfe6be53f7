"""Findings as plain rows of JSON and back, for the cache and for what processes tell each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from torchlint.rule import (
    Change,
    Cost,
    Counted,
    Counts,
    Edit,
    Finding,
    Frequency,
    Hop,
    Hotness,
    Level,
    PlainFix,
    Position,
)

_Item = TypeVar("_Item")
Row = list[object]


def to_row(finding: Finding) -> Row:
    """Return a finding as lists, texts and numbers."""
    cost = finding.cost
    return [
        finding.code,
        finding.name,
        finding.message,
        finding.level.value,
        finding.path,
        [finding.start.row, finding.start.column, finding.end.row, finding.end.column, *finding.rows],
        [
            int(finding.hot.frequency),
            finding.hot.when,
            *map(_hop_row, finding.hot.path),
        ],
        None if cost is None else _row_of(cost),
        None if finding.fix is None else _fix_row(finding.fix),
        finding.cuda_only,
        finding.fingerprint,
        list(finding.figures),
        None if finding.events is None else _counted_row(finding.events),
        *_seldom(finding),
    ]


def _seldom(finding: Finding) -> Row:
    """What few findings have, as the end of a row: the better fix that a run showed, and the flow of the value."""
    seen = None if finding.seen is None else _fix_row(finding.seen)
    flow = [_hop_row(hop) for hop in finding.flow]
    return [seen, flow] if flow else [] if seen is None else [seen]


def _hop_row(hop: Hop) -> Row:
    return [hop.path, hop.row, hop.name, *hop.at]


def _fix_row(fix: PlainFix) -> Row:
    """A fix as a row, which is longer where the fix changes several files, has another in its place, or is one."""
    row: Row = [
        fix.message,
        _edit_rows(fix.edits),
        [change.value for change in fix.may_change],
        fix.assumes,
        fix.loses_comment,
        fix.removes,
    ]
    if fix.in_files or fix.instead is not None or fix.less:
        row.append([[name, _edit_rows(edits)] for name, edits in fix.in_files])
        row.append(None if fix.instead is None else _fix_row(fix.instead))
        row.append(fix.less)
    return row


def _edit_rows(edits: Iterable[Edit]) -> Row:
    return [[edit.start, edit.end, edit.text] for edit in edits]


def _row_of(cost: Cost) -> Row:
    numbers = [cost.saves_us, cost.ratio, cost.low, cost.high, cost.most_us]
    return [*numbers, cost.size, cost.device, cost.source, cost.example, cost.unit, cost.most_size, cost.open]


def _counted_row(events: Counted) -> Row:
    one, other = events.before, events.after
    numbers = [each for side in (one, other) for each in (side.waits, side.launches, side.copies, side.bytes)]
    return [*numbers, events.runs, events.size, events.example, events.unit]


def from_row(row: object) -> Finding:
    """Return the finding of a row.

    Raises:
        ValueError: the row is not one of a finding.
    """
    parts = _list(row) if len(_list(row)) in (14, 15) else _parts(row, 13)
    code, name, message, level, path, place, hot, cost, fix, *rest = parts
    cuda_only, fingerprint, figures, events, *seldom = rest
    seen = seldom[0] if seldom else None
    flow = seldom[1] if len(seldom) > 1 else []
    top, left, bottom, right, first, last = (_whole(number) for number in _parts(place, 6))
    frequency, when, *hops = _list(hot)
    return Finding(
        code=_text(code),
        name=_text(name),
        message=_text(message),
        level=Level(level),
        path=_text(path),
        start=Position(top, left),
        end=Position(bottom, right),
        rows=(first, last),
        hot=Hotness(Frequency(_whole(frequency)), tuple(map(_hop, hops)), _text(when)),
        cost=None if cost is None else _cost(cost),
        fix=None if fix is None else _fix(fix),
        cuda_only=_flag(cuda_only),
        fingerprint=_text(fingerprint),
        figures=tuple(map(_text, _list(figures))),
        events=None if events is None else _counted(events),
        seen=None if seen is None else _fix(seen),
        flow=tuple(map(_hop, _list(flow))),
    )


def _hop(row: object) -> Hop:
    path, number, name, *at = _parts(row, 5)
    return Hop(_text(path), _whole(number), _text(name), (_whole(at[0]), _whole(at[1])))


def _cost(row: object) -> Cost:
    parts = _parts(row, 12)
    saves, ratio, low, high, most = map(_number, parts[:5])
    size, device, source, example, unit, largest = map(_text, parts[5:11])
    return Cost(saves, ratio, low, high, size, device, source, example, unit, most, largest, _flag(parts[11]))


def _counted(row: object) -> Counted:
    parts = _parts(row, 12)
    numbers = [_whole(number) for number in parts[:9]]
    size, example, unit = map(_text, parts[9:])
    return Counted(Counts(*numbers[:4]), Counts(*numbers[4:8]), size, example, numbers[8], unit)


def _fix(row: object) -> PlainFix:
    message, edits, changes, assumes, loses, removes, *more = _list(row) if len(_list(row)) == 9 else _parts(row, 6)
    files, instead, less = more or ([], None, False)
    return PlainFix(
        _text(message),
        _edits(edits),
        tuple(Change(change) for change in _list(changes)),
        _text(assumes),
        _flag(loses),
        _text(removes),
        tuple((_text(name), _edits(found)) for name, found in (_parts(file, 2) for file in _list(files))),
        None if instead is None else _fix(instead),
        _flag(less),
    )


def _edits(rows: object) -> tuple[Edit, ...]:
    return tuple(map(_edit, _list(rows)))


def _edit(row: object) -> Edit:
    start, end, text = _parts(row, 3)
    return Edit(_whole(start), _whole(end), _text(text))


def _checked(kind: type[_Item]) -> Callable[[object], _Item]:
    """A function that gives back a value of exactly this type, and raises ``ValueError`` for any other."""

    def read(value: object) -> _Item:
        if type(value) is not kind:
            raise ValueError(f"no {kind.__name__}: {value!r}")
        return value

    return read


_text = _checked(str)
_flag = _checked(bool)
_whole = _checked(int)
_list: Callable[[object], Row] = _checked(list)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"no number: {value!r}")
    return value


def _parts(row: object, count: int) -> Row:
    parts = _list(row)
    if len(parts) != count:
        raise ValueError(f"{len(parts)} parts in the place of {count}")
    return parts
