"""What people claim of a smell, beside what is measured before and after the fix."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torchlint.bench.device import device_of
from torchlint.bench.result import CONTROL_LIMITS, ExampleStatus, ResultRow
from torchlint.bench.suite import Thoroughness, row_of, running
from torchlint.engine.rules import load_rules
from torchlint.report.cost import duration, factor
from torchlint.rule import Example, Rule

# Some claims are about a few percent: an interval that comes this near to 1 shows no gain at all.
_LEAST_GAIN = 1.01
_PLAN = Thoroughness(rounds=21, tries=4)


class _ByHand(Rule):
    """Stands for a rule where there is none: the claim's programs are both written by hand."""

    code = "TL000"
    name = "by-hand"
    summary = "no rule"


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        title: what it is about. words: the claim.
        least, most: the claimed ratio of the time before to the time after.
        rule: the code of the rule whose fix makes the program after; empty: it was written by hand.
        examples: the programs, one for each size.
        remark: what else must be said.
    """

    title: str
    words: str
    least: float
    most: float
    rule: str
    examples: tuple[Example, ...]
    remark: str = ""


@dataclass(frozen=True)
class Answer:
    """What was measured of a claim at one size."""

    claim: Claim
    row: ResultRow

    @property
    def verdict(self) -> str:
        """Whether the claim holds at this size: by the interval, not by the median alone."""
        figure = self.row.figure
        if figure is None:
            return self.row.status.value
        if self.row.status is not ExampleStatus.MEASURED:
            return f"no conclusion: the control left {CONTROL_LIMITS[0]} to {CONTROL_LIMITS[1]}"
        if figure.low <= _LEAST_GAIN:
            return "does not hold: no gain beyond noise"
        if figure.high < self.claim.least:
            return "does not hold: less"
        return "holds: more" if figure.low > self.claim.most else "holds"

    @property
    def cells(self) -> tuple[str, ...]:
        """Size, time before, time after, ratio with its interval, verdict."""
        figure = self.row.figure
        size = self.row.example.replace("-", " ")
        if figure is None or self.row.status is not ExampleStatus.MEASURED:
            return size, "", "", "", self.verdict
        spread = f"{factor(figure.ratio)}x ({factor(figure.low)}-{factor(figure.high)}x)"
        return size, duration(figure.before_us), duration(figure.after_us), spread, self.verdict


def answers(claim: Claim, device: str = "cpu") -> Iterator[Answer]:
    """Fix and measure the programs of a claim."""
    rule = next((each for each in load_rules() if each.code == claim.rule), _ByHand)
    for example in claim.examples:
        with running():
            row = row_of(rule, example, device_of(device), _PLAN)
        yield Answer(claim, row)


def main(claim: Claim, arguments: Sequence[str] | None = None) -> int:
    """Print the claim beside what is measured; an argument names the device. 1 when a program failed."""
    device = next(iter(sys.argv[1:] if arguments is None else arguments), "cpu")
    after = f"the fix of {claim.rule}" if claim.rule else "written by hand, there is no fix"
    print(f"{claim.title}\n  claimed: {claim.words}\n  after:   {after}")
    failed = 0
    for answer in answers(claim, device):
        size, before, then, spread, verdict = answer.cells
        print(f"  {size}: {before} before, {then} after, {spread}: {verdict}" if before else f"  {size}: {verdict}")
        if answer.row.detail:
            print(answer.row.detail)
        failed += answer.row.status in (ExampleStatus.FAILED, ExampleStatus.DIFFERENT)
    return int(failed > 0)


def by_hand(example: Example) -> Example:
    """The example, marked as written by hand."""
    return replace(example, by_hand=True)
