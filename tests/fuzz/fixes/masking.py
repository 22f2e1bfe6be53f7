"""Programs around elements that masks select: stored, changed, summed up (TL202)."""

from __future__ import annotations

import random

from fuzz.fixes.agents import HEADER, READERS, indented
from fuzz.fixes.program import Given, Program

_DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
_MADE = (
    "self.net(x.to(device))",
    "self.net(x.to(device)).amax(-1)",
    "x.to(device) * 2",
    "self.net(x.to(device)).detach()",
)
_MASKS = ("{x} < 0", "{x} > self.limit", "{y} > 0.1", "({x} < 0) | ({y} > 0)", "~({x} > 0)", "{x} != {x}")
_NUMBERS = ("0.5", "2", "self.limit", "-1", "self.scale", "0")
_FORMS = (
    *("{x}[m] -= {n}", "{x}[m] *= {n}", "{x}[m] /= {n}", "{x}[m] += {n}", "{x}[m] = {y}[m]", "{x}[m] = {x}[m] - {n}"),
    *("{x}[m] = {y}[m] * {n} - {x}[m]", "{x}[m] = -{y}[m]", "{x}[m] = ({y}[m] + {n}) * {n}", "{x}[~m] = {y}[~m]"),
    *("{x}[m] = {y}[~m]", "{x}[m] *= {y}[m]", "{x}[m] = {n} / {y}[m]", "{x}[m] **= 2", "{x}[m] = {n}"),
    *("{x}[{x} > 0] -= {n}", "m = {x} > 0.2", "{y} = {x} + 1", "{x}[m] -= {x}[m].amax()", "{x}[m[:1]] -= {n}"),
    *("{y} = {y} + {x}[m].max()", "{y} = {y} - ({x}[m].amin() if m.any() else 0.0)", "{y} = {y} * {x}[m].min().item()"),
    *("{y} = {y} * (torch.max({x}[m]).item() if m.any() else 2.0)", "{y} = {y} + torch.amin(-{x}[m] * {n}).detach()"),
    "{y} = {y} + (torch.min({x}[m] - {n}).detach() if m.any() else 0.0)",
    "v = {x}.detach().amin(-1)\nk = {x}.amax(-1) > 0\nv[k] = {y}.tanh().amin(-1)[k]\n{y} = {y} + v.sum()",
    *("w = {x}.floor().long()\nw[torch.logical_and(w > 0, w == w)] -= {n}\n{y} = {y} + w", "{y} = {y} + {y}[m].amax()"),
    *("w = {x}.ceil().long()\nw[(w > 1) * (w != 2)] *= {n}\n{y} = {y} * w", "{y} = {y} + {x}.long()[m].max()"),
)
_ENDS = ("return {x}.sum()", "return {x}.square().mean() + {y}.sum()", "self.kept = {y}\nreturn ({x} * {y}).sum()")


def masking(code: str, choice: random.Random) -> Program:
    """Masked elements in updates."""
    one, other = choice.sample("ab", 2)
    rows = [
        f"a = {choice.choice(_MADE)}",
        f"b = {choice.choice(_MADE)}",
        f"m = {choice.choice(_MASKS).format(x=one, y=other)}",
    ]
    for _ in range(choice.randint(1, 4)):
        first, second = (one, other) if choice.random() < 0.8 else (other, one)
        rows += choice.choice(_FORMS).format(x=first, y=second, n=choice.choice(_NUMBERS)).split("\n")
    rows += choice.choice(_ENDS).format(x=one, y=other).split("\n")
    read = choice.choice(READERS).format(call="learner.update(x)")
    text = (
        f"{_DEVICE}\n\nclass Learner:\n    def __init__(self):\n        self.net = nn.Linear(3, 3).to(device)\n"
        "        self.scale = nn.Parameter(torch.ones((), device=device))\n        self.limit, self.kept = 0.3, None\n"
        "        self.optimizer = torch.optim.SGD([*self.net.parameters(), self.scale], lr=0.1)\n\n"
        f"    def loss(self, x: torch.Tensor):\n{indented(chr(10).join(rows), 2)}\n"
        "    def update(self, x: torch.Tensor):\n        loss = self.loss(x)\n        self.optimizer.zero_grad()\n"
        "        if loss.requires_grad:\n            loss.backward()\n            self.optimizer.step()\n"
        "        return loss.item()\n\n\n"
        f"def main(learner: Learner, x):\n    for _ in range(2):\n        {read}\n\n\n"
        'if __name__ == "__main__":\n    main(Learner(), None)\n'
    )
    return Program(
        code,
        HEADER + "\n\n" + text,
        "learner = Learner()",
        "lambda x: main(learner, x)",
        (Given("x", "rows"),),
        "[learner.net, learner.scale, learner.kept]",
    )
