"""Every rule's examples written otherwise: found as often, fixed as well, and computing the same.

How a program is written otherwise is in ``variants.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from linting import lint
from running import assert_same, run
from variants import MAIN, VARIANTS, Program, beside

from torchlint.bench.fixed import KNOWS_ALL
from torchlint.engine.rules import load_rules
from torchlint.rule import Change, Example, Finding, Rule

EXAMPLES = [(rule, example) for rule in load_rules() for example in rule.examples]

# Variants that are another program for a rule: it rightly finds less there.
NOT_FOUND = {
    "TL107-indexed-by-an-array": dict.fromkeys(
        ("in_lambda", "in_closure"),
        "each subscript runs in a function of its own, which may be called without the others",
    ),
    "TL201": {"in_closure": "what a function of its own asks of an argument may be any contract"},
    "TL212": {
        "in_lambda": "a function inside the function sees a name that is bound twice, once to an unknown dtype",
        "in_closure": "a function inside the function sees a name that is bound twice, once to an unknown dtype",
    },
    "TL402": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "follows a buffer from the assignment that holds the call",
    ),
    "TL405": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "what is assigned is no concatenation any more",
    ),
    "TL410": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "the copies are no operand of arithmetic any more",
    ),
    "TL404": dict.fromkeys(("in_lambda", "in_closure"), "a function inside the method appends"),
    "TL602": dict.fromkeys(
        ("in_lambda", "in_closure"), "the network is called by a function that the loop makes again"
    ),
    "TL604": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "reports loops that do nothing but compute with elements, and this one also makes or calls something else",
    ),
    "TL609": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "follows the weights from the softmax itself to the product that reads them",
    ),
    "TL701": dict.fromkeys(("in_lambda", "in_closure"), "a function inside the loop steps the environment"),
    "TL707": dict.fromkeys(("in_lambda", "in_closure"), "a function inside the loop steps the environment"),
    "TL407": dict.fromkeys(("in_lambda", "in_closure"), "a function inside the method appends"),
    "TL705": dict.fromkeys(("in_lambda", "in_closure"), "the test that bounds the list stands outside"),
    "TL501": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "follows a compiled module from the assignment that holds the call of compile",
    ),
    "TL504": {"as_keyword": "what the function hands back is a number in one call and a tensor in the other"},
    "TL507": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "follows a compiled module from the assignment that holds the call of compile",
    ),
    "TL613": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "follows the weights from the assignment that unpacks the call",
    ),
    "TL614": dict.fromkeys(
        ("in_lambda", "in_closure"), "one of the two runs is called by a function made between them"
    ),
    "TL615": {"in_closure": "the network is called by a function made before the choice"},
    "TL617": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "follows a result from the assignment that holds the call",
    ),
    "TL618": {"in_closure": "the network is called by a function that the loop makes again"},
    "TL709": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "follows an array from the assignment that holds the call",
    ),
    "TL806": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "takes the difference of two readings where the later one is not called in place",
    ),
    "TL803": {"neutral_names": "nothing is known to call a function that is not called main"},
    "TL807": {"neutral_names": "a writer's method of another name is another method"},
    "TL903": {"neutral_names": "another attribute of a backend is another setting"},
    "TL907": dict.fromkeys(
        ("in_lambda", "in_closure"), "a function inside the loop starts one process, and its calls are not counted"
    ),
    "TL905": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "follows a scaler from the assignment that holds its constructor",
    ),
}
# Variants that a rule finds but rightly does not fix, of all its examples or of one.
NOT_FIXED = {
    "TL204-record-of-values": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "what the record takes is no longer the copy itself",
    ),
    "TL706": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "the batches are handed on, and what indexes with them is not known",
    ),
    "TL201": {"behind_walrus": "behind a flag, the name would not be bound"},
    "TL202-masked-errors": {"exploded": "the selection has a name, and what is done with it is in another statement"},
    "TL203-list-of-losses": dict.fromkeys(
        ("in_lambda", "behind_walrus", "as_keyword", "in_closure"),
        "the number is made elsewhere, or handed on before it is appended",
    ),
    "TL203-three-losses": dict.fromkeys(("in_lambda", "in_closure"), "the reads are in functions of their own"),
    "TL203-losses-and-a-count": dict.fromkeys(("in_lambda", "in_closure"), "the reads are in functions of their own"),
    "TL405-cat-256x17": {"exploded": "the list of what is joined has a name"},
    "TL401-51-atoms": {
        "methods_in_base": "the buffer belongs into the constructor of the class itself",
        "constructor_in_base": "the buffer belongs into the constructor of the class itself",
        "in_lambda": "the lambda may be called with another self",
        "in_closure": "the function may be called with another self",
    },
}

# Variants whose fix is offered and not taken.
_ON_A_ROW = {"exploded": "calls with a parenthesis on a row of its own are not joined in one edit"}
NOT_TAKEN = {"TL203-three-losses": _ON_A_ROW, "TL203-losses-and-a-count": _ON_A_ROW}
# Fixes that leave a finding: a number is read once, behind the loop.
LEAVES_ONE = frozenset({"TL203"})


def not_fixed(rule: type[Rule], example: Example) -> set[str]:
    """The variants of an example that a rule finds but does not fix."""
    return {*NOT_FIXED.get(rule.code, ()), *NOT_FIXED.get(f"{rule.code}-{example.name}", ())}


def plain(example: Example) -> Program:
    """An example as ``ast.unparse`` writes it."""
    return Program({MAIN: ast.unparse(ast.parse(example.source)) + "\n"}, example.setup, example.workload)


@cache
def found_in(rule: type[Rule], source: str) -> tuple[Finding, ...]:
    """What a rule finds in a file."""
    with TemporaryDirectory() as folder:
        return tuple(lint(Path(folder), {MAIN: source}, select=(rule.code,)).findings)


def codes(findings: tuple[Finding, ...] | list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def fixed(folder: Path, texts: Mapping[str, str], *rules: type[Rule]) -> tuple[dict[str, str], list[Finding]]:
    """What all fixes of some rules make of files, and what these rules still find there."""
    names = tuple(rule.code for rule in rules)
    result = lint(folder, texts, select=names, fix=True, unsafe_fixes=True, target_torch=KNOWS_ALL)
    new = {name: result.fixed[name].after.text if name in result.fixed else text for name, text in texts.items()}
    return new, result.findings


def value(program: Program, example: Example, texts: Mapping[str, str] | None = None) -> object:
    """The value of a program's workload, of other texts of its files where they are given."""
    return run(texts or program.texts, example, program.setup, program.workload, program.renamed)


