"""Writes ``docs/judgement.md``: what the rules that run by default gain, and what keeps those that gain nothing.

    python benchmarks/judgement.py

It reads the figures that the rules ship; ``benchmarks/figures.py`` calls it after measuring.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from torchlint.bench.judgement import Rationale, ground
from torchlint.engine.figures import counted, measured
from torchlint.engine.rules import load_rules
from torchlint.report.cost import factor, fewer
from torchlint.rule import Cost, Counted, Rule, RuleSet
from torchlint.rule.finding import NOISE

PAGE = Path(__file__).resolve().parent.parent / "docs" / "judgement.md"
# Rules that were meant to be warnings and became notes, for no gain of theirs could be measured.
MOVED = ("TL901", "TL907")

_Figure = TypeVar("_Figure", Cost, Counted)

_TOP = """\
# What runs by default, and why

A rule runs by default if its gain is real on some device at some size: the 10th percentile of the ratio of times is
above {noise}, or the counted device counts fewer GPU syncs, copies or launches. A rule without such a gain must save
memory, or be a note that says so; otherwise you have to select it by its code. A ratio is the time before by the time
after, with its 10th to 90th percentile; messages quote the same data.
"""


def main() -> int:
    """Write the page. Returns 1 when a rule has no place in the default set."""
    rules = [rule for rule in load_rules() if rule.set is RuleSet.DEFAULT]
    PAGE.write_text(page(rules), encoding="utf-8")
    without = [rule.code for rule in rules if ground_of(rule) is Rationale.NONE]
    if without:
        print(f"nothing keeps {', '.join(without)} in the default set", file=sys.stderr)
    return int(bool(without))


def ground_of(rule: type[Rule]) -> Rationale:
    """What the rule's place rests on, by the figures that it ships."""
    return ground(rule, _of(rule, measured()), _of(rule, counted()))


def _of(rule: type[Rule], figures: Sequence[tuple[str, str, _Figure]]) -> list[_Figure]:
    """The figures of the examples that the rule has."""
    names = {example.name for example in rule.examples}
    return [figure for code, example, figure in figures if code == rule.code and example in names]


def page(rules: Sequence[type[Rule]]) -> str:
    """The page as Markdown."""
    grounds = {rule: ground_of(rule) for rule in rules}
    gaining, sparing = (sum(found is each for found in grounds.values()) for each in (Rationale.GAIN, Rationale.EVENTS))
    lines = [
        _TOP.format(noise=NOISE),
        f"{gaining} of {len(rules)} rules are measurably faster, and {sparing} more save events of an accelerator. "
        "The rules that are not faster:",
        "",
        "| Rule | Level | Best ratio on the CPU | On a GPU, a call | Kept as |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rule, found in grounds.items():
        if found is not Rationale.GAIN:
            costs = _of(rule, measured())
            best = shown(max(costs, key=lambda cost: cost.low)) if costs else "not timed"
            spares = next((fewer(count) for count in _of(rule, counted()) if count.gains), "")
            lines.append(f"| {rule.code} {rule.name} | {rule.level.value} | {best} | {spares} | {found.value} |")
    moved = [f"{rule.code} {rule.name}" for rule in rules if rule.code in MOVED]
    lines += [
        "",
        f"These rules were planned as warnings and are notes, because no gain was measured: {', '.join(moved)}.",
    ]
    slower = list(slower_examples(rules))
    if slower:
        lines += ["", "## Where the better form is not faster", ""]
        lines += [
            "Examples of rules above that have a gain on other inputs or devices. Their messages quote no time saved.",
            "",
        ]
        lines += ["| Rule, example | Ratio |", "| --- | --- |", *slower]
    return "\n".join(lines) + "\n"


def slower_examples(rules: Sequence[type[Rule]]) -> Iterator[str]:
    """Rows for the examples of rules with a gain that take longer after the fix."""
    for rule in rules:
        if ground_of(rule) is Rationale.GAIN:
            costs = _of(rule, measured())
            yield from (f"| {rule.code} {cost.size} | {shown(cost)} |" for cost in costs if cost.high < 1)


def shown(cost: Cost) -> str:
    """``0.99x (0.99-1.00x) on CPU``."""
    spread = f"{factor(cost.low)}-{factor(cost.high)}x"
    return f"{factor(cost.ratio)}x ({spread}) on {cost.device.upper()}"


if __name__ == "__main__":
    sys.exit(main())
