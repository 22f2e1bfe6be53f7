"""Programs around tensors that grow by concatenation in loops (TL405)."""

from __future__ import annotations

import random

from fuzz.fixes.agents import HEADER, READERS, indented
from fuzz.fixes.program import Given, Program
from torchlint.rule import Change

_BEGINS = ("x[:1]", "x[:0]", "torch.zeros(0)", "torch.zeros(1, 3)", "torch.zeros(1, 3, dtype=torch.float64)", "x")
_PIECES = (
    *("row * 2", "torch.tanh(row)", "self.net(row) - 1", "row + row", "torch.stack([row[0], row[0]])", "row.detach()"),
    *("held", "row", "torch.randn(1, 3)", "torch.cat([row, row])", "torch.zeros(1, 3).long() + 1"),
)
_JOINS = (
    "torch.cat([{x}, {y}])",
    "torch.cat(({x}, {y}), dim=0)",
    "torch.cat([{x}, {y}], 0)",
    "torch.vstack([{x}, {y}])",
)
_EXTRA = (
    *("", "", "", "", "held += 1", "if number > 1:\n    break", "if number == 0:\n    continue", "print({x}.shape)"),
    *("row = row + 1", "{x} = {x} * 1", "if number > 1:\n    return {x} * 1"),
)
_ROUNDS = (
    "for number, row in enumerate(x.split(1)):",
    "for number in range(len(x)):\n    row = x[number : number + 1]",
)


def growing(code: str, choice: random.Random) -> Program:
    """Pieces that loops join to a tensor."""
    name = choice.choice(("states", "found"))
    rows = ["held = torch.zeros(1, 3)", f"{name} = {choice.choice(_BEGINS)}"]
    if choice.random() < 0.2:
        rows.append(f"other = {name}")
    inner = [row.format(x=name) for row in choice.choice(_EXTRA).split("\n") if row]
    grown = f"{name} = {choice.choice(_JOINS).format(x=name, y=choice.choice(_PIECES))}"
    if choice.random() < 0.2:
        grown = f"if number != 1:\n    {grown}"
    inner = [*inner, *grown.split("\n")] if choice.random() < 0.5 else [*grown.split("\n"), *inner]
    loop = [*choice.choice(_ROUNDS).split("\n"), *("    " + row for row in inner)]
    if choice.random() < 0.2:
        loop = ["for epoch in range(2):", *("    " + row for row in loop)]
        if choice.random() < 0.3:
            loop.append(f"    {name} = {name} + 1")
    elif choice.random() < 0.1:
        loop = ["with torch.no_grad():", *("    " + row for row in loop)]
    elif choice.random() < 0.1:
        loop = ["try:", *("    " + row for row in loop), "except ValueError:", "    pass"]
    rows += [*loop, f"return {name} * 1"]
    read = choice.choice(READERS).format(call="learner.update(x)")
    text = (
        "class Learner:\n    def __init__(self):\n        self.net = nn.Linear(3, 3)\n"
        "        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)\n\n"
        f"    def scan(self, x: torch.Tensor):\n{indented(chr(10).join(rows), 2)}\n"
        "    def update(self, x: torch.Tensor):\n        loss = (self.net(self.scan(x).float()) - 1).square().mean()\n"
        "        self.optimizer.zero_grad()\n        loss.backward()\n        self.optimizer.step()\n"
        "        return loss.item()\n\n\n"
        f"def main(learner: Learner, x):\n    for _ in range(2):\n        {read}\n\n\n"
        'if __name__ == "__main__":\n    main(Learner(), None)\n'
    )
    accept = (Change.ALIASING, Change.MEMORY, Change.ROUNDING)
    given = (Given("x", "rows"),)
    return Program(
        code,
        HEADER + "\n\n" + text,
        "learner = Learner()",
        "lambda x: main(learner, x)",
        given,
        "[learner.net]",
        accept=accept,
    )
