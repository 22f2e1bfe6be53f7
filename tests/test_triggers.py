"""Triggers: parts that are put together, told as plain data, and read from it again."""

from __future__ import annotations

import ast
import json

import pytest
from projects import Code

from torchlint.engine.sites import Triggers
from torchlint.facts.finders import Finder
from torchlint.rule import Call, Comment, Found, Frequency, Method, NetworkCall, Rule, Statement, Store, Trigger

CODE = """
import torch

def make(x):
    if x:
        return torch.zeros(3).item()
    return torch.zeros(4)
"""


class Fours(Finder):
    """Finds calls with a four."""

    def sites(self, file, wanted):
        calls = (call for scope in file.scopes for call in scope.calls)
        return (call for call in calls if wanted(call) and any(ast.unparse(each) == "4" for each in call.args))


def sites(trigger: Trigger, least: Frequency = Frequency.ONCE) -> list[str]:
    """The first rows of what a rule with a trigger looks at, by row."""
    rule = type("Some", (Rule,), {"code": "TL999", "trigger": trigger, "least": least})()
    code = Code(CODE)
    found = Triggers([rule]).sites(code.analyses, code.file())
    assert all(rules == [rule] for _, rules in found)
    return sorted(ast.unparse(node).splitlines()[0] for node, _ in found)


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (Trigger(), []),
        (Comment(), []),
        (Call("torch.zeros"), ["torch.zeros(3)", "torch.zeros(4)"]),
        (Method("item"), ["torch.zeros(3).item()"]),
        (Method("zeros") | Call("torch.zeros") | Found(Fours), ["torch.zeros(3)", "torch.zeros(4)"]),
        (Statement("If") | Method("item"), ["if x:", "torch.zeros(3).item()"]),
        (Statement("If", mentioning={"torch.zeros"}), []),
        (Found(Fours), ["torch.zeros(4)"]),
    ],
)
def test_a_rule_looks_where_any_part_looks(trigger: Trigger, expected: list[str]) -> None:
    assert sites(trigger) == expected


def test_no_part_looks_where_code_runs_too_seldom() -> None:
    assert sites(Call("torch.zeros") | Found(Fours), Frequency.UPDATE) == []


def test_a_trigger_is_plain_data() -> None:
    trigger = (
        Call("a", "b") | NetworkCall(looped=True) | Statement("With", mentioning={"c"}) | Store("d") | Found(Fours)
    )
    assert Trigger.of_rows(json.loads(json.dumps(trigger.rows()))) == trigger
    assert trigger != Call("a", "b")


def test_only_a_finder_is_found() -> None:
    with pytest.raises(TypeError, match=r"Code is not a finder of sites"):
        sites(Found(Code))
