"""What a run found out, for people: a list of the fixes, what was measured, and why fixes were rejected."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.text import Text

from torchlint.report.cost import factor
from torchlint.report.escape import visible
from torchlint.report.explain import Pen
from torchlint.report.style import ASCII, LABEL, QUIET, UNICODE
from torchlint.report.summary import count
from torchlint.verify.metric import Fall, Gain, Verdict
from torchlint.verify.result import Status, Tried, Verified

_STYLES = {Status.KEPT: "green", Status.REJECTED: "bold red", Status.IDLE: "yellow"}
_VERDICTS = {Verdict.BETTER: "green", Verdict.WORSE: "bold red"}


def as_text(verified: Verified, metric: str, written: int, *, color: bool, unicode: bool, width: int) -> str:
    """Return the list and what there is to say below it.

    No line is wider than ``width`` cells, but for what was printed.

    ``metric`` is what was measured, as the user gave it, ``written`` how many files were.
    """
    pen = Pen(color, UNICODE if unicode else ASCII, width)
    lines = [line for text in _listing(verified) for line in pen.lines(text)]
    for number, fix in enumerate(verified.fixes, 1):
        if fix.status is not Status.KEPT:
            lines += ["", *_rejection(number, fix, pen)]
    if verified.gain is not None:
        lines += ["", *(line for text in _gain(verified.gain, metric) for line in pen.lines(text))]
    if verified.fall is not None:
        lines += ["", *(line for text in _fall(verified.fall) for line in pen.lines(text))]
    lines += [""] if lines else []
    return "".join(f"{line}\n" for line in (*lines, *pen.lines(Text(summary(verified, written)))))


def summary(verified: Verified, written: int) -> str:
    """Summarise the run.

    ``5 of 6 fixes kept, 1 rejected; 2 files written. The command ran 9 times, 3.1 s without fixes.``
    """
    ran = "once" if verified.runs == 1 else f"{verified.runs} times"
    how = f"The command ran {ran}, {verified.seconds:.3g} s without fixes."
    if not verified.fixes:
        return f"No fixes to try{_waiting(verified)}. {how}"
    kept, rejected, idle = (verified.count(status) for status in Status)
    parts = [f"{kept} of {count(len(verified.fixes), 'fix').replace('fixs', 'fixes')} kept"]
    parts += [f"{rejected} rejected"] if rejected else []
    parts += [f"{idle} without effect on the count"] if idle else []
    files = f"; {count(written, 'file')} written" if written else ""
    return f"{', '.join(parts)}{files}. {how}"


def _waiting(verified: Verified) -> str:
    """`` but 3 with --unsafe-fixes, of which --accept rounding takes 2``, where that is so."""
    if not verified.waiting:
        return ""
    takes = [f"--accept {changes} takes {number}" for changes, number in verified.acceptable().items()]
    of_which = f", of which {' and '.join(takes)}" if takes else ""
    return f" but {len(verified.waiting)} with --unsafe-fixes{of_which}"


def _listing(verified: Verified) -> Iterator[Text]:
    """A row for each fix, below the name of its file."""
    numbered = list(enumerate(verified.fixes, 1))
    wide = max((len(_where(fix)) for fix in verified.fixes), default=0)
    names = max((len(fix.finding.name) for fix in verified.fixes), default=0)
    for path, group in groupby(numbered, lambda each: each[1].finding.path):
        yield Text(visible(path), "bold")
        for number, fix in group:
            yield Text.assemble(
                (f"{number:{len(str(len(numbered))) + 1}}  ", QUIET),
                f"{_where(fix):{wide}}  ",
                (fix.finding.code, LABEL),
                f" {fix.finding.name:{names}}  ",
                (fix.status.value, _STYLES[fix.status]),
            )


def _where(fix: Tried) -> str:
    return f"{fix.place.row}:{fix.place.column}"


def _rejection(number: int, fix: Tried, pen: Pen) -> Iterator[str]:
    finding = fix.finding
    place = f"{visible(finding.path)}:{fix.place.row}"
    how = f"the command fails: {fix.reason}" if fix.status is Status.REJECTED else fix.reason
    if fix.against:
        others = ", ".join(map(str, fix.against))
        how = f"passes alone, but fails together with {others}: {fix.reason}"
    yield from pen.lines(Text.assemble((f"{number} {finding.code} {place} ", "bold"), how))
    for line in fix.output.split("\n") if fix.output else ():
        yield f"  {pen.signs.bar} {visible(line, keep=chr(9))}".rstrip()


def _gain(gain: Gain, metric: str) -> Iterator[Text]:
    style = _VERDICTS.get(gain.verdict, "")
    spread = f"{factor(gain.low)}-{factor(gain.high)}x, {100 * gain.confidence:.0f} % interval"
    yield Text.assemble(f"{visible(metric)}: ", (f"{factor(gain.ratio)}x", style), f" ({spread}): ", gain.verdict.value)
    yield Text(f"without fixes: {_numbers(gain.before)}", QUIET)
    yield Text(f"with fixes:    {_numbers(gain.after)}", QUIET)


def _fall(fall: Fall) -> Iterator[Text]:
    style = "green" if fall.after < fall.before else ""
    counts = f"{fall.before:,} without fixes, {fall.after:,} with them"
    yield Text.assemble(f"{fall.what} on the counted device: ", (counts, style))


def _numbers(numbers: tuple[float, ...]) -> str:
    return " ".join(f"{number:.4g}" for number in numbers)
