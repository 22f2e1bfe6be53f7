"""Smells inside smells: each rule's expression in each other's, both found, both fixed in one run, and the same result.

Every form takes a float tensor of four numbers and makes one, so any form can stand inside any other.
"""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from linting import lint
from running import assert_same

from torchlint.engine.rules import load_rules
from torchlint.rule import Change

FORMS = {
    "TL101": "torch.FloatTensor({}.tolist()).to(device)",
    "TL102": "torch.full(({}.shape[0],), 2.0).to(device)",
    "TL104": "torch.tensor([{}.numpy()], dtype=torch.float32)[0]",
    "TL209": "torch.where(mask, {}, torch.tensor(-1e8))",
}
MAY_ROUND = {rule.code for rule in load_rules() if Change.ROUNDING in rule.may_change}
# Where spans overlap, a finding gives way to the finding of a rule that wins; it comes back once that one is fixed.
YIELDS = {rule.code: set(rule.yields_to) for rule in load_rules()}

PROGRAM = """\
import numpy as np
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)

    def forward(self, x):
        return self.net(x)


def made(x: torch.Tensor, mask: torch.Tensor, device: torch.device):
    {statement}


def train(policy: Policy, optimizer, replay, updates, device: torch.device):
    for _ in range(updates):
        x, mask = replay.sample(64)
        loss = policy(made(torch.as_tensor(x), torch.as_tensor(mask), device)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def program(outer: str, inner: str) -> str:
    return PROGRAM.format(statement=f"return {FORMS[outer].format(FORMS[inner].format('x'))}")


def result(text: str) -> Any:
    import torch

    torch.manual_seed(0)
    names: dict[str, Any] = {"__name__": "nested"}
    exec(compile(text, "nested.py", "exec"), names)
    mask = torch.tensor([True, False, True, False])
    return names["made"](torch.linspace(0.5, 2.0, 4), mask, torch.device("cpu"))


@pytest.mark.torch
@pytest.mark.parametrize(("outer", "inner"), product(FORMS, FORMS))
def test_a_smell_inside_a_smell(outer: str, inner: str, tmp_path: Path) -> None:
    text = program(outer, inner)
    found = [finding.code for finding in lint(tmp_path / "found", {"nested.py": text}, select=(outer, inner)).findings]
    codes = {outer, inner}
    expected = [code for code in (outer, inner) if not YIELDS[code] & codes]
    assert sorted(found) == sorted(expected)
    run = lint(tmp_path / "fixed", {"nested.py": text}, select=(outer, inner), fix=True, unsafe_fixes=True)
    assert run.findings == []
    after = run.fixed["nested.py"].after.text
    ast.parse(after)
    again = lint(tmp_path / "again", {"nested.py": after}, select=(outer, inner), fix=True, unsafe_fixes=True)
    assert again.fixed == {}
    assert_same(result(after), result(text), exact=not MAY_ROUND & {outer, inner})
