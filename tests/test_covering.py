"""Whether what follows a statement, or the body of a ``with``, runs a loop that steps or trains."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.facts.hotness.covering import Covering

TRAIN = "def train():\n    for x in y:\n        x.backward()\n"
CASES = {
    "a loop behind it": ("def main():\n    here()\n    for x in y:\n        x.backward()\n", True),
    "a loop before it": ("def main():\n    for x in y:\n        x.backward()\n    here()\n", False),
    "a call that leads to one": (f"{TRAIN}def main():\n    here()\n    train()\n", True),
    "calls in comprehensions": (
        f"{TRAIN}def go():\n    [train() for _ in z]\ndef main():\n    here()\n    go()\n",
        True,
    ),
    "a function that is only defined": (
        "def main():\n    here()\n    def inner():\n        for x in y:\n            x.backward()\n",
        False,
    ),
    "what runs in each update": (
        "def update(x):\n    here()\n    f(x)\nfor x in y:\n    update(x)\n    x.backward()\n",
        True,
    ),
    "a call that leads to none": (f"{TRAIN}def other():\n    f(1)\ndef main():\n    here()\n    other()\n", False),
    "a call of itself": ("def main():\n    here()\n    main()\n", False),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_what_follows_a_statement_trains(text: str, expected: bool) -> None:
    code = Code(text)
    assert code.analyses[Covering].trains(code.file(), code.node("here()")) is expected
