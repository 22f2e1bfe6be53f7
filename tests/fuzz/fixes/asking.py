"""Programs around conditions that ask several tensors for their truth (TL208), also only to raise (TL201)."""

from __future__ import annotations

import random

from fuzz.fixes.agents import HEADER, READERS, indented
from fuzz.fixes.program import Given, Program

_DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
_MADE = ("self.net(x.to(device))", "self.net(x.to(device)).amax(-1)", "x.to(device) * 2", "(x.to(device) > 0.1)")
_NUMBERS = ("0.5", "0", "self.limit", "-1")
_TESTS = (
    *("torch.isnan({x}).any()", "torch.isinf({x}).any()", "{x}.isfinite().all()", "({x} > {n}).all()"),
    *("not {x}.any()", "not ({x} == {n}).any()", "top > {n}", "{n} < low", "top != low", "low", "{x}[m].max() > {n}"),
    *("{x}.sum() > {n}", "top == top", "flag", "self.kept is None", "{x}.max() > {n}", "top.isnan()", "m.any()"),
    *("late > {n}", "not low < top", "({x} > {n})"),
)
_SIGNS = (" or ", " and ", " or ", " and ", " | ", " or not ")


def asking(code: str, choice: random.Random) -> Program:
    """Conditions of several tensors in updates."""
    rows = [
        f"a = {choice.choice(_MADE)}",
        f"b = {choice.choice(_MADE)}",
        "m = a > 0.3",
        "top, low = a.float().sum(), b.float().sum()",
        "flag = self.steps % 2 == 0",
        *choice.choice(
            (("late = low * 2",), ("if flag:", "    late = top"), ("for _ in range(self.steps):", "    late = low"))
        ),
        "loss = (a.float() + b.float().sum()).square().mean()",
    ]
    for number in range(choice.randint(1, 4)):
        rows += _branch(choice, number, checks=code == "TL201" and choice.random() < 0.8)
    read = choice.choice(READERS).format(call="learner.update(x)")
    text = (
        f"{_DEVICE}\n\nclass Learner:\n    def __init__(self):\n        self.net = nn.Linear(3, 3).to(device)\n"
        "        self.limit, self.kept, self.steps = 0.3, None, 0\n"
        "        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)\n\n"
        f"    def loss(self, x: torch.Tensor):\n{indented(chr(10).join([*rows, 'return loss']), 2)}\n"
        "    def update(self, x: torch.Tensor):\n        loss = self.loss(x)\n        self.optimizer.zero_grad()\n"
        "        if loss.requires_grad:\n            loss.backward()\n            self.optimizer.step()\n"
        "        self.steps += 1\n        return loss.item()\n\n\n"
        f"def main(learner: Learner, x):\n    for _ in range(2):\n        {read}\n\n\n"
        'if __name__ == "__main__":\n    main(Learner(), None)\n'
    )
    return Program(
        code,
        HEADER + "\n\n" + text,
        "learner = Learner()",
        "lambda x: main(learner, x)",
        (Given("x", "rows"),),
        "[learner.net, learner.kept]",
    )


def _branch(choice: random.Random, number: int, *, checks: bool) -> list[str]:
    """A statement that a condition decides; ``checks``: only whether it raises."""
    tests = [
        choice.choice(_TESTS).format(x=choice.choice("ab"), n=choice.choice(_NUMBERS))
        for _ in range(choice.randint(2, 4))
    ]
    test = tests[0]
    for other in tests[1:]:
        test = f"{test}{choice.choice(_SIGNS)}{other}" if choice.random() < 0.9 else f"({test}) or {other}"
    change = choice.choice((f"loss = loss * {number + 2}", f"self.kept = {number}"))
    if checks:
        form = choice.choice(("if {test}:\n    raise ValueError({number})", "assert {test}", "assert not ({test})"))
        return form.format(test=test, number=number).split("\n")
    form = choice.choice(
        ("if {test}:\n    {change}", "loss = loss * (2 if {test} else 3)", "if not ({test}):\n    {change}")
    )
    return form.format(test=test, change=change).split("\n")
