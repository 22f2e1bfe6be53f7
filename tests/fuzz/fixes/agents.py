"""Programs around an agent that acts and collects what it learned from: its networks are of many kinds."""

from __future__ import annotations

import random

from fuzz.fixes.program import Given, Program

HEADER = """\
import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Bernoulli, Categorical, Normal
"""
_SIZE = 3
_LAYERS = (
    *(
        "nn.Linear(3, 3)",
        "nn.Linear(3, 3)",
        "nn.Linear(3, 3)",
        "nn.ReLU()",
        "nn.Tanh()",
        "nn.Dropout(0.5)",
        "nn.LayerNorm(3)",
    ),
    *(
        "nn.BatchNorm1d(3)",
        "nn.Identity()",
        "nn.Softmax(dim=-1)",
        "nn.ELU()",
        "nn.ReLU(inplace=True)",
        "Scale()",
        "Block()",
    ),
    *("Noisy()", "Counter()", "Cached()", "Normalizer()", "nn.utils.weight_norm(nn.Linear(3, 3))", "nn.LazyLinear(3)"),
    *(
        "nn.utils.spectral_norm(nn.Linear(3, 3))",
        "nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))",
        "nn.PReLU()",
        "Residual()",
    ),
)
_MODULES = {
    "Scale": """\
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.scale
""",
    "Block": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        h = torch.relu(self.one(x))
        return x + self.two(h)
""",
    "Residual": """\
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x):
        for layer in self.body:
            x = x + layer(x)
        return x
""",
    "Noisy": """\
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.spread = nn.Linear(3, 3), nn.Parameter(torch.full((3,), 0.1))
        self.register_buffer("noise", torch.zeros(3))

    def reset_noise(self):
        self.noise.normal_()

    def forward(self, x):
        self.noise.normal_()
        return self.mean(x) + self.spread * self.noise
""",
    "Counter": """\
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        return self.inner(x) / self.count
""",
    "Cached": """\
class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.linspace(0.0, 1.0, 3)
        return self.inner(x) * self.table
""",
    "Normalizer": """\
class Normalizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.mean = torch.zeros(3)

    def forward(self, x):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().reshape(-1, 3).mean(0)
        return self.inner(x - self.mean)
