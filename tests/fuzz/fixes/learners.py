"""Programs around learning: target networks, averages of networks, minibatches, mixed precision."""

from __future__ import annotations

import random

from fuzz.fixes.agents import HEADER, READERS, indented, networks
from fuzz.fixes.program import Given, Program

_TARGETS = (
    "copy.deepcopy(self.net)",
    "copy.deepcopy(self.net)",
    "copy.deepcopy(self.net).requires_grad_(False)",
    "{net}\n        self.target.load_state_dict(self.net.state_dict())",
    "copy.deepcopy(self.net).eval()",
)
_VALUES = (
    *(
        "self.target(y).amax(-1)",
        "self.target(y).max(-1)[0]",
        "self.target(y)",
        "self.target(y).softmax(-1)",
        "self.target(y).mean(-1, keepdim=True)",
    ),
    *(
        "self.target(self.net(y))",
        "self.target(self.target(y))",
        "self.target(y) * self.net(y)",
        "self.target(y + self.baseline)",
        "self.target(y).gather(-1, self.net(y).argmax(-1, keepdim=True))",
    ),
)
_GOALS = (
    *(
        "(1.0 + 0.9 * following).detach()",
        "(1.0 + 0.9 * following.detach())",
        "1.0 + 0.9 * following",
        "following.detach()",
        "following.detach().clone()",
    ),
    "torch.clamp(following, -1, 1).detach()",
)
_DISTANCES = (
    "(now.mean(-1) - goal.reshape(-1).mean()).square().mean()",
    "F.smooth_l1_loss(now.mean(), goal.mean())",
    "(now * goal.mean()).sum()",
)
_FOLLOWED = (
    ["for t, p in zip(self.target.parameters(), self.net.parameters()):", "    t.data.mul_(0.9).add_(0.1 * p.data)"],
    ["self.count += 1", "if self.count % 2 == 0:", "    self.target.load_state_dict(self.net.state_dict())"],
    [],
)
_RETURNED = ("loss.item()", "loss.detach()", "None", "goal.mean().item()", "goal", "following")


def targets(code: str, choice: random.Random) -> Program:
    """Target networks in an update (TL306)."""
    net, classes = networks(choice)
    target = choice.choice(_TARGETS).format(net=net)
    rows = [f"following = {choice.choice(_VALUES)}", f"goal = {choice.choice(_GOALS)}", "now = self.net(x)"]
    if choice.random() < 0.2:
        rows.append(
            choice.choice(
                (
                    "self.last = following",
                    "self.kept.append(goal)",
                    "print(following.mean().item())",
                    "self.kept.append(following.mean().item())",
                )
            )
        )
    rows.append(f"loss = {choice.choice(_DISTANCES)}")
    rows += ["self.optimizer.zero_grad()", "loss.backward()", "self.optimizer.step()"]
    rows += choice.choice(_FOLLOWED)
    body, end = indented("\n".join(rows), 2), choice.choice(_RETURNED)
    read = choice.choice(READERS).format(call="learner.update(x, y)")
    text = (
        f"{classes}class Learner:\n    def __init__(self):\n        self.net = {net}\n        self.target = {target}\n"
        "        self.baseline = nn.Parameter(torch.zeros(3))\n        self.last, self.kept, self.count = None, [], 0\n"
        "        self.optimizer = torch.optim.SGD([*self.net.parameters(), self.baseline], lr=0.1)\n\n"
        f"    def update(self, x, y):\n{body}        return {end}\n\n\n"
        f"def main(learner: Learner, x, y):\n    for _ in range(2):\n        {read}\n\n\n"
        'if __name__ == "__main__":\n    main(Learner(), None, None)\n'
    )
    trained = "[*learner.net.parameters(), *learner.target.parameters(), learner.baseline]"
    state = f"[learner.net, learner.target, learner.kept, learner.last, [p.grad for p in {trained}]]"
    return Program(
        code,
        HEADER + "\n\n" + text,
        "learner = Learner()",
        "lambda x, y: main(learner, x, y)",
        (Given("x", "rows"), Given("y", "rows")),
        state,
    )


