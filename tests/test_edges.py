"""Edges of the program: what facts and rules cross by hand becomes less, and the queries in its place answer right."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from projects import Code

from benchmarks.edges import crossings, totals
from torchlint.facts.code.alike import alike, among
from torchlint.facts.dataflow.analysis import Analysis
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.uses import Uses

MOST = {
    "name to binding": 61,
    "parameter to argument": 13,
    "parameter to caller": 35,
    "call to function": 46,
    "call to return": 25,
    "attribute to store": 53,
    "node to parent, in a loop": 18,
    "expression to text, to compare it": 19,
}
"""How often modules outside of the kernel cross an edge themselves; lower these where a change does."""


def test_no_edge_is_crossed_by_hand_more_often_than_before(root: Path):
    counts = {edge: places for edge, (places, _) in totals(crossings(root)).items()}
    assert counts.keys() == MOST.keys()
    assert {edge: count for edge, count in counts.items() if count > MOST[edge]} == {}


# names ----------------------------------------------------------------------------------------------------------------

BOUND = {
    "one assignment": ("x = 1\nshow(x)\n", "1", ["1"]),
    "one of two": ("if a:\n    x = 1\nelse:\n    x = 2\nshow(x)\n", None, ["1", "2"]),
    "a part": ("x, y = f()\nshow(x)\n", None, []),
    "an element": ("for x in y:\n    show(x)\n", None, []),
    "an assignment, or an element": ("x = 1\nfor x in y:\n    pass\nshow(x)\n", None, []),
    "no name": ("show(x.y)\n", None, []),
}


@pytest.mark.parametrize(("text", "value", "values"), BOUND.values(), ids=BOUND)
def test_what_a_name_stands_for(text, value, values):
    code = Code(text)
    reach = code.project.reaching(code.file(), code.shown())
    assert (None if reach.value is None else ast.unparse(reach.value)) == value
    assert sorted(map(ast.unparse, reach.values)) == values
    assert reach.parameter is None


def test_a_parameter_is_what_its_caller_gave():
    code = Code("def f(x):\n    show(x)\n")
    parameter = code.project.reaching(code.file(), code.shown()).parameter
    assert parameter is not None and parameter.target == "x"
    code = Code("def f(x):\n    if x:\n        x = 1\n    show(x)\n")
    assert code.project.reaching(code.file(), code.shown()).parameter is None


# likeness -------------------------------------------------------------------------------------------------------------


def test_expressions_are_alike_however_they_are_laid_out():
    first, second, third = (ast.parse(text).body[0].value for text in ("a.b[ 0 ]", "(a . b)[0]", "a.b[1]"))
    stored = ast.parse("a.b[0] = 1").body[0].targets[0]
    assert alike(first, second) and alike(first, stored) and not alike(first, third)
    assert among(first, [third, second]) and not among(first, [third])
    assert not alike(ast.parse("1").body[0].value, ast.parse("True").body[0].value)


# forward --------------------------------------------------------------------------------------------------------------

FORWARD = {
    "a name": ("x = show(1)\nf(x)\n", [("x", Label.COPY)]),
    "side by side": ("x, y = 1, show(2)\nf(y)\n", [("y", Label.COPY)]),
    "a choice": ("f(show(1) if a else 2)\n", [("show(1) if a else 2", Label.COPY)]),
    "an argument": ("def f(x):\n    return x + 1\nf(show(1))\n", [("x", Label.ARGUMENT)]),
    "an argument by its name": ("def f(x):\n    return x + 1\nf(x=show(1))\n", [("x", Label.ARGUMENT)]),
    "a result": ("def f():\n    return show(1)\ny = f()\n", [("f()", Label.RETURN)]),
    "a lambda that is called at once": ("y = (lambda: show(1))()\n", [("(lambda: show(1))()", Label.RETURN)]),
    "an attribute": (
        "class A:\n    def __init__(self):\n        self.x = show(1)\n    def f(self):\n        return self.x\n",
        [("self.x", Label.FIELD)],
    ),
    "arithmetic": ("x = show(1) + 1\nf(x)\n", []),
}


@pytest.mark.parametrize(("text", "expected"), FORWARD.values(), ids=FORWARD)
def test_where_a_value_goes(text, expected):
    code = Code(text)
    node = next(node for node in code.expressions() if ast.unparse(node) in ("show(1)", "show(2)"))
    start = Spot(code.file(), node)
    found = [(ast.unparse(use.node), use.label) for use in code.analyses[Uses].of(start)]
    assert list(dict.fromkeys(found)) == expected


# analyses -------------------------------------------------------------------------------------------------------------

SIGNS = {
    "a product": ("x = 2\nshow(x * 3)\n", True),
    "a product with something unknown": ("show(2 * y)\n", False),
    "one of two": ("x = 1 if a else 0\nshow(x)\n", False),
    "each of two": ("x = 1 if a else 2\nshow(x)\n", True),
    "arguments of all calls": ("def f(x):\n    show(x * 2)\nf(1)\nf(2)\n", True),
    "arguments of one call": ("def f(x):\n    show(x * 2)\nf(1)\nf(y)\n", False),
    "what grows in a loop": ("x = 1\nfor _ in y:\n    x = x * 2\nshow(x)\n", True),
    "what only leads to itself": ("for _ in y:\n    x = x * 2\nshow(x)\n", False),
}


@pytest.mark.parametrize(("text", "expected"), SIGNS.values(), ids=SIGNS)
def test_an_analysis_joins_what_values_come_from(text, expected):
    code = Code(text)

    def positive(spot: Spot) -> bool | None:
        match spot.node:
            case ast.Constant(value=int(number)):
                return number > 0
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                factors = [signs.at(spot.same(left)), signs.at(spot.same(right))]
                return None if None in factors else factors == [True, True]
        return signs.through(spot, (Label.COPY, Label.ARGUMENT))

    signs = Analysis(code.analyses[Sources], positive, join=all, unknown=False)
    assert signs.of(code.file(), code.shown()) is expected


# a fact of a rule package ---------------------------------------------------------------------------------------------

SAVED = {
    "an argument": ("torch.save(show(1), 'a.pt')\n", True),
    "in a dict under a name": ("state = {'x': show(1)}\ntorch.save(state, 'a.pt')\n", True),
    "by a function": ("def f(x):\n    torch.save({'x': x}, 'a.pt')\nf(show(1))\n", True),
    "as an attribute": (
        "class A:\n    def __init__(self):\n        self.x = show(1)\n"
        "    def save(self):\n        torch.save([self.x], 'a.pt')\n",
        True,
    ),
    "nowhere": ("x = show(1)\nprint(x)\n", False),
}


@pytest.fixture
def checkpoints(root: Path, monkeypatch: pytest.MonkeyPatch):
    """The fact that the page about rule packages shows, as a module of its own."""
    text = (root / "docs" / "plugins.md").read_text(encoding="utf-8")
    shown = re.search(r"```python\n(import ast\n.*?)```", text, re.DOTALL)
    assert shown is not None and shown[1].count("\n") <= 45
    module = ModuleType("checkpoints")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(shown[1], "plugins.md", "exec"), vars(module))
    return module.Checkpoints


@pytest.mark.parametrize(("text", "expected"), SAVED.values(), ids=SAVED)
def test_the_fact_in_the_documentation(checkpoints, text, expected):
    code = Code(f"import torch\n{text}")
    node = next(node for node in code.expressions() if ast.unparse(node) == "show(1)")
    assert code.analyses[checkpoints].holds(code.file(), node) is expected
