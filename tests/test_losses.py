"""On which values backward() is called, in their function or in one that they are handed to."""

from __future__ import annotations

import pytest
from projects import Code
from torchlint.rules.tl3_autograd._losses import Losses

CALLED_ON = {
    "itself": "y.backward()",
    "its mean": "y.mean().backward()",
    "what a scaler makes of it": "scaler.scale(y).backward()",
    "a wrapper": "accelerator.backward(y)",
    "by a function": "run(y)",
    "by a function, by name": "run(loss=y)",
    "by a function of a function": "run_all(1, y)",
}
NOT_CALLED_ON = {
    "something made of it": "f(y).backward()",
    "its maximum": "y.max().backward()",
    "by no function": "log(y)",
    "by a function that takes something else": "run_all(y, 1)",
    "a method of another name": "y.forward()",
}
FUNCTIONS = """
def run(loss):
    loss.backward()

def run_all(scale, loss):
    run(loss)

def log(loss):
    print(loss)
"""


def called_on(body: str) -> bool:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    code = Code(f"{FUNCTIONS}\ndef step(x, net):\n{lines}")
    return code.analyses[Losses].called_on(code.file(), code.shown())


@pytest.mark.parametrize("use", CALLED_ON.values(), ids=CALLED_ON)
def test_backward_is_called_on_a_value(use: str) -> None:
    assert called_on(f"y = net(x)\n{use}\nshow(y)")


@pytest.mark.parametrize("use", NOT_CALLED_ON.values(), ids=NOT_CALLED_ON)
def test_backward_is_not_called_on_a_value(use: str) -> None:
    assert not called_on(f"y = net(x)\n{use}\nshow(y)")


@pytest.mark.parametrize(("sum_", "expected"), [("a + b", True), ("a - 1", True), ("c * a", False), ("b", False)])
def test_a_sum_with_such_a_value_is_one_too(sum_: str, expected: bool) -> None:
    body = f"a = net(x)\nb = net(2 * x)\nc = net(3 * x)\na.backward()\ntotal = {sum_}\nshow(total)"
    assert called_on(body) is expected


def test_backward_is_not_called_on_a_value_that_is_read_more_often_than_is_followed() -> None:
    functions = f"def log_all(loss):\n    print({'loss, ' * 3001})\n"
    code = Code(f"{functions}\ndef step(x, net):\n    y = net(x)\n    log_all(y)\n    show(y)\n")
    assert not code.analyses[Losses].called_on(code.file(), code.shown())
