"""The builders that fixes use, and the claims about dtypes that make a fix safe."""

from __future__ import annotations

import libcst as cst
import pytest
from torchlint.rules.tl1_transfer.cpu_then_move import _holds

from torchlint.rule.build import call_of, expression, in_place_of, keyword_of, on_top, source, with_keyword
from torchlint.rule.site import Link

pytestmark = pytest.mark.versions


def call(text: str) -> cst.Call:
    node = expression(text)
    assert isinstance(node, cst.Call)
    return node


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("f()", "f(k=v)", id="no arguments"),
        pytest.param("f(1)", "f(1, k=v)", id="after others"),
        pytest.param("f(1, k=2, j=3)", "f(1, k=v, j=3)", id="in place of its own"),
        pytest.param("f(1,)", "f(1, k=v,)", id="trailing comma"),
        pytest.param("f(\n    1,\n    2,\n)", "f(\n    1,\n    2,\n    k=v,\n)", id="a row of its own"),
        pytest.param("f(\n    1,  # one\n)", "f(\n    1,  # one\n    k=v,\n)", id="a comment stays"),
        pytest.param("f(\n    1, 2\n)", "f(\n    1, 2, k=v\n)", id="the row of the others"),
        pytest.param("f(*sizes)", "f(*sizes, k=v)", id="after a star argument"),
    ],
)
def test_with_keyword(before: str, after: str) -> None:
    assert source(with_keyword(call(before), "k", expression("v"))) == after


def test_an_assignment_expression_as_argument_gets_parentheses() -> None:
    named = cst.NamedExpr(cst.Name("n"), cst.Integer("1"))
    assert source(with_keyword(call("f()"), "k", named)) == "f(k=(n := 1))"


def test_keyword_of() -> None:
    found = keyword_of(call("f(1, dtype=d)"), "dtype")
    assert found is not None
    assert source(found) == "d"
    assert keyword_of(call("f(dtype)"), "dtype") is None


def test_links_go_on_top_of_another_expression() -> None:
    view = call("a.view(1, -1)")
    row = expression("b[None]")
    assert isinstance(row, cst.Subscript)
    links = [Link("view", view), Link("[]", row)]
    assert source(on_top(call_of("np.array", cst.Name("x")), links)) == "np.array(x).view(1, -1)[None]"


def test_parentheses_of_the_old_expression_go_around_the_new_one() -> None:
    assert source(in_place_of(expression("(\n    a\n)"), expression("b"))) == "(\n    b\n)"
    assert source(in_place_of(expression("a"), expression("b"))) == "b"


@pytest.mark.torch
@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
def test_a_literal_that_a_dtype_holds_is_the_same_after_a_cast(default: str) -> None:
    import torch

    names = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
    literals = [0, 1, -1, 5, 127, 128, 200, 256, 257, 2048, 2049, 40_000, 2**24, 2**24 + 1, 2**31, True, False]
    literals += [
        0.0,
        0.5,
        -0.5,
        0.1,
        1.0,
        3.0,
        100.0,
        255.0,
        256.0,
        257.0,
        -1e8,
        1e-8,
        2.0**-20,
        1e-50,
        1e30,
        float("nan"),
    ]
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        for name in names:
            dtype = getattr(torch, name)
            held = [literal for literal in literals if _holds(name, literal)]
            assert held
            for literal in held:
                assert torch.equal(torch.full((2,), literal).to(dtype), torch.full((2,), literal, dtype=dtype))
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize(
    ("dtype", "literal"),
    [
        ("float64", 0.1),
        ("int64", 0.5),
        ("int8", 128),
        ("uint8", -1),
        ("float16", 2049),
        ("bool", 1e-50),
        ("complex64", 1),
    ],
)
def test_a_literal_that_a_dtype_may_change(dtype: str, literal: float) -> None:
    assert not _holds(dtype, literal)
