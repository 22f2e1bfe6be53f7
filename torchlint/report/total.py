"""What the findings of a run cost together, by the training loop that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from torchlint.late import dataclass
from torchlint.report.cost import duration, percent
from torchlint.report.escape import visible
from torchlint.report.rank import per_step
from torchlint.rule import Basis, Finding, Frequency, Hop, Measured

_ROUNDS = {
    Frequency.INNER: Frequency.STEP,
    Frequency.STEP: Frequency.STEP,
    Frequency.UPDATE: Frequency.UPDATE,
}
_WORDS = {Frequency.STEP: "environment step", Frequency.UPDATE: "gradient update"}
_BRIEF = {Frequency.STEP: "step", Frequency.UPDATE: "update"}
# Loops that the line names; it says how many others there are.
_MOST = 2

Sums = dict[Frequency, float]
"""Amounts by what they are lost in: a step of the environment or a gradient update."""

Amount = Callable[[Finding], float]
"""What a finding costs each time, in microseconds or events; 0: nothing that counts."""

Root = tuple[str, int, str]
"""A training loop or entry point: file, row and name; row 0 for a file alone."""


def total(findings: Sequence[Finding]) -> str:
    """Return what the findings cost together: ``about 310 us per environment step at the sizes measured (CPU)``.

    With several training loops each has its own sum, the costliest first, for no one runs them together. Every finding
    counts once per step or update, also one in an inner loop, and of methods that one call may mean only those of one
    class count, so the figure is a lower bound. Where a profile was joined, it is what the profile measured. Empty
    when nothing hot was measured.
    """
    found = list(findings)
    if any(finding.measured is not None for finding in found):
        return _profiled(found)
    devices = sorted({finding.cost.device for finding in found if finding.cost is not None})
    return "; ".join(filter(None, (_total_on(device, found) for device in devices)))


def in_dearest_loop(findings: Iterable[Finding]) -> str:
    """Return the cost of findings in the training loop where it is highest: ``about 130 us per environment step``.

    On the CPU where it was measured there; empty when nothing hot was measured.
    """
    found = list(findings)
    devices = sorted({finding.cost.device for finding in found if finding.cost is not None})
    loops = next((ranked for device in devices if (ranked := by_loop(found, time_on(device)))), ())
    return f"about {_told(loops[0][0])}" if loops else ""


def _total_on(device: str, findings: Iterable[Finding]) -> str:
    ranked = by_loop(findings, time_on(device))
    if not ranked:
        return ""
    if len(ranked) == 1:
        return f"about {_told(ranked[0][0])} at the sizes measured ({device.upper()})"
    parts = [f"{_told(sums)} {_where(root)}" for sums, root in ranked[:_MOST]]
    left = len(ranked) - _MOST
    parts += [f"less in {left} other{'s' if left > 1 else ''}"] if left > 0 else []
    return f"at the sizes measured ({device.upper()}) about {', '.join(parts)}"


def time_on(device: str) -> Amount:
    """Return the microseconds that findings cost on a device, by those that are known to add up."""

    def amount(finding: Finding) -> float:
        cost = finding.cost
        adds_up = cost is not None and cost.device == device and cost.gains and cost.unit and not cost.open
        return cost.saves_us if cost is not None and adds_up else 0.0

    return amount


def by_loop(findings: Iterable[Finding], amount: Amount) -> list[tuple[Sums, Root]]:
    """Return the cost of findings in each training loop, costliest first.

    Loops in which nothing counts are left out.
    """
    roots: dict[Root, _Code] = {}
    for finding in findings:
        each, when = amount(finding), _ROUNDS.get(finding.hot.frequency)
        if not each or when is None:
            continue
        first, *rest = finding.hot.path or (Hop(finding.path, 0, ""),)
        code = roots.setdefault((first.path, first.row, first.name), _Code())
        for hop in rest:
            code = code.calls.setdefault((hop.at, hop.path, hop.row, hop.name), _Code())
        code.own[when] = code.own.get(when, 0.0) + each
    summed = [(code.sums(), root) for root, code in roots.items()]
    return sorted(summed, key=lambda each: (-_weight(each[0]), each[1]))


@dataclass(eq=False, slots=True)
class _Code:
    """A loop or function on hot paths: what its own findings cost, and by place and name what it calls."""

    own: Sums = field(default_factory=dict)
    calls: dict[tuple[tuple[int, int], str, int, str], _Code] = field(default_factory=dict)

    def sums(self) -> Sums:
        """Return the cost with all callees; of several methods that one call may mean, the costliest counts."""
        found = dict(self.own)
        choices: dict[tuple[object, ...], Sums] = {}
        for (at, path, row, name), code in self.calls.items():
            sums = code.sums()
            key = (at, name.rpartition(".")[2]) if any(at) else (path, row, name)
            if key not in choices or _weight(choices[key]) < _weight(sums):
                choices[key] = sums
        for sums in choices.values():
            for when, each in sums.items():
                found[when] = found.get(when, 0.0) + each
        return found


def _weight(sums: Sums) -> float:
    return sum(per_step(each, when) for when, each in sums.items())


def _told(sums: Sums) -> str:
    return in_words(sums, duration)


def in_words(sums: Sums, told: Callable[[float], str], *, brief: bool = False) -> str:
    """Describe time lost: ``310 us per environment step and 1.5 ms per gradient update``.

    ``brief``: ``310 us per step``.
    """
    words = _BRIEF if brief else _WORDS
    return " and ".join(f"{told(sums[when])} per {word}" for when, word in words.items() if when in sums)


def _where(root: Root) -> str:
    path, row, name = root
    if not row:
        return f"in {visible(path)}"
    return f"in {'the loop at ' if name == 'loop' else f'{visible(name)}, '}{visible(path)}:{row}"


# what a profile measured ----------------------------------------------------------------------------------------------


def _profiled(findings: Sequence[Finding]) -> str:
    """``together 9.4% of the profiled time``; findings of one group share its time, and so do those of one line."""
    lines: dict[tuple[str, int, int], float] = {}
    sure = bounds = 0.0
    for finding in findings:
        found = finding.measured or Measured(Basis.UNSEEN)
        if found.basis is Basis.LINE:
            lines[finding.path, finding.start.row, finding.end.row] = found.share
        elif found.basis is Basis.CALLS:
            sure += found.share / found.alike
        elif found.basis is Basis.FUNCTION:
            bounds += found.share / found.alike
    share = min(sure + sum(lines.values()), 1.0)
    if share:
        return f"together {percent(share)} of the profiled time"
    return f"together at most {percent(min(bounds, 1.0))} of the profiled time" if bounds else ""
