"""Which calls of an expression run whenever it does, and what edges of a graph lead to."""

from __future__ import annotations

import ast

import pytest

from torchlint.facts.code.closure import reached
from torchlint.facts.code.nesting import unconditional

EXPRESSIONS = {
    "a(b(), key=c())": ["a", "b", "c"],
    "a() < b()": ["a", "b"],
    "a() < b() < c()": ["a", "b"],
    "-a() + b()[c()]": ["a", "b", "c"],
    "a() and b()": [],
    "[a() for x in b()]": [],
    "(lambda: a())": [],
    "a(b() if c else d())": ["a"],
}


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS.items(), ids=EXPRESSIONS)
def test_calls_that_run_whenever_an_expression_does(text: str, expected: list[str]) -> None:
    parts = unconditional(ast.parse(text, mode="eval").body)
    assert sorted(ast.unparse(part.func) for part in parts if isinstance(part, ast.Call)) == expected


def test_each_node_is_reached_once_and_before_those_that_follow_it() -> None:
    edges = {"a": "bc", "b": "da", "c": "d", "d": "", "e": "a"}
    found = list(reached("a", edges.__getitem__))
    assert sorted(found) == ["a", "b", "c", "d"]
    assert found[0] == "a"
