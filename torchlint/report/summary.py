"""The line that sums up a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.report.context import Context
from torchlint.report.escape import visible
from torchlint.rule import Applicability

if TYPE_CHECKING:
    from torchlint.rule import Finding


def summary(context: Context) -> str:
    """Return one line without a newline: what was found and fixed, and what the rest costs.

    The result is empty when no file was looked at.

    ``9 findings, 6 fixable safely with --fix; about 310 us per environment step at the sizes measured (CPU)``
    """
    parts = [
        _fixed(context),
        _compared(context),
        _remaining(context),
        _total(context),
        _unread(context),
    ]
    return "; ".join(part for part in parts if part)


def _total(context: Context) -> str:
    """What the findings cost together."""
    if not context.findings:
        return ""
    from torchlint.report.here import seen_from_here
    from torchlint.report.notebooks import in_cells
    from torchlint.report.total import total

    return total(in_cells(seen_from_here(context)).findings)


def count(number: int, noun: str) -> str:
    """Format a count with its noun: ``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _fixed(context: Context) -> str:
    applied = sum(len(file.applied) for file in context.fixed.values())
    if not applied:
        return "Nothing to fix" if context.diff else ""
    verb = "Would fix" if context.diff else "Fixed"
    return f"{verb} {count(applied, 'finding')} in {count(len(context.fixed), 'file')}"


def _compared(context: Context) -> str:
    """``2 new, 5 gone, 20 the same as in before.json``."""
    if context.compared is None:
        return ""
    found = context.compared
    return f"{len(context.findings)} new, {len(found.gone)} gone, {found.same} the same as in {visible(found.name)}"


def _remaining(context: Context) -> str:
    found = len(context.findings)
    if not found:
        where = count(context.files, "file")
        return _left(context, where) if context.fixed else _nothing(context, where)
    verb = ("remains" if found == 1 else "remain") if context.fixed else ""
    return " ".join(part for part in (count(found, "finding"), verb) if part) + _fixable(context)


def _left(context: Context, where: str) -> str:
    """That nothing is left, as far as this run can say so."""
    if context.diff:
        return ""
    if context.partial:
        return f"nothing new is left in {where}"
    whole = not (context.narrowed or context.problems)
    return f"nothing slow is left in {where}" if whole else f"no findings are left in {where}"


def _nothing(context: Context, where: str) -> str:
    if not context.files or context.diff:
        return ""
    if context.narrowed and not context.partial:
        return f"No findings in {where}"
    return f"Nothing {'new' if context.partial else 'slow'} found in {where}"


def _fixable(context: Context) -> str:
    fixes = [finding.fix for finding in context.findings if finding.fix is not None]
    safe = sum(fix.applicability is Applicability.SAFE for fix in fixes)
    accepted = sum(map(context.takes, context.findings)) - safe
    how = [f"{safe} fixable safely"] if safe else []
    if accepted:
        how.append(f"{accepted} as accepted" if safe else f"{accepted} fixable as accepted")
    ready = f"{' and '.join(how)} with --fix" if how else ""
    return "".join(f", {part}" for part in (ready, _acceptable(context, "more" if how else "fixable")) if part)


def _acceptable(context: Context, word: str) -> str:
    """How many fixes wait only for the change to be accepted that most of them may make, and the options for it."""
    waiting: dict[tuple[str, ...], list[Finding]] = {}
    for finding in context.findings:
        fix = finding.fix
        if fix is None or fix.applicability is not Applicability.UNSAFE or fix.assumes or context.takes(finding):
            continue
        waiting.setdefault(tuple(sorted(change.value for change in fix.may_change)), []).append(finding)
    if not waiting:
        return ""
    from torchlint.report.total import in_dearest_loop

    changes, found = min(waiting.items(), key=lambda item: (-len(item[1]), item[0]))
    whole = len(found) == len(context.findings)  # the line says what all findings cost, too
    gain = in_dearest_loop(found) if context.fixed and not whole else ""
    ready = f"{len(found)} {word} with --fix --accept {','.join(changes)}"
    return f"{ready} ({gain})" if gain else ready


def _unread(context: Context) -> str:
    files = len({problem.path for problem in context.problems})
    return f"{count(files, 'file')} could not be checked" if files else ""
