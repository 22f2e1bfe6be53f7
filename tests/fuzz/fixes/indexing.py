"""Programs around indices on the host with which several tensors are indexed, and items moved one by one (TL107)."""

from __future__ import annotations

import random

from fuzz.fixes.agents import HEADER, READERS, indented
from fuzz.fixes.program import Given, Program

_DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
_MADE = (
    *("np.random.randint(0, 8, 5)", "np.random.permutation(8)", "np.random.permutation(8)[:4]", "np.arange(4)"),
    *("np.random.choice(8, 3)", "np.arange(8)[::2]", "np.arange(3, -1, -1)", "np.arange(8)[::-1]", "np.zeros(0, int)"),
    *("random.sample(range(8), 4)", "[0, 3, 1]", "[]", "list(range(5))", "[i for i in range(4)]", "[True, False]"),
    *("torch.randperm(8)[:3]", "torch.arange(4)", "torch.tensor([1, 2])", "torch.arange(8) > 3", "self.order[:4]"),
    *("self.order", "np.arange(4, dtype=np.int32)", "np.arange(4).astype(np.int16)", "np.random.rand(4) > 0.5", "n"),
    *("np.random.randint(8)", "np.array(3)", "np.array([[0, 1], [2, 3]])", "x.numpy().argsort(0)[:, 0]"),
)
_USES = (
    *("a = a + self.one[{i}].sum()", "a = a + self.two[{i}].mean()", "a = a + (self.one[{i}] * 2).sum()"),
    *("b = self.one[{i}]", "c = self.two[{i}]", "a = a + self.one[{i}, 0].sum() + self.two[{i}].sum()"),
    *("self.two[{i}] = 0.5", "self.two[{i}] += 1.0", "self.one[{i}] *= 0.5", "a = a + self.host[{i}].sum().to(device)"),
    *("for k in range(2):\n    a = a + self.two[{i}].sum() * k", "if n > 2:\n    a = a + self.one[{i}].sum()"),
    *("a = a + sum(each[{i}].sum() for each in (self.one, self.two))", "b = h[{i}]", "c = h.detach()[{i}]"),
    "with torch.no_grad():\n    self.two[{i}] = self.one[{i}].sum(-1)",
)
_BETWEEN = (
    *("np.random.shuffle(self.order)", "self.order[0] = 1", "kept.append({i})", "self.last = {i}", "self.mix()"),
    *("{i} = np.arange(2)", "a = a * 2", "kept.append(a.detach())", "print(len(kept))", "a = a + len(kept)", "pass"),
    *(
        "{i}[0] = 1",
        "a = a + float(np.sum({i}))",
        "a = self.net(h).sum() + a",
        "np.random.shuffle({i})",
        "part = {i}[:2]",
    ),
    "part = {i}\nif len(part) and not isinstance(part, torch.Tensor):\n    part[0] = 2",
)


_ITEMS = (
    *(
        "torch.tensor({x}, device=device)",
        "torch.as_tensor({x}, device=device)",
        "torch.tensor({x}, device=self.device)",
    ),
    *(
        "torch.tensor({x}, dtype=torch.float32, device=device)",
        "torch.as_tensor({x}, dtype=torch.float64, device=device)",
    ),
    *("torch.as_tensor({x}, device=place)", "torch.from_numpy({x}).to(device)", "torch.tensor({x}).to(self.device)"),
)
_PIECES = (
    "grid[k:]",
    "grid[:, k]",
    "grid[k : k + 2]",
    "self.grid[k:]",
    "grid[k]",
    "np.arange(k)",
    "k",
    "[k, 1.5]",
    "h[k:]",
)
_JOINS = (
    *("torch.stack({x})", "torch.cat({x})", "torch.cat({x}, dim=-1)", "torch.nn.utils.rnn.pad_sequence({x})"),
    *("torch.nn.utils.rnn.pad_sequence({x}, batch_first=True, padding_value=2.0)", "torch.stack(tuple({x}))"),
)