_PAIRS = (
    ("for p, t in zip({one}.parameters(), {two}.parameters()):", "p", "t"),
    ("for t, p in zip({two}.parameters(), {one}.parameters()):", "p", "t"),
    ("for t, p in zip(list({two}.parameters()), list({one}.parameters())):", "p", "t"),
    ("for (_, p), (_, t) in zip({one}.named_parameters(), {two}.named_parameters()):", "p", "t"),
    ("for new, old in zip({one}.state_dict().values(), {two}.state_dict().values()):", "new", "old"),
    ("for new, old in zip({one}.buffers(), {two}.buffers()):", "new", "old"),
)
_AVERAGES = (
    *(
        "{t}.data.copy_({a} * {p}.data + {b} * {t}.data)",
        "{t}.data.copy_({t}.data * {b} + {p}.data * {a})",
        "{t}.data.copy_({b} * {t}.data + {a} * {p}.data)",
    ),
    *(
        "{t}.copy_({a} * {p} + {b} * {t})",
        "{t}.data.copy_({a} * {p} + {b} * {t})",
        "{t}.data.copy_({t}.data * {b} + {a} * {p}.data)",
        "{t}.data = {a} * {p}.data + {b} * {t}.data",
    ),
    *(
        "{t}.data.copy_({a} * {p}.detach() + {b} * {t}.data)",
        "{t}.data.copy_({p}.data * {a} + {t}.data * {b})",
        "{t}.detach().copy_({a} * {p} + {b} * {t}.detach())",
    ),
)
_FACTORS = (
    *(
        ("self.tau", "(1 - self.tau)"),
        ("0.1", "0.9"),
        ("tau", "(1 - tau)"),
        ("(1 - tau)", "tau"),
        ("self.tau", "(1.0 - self.tau)"),
    ),
    *(("tau", "(1.0 - tau)"), ("(1.0 - self.tau)", "self.tau"), ("self.rate", "(1 - self.rate)"), ("w", "(1 - w)")),
)
_SHARED = (
    *("copy.deepcopy(self.net)",) * 4,
    *(
        "{net}",
        "self.net",
        "nn.Sequential(*self.net)",
        "nn.Sequential(*copy.deepcopy(self.net))",
        "copy.copy(self.net)",
        "copy.deepcopy(self.net).double()",
        "copy.deepcopy(self.net).half()",
    ),
)


# Ways in which two networks come to share parameters after they were built.
_TIES = (
    "        for one, two in zip(self.net, self.target):\n            two.bias = one.bias",
    "        self.target[0].weight = self.net[0].weight",
    "        for one, two in zip(self.net.parameters(), self.target.parameters()):\n            two.data = one.data",
    "        self.target.load_state_dict(self.net.state_dict(), assign=True)",
    "        self.target[0] = self.net[0]",
    "        setattr(self.target, '0', self.net[0])",
    "        self.target.append(self.net[0])\n        self.net.append(self.target[0])",
)
_AVERAGED = (
    *("nn.Linear(3, 3)", "nn.LayerNorm(3)", "nn.BatchNorm1d(3)", "nn.Linear(3, 3, dtype=torch.float64)"),
    *("nn.Linear(3, 3).half()", "shared", "nn.Embedding(3, 3)", "nn.Linear(3, 3).to(torch.bfloat16)"),
)
_TAUS = (
    *("", "0.005", "0.1", "1e-3", "torch.tensor(0.1)", "np.float64(0.1)", "np.float32(0.3)", "1", "0"),
    *(
        "nn.Parameter(torch.tensor(0.2))",
        "torch.tensor(0.1, dtype=torch.float64)",
        "torch.full((3,), 0.1)",
        "float('nan')",
    ),
)