""",
}
_NETS = (
    ("nn.Sequential({layers})", ""),
    ("nn.Sequential({layers})", ""),
    ("nn.Linear(3, 3)", ""),
    (
        "Policy()",
        "class Policy(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body = nn.Sequential({layers})\n        self.head = nn.Linear(3, 3)\n\n"
        "    def forward(self, x):\n        return self.head(self.body(x))\n",
    ),
    (
        "Policy()",
        "class Policy(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body = nn.Sequential({layers})\n        self.last = None\n\n"
        "    def forward(self, x):\n        self.last = self.body(x)\n        return self.last\n",
    ),
)
# The input of a network, and what becomes of its result.
_SEEN = (
    *("torch.as_tensor(obs, dtype=torch.float32)", "torch.tensor(obs, dtype=torch.float32)", "torch.FloatTensor(obs)"),
    *("torch.from_numpy(obs).float()", "torch.as_tensor(np.asarray(obs, dtype=np.float32))", "obs"),
    *("torch.as_tensor(obs, dtype=torch.float32).unsqueeze(0)", "torch.as_tensor(obs, dtype=torch.float32)[None]"),
)
_ENDS = (
    *(
        "q.argmax().item()",
        "q.argmax(-1).numpy()",
        "q.argmax(dim=-1).cpu().numpy()",
        "int(q.argmax())",
        "q.detach().cpu().numpy()",
    ),
    *(
        "float(q.mean())",
        "q.tolist()",
        "Categorical(logits=q).sample().item()",
        "Categorical(logits=q).sample().numpy()",
    ),
    *(
        "Categorical(logits=q, validate_args=False).sample().tolist()",
        "q.max().item()",
        "Normal(q, 1.0).sample().numpy()",
        "q.argmax(-1)",
        "q",
    ),
    *(
        "q.detach()",
        "(q.argmax(-1).item(), q.max().item())",
        "torch.multinomial(q.softmax(-1).reshape(-1), 1).item()",
        "q.softmax(-1).detach().numpy()",
    ),
    *(
        "np.asarray(q.detach())",
        "q.clone().detach().numpy()",
        "Bernoulli(logits=q).sample().numpy()",
        "q.sum().item() > 0",
        "q.data.numpy()",
    ),
    "self.keep(q)",
)
_BETWEEN = (
    *(
        "",
        "",
        "q = q * 2",
        "q = self.other(q)",
        "q = torch.tanh(q)",
        "self.last_q = q",
        "self.scores.append(q.max().item())",
    ),
    *(
        "if np.random.rand() < 0.3:\n    return int(np.random.randint(3))",
        "q += 1",
        "self.mean = q.mean().item()",
        "h = self.hidden + q\nself.hidden = h.detach()",
    ),
    *(
        "self.memory.append(x)",
        "self.scores.append(q.detach())",
        "q = q.masked_fill(q < 0, -1e9)",
        "self.obs = x",
        "self.total = self.total + q.sum()",
    ),
    *(
        "self.scale.mul_(0.5)",
        "self.best = max(self.best, q.max().item())",
        "q = q - self.baseline",
        "q = (q - q.mean()) / (q.std() + 1e-8)",
        "q = self.net(x) + q",
    ),
)
_LOSSES = (
    *(
        "(self.net(x) - 1).square().mean()",
        "self.net(x).mean()",
        "(self.net(x) * self.scale).sum()",
        "F.mse_loss(self.net(x), torch.zeros_like(x))",
    ),
    *(
        "self.net(x).log_softmax(-1).mean()",
        "self.other(self.net(x)).square().mean()",
        "(self.net(x) + self.hidden).square().mean()",
    ),
    *(
        "(self.net(x) * torch.stack([s for s in self.memory[-1:]] or [torch.ones(3)]).mean()).sum()",
        "(self.net(x) - self.baseline).square().mean()",
    ),
)


def networks(choice: random.Random) -> tuple[str, str]:
    """An expression that builds a network, and the classes that it needs."""
    net, own = choice.choice(_NETS)
    layers = [choice.choice(_LAYERS[: choice.choice((7, len(_LAYERS)))]) for _ in range(choice.randint(1, 3))]
    layers.append("nn.Linear(3, 3)")
    text = ", ".join(layers)
    needed = "".join(source + "\n\n" for name, source in _MODULES.items() if f"{name}(" in text)
    return net.format(layers=text), needed + own.format(layers=text) + ("\n\n" if own else "")


def indented(text: str, level: int) -> str:
    return "".join("    " * level + row + "\n" for row in text.split("\n") if row.strip())


def _agent(choice: random.Random, acting: str, extra: str = "") -> tuple[str, str]:
    """A class with the methods ``act`` and ``update``; its text and the statement that builds one."""
    net, classes = networks(choice)
    loss = choice.choice(_LOSSES)
    frozen = choice.choice(("", "", "", "        self.net.eval()\n", "        self.net.requires_grad_(False)\n"))
    optimizer = choice.choice(
        ("SGD(self.net.parameters(), lr=0.1)", "Adam(self.net.parameters())", "SGD(self.parameters(), lr=0.1)")
    )
    text = (
        f"{classes}class Agent(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.net = {net}\n        self.other = nn.Linear(3, 3)\n"
        "        self.baseline = nn.Parameter(torch.zeros(3))\n"
        "        self.scale, self.hidden = torch.ones(3), torch.zeros(3)\n"
        "        self.memory, self.scores, self.total, self.best, self.last_q = [], [], torch.zeros(()), 0.0, None\n"
        f"{frozen}        self.optimizer = torch.optim.{optimizer}\n\n"
        f"{acting}"
        "    def keep(self, q):\n        self.kept = q\n        return q.detach().numpy()\n\n"
        "    def update(self, obs):\n        x = torch.as_tensor(np.asarray(obs), dtype=torch.float32)\n"
        f"        loss = {loss}\n        self.optimizer.zero_grad()\n        loss.backward()\n"
        "        self.optimizer.step()\n"
        f"        return loss.item()\n{extra}\n\n"
    )
    return text, "agent = Agent()"


_ROLLOUT = """\
def train(agent: Agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
        agent.update(obs)


if __name__ == "__main__":
    train(Agent(), None, 10)
"""
_STATE = (
    "[agent.state_dict(), agent.memory, agent.scores, agent.total, agent.last_q, agent.hidden, agent.scale,"
    " [p.grad for p in agent.parameters()]]"
)


def _observation(choice: random.Random) -> Given:
    return Given("obs", choice.choice(("observation", "observation", "observation", "observation", "anything")))


def acting(code: str, choice: random.Random) -> Program:
    """Acting under ``no_grad``, or without a guard (TL301 and TL302)."""
    rows = [f"x = {choice.choice(_SEEN)}", "q = self.net(x)"]
    rows += [row for row in (choice.choice(_BETWEEN) for _ in range(choice.randint(0, 2))) if row]
    end = f"return {choice.choice(_ENDS)}"
    annotation = choice.choice(("", "", ": np.ndarray", ": torch.Tensor"))
    body = "\n".join([*rows, end])
    head = f"    def act(self, obs{annotation}):\n"
    if code == "TL302":
        acting = head + indented(body, 2) + "\n"
    elif choice.random() < 0.4:
        acting = "    @torch.no_grad()\n" + head + indented(body, 2) + "\n"
    elif choice.random() < 0.5:
        acting = head + "        with torch.no_grad():\n" + indented(body, 3) + "\n"
    else:
        acting = head + "        with torch.no_grad():\n" + indented("\n".join(rows), 3) + indented(end, 2) + "\n"
    text, setup = _agent(choice, acting)
    learn = choice.choice(("agent.update", "agent.update", ""))
    return Program(code, HEADER + "\n\n" + text + _ROLLOUT, setup, "agent.act", (_observation(choice),), _STATE, learn)


_SUMS = (
    ("total = torch.zeros(())", "total += {what}", ("total.item()", "total.detach()", "total", "float(total)")),
    ("total = 0.0", "total += {what}", ("float(total)", "total.item()", "total")),
    ("total = 0.0", "total = total + {what}", ("float(total)", "total")),
    (
        "kept = []",
        "kept.append({what})",
        (
            "[k.item() for k in kept]",
            "torch.stack(kept).mean().item()",
            "sum(kept).item()",
            "kept",
            "np.mean([float(k) for k in kept])",
        ),
    ),
    (
        "stats = {'loss': []}",
        "stats['loss'].append({what})",
        ("{k: [float(v) for v in vs] for k, vs in stats.items()}", "stats"),
    ),
    ("kept = []", "kept.append((i, {what}))", ("[v.item() for _, v in kept]", "kept")),
    ("self.total = torch.zeros(())", "self.total = self.total + {what}", ("self.total.item()", "self.total")),
    ("pass", "self.scores.append({what})", ("[s.item() for s in self.scores]", "None", "self.scores[-1]")),
    ("total = self.baseline.sum()", "total = total + {what}", ("total.item()", "total")),
    ("total = torch.zeros(3)", "total += {what}", ("total.tolist()", "total.numpy()", "total.mean().item()")),
)
_KEPT = (
    "loss",
    "loss",
    "loss",
    "-loss",
    "q.mean()",
    "loss * 2",
    "self.net(x).mean()",
    "q",
    "q.max(-1).values",
    "loss / 4",
    "q[0]",
    "x",
    "loss + q.mean()",
    "(loss, q)",
    "entropy",
)
_TRAINED = (
    "self.optimizer.zero_grad()\nloss.backward()\nself.optimizer.step()",
    "self.optimizer.zero_grad()\nloss.backward()\nself.optimizer.step()",
    "pass",
    "self.optimizer.zero_grad()\n(loss + entropy).backward()\nself.optimizer.step()",
    "loss.backward(retain_graph=True)",
)
_AFTER = (
    "",
    "",
    "",
    "total.backward()",
    "torch.stack(kept).sum().backward()",
    "self.optimizer.step()",
    "self.total.backward()",
    "self.scores[-1].backward()",
)
_OBJECTIVES = (
    *("q.square().mean()", "F.mse_loss(q, torch.ones_like(q))", "q.mean()", "self.other(q).square().mean()"),
)
# What a caller that is seen does with what learning gives back.
READERS = (
    "print({call})",
    "print({call})",
    "{call}",
    "assert {call} is not 0",
    "kept = [{call}]\n        print(len(kept))",
    "result = {call}\n        print('learned', result)",
)


def collecting(code: str, choice: random.Random) -> Program:
    """Losses and values that are summed or collected (TL303)."""
    begin, add, ends = choice.choice(_SUMS)
    rows = [
        "x = torch.as_tensor(np.asarray(batch), dtype=torch.float32)",
        "q = self.net(x)",
        f"loss = {choice.choice(_OBJECTIVES)}",
        "entropy = -(q.softmax(-1) * q.log_softmax(-1)).sum(-1).mean()",
    ]
    steps = [choice.choice(_TRAINED), add.format(what=choice.choice(_KEPT))]
    if choice.random() < 0.25:
        steps.reverse()
    after = choice.choice(_AFTER)
    after = after if after.split(".")[0] in begin else ""
    learning = (
        f"    def learn(self, batches):\n{indented(begin, 2)}        for i, batch in enumerate(batches):\n"
        f"{indented(chr(10).join([*rows, *steps]), 3)}{indented(after, 2)}        return {choice.choice(ends)}\n\n"
    )
    acting = "    def act(self, obs):\n        return 0\n\n"
    text, setup = _agent(choice, acting + learning)
    read = choice.choice(READERS).format(call="agent.learn(batches)")
    text += (
        f"def main(agent: Agent, batches):\n    for _ in range(2):\n        {read}\n\n\n"
        "if __name__ == '__main__':\n    main(Agent(), None)\n"
    )
    call = "lambda batches: main(agent, batches)"
    return Program(code, HEADER + "\n\n" + text, setup, call, (Given("batches", "batches"),), _STATE)
