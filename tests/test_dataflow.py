"""Where the value of an expression comes from, in small programs: the ways to it, and what is not known."""

from __future__ import annotations

import ast

import pytest
from projects import Code

from torchlint.facts.autograd.parts import Parts
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import INSIDE, Label, Spot, cut
from torchlint.facts.dataflow.trace import Trace, ValueFlow
from torchlint.facts.state.queues import Queues

UNKNOWN = "?"


def traced(text: str, *path: str | int | None) -> Trace[str]:
    """Follow what is shown back across all edges; ends are the sources of expressions without any edge."""
    code = Code(text)
    sources = code.analyses[Sources]

    def step(spot: Spot):
        if isinstance(spot.node, (ast.Constant, ast.BinOp)) and not spot.path:
            yield ast.unparse(spot.node)
        else:
            yield from sources.crossing(spot, frozenset(Label), UNKNOWN)

    return ValueFlow(step, lost="lost").trace(Spot(code.file(), code.shown(), path))


WAYS = {
    "a name": ("x = 1\nshow(x)\n", {"1"}),
    "a choice": ("show(1 if a else 2)\n", {"1", "2"}),
    "a part of a tuple": ("x, (y, z) = 1, (2, 3)\nshow(z)\n", {"3"}),
    "a starred rest": ("x, *y = 1, 2\nshow(y)\n", {UNKNOWN}),
    "an item of a list": ("x = [1, 2]\nshow(x[0])\n", {"1"}),
    "any item of a list": ("x = [1, 2]\nshow(x[i])\n", {"1", "2"}),
    "a slice of a list": ("x = [1, 2]\nshow(x[1:][0])\n", {"1", "2"}),
    "two lists that are joined": ("x = [1] + [2]\nshow(x[0])\n", {"1", "2"}),
    "an item of a dict": ("x = {'a': 1, 'b': 2}\nshow(x['b'])\n", {"2"}),
    "another item of a dict": ("x = {'a': 1}\nshow(x['b'])\n", {UNKNOWN}),
    "values of a dict": ("for x in {'a': 1, 'b': 2}.values():\n    show(x)\n", {"1", "2"}),
    "a pair of a dict": ("for k, x in {'a': 1}.items():\n    show(x)\n", {"1"}),
    "zip": ("for x, y in zip([1], [2]):\n    show(y)\n", {"2"}),
    "columns of rows": ("x, y = zip(*[(1, 2), (3, 4)])\nshow(y[0])\n", {"2", "4"}),
    "enumerate": ("for i, x in enumerate([1, 2]):\n    show(x)\n", {"1", "2"}),
    "a comprehension": ("x = [1 for _ in y]\nshow(x[0])\n", {"1"}),
    "what is appended": ("x = []\nx.append((1, 2))\nfor a, b in x:\n    show(b)\n", {"2"}),
    "what is added to a list in part": ("x = [1]\nx[0], y = f()\nshow(x[0])\n", {"1", UNKNOWN}),
    "an empty list": ("x = list()\nx.append(1)\nshow(x[0])\n", {"1"}),
    "a function": ("def f():\n    return 1\nshow(f())\n", {"1"}),
    "a lambda": ("f = lambda: 1\nshow(f())\n", {"1"}),
    "a generator": ("def f():\n    yield 1\nshow(f())\n", {UNKNOWN}),
    "an unknown decorator": ("@g\ndef f():\n    return 1\nshow(f())\n", {UNKNOWN}),
    "a parameter": ("def f(x):\n    show(x)\nf(1)\nf(x=2)\n", {"1", "2"}),
    "a parameter that a call leaves out": ("def f(x=3):\n    show(x)\nf(1)\nf()\n", {"1", "3"}),
    "a parameter of a function that nothing calls": ("def f(x):\n    show(x)\n", {UNKNOWN}),
    "starred arguments": ("def f(x):\n    show(x)\nf(1)\nf(*y)\n", {"1", UNKNOWN}),
    "the result of one call among two": ("def f(x):\n    return x\ny = f(1)\nz = f(2)\nshow(z)\n", {"2"}),
    "a branch that a call does not reach": (
        "def f(x, flag):\n    if flag:\n        return 1\n    return 2\nshow(f(0, False))\n",
        {"2"},
    ),
    "an attribute": ("class A:\n    def __init__(self):\n        self.x = 1\nshow(A().x)\n", {"1"}),
    "an attribute that is set from outside": (
        "class A:\n    def __init__(self):\n        self.x = 1\na = A()\na.x = 2\nshow(a.x)\n",
        {"1", "2"},
    ),
    "a property": ("class A:\n    @property\n    def x(self):\n        return 1\nshow(A().x)\n", {"1"}),
    "a name that is bound to itself": ("x = 1\nfor _ in y:\n    x = x\nshow(x)\n", {"1"}),
    "a name that nothing binds": ("show(x)\n", {UNKNOWN}),
}