def following(code: str, choice: random.Random) -> Program:
    """Targets that follow by averages (TL603)."""
    odd = choice.random() < 0.2
    layers = [choice.choice(_AVERAGED if odd else _AVERAGED[:3]) for _ in range(choice.randint(1, 3))]
    net = f"nn.Sequential({', '.join(layers)})"
    target = choice.choice(_SHARED if odd else _SHARED[:1]).format(net=net)
    pair, p, t = choice.choice(_PAIRS if odd else _PAIRS[:3])
    a, b = choice.choice(_FACTORS)
    average = choice.choice(_AVERAGES).format(p=p, t=t, a=a, b=b)
    guard = choice.choice(("", "", "@torch.no_grad()\n"))
    block = choice.choice(("", "with torch.no_grad():\n"))
    loop = f"{pair.format(one='self.net', two='self.target')}\n    {average}"
    if choice.random() < 0.3:
        loop = f"one, two = self.net, self.target\n{pair.format(one='one', two='two')}\n    {average}"
    loop = f"w = self.tau * 0.5\n{loop}" if " w" in average or "(w" in average or "1 - w" in average else loop
    body = block + ("    " + loop.replace("\n", "\n    ") if block else loop)
    annotation = choice.choice((": float", ": float", ""))
    tau = choice.choice(_TAUS[:4] if annotation or choice.random() < 0.5 else _TAUS)
    tied = choice.choice(("",) * 20 + _TIES)
    called = choice.choice(("self.follow(self.tau)", "self.follow(0.1)", "self.follow(tau)"))
    rate = choice.choice(("0.01", "tau", "self_rate()"))
    text = (
        f"class Learner:\n    def __init__(self, tau{annotation}=0.005):\n        shared = nn.Linear(3, 3)\n"
        f"        self.net = {net}\n        self.target = {target}\n        self.tau, self.rate = tau, {rate}\n"
        f"        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)\n{tied}\n\n"
        f"{indented(guard, 1)}    def follow(self, tau):\n{indented(body, 2)}\n"
        "    def update(self, x, tau):\n        loss = sum(q.square().mean() for q in self.net.parameters())\n"
        "        self.optimizer.zero_grad()\n        loss.backward()\n        self.optimizer.step()\n"
        f"        {called}\n\n\n"
        f"def self_rate():\n    return 0.02\n\n\ndef build():\n    return Learner({tau})\n\n\n"
        "def main(replay, tau):\n    learner = build()\n    for x in replay:\n        learner.update(x, tau)\n\n\n"
        'if __name__ == "__main__":\n    import sys\n\n    main(*sys.argv[1:])\n'
    )
    state = (
        "[learner.net, learner.target, [q.grad for q in learner.net.parameters()],"
        " [q.requires_grad for q in learner.target.parameters()]]"
    )
    given = (Given("x", "rows"), Given("tau", "factor"))
    return Program(code, HEADER + "\n\n" + text, "learner = build()", "learner.update", given, state)


_INDEXING = (
    "found.append(x[index])",
    "found.append((x[index], y[index]))",
    "found.append(x[index].sum())",
    "z = x[index]\nfound.append(z)",
    "found.append(self.table[index])",
    "x[index] = 0\nfound.append(x)",
    "found.append(torch.as_tensor(x[index]))",
    "found.append(x[index, 0])",
    "found.append((index, x[index]))",
    "x[index] += 1",
)
_SAMPLERS = ("SubsetRandomSampler", "RandomSampler", "SequentialSampler")
_TABLES = ("torch.arange(8)", "np.arange(8.0)", "torch.randn(8, 3)", "list(range(8))")


def batches(code: str, choice: random.Random) -> Program:
    """Minibatches by samplers of indices (TL706)."""
    usual = choice.random() < 0.6
    rows = choice.choice(("8", "6", "7", "4") if usual else ("1", "0", "len(x)", "x.shape[0]", "n", "3 * 2", "True"))
    size = choice.choice(("2", "3", "4", "1", "8") if usual else ("0", "-1", "k", "2", "True"))
    name = choice.choice(_SAMPLERS[:1] if usual else _SAMPLERS)
    ranges = ("range({})",) if usual else ("np.arange({})", "range({})", "torch.arange({})")
    over = choice.choice(ranges).format(rows)
    last = choice.choice(("False", "drop_last=False", "True", "drop_last=True") if usual else ("False", "True"))
    kind, annotation = choice.choice(
        (("longer", ": torch.Tensor"),) * 2 + (("longer array", ": np.ndarray"), ("anything", ""))
    )
    row = choice.choice(_INDEXING)
    body = (
        f"found = []\nfor index in BatchSampler({name}({over}), {size}, {last}):\n    "
        + row.replace("\n", "\n    ")
        + "\nreturn found, x"
    )
    if choice.random() < 0.4:
        head = f"BatchSampler({name}({over}), {size}, {last})"
        between = choice.choice(("", "", "", "torch.rand(1)\n", "y = x\n"))
        body = body.replace("found = []\n", f"found = []\nsampler = {head}\n{between}").replace(
            f"in {head}", "in sampler"
        )
        body += choice.choice(("", "", "", ", sampler", ", [index for index in sampler]"))
    if choice.random() < 0.2:
        body = body.replace("return found, x", "torch.rand(1)\nreturn found, x, torch.rand(2), index")
    text = (
        "class Learner:\n    def __init__(self):\n        self.net = nn.Linear(3, 1)\n"
        f"        self.table = {choice.choice(_TABLES)}\n"
        "        self.optimizer = torch.optim.Adam(self.net.parameters())\n\n"
        f"    def batches(self, x{annotation}, y{annotation}, n: int, k: int):\n{indented(body, 2)}\n"
        "    def update(self, x, y, n, k):\n        for rows in self.batches(x, y, n, k):\n"
        "            loss = self.net(rows).mean()\n"
        "            self.optimizer.zero_grad()\n            loss.backward()\n            self.optimizer.step()\n\n\n"
        "def train(learner: Learner, rollouts, updates):\n    for _ in range(updates):\n"
        "        learner.update(*rollouts.collect())\n"
    )
    header = (
        HEADER + "from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler\n"
    )
    given = (Given("x", kind), Given("y", kind), Given("n", "size"), Given("k", "size"))
    return Program(code, header + "\n\n" + text, "learner = Learner()", "learner.batches", given)


