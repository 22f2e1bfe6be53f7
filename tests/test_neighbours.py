"""Blocks under one guard that fixes leave beside each other become one, and nothing else changes."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from linting import fixed_text
from projects import source_of

from torchlint.engine.fix_checks import check, read
from torchlint.engine.neighbours import joined
from torchlint.engine.rules import load_rules
from torchlint.sources.edits import apply_edits
from torchlint.sources.notebook import Notebook

BEFORE = """\
def f(net):
    a = net(1)
    b = net(2)
    return a, b
"""
ONE = """\
def f(net):
    with torch.no_grad():
        a = net(1)
"""
JOINED = {
    "two new blocks": (
        f"{ONE}    with torch.no_grad():\n        b = net(2)\n    return a, b\n",
        f"{ONE}        b = net(2)\n    return a, b\n",
    ),
    "three of them": (
        f"{ONE}    with torch.no_grad():\n        b = net(2)\n    with torch.no_grad():\n        c = net(3)\n",
        f"{ONE}        b = net(2)\n        c = net(3)\n",
    ),
    "a comment between them": (
        f"{ONE}\n    # the second\n    with torch.no_grad():\n        b = net(2)\n",
        f"{ONE}\n        # the second\n        b = net(2)\n",
    ),
    "a comment behind the second": (
        f"{ONE}    with torch.no_grad():  # values # only\n        b = net(2)  # b\n",
        f"{ONE}        # values # only\n        b = net(2)  # b\n",
    ),
    "a comment behind the end of the first": (
        "with torch.no_grad():\n\ta = net(1)  # one\nwith torch.no_grad():\n\tb = net(2)\n",
        "with torch.no_grad():\n\ta = net(1)  # one\n\tb = net(2)\n",
    ),
    "in another block": (
        "try:\n    x()\nfinally:\n  with no_grad():\n    a = net(1)\n  with no_grad():\n    b = net(2)\n",
        "try:\n    x()\nfinally:\n  with no_grad():\n    a = net(1)\n    b = net(2)\n",
    ),
}
APART = {
    "another guard": f"{ONE}    with torch.inference_mode():\n        b = net(2)\n",
    "no guard": "with lock:\n    a = net(1)\nwith lock:\n    b = net(2)\n",
    "a name for the second": f"{ONE}    with torch.no_grad() as guard:\n        b = net(2)\n",
    "two guards at once": f"{ONE}    with torch.no_grad(), torch.autocast('cpu'):\n        b = net(2)\n",
    "something between": f"{ONE}    print(a)\n    with torch.no_grad():\n        b = net(2)\n",
    "another depth": f"{ONE}    with torch.no_grad():\n      b = net(2)\n",
    "on the row of the header": f"{ONE}    with torch.no_grad(): b = net(2)\n",
    "a header of two rows": f"{ONE}    with torch.no_grad(\n    ):\n        b = net(2)\n",
}


def join(before: str, after: str, notebook: Notebook | None = None) -> str:
    first, second = source_of("a.py", before), replace(source_of("a.py", after), notebook=notebook)
    known = read(first)
    assert known is not None
    made, edits = joined(known, second, check(known, second))
    text = second
    for edit in edits:
        text = apply_edits(text, [edit])
    assert text.text == made.text
    return made.text


def with_names(text: str) -> str:
    return f"from torch import no_grad\nimport torch\nx = net = lock = print\n{text}"


@pytest.mark.parametrize(("after", "wanted"), JOINED.values(), ids=JOINED)
def test_neighbours_become_one(after: str, wanted: str) -> None:
    made = join(with_names(BEFORE), with_names(after))
    assert made == with_names(wanted)
    ast.parse(made)


@pytest.mark.parametrize("after", APART.values(), ids=APART)
def test_what_is_no_neighbour_stays(after: str) -> None:
    assert join(with_names(BEFORE), with_names(after)) == with_names(after)


def test_neighbours_from_before_stay() -> None:
    text = with_names(JOINED["two new blocks"][0])
    assert join(text, text) == text


def test_a_new_block_joins_one_that_was_there() -> None:
    was = f"{ONE}    b = net(2)\n    with torch.no_grad():  # more\n        c = net(3)\n"
    now = f"{ONE}    with torch.no_grad():\n        b = net(2)\n    with torch.no_grad():  # more\n        c = net(3)\n"
    wanted = f"{ONE}        b = net(2)\n        # more\n        c = net(3)\n"
    assert join(with_names(was), with_names(now)) == with_names(wanted)


TARGETS = """\
import torch
from torch import nn


class Learner:
    def __init__(self):
        self.critic, self.target = nn.Linear(8, 1), nn.Linear(8, 1)
        self.target.load_state_dict(self.critic.state_dict())
        self.optimizer = torch.optim.Adam(self.critic.parameters())

    def update(self, obs, reward, next_obs, later):
        first = self.target(next_obs).detach()
        second = self.target(later).detach()
        loss = (self.critic(obs) - reward - 0.99 * first - 0.98 * second).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(learner, replay):
    for _ in range(1000):
        learner.update(*replay.sample(256))
"""


def test_fixes_leave_one_block(tmp_path: Path) -> None:
    text = fixed_text(tmp_path, "learner.py", TARGETS, select=("TL306",), unsafe_fixes=True)
    assert text.count("with torch.no_grad():\n") == 1
    assert "            first = self.target(next_obs)" in text
    assert "            second = self.target(later)" in text


OWN_BLOCKS = """\
import torch


class Agent:
    def act(self, env):
        obs = env.reset()
        while True:
            with torch.no_grad():
                mask = torch.zeros(4).to(self.device)
            with torch.no_grad():
                obs = env.step(self.net(obs) + mask)
"""


def test_a_fix_inside_leaves_the_blocks_of_the_author(tmp_path: Path) -> None:
    text = fixed_text(tmp_path, "agent.py", OWN_BLOCKS, select=("TL102",), unsafe_fixes=True)
    assert "torch.zeros(4, device=self.device)" in text
    assert text.count("with torch.no_grad():\n") == 2


def test_the_page_says_which_rule_wins(root: Path) -> None:
    page = (root / "docs" / "fixes.md").read_text(encoding="utf-8")
    section = page.partition("## Where two rules meet")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| TL")]
    said = {(loser.split()[0], row[0].split()[0]) for row in rows for loser in row[1].split(",")}
    assert said == {(rule.code, other) for rule in load_rules() for other in rule.yields_to}
