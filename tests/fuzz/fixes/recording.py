"""Programs around attributes that record what updates read, and that are read at intervals (TL203, TL204)."""

from __future__ import annotations

import random

from fuzz.fixes.agents import HEADER, READERS, indented
from fuzz.fixes.program import Given, Program
from torchlint.rule import Change

_DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
_BEGINS = (
    *("collections.deque(maxlen=7)", "collections.deque(maxlen=7)", "collections.deque(maxlen=7)", "[]"),
    *("collections.deque()", "collections.deque([0.5], maxlen=7)", "list()"),
)
_NUMBERS = ("loss", "loss", "error.mean()", "error.square().mean().double()", "scale", "loss.exp()", "error.sum()")
_READS = ("float({x})", "{x}.item()", "{x}.item()", "{x}.detach().item()")
_ROWS = (
    *("error.detach().float().reshape(-1)", "torch.square(error).detach().float().flatten()", "flat", "flat", "flat"),
    *("error.detach().mean(1)", "error.detach()", "scale.detach()", "flat.view(-1)"),
)
_COPIES = ("{x}.cpu().numpy()", "{x}.cpu().numpy()", "-{x}.cpu().numpy()", "{x}.cpu().numpy().tolist()")
_LATER = ("pass", "flat.mul_(2)", "flat += 1", "self.net.weight.data.mul_(0.9)", "loss = loss * 2")
_TAKING = (
    *("np.mean({x})", "mean_or_nan({x})", "mean_or_nan({x})", "float(np.max({x}))", "sorted({x})", "list({x})"),
    *("len({x})", "'some' if {x} else 'none'", "sum({x})", "changing({x})", "handing({x})", "[*{x}]", "{x}[-1]"),
)
_MORE = (
    *(
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "self.note(self.first)",
        "getattr(self, 'first')",
        "self.first.clear()",
        "self.seen = self.first",
    ),
    *("self.first = self.first[-3:]", "self.second = []", "first = self.first", "self.other.first.append(1.0)"),
)
_HELPERS = (
    "def mean_or_nan(rows):\n    return float(np.mean(rows)) if rows else 0.5\n\n\n"
    "def changing(rows):\n    if rows:\n        rows.pop()\n    return len(rows)\n\n\n"
    "def handing(rows):\n    return rows\n\n\n"
)


def _added(choice: random.Random, name: str, numbers: str) -> str:
    if (name == numbers) is (choice.random() < 0.9):
        read = choice.choice(_READS).format(x=choice.choice(_NUMBERS))
        return f"self.{name}.append({read})"
    return f"self.{name}.extend({choice.choice(_COPIES).format(x=choice.choice(_ROWS))})"


def recording(code: str, choice: random.Random) -> Program:
    """Records of what updates read."""
    first, second = (choice.choice(_BEGINS if choice.random() < 0.5 else _BEGINS[:1]) for _ in range(2))
    rows = ["error = self.net(x.to(device)) - 1", "loss, scale = error.square().mean(), self.scale.exp()"]
    rows += ["flat = error.detach().float().flatten()", "self.optimizer.zero_grad()", "loss.backward()"]
    numbers = choice.choice(("first", "second"))
    rows += [_added(choice, name, numbers) for name in choice.choices(("first", "second"), k=choice.randint(1, 3))]
    rows += [choice.choice(_LATER), "self.optimizer.step()"]
    takes = [
        choice.choice(_TAKING if choice.random() < 0.5 else _TAKING[:3]).format(x=f"self.{name}")
        for name in ("first", "second")
    ]
    more = choice.choice(_MORE)
    update, told = [*rows, *([more] if choice.random() < 0.5 else [])], [more] if choice.random() < 0.3 else []
    told += [
        f"found = [{', '.join(takes)}]",
        *(["self.first.clear()"] if choice.random() < 0.2 else []),
        "return found",
    ]
    shown = "\n            print(found[-1])" if choice.random() < 0.7 else ""
    every = choice.choice((2, 2, 3, 100, 100, 1))
    derived = (
        "class Narrow(Learner):\n    def count(self):\n        return len(self.first)\n\n\n"
        if choice.random() < 0.3
        else "class Other:\n    def __init__(self):\n        self.first = [1.0]\n\n\n"
    )
    read = choice.choice(READERS).format(call="learner.update(x)")
    text = (
        f"{_DEVICE}\n\n{_HELPERS}class Learner:\n    def __init__(self):\n"
        "        self.net = nn.Linear(3, 3).to(device)\n"
        "        self.scale = nn.Parameter(torch.zeros((), device=device))\n"
        "        self.optimizer = torch.optim.SGD([*self.net.parameters(), self.scale], lr=0.1)\n"
        f"        self.first, self.seen = None, None\n        self.first = {first}\n        self.second = {second}\n\n"
        "    def note(self, value):\n        self.seen = value\n\n"
        f"    def update(self, x: torch.Tensor):\n{indented(chr(10).join(row for row in update if row), 2)}\n"
        f"    def statistics(self):\n{indented(chr(10).join(row for row in told if row), 2)}\n\n"
        f"{derived}def main(learner: Learner, x):\n    found = []\n    for step in range(4):\n        {read}\n"
        f"        if step % {every} == 0:\n            found.append(learner.statistics()){shown}\n"
        "    return found\n\n\n"
        'if __name__ == "__main__":\n    main(Learner(), None)\n'
    )
    if choice.random() < 0.8:
        text = text.replace("        self.first, self.seen = None, None\n", "        self.seen = None\n")
    return Program(
        code,
        "import collections\n" + HEADER + "\n\n" + text,
        "learner = Learner()",
        "lambda x: main(learner, x)",
        (Given("x", "rows"),),
        "[learner.net, learner.scale, learner.statistics()]",
        accept=(Change.ORDER, Change.MEMORY),
    )
