"""Programs around rows drawn from a replay buffer, whose fields become tensors on a device one by one (TL704)."""

from __future__ import annotations

import random

from fuzz.fixes.agents import HEADER, READERS, indented
from fuzz.fixes.program import Given, Program

# The second is the host under a name that the function of the fix takes for a device of its own.
_DEVICES = ("cpu", "cpu:0", "cpu:0")
# What a row may hold besides the observation, by how a field of it is read as a number.
_ROWS = ("k % 3", "k * 0.5", "k > 2", "float(k)", "np.float32(k)", "[k, k + 1]", "(k, 0.5)", "np.arange(3) + k", "seen")
_OBSERVATIONS = (
    "seen",
    "seen.tolist()",
    "tuple(seen.tolist())",
    "seen.numpy()",
    "np.ones((2, 3)) * k",
    "seen.numpy()[::2]",
)
_MAKERS = (
    *("torch.tensor({x}, device=device)", "torch.tensor({x}, device=device)", "torch.as_tensor({x}, device=device)"),
    *("torch.tensor({x}, dtype=torch.float32, device=device)", "torch.as_tensor(np.array({x}), device=device)"),
    *(
        "torch.as_tensor(np.stack({x}), dtype=torch.float64, device=device)",
        "torch.tensor(np.array({x}), device=device)",
    ),
    *("torch.tensor({x}, dtype=torch.int64, device=device)", "torch.tensor({x}, dtype=torch.bool, device=device)"),
    *("torch.tensor({x}, device=self.device)", "torch.tensor({x}).to(device)", "torch.from_numpy(np.asarray({x}))"),
    *("torch.tensor({x}, dtype=torch.float32, device=device, requires_grad=True)", "torch.tensor({x}, device=place)"),
)
_TAKING = (
    *("{t} = {m}", "{t} = {m}", "{t} = {m}", "{t} = {m}.float()", "{t} = 1 - {m}.float()", "{t} = {m}.reshape(-1)"),
    *(
        "with torch.no_grad():\n    {t} = {m}",
        "with torch.inference_mode():\n    {t} = {m}",
        "if n > 1:\n    {t} = {m}",
    ),
    *("with torch.autocast('cpu', enabled=False):\n    {t} = {m}", "for _ in range(1):\n    {t} = {m}"),
    "{t} = {m} if n > 0 else {m}",
)
_BETWEEN = (
    *(
        "a = a * 2",
        "a = self.net(h).sum() + a",
        "self.replay.append(self.replay[0])",
        "kept.append(a.detach())",
    ),
    *("self.replay[0] = self.replay[1]", "self.mix()", "device = 'cpu'", "place = 'cpu'", "x = x + 1", "pass"),
    *("rows[0] = rows[-1]", "random.random()", "if n > 6:\n    return a", "self.device = 'cpu'", "seen = len(rows)"),
)
_AFTER = (
    *(
        "{t}.mul_(2)",
        "{t} += 1",
        "{t}[0] = 0",
        "kept.append({t})",
        "kept.append({t})",
        "{t}.resize_(0)",
        "pass",
        "pass",
    ),
    *("a = a + {t}.double().sum()", "a = a + {t}.double().sum()", "a = a + ({t}.double() ** 2).mean()"),
)


def replaying(code: str, choice: random.Random) -> Program:
    """A draw of rows, what becomes of their fields, and what happens in between."""
    names = choice.sample(("obs", "action", "reward", "done"), choice.randint(2, 4))
    values = [choice.choice(_OBSERVATIONS if choice.random() < 0.4 else _ROWS) for _ in range(4)]
    draw = "random.sample(self.replay, 4)"
    zipped = "zip(*{rows})" if choice.random() < 0.7 else "zip(*{rows}, strict=True)"
    rest = [] if len(names) == 4 else ["*_"]
    left = ", ".join([*names, *rest]) if not rest or choice.random() < 0.8 else ", ".join(names)
    rows = ["a, kept, place = h.sum(), [], device"]
    if choice.random() < 0.5:
        rows += [f"rows = {draw}", f"{left} = {zipped.format(rows='rows')}"]
    else:
        rows += ["rows = []", f"{left} = {zipped.format(rows=draw)}"]
    taken = []
    for place, name in enumerate(names):
        target = choice.choice((f"t{place}", f"t{place}", name))
        made = choice.choice(_MAKERS if choice.random() < 0.4 else _MAKERS[:7]).format(x=name)
        rows += choice.choice(_TAKING if choice.random() < 0.25 else _TAKING[:1]).format(t=target, m=made).split("\n")
        taken.append(target)
        if choice.random() < 0.15:
            rows += choice.choice(_BETWEEN).split("\n")
    if choice.random() < 0.2:
        rows.append(f"kept.append(len({choice.choice(names)}))")
    for target in taken:
        rows += choice.choice(_AFTER).format(t=target).split("\n")
    rows += [f"a = a + sum(part.double().sum() for part in ({', '.join(taken)},))", "self.kept = [*self.kept, *kept]"]
    head = choice.choice(("def loss(self, x, n):", "def loss(self, x: torch.Tensor, n: int) -> torch.Tensor:"))
    read = choice.choice(READERS).format(call="learner.update(x, n)")
    device = choice.choice(_DEVICES)
    text = (
        f'device = torch.device("cuda" if torch.cuda.is_available() else "{device}")\n\n\n'
        "class Learner:\n    def __init__(self):\n        self.net = nn.Linear(3, 3).to(device)\n"
        "        self.replay = collections.deque(maxlen=100_000)\n        self.kept, self.device = [], device\n"
        "        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)\n\n"
        "    def put(self, x):\n        for k in range(6):\n            seen = x.reshape(-1)[:3] + k\n"
        f"            self.replay.append(({', '.join(values)}))\n\n"
        "    def mix(self):\n        random.shuffle(self.replay)\n\n"
        f"    {head}\n        h = self.net(x.to(device).reshape(-1, 3))\n"
        f"{indented(chr(10).join([*rows, 'return a']), 2)}\n"
        "    def update(self, x: torch.Tensor, n: int):\n        self.put(x)\n        loss = self.loss(x, n)\n"
        "        self.optimizer.zero_grad()\n        loss.backward()\n        self.optimizer.step()\n"
        "        return loss.item()\n\n\n"
        f"def main(learner: Learner, x, n: int):\n    for _ in range(2):\n        {read}\n\n\n"
        'if __name__ == "__main__":\n    main(Learner(), None, 3)\n'
    )
    return Program(
        code,
        HEADER.replace("import copy\n", "import collections\nimport copy\nimport random\n") + "\n\n" + text,
        "learner = Learner()",
        "lambda x, n: main(learner, x, n)",
        (Given("x", "rows"), Given("n", "integer")),
        "[learner.net, learner.kept]",
    )