@cache
def first_value(example: Example) -> object:
    """The value of an example as it stands."""
    return run({MAIN: example.source}, example)


def variants(rule: type[Rule], example: Example) -> dict[str, Program]:
    """An example written otherwise, by name of the variant, where the rule finds as much in it."""
    program = plain(example)
    found = found_in(rule, program.text)
    made = {name: variant(program, found) for name, variant in VARIANTS.items()}
    unfit = {**NOT_FOUND.get(rule.code, {}), **NOT_FOUND.get(named(rule, example), {})}
    return {name: written for name, written in made.items() if written is not None and name not in unfit}


def named(rule: type[Rule], example: Example) -> str:
    return f"{rule.code}-{example.name}"


EACH = [pytest.param(*case, id=named(*case)) for case in EXAMPLES]
FIXABLE = [pytest.param(*case, id=named(*case)) for case in EXAMPLES if case[0].fixable]


def test_examples_have_variants() -> None:
    """Every variant is one of some example, so the tests below do not pass for want of programs."""
    names = {name for rule, example in EXAMPLES for name in variants(rule, example)}
    assert names == set(VARIANTS)


@pytest.mark.ninth
@pytest.mark.once
@pytest.mark.parametrize(("rule", "example"), EACH)
def test_variants_are_found_as_often(rule: type[Rule], example: Example, tmp_path: Path) -> None:
    expected = found_in(rule, plain(example).text)
    for name, program in variants(rule, example).items():
        found = lint(tmp_path / name, program.texts, select=(rule.code,)).findings
        assert codes(found) == codes(expected), name
        with_fix = [finding.fix is not None for finding in expected]
        assert [finding.fix is not None for finding in found] == (
            [False] * len(found) if name in not_fixed(rule, example) else with_fix
        ), name


