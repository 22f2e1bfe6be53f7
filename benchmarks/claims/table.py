"""Measures all claims and writes ``docs/claims.md``.

    python benchmarks/claims/table.py [cpu|cuda]

Nothing is written when a program fails or the machine is too busy to conclude.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import action_masking
import batched_heads
import compile_shapes
import inference_mode
import legacy_constructor
import nan_checks
import vector_environments
from claim import Answer, Claim, answers

from torchlint.bench.device import device_of
from torchlint.bench.result import ExampleStatus, Machine

CLAIMS = (
    nan_checks.CLAIM,
    legacy_constructor.CLAIM,
    inference_mode.CLAIM,
    action_masking.CLAIM,
    compile_shapes.CLAIM,
    batched_heads.CLAIM,
    vector_environments.CLAIM,
)
PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "claims.md"
HEADINGS = ("Measured on", "Before", "After", "Ratio (10th to 90th percentile)", "Verdict")


def main(arguments: Sequence[str]) -> int:
    """Measure, write the page. Returns 1 when something could not be measured."""
    device = next(iter(arguments), "cpu")
    found = [(claim, list(answers(claim, device))) for claim in CLAIMS]
    bad = [answer for _, given in found for answer in given if answer.row.status is not ExampleStatus.MEASURED]
    for answer in bad:
        print(f"{answer.claim.title}, {answer.row.example}: {answer.verdict} {answer.row.detail}", file=sys.stderr)
    if not bad:
        PAGE.write_text(page(found, device_of(device).machine()), encoding="utf-8")
    return int(bool(bad))


def page(found: Sequence[tuple[Claim, Sequence[Answer]]], machine: Machine) -> str:
    """The page: a summary of what holds, then each claim with its table."""
    lines = [
        "# Claims",
        "",
        "Common claims about these smells, compared with measurements. Each claim is a program in",
        "`benchmarks/claims/`. The program after is the result of the rule's fix or, without a fix, written by hand.",
        "Ratios are the time before by the time after.",
        "",
        f"Machine: {machine.device}, {machine.processor}, {machine.threads} thread, Python {machine.python}, "
        f"torch {machine.torch}.",
        "",
        f"Claims that hold at no measured size: {_names(found, holding=False)}.",
        f"Claims that hold at some sizes only: {_partly(found)}.",
        f"Claims that hold at all measured sizes: {_names(found, holding=True)}.",
    ]
    for claim, given in found:
        after = f"the fix of {claim.rule}" if claim.rule else "by hand; there is no fix"
        lines += ["", f"## {claim.title}", "", f"Claimed: {claim.words}. After: {after}. {claim.remark}".rstrip(), ""]
        lines += [f"| {' | '.join(HEADINGS)} |", f"|{' --- |' * len(HEADINGS)}"]
        lines += [f"| {' | '.join(answer.cells)} |" for answer in given]
    return "\n".join([*lines, ""])


def _holds(given: Sequence[Answer]) -> list[bool]:
    return [answer.verdict.startswith("holds") for answer in given]


def _names(found: Sequence[tuple[Claim, Sequence[Answer]]], *, holding: bool) -> str:
    return _listed(claim for claim, given in found if all(held is holding for held in _holds(given)))


def _partly(found: Sequence[tuple[Claim, Sequence[Answer]]]) -> str:
    return _listed(claim for claim, given in found if any(_holds(given)) and not all(_holds(given)))


def _listed(claims: Iterable[Claim]) -> str:
    return "; ".join(claim.title for claim in claims) or "none"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
