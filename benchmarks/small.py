"""Projects of many small files, below and above the limits of the engine: what each step in size takes.

There are four kinds: agents that import a file they share, scripts that are connected with nothing, tests, which have
no facts, and files that say nothing of torch. A second process comes at 1 MB of source, parts at 8 MB.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

MEGABYTES = (0.5, 0.9, 1.1, 3.0, 7.8, 8.4)
TOLERANCE = 1.35
"""How much more a thousand lines may take than in the step before: a second process costs a fifth, noise a tenth."""

_AGENT = """{imports}
import numpy as np


class Agent{n}:
    def __init__(self, network, optimizer, device):
        self.network = network
        self.optimizer = optimizer
        self.device = device
        self.losses = []

    def act(self, observation):
        observation = torch.FloatTensor(observation).to(self.device)
        with torch.no_grad():
            return self.network(observation).argmax(dim=-1).cpu().numpy()

    def learn(self, batch):
        observations, actions, rewards = (torch.as_tensor(part, device=self.device) for part in batch)
        loss = ((self.network(observations).gather(1, actions) - rewards) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())
        return np.mean(self.losses)


def train_{n}(env, agent: Agent{n}, steps):
    observation, _ = env.reset()
    for step in range(steps):
        observation, reward, done, _, _ = env.step(agent.act(observation))
        if done:
            observation, _ = env.reset()
"""
_SHARED = "import torch\n\n\ndef scaled(rewards):\n    return torch.as_tensor(rewards) / 100\n"
_PLAIN = _AGENT.replace("torch.FloatTensor", "np.float32").replace("torch.", "np.").replace("import torch\n", "")
KINDS = {
    "agents that share a file": ("agents/agent_{n}.py", _AGENT.replace("{imports}", "import torch\nimport shared")),
    "scripts apart": ("scripts/script_{n}.py", _AGENT.replace("{imports}", "import torch")),
    "tests": ("tests/test_{n}.py", _AGENT.replace("{imports}", "import torch")),
    "files without torch": ("plain/plain_{n}.py", _PLAIN.replace("{imports}", "import math")),
}


def _make(kind: str, size: float, folder: Path) -> tuple[int, int]:
    """Put files of a kind into a folder until they have so many bytes; the lines and files that there are."""
    name, text = KINDS[kind]
    (folder / "pyproject.toml").touch()
    (folder / "shared.py").write_text(_SHARED)
    count = round(size / len(text))
    for number in range(count):
        path = folder / name.format(n=number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("{n}", str(number)))
    return count * text.count("\n"), count


def measured(measure: Callable[[Path], tuple[float, float]]) -> list[dict[str, object]]:
    """A row for each kind and size."""
    rows: list[dict[str, object]] = []
    for kind in KINDS:
        for size in MEGABYTES:
            with tempfile.TemporaryDirectory() as folder:
                lines, files = _make(kind, 1e6 * size, Path(folder))
                seconds, memory = measure(Path(folder))
            row = {"kind": kind, "mb": size, "files": files, "lines": lines}
            rows.append({**row, "cpu_s": round(seconds, 2), "peak_mb": round(memory)})
            print(f"{kind:<26} {size:>5} MB {files:>6} files {seconds:>8.2f} s {memory:>6.0f} MB", flush=True)
    return rows


def worse(rows: Sequence[dict[str, object]]) -> list[str]:
    """The steps of which each line costs more than in the step before."""
    found = []
    for before, after in pairwise(rows):
        if before["kind"] == after["kind"] and _cost(after) > TOLERANCE * _cost(before):
            found.append(f"{after['kind']} from {before['mb']} to {after['mb']} MB")
    return found


def _cost(row: dict[str, object]) -> float:
    return float(str(row["cpu_s"])) / int(str(row["lines"]))


def table(rows: Sequence[dict[str, object]]) -> str:
    """The rows as a table in Markdown: of each kind a row, the milliseconds for a thousand lines at each size."""
    text = [f"| files | {' | '.join(f'{size} MB' for size in MEGABYTES)} | peak at the end |"]
    text.append("|---" * (len(MEGABYTES) + 2) + "|")
    for kind in KINDS:
        own = [row for row in rows if row["kind"] == kind]
        cells = " | ".join(f"{1e6 * _cost(row):.1f}" for row in own)
        text.append(f"| {kind} | {cells} | {own[-1]['peak_mb']} MB |")
    return "\n".join(text) + "\n"