def _moved(choice: random.Random) -> list[str]:
    """Items that are made and moved in a comprehension and joined, by itself or under a name."""
    rows = ["grid = np.arange(12, dtype=np.float32).reshape(4, 3)", "place = device"]
    item = choice.choice(_ITEMS).format(x=choice.choice(_PIECES))
    over = choice.choice(("range(3)", "range(1, 4)", "(0, 2)", "range(0)"))
    form, join = f"[{item} for k in {over}]", choice.choice(_JOINS)
    if choice.random() < 0.5:
        rows.append(f"found = {join.format(x=form)}")
    else:
        rows.append(f"parts = {form}")
        between = (
            *("grid[0] = 5.0", "place = 'cpu'", "kept.append(len(parts))", "self.last = parts", "parts = parts[:1]"),
            *("self.grid[1] = 0.5", "a = a * 2", "self.mix()", "parts[0].mul_(2)"),
        )
        if choice.random() < 0.35:
            rows.append(choice.choice(between))
        rows.append(f"found = {join.format(x='parts')}")
    return [*rows, "kept.append(found)", "a = a + found.double().sum()"]


def indexing(code: str, choice: random.Random) -> Program:
    """An index on the host, what it is used for, and what may change it meanwhile."""
    name = choice.choice(("i", "rows", "index"))
    rows = ["a, kept = h.sum(), []", "b = c = h", f"{name} = {choice.choice(_MADE)}"]
    if choice.random() < 0.2:
        rows[-1] = f"for {name} in np.array_split(np.random.permutation(8), 3):"
    loop = rows[-1].endswith(":")
    body: list[str] = _moved(choice) if choice.random() < 0.5 else []
    for _ in range(choice.randint(2, 5)):
        body += choice.choice(_USES).format(i=name).split("\n")
        if choice.random() < 0.35:
            body += choice.choice(_BETWEEN).format(i=name).split("\n")
    rows += [f"    {row}" if loop else row for row in body]
    rows += ["self.kept = [*kept, b.detach().sum(), c.detach().sum()]", "return a"]
    head = choice.choice(("def loss(self, x, n):", "def loss(self, x: torch.Tensor, n: int) -> torch.Tensor:"))
    read = choice.choice(READERS).format(call="learner.update(x, n)")
    text = (
        f"{_DEVICE}\n\nclass Learner:\n    def __init__(self):\n        self.net = nn.Linear(3, 3).to(device)\n"
        "        self.one = torch.arange(24.0, device=device).reshape(8, 3)\n"
        "        self.two = torch.ones(8, device=device)\n        self.host = torch.arange(8.0)\n"
        "        self.order, self.last, self.kept = np.arange(8), None, None\n"
        "        self.grid, self.device = np.ones((4, 3), dtype=np.float32), device\n"
        "        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)\n\n"
        "    def mix(self):\n        np.random.shuffle(self.order)\n"
        "        if isinstance(self.last, np.ndarray) and self.last.size:\n            self.last[...] = 0\n\n"
        f"    {head}\n        h = self.net(x.to(device).reshape(-1, 3)).sum(0)\n"
        f"        h = torch.cat([h, h, h])[:8]\n{indented(chr(10).join(rows), 2)}\n"
        "    def update(self, x: torch.Tensor, n: int):\n        loss = self.loss(x, n)\n"
        "        self.optimizer.zero_grad()\n        loss.backward()\n        self.optimizer.step()\n"
        "        return loss.item()\n\n\n"
        f"def main(learner: Learner, x, n: int):\n    for _ in range(2):\n        {read}\n\n\n"
        'if __name__ == "__main__":\n    main(Learner(), None, 3)\n'
    )
    return Program(
        code,
        HEADER.replace("import copy\n", "import copy\nimport random\n") + "\n\n" + text,
        "learner = Learner()",
        "lambda x, n: main(learner, x, n)",
        (Given("x", "rows"), Given("n", "integer")),
        "[learner.net, learner.one, learner.two, learner.order, learner.kept]",
    )