@pytest.mark.parametrize(("text", "expected"), WAYS.values(), ids=WAYS)
def test_where_a_value_comes_from(text, expected):
    assert set(traced(text).ends) == expected


def test_what_lies_in_an_object_at_any_depth():
    code = Code(
        "class A:\n    def __init__(self):\n        self.x = [1, {'a': (2,)}]\n        self.x.append(3)\nshow(A().x)\n"
    )
    sources = code.analyses[Sources]

    def step(spot: Spot):
        if isinstance(spot.node, ast.Constant):
            yield spot.node.value
        yield from (source for source in sources.of(spot) if isinstance(source, Spot))

    assert set(ValueFlow(step, lost=None).ends(code.file(), code.shown(), INSIDE)) == {1, 2, 3}


def test_the_witness_is_the_way_by_which_a_value_came():
    text = "def f(x):\n    return x\nclass A:\n    def __init__(self):\n        self.y = f(1)\na = A()\nshow(a.y)\n"
    found = traced(text)
    way = [(ast.unparse(spot.node), spot.label) for spot in found.witness("1")]
    assert way[1:] == [("f(1)", Label.FIELD), ("x", Label.RETURN), ("1", Label.ARGUMENT)]


def test_what_lies_too_deep_or_goes_too_many_ways_is_lost():
    deep = "x = []\nfor _ in y:\n    x = x[0]\nshow(x)\n"
    assert "lost" in traced(deep).ends
    code = Code("show(x)\n")

    def step(spot: Spot):
        yield spot.at(spot.node, len(spot.path) and spot.path[0] + 1)

    assert set(ValueFlow(step, lost="lost").ends(code.file(), code.shown(), 0)) == {"lost"}


def test_a_trace_stops_at_the_first_of_some_ends():
    code = Code("show(1 if a else 2)\n")

    def step(spot: Spot):
        if isinstance(spot.node, ast.Constant):
            yield spot.node.value
        else:
            yield from code.analyses[Sources].crossing(spot, (Label.COPY,), None)

    flow = ValueFlow(step, lost=None)
    start = Spot(code.file(), code.shown())
    assert len(flow.trace(start, stop={1, 2}).ends) == 1
    assert set(flow.trace(start).ends) == {1, 2}


def test_the_parts_of_a_module_that_a_lambda_made_are_known():
    code = Code(
        "from torch import nn\ndef init(module):\n    return module\nmake = lambda m: init(m)\n"
        "show(nn.Sequential(make(nn.Linear(2, 2)), nn.ReLU()))\n"
    )
    parts = code.analyses[Parts].of(code.file(), code.shown())
    assert parts == {"torch.nn.Sequential", "torch.nn.Linear", "torch.nn.ReLU"}


def test_a_queue_may_come_as_an_argument():
    code = Code("from collections import deque\ndef f(x):\n    show(x)\nf(deque())\n")
    assert code.analyses[Queues].is_deque(code.file(), code.shown())


@pytest.mark.parametrize(("made", "expected"), [("deque()", True), ("[]", False), ("made()", False)])
def test_a_queue_that_takes_the_items_of_another_stays_a_queue(made: str, expected: bool) -> None:
    code = Code(
        f"from collections import deque\nclass A:\n    def __init__(self):\n        self.rows = {made}\n"
        "    def take(self, other):\n        self.rows += other.rows\n        show(self.rows)\n"
    )
    assert code.analyses[Queues].is_deque(code.file(), code.shown()) is expected


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ("x[0:2]", (1, "a")),
        ("x[:2]", (1, "a")),
        ("x[1:]", (0, "a")),
        ("x[1:4]", (0, "a")),
        ("x[2:4]", None),
        ("x[:1]", None),
        ("x[:-1]", (None, "a")),
        ("x[k:]", (None, "a")),
        ("x[::2]", (None, "a")),
    ],
)
def test_what_a_slice_takes_of_the_second_element(part: str, path: tuple[object, ...] | None) -> None:
    node = ast.parse(part, mode="eval").body
    assert isinstance(node, ast.Subscript)
    assert isinstance(node.slice, ast.Slice)
    assert cut((1, "a"), node.slice) == path
