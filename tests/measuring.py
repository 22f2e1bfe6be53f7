"""A small project that trains, and profiles of it as its users would make them, in one process of their own."""

import os
import subprocess
import sys
from pathlib import Path

AGENT = """\
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, obs):
        hidden = self.body(obs)
        if torch.isnan(hidden).any():
            raise ValueError("NaN")
        if torch.isnan(obs).any():
            raise ValueError("NaN")
        return hidden

    def unused(self, obs):
        if torch.isnan(obs).any():
            raise ValueError("NaN")
        return obs


class Agent:
    def __init__(self):
        self.policy = Policy()
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.1)

    def act(self, obs):
        with torch.no_grad():
            return self.policy(torch.FloatTensor(obs).unsqueeze(0))

    def update(self):
        loss = self.policy(torch.ones(4, 8)).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def rest(self, obs):
        total = 0
        for number in range(200000):
            total += number
        return total
"""
TRAIN = """\
import numpy as np

from agent import Agent


class Env:
    def reset(self):
        return np.zeros(8)

    def step(self, action):
        return np.ones(8), 1.0, False, False, {}


def train(steps=40):
    env, agent = Env(), Agent()
    obs = env.reset()
    for step in range(steps):
        obs, reward, terminated, truncated, info = env.step(agent.act(obs))
        agent.rest(obs)
        if step % 2 == 0:
            agent.update()


def train_offline(agent, env):
    obs = env.reset()
    while True:
        obs, reward, terminated, truncated, info = env.step(agent.policy.unused(obs))


if __name__ == "__main__":
    train()
"""
PROFILER = """\
import cProfile, pathlib, runpy, sys
import numpy, torch
from torch.profiler import ProfilerActivity, profile

# An optimizer imports more of torch when it is first used, and all of that would be read again with each profile.
torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1).zero_grad()
folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, "")
cProfile.run("runpy.run_path('train.py', run_name='__main__')", str(folder / "train.prof"))
import train
for name, stack in (("stack", True), ("plain", False)):
    with profile(activities=[ProfilerActivity.CPU], with_stack=stack) as traced:
        train.train()
    traced.export_chrome_trace(str(folder / f"{name}.json"))
"""


def project(folder: Path) -> Path:
    """Write the project into a folder of its own."""
    for name, text in {"agent.py": AGENT, "train.py": TRAIN, "pyproject.toml": "[project]\nname = 'small'\n"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def python(folder: Path, *arguments: str | Path) -> None:
    """Run Python in a folder."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        timeout=600,
    )


def profiles(folder: Path, where: Path) -> None:
    """Profile the project with cProfile, and with the torch profiler with and without stacks.

    They are ``train.prof``, ``stack.json`` and ``plain.json``.
    """
    script = where / "profiler.py"
    script.write_text(PROFILER, encoding="utf-8")
    python(folder, script, where)