@pytest.mark.ninth
@pytest.mark.torch
@pytest.mark.parametrize(("rule", "example"), FIXABLE)
def test_fixed_variants_settle_and_compute_the_same(rule: type[Rule], example: Example, tmp_path: Path) -> None:
    for name, program in variants(rule, example).items():
        before = value(program, example)
        assert_same(before, first_value(example), exact=True)
        texts, left = fixed(tmp_path / name / "once", program.texts, rule)
        stays = not_fixed(rule, example) | NOT_TAKEN.get(f"{rule.code}-{example.name}", {}).keys()
        if not example.by_hand and name not in stays:
            assert codes(left) == [], name
        assert fixed(tmp_path / name / "again", texts, rule) == (texts, left), name
        assert_same(value(program, example, texts), before, exact=Change.ROUNDING not in rule.may_change)


def pairs(step: int) -> Iterator[tuple[tuple[type[Rule], Example], tuple[type[Rule], Example]]]:
    """Each example with the one that stands some places after it."""
    return zip(EXAMPLES, [*EXAMPLES[step:], *EXAMPLES[:step]], strict=True)


# Rules that look at the whole project, where another program changes the answer: a layer that draws numbers, a limit of
# threads, a permuted image, a name that is `main` no more. And comments, which are lost when two programs become one.
WHOLE_PROJECT = frozenset({"TL614", "TL618", "TL803", "TL904", "TL906", "TL907", "TL909"})


def beside_cases() -> Iterator[object]:
    usual = len(EXAMPLES) // 2
    for step in (usual, 1, 2, 3, 5, 8, 13, 21):
        for one, other in pairs(step):
            alone = not WHOLE_PROJECT.intersection((one[0].code, other[0].code))
            if one[0] is not other[0] and step <= usual and alone:
                marks = () if step == usual else (pytest.mark.long,)
                yield pytest.param(one, other, id="-".join((named(*one), named(*other))), marks=marks)


@pytest.mark.ninth
@pytest.mark.torch
@pytest.mark.parametrize(("one", "other"), beside_cases())
def test_two_examples_in_one_file(
    one: tuple[type[Rule], Example], other: tuple[type[Rule], Example], tmp_path: Path
) -> None:
    """All that is found in each is found and fixed in both together, and both compute what they did."""
    rules, first, second = (one[0], other[0]), plain(one[1]), plain(other[1])
    text, renamed = beside(first, second)
    found = lint(tmp_path / "both", {MAIN: text}, select=tuple(rule.code for rule in rules)).findings
    assert set(codes(found)) == {rule.code for rule in rules}
    texts, left = fixed(tmp_path / "fixed", {MAIN: text}, *rules)
    unfixed = [
        finding.code
        for rule in dict.fromkeys((one[0], other[0]))
        for program in (first, second)
        for finding in found_in(rule, program.text)
        if finding.fix is None
    ]
    for code in {rule.code for rule, example in (one, other) if not example.by_hand}:
        assert codes(left).count(code) <= unfixed.count(code) + (code in LEAVES_ONE), code
    assert fixed(tmp_path / "again", texts, *rules) == (texts, left)
    exact = all(Change.ROUNDING not in rule.may_change for rule in rules)
    assert_same(value(first, one[1], texts), first_value(one[1]), exact)
    assert_same(value(renamed, other[1], texts), first_value(other[1]), exact)
