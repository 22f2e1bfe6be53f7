"""Programs whose loss reads what an acting or target network computed, in places that only code elsewhere fills.

``no_grad`` around the run would break them, so no safe fix of TL302, TL303 or TL306 changes what they do.
"""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest

from torchlint.testing.linting import fixed

pytestmark = pytest.mark.torch

_REMEMBERING = """
class Remembering(nn.Linear):
    def forward(self, x):
        self.last = super().forward(x)
        return self.last
"""


def program(
    loss: str,
    head: str = "",
    setup: str = "pass",
    act: str = "return self.net(obs).argmax().item()",
    methods: str = "pass",
) -> str:
    """An agent that acts, and updates by a loss."""
    return f"""\
import numpy as np
import torch
from torch import nn

{head}

class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        self.kept, self.total, self.log = [], 0, []
{indent(setup, " " * 8)}
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def act(self, obs):
{indent(act, " " * 8)}

    def update(self, obs):
        loss = {loss}
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.total = self.total + loss
        return self.log

{indent(methods, " " * 4)}


def main(agent: Agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
        agent.update(obs)
    return [parameter.detach() for parameter in agent.net.parameters()], agent.log
"""


_NOTE = "def note(self, module, given, output):\n    self.kept.append(output)"
PROGRAMS = {
    "a hook": program("self.kept[-1].mean()", setup="self.net.register_forward_hook(self.note)", methods=_NOTE),
    "a hook under another name": program(
        "self.kept[-1].mean()", setup="add = self.net[0].register_forward_hook\nadd(self.note)", methods=_NOTE
    ),
    "a forward that is replaced": program(
        "self.kept[-1].mean()",
        setup="self.inner = self.net.forward\nself.net.forward = self.keep",
        methods="def keep(self, x):\n    self.kept.append(self.inner(x))\n    return self.kept[-1]",
    ),
    "a module in a sequence that remembers": program(
        "self.net[0].last.mean()", _REMEMBERING, "self.net = nn.Sequential(Remembering(3, 2))"
    ),
    "a module in a list that remembers": program(
        "self.layers[0].last.mean()",
        _REMEMBERING,
        "self.layers = nn.ModuleList([Remembering(3, 4), nn.Linear(4, 2)])\nself.net = self.layers",
        "for layer in self.layers:\n    obs = layer(obs)\nreturn obs.argmax().item()",
    ),
    "an array of objects": program(
        "self.table[0].mean()",
        setup="self.table = np.empty(1, dtype=object)",
        act="q = self.net(obs)\nself.table[0] = q\nreturn q.argmax().item()",
    ),
    "an exception that takes a tensor along": program(
        "self.last.mean()",
        act="try:\n    return self.go(obs)\nexcept ValueError as error:\n    self.last = error.args[0]\n    return 0",
        methods="def go(self, obs):\n    q = self.net(obs)\n    if q.isfinite().all():\n"
        "        raise ValueError(q)\n    return q.argmax().item()",
    ),
    "whether there is a graph": program(
        "self.net(obs).mean()",
        act="q = self.net(obs)\nself.log.append(q.requires_grad)\nreturn q.argmax().item()",
    ),
    "whether a sum has a graph": program(
        "self.net(obs).mean()",
        act="self.log.append(self.total.grad_fn is None if self.total else True)\nreturn 0",
    ),
}


class Env:
    """The same observations again."""

    def reset(self) -> tuple[Any, dict[str, Any]]:
        import torch

        return torch.linspace(0.0, 1.0, 6).reshape(2, 3), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.reset()[0] + action, 1.0, False, False, {}


def run(text: str) -> str:
    """What came of a program, in words."""
    import torch

    torch.manual_seed(0)
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, "program", "exec"), names)
    return repr(names["main"](names["Agent"](), Env(), 3))


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_graph_that_is_kept_elsewhere_stays(text: str) -> None:
    assert run(fixed(text, ["TL302", "TL303", "TL306"], [], unsafe=False)) == run(text)


def test_a_run_whose_graph_nothing_keeps_gets_a_guard() -> None:
    text = program("self.net(obs).mean()")
    after = fixed(text, ["TL302"], [], unsafe=False)
    assert "no_grad" in after
    assert run(after) == run(text)


CHANGED = """\
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.net = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(()))
        self.optimizer = torch.optim.SGD([*self.net.parameters(), self.scale], lr=0.1)

    def loss(self, x: torch.Tensor):
        value = self.net(x).detach()
        mask = value > 0.1
        {changed}
        return (x[mask] * self.scale).sum()

    def update(self, x: torch.Tensor):
        loss = self.loss(x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main(agent: Agent, env, steps):
    return [agent.update(env.reset()[0]) for _ in range(steps)]
"""


@pytest.mark.parametrize(
    ("changed", "guards"), [("pass", True), ("value[mask] = 0.0", False), ("value.add_(1)", False)]
)
def test_what_is_changed_in_place_later_may_be_a_tensor_of_a_class_of_its_own(changed: str, guards: bool) -> None:
    text = CHANGED.replace("{changed}", changed)
    after = fixed(text, ["TL302"], [], unsafe=False)
    assert ("with torch.no_grad():" in after) is guards
    assert run(after) == run(text)