_CASTS = (
    *("torch.cpu.amp.autocast()", "torch.cpu.amp.autocast(True)", "torch.cpu.amp.autocast(enabled=flag)"),
    *("torch.cpu.amp.autocast(flag, torch.bfloat16)", "torch.cpu.amp.autocast(True, torch.float16)"),
    *("torch.cuda.amp.autocast()", "torch.cuda.amp.autocast(enabled=False)", "torch.cuda.amp.autocast(flag)"),
    *("torch.cpu.amp.autocast(dtype=torch.bfloat16)", "torch.cpu.amp.autocast(True, torch.bfloat16, False)"),
    "torch.cuda.amp.autocast(enabled=flag, dtype=torch.bfloat16)",
)
_SCALERS = (
    *("torch.cuda.amp.GradScaler()", "torch.cuda.amp.GradScaler(enabled=False)", "torch.cpu.amp.GradScaler()"),
    *("torch.cuda.amp.GradScaler(enabled=flag)", "torch.cpu.amp.GradScaler(2.0 ** 8)"),
    "torch.cpu.amp.GradScaler(init_scale=4.0, growth_interval=1)",
)
_SETTINGS = (
    *("", "", "torch.set_autocast_dtype('cpu', torch.float16)\n", "torch.set_autocast_cache_enabled(False)\n"),
    *("half = torch.float16\n", "torch.set_autocast_enabled('cpu', True)\n"),
)
_ASKED = ("", ", isinstance(self.scaler, torch.amp.GradScaler)", ", self.scaler.state_dict()")


def precision(code: str, choice: random.Random) -> Program:
    """Mixed precision in its old spellings (TL905)."""
    cast, scaler, extra = choice.choice(_CASTS), choice.choice(_SCALERS), choice.choice(_SETTINGS)
    shape = choice.choice(("with", "with", "decorator", "list"))
    inner = "loss = (self.net(x) - 1).square().mean()"
    body = (
        f"with {cast}:\n    {inner}"
        if shape == "with"
        else f"with torch.enable_grad(), {cast}:\n    {inner}"
        if shape == "list"
        else inner
    )
    decorator = f"    @{cast}\n" if shape == "decorator" else ""
    flag, asked = choice.choice(("True", "False")), choice.choice(_ASKED)
    text = (
        f"{extra}flag = {flag}\n\n\nclass Learner:\n    def __init__(self):\n        self.net = nn.Linear(3, 3)\n"
        "        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)\n"
        f"        self.scaler = {scaler}\n\n"
        f"{decorator}    def loss(self, x):\n{indented(body, 2)}        return loss\n\n"
        "    def update(self, x):\n        loss = self.loss(x)\n        self.optimizer.zero_grad()\n"
        "        self.scaler.scale(loss).backward()\n        self.scaler.step(self.optimizer)\n"
        f"        self.scaler.update()\n        return loss.dtype, loss.detach(){asked}\n\n\n"
        "def train(learner: Learner, replay, updates):\n    for _ in range(updates):\n"
        "        learner.update(replay.sample(64))\n"
    )
    state = "[learner.net, [p.grad for p in learner.net.parameters()], learner.scaler.get_scale()]"
    return Program(code, HEADER + "\n\n" + text, "learner = Learner()", "learner.update", (Given("x", "rows"),), state)
