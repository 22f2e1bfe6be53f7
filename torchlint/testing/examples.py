"""Examples and documentation of a rule."""

from __future__ import annotations

import inspect

from torchlint.bench.fixed import KNOWS_ALL
from torchlint.engine.layout import USUAL
from torchlint.engine.rules import home_of
from torchlint.rule import Example, Rule
from torchlint.testing.linting import fixed, found

HEADINGS = (
    "What it does",
    "Why is this slow",
    "Example",
    "Use instead",
    "What the fix may change",
    "When to ignore it",
    "Measured",
    "References",
)


def check_documentation(rule: type[Rule]) -> None:
    """Check that a rule's docstring has an introduction and all headings, in order, each with a text.

    Raises:
        AssertionError: it has not.
    """
    introduction, *sections = ("\n" + (inspect.getdoc(rule) or "")).split("\n## ")
    told = [section.partition("\n")[0].strip() for section in sections]
    empty = [heading for heading, section in zip(told, sections, strict=True) if not section.partition("\n")[2].strip()]
    if not introduction.strip():
        raise AssertionError(f"{rule.code}: the documentation has no introduction")
    if told != list(HEADINGS):
        raise AssertionError(f"{rule.code}: the headings are {told}, not {list(HEADINGS)}")
    if empty:
        raise AssertionError(f"{rule.code}: nothing stands under {', '.join(empty)}")


def check_example(rule: type[Rule], example: Example) -> None:
    """Check that the source has the smell, the better version has not, and the fix turns the one into the other.

    Raises:
        AssertionError: one of these is not so.
    """
    home = home_of(rule)
    plugins = () if home is None else (home,)
    name = f"{rule.code} {example.name}"
    if {finding.code for finding in found(example.source, (rule.code,), plugins)} != {rule.code}:
        raise AssertionError(f"{name}: the rule does not find its smell in the source")
    if found(example.fixed, (rule.code,), plugins):
        raise AssertionError(f"{name}: the rule finds its smell in the better version")
    width = max([USUAL, *map(len, example.fixed.splitlines())])  # rows as long as their author made them
    made = fixed(example.source, (rule.code,), plugins, unsafe=True, torch=KNOWS_ALL, width=width)
    if made != (example.source if example.by_hand else example.fixed):
        raise AssertionError(f"{name}: the fix makes something else:\n{made}")


def check_results(rule: type[Rule], example: Example) -> None:
    """Check that both versions compute the same, on ordinary and awkward inputs, but for declared changes.

    Needs torch.

    Raises:
        AssertionError: they do not.
    """
    from torchlint.bench.equal import judge
    from torchlint.bench.fixed import fixed as fixed_example

    verdict = judge(rule, example, fixed_example(rule, example))
    if verdict.wrong:
        raise AssertionError(f"{rule.code} {example.name}: {'; '.join(verdict.wrong)}")
