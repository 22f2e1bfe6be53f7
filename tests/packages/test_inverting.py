"""Inverters give what the fixes of the rules turn back, and nothing where both forms are not the same for sure."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from inverting import INVERTERS, invert
from linting import fixed_text

from torchlint.engine.rules import load_rules

CODES = {code for code, _ in INVERTERS}
EXAMPLES = [
    pytest.param(rule.code, example.fixed, id=f"{rule.code}-{example.name}")
    for rule in load_rules()
    if rule.code in CODES
    for example in rule.examples
    if "torch.stack(values)" not in example.fixed  # a list that has a name already
]

HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def work(x: torch.Tensor, y: torch.Tensor, a: np.ndarray, device: torch.device, size, net, optimizer, some):
    return {line}
"""
# A line as it is, what becomes of it, and the rule it is then for.
TURNED = [
    ("F.mse_loss(x, y)", "nn.MSELoss()(x, y)", "TL403"),
    ('F.mse_loss(x, y, reduction="none")', 'nn.MSELoss(reduction="none")(x, y)', "TL403"),
    ("torch.tanh(some)", "nn.Tanh()(some)", "TL403"),
    ("x.flatten()", "nn.Flatten(start_dim=0)(x)", "TL403"),
    ("torch.flatten(x, 1, -1)", "nn.Flatten(start_dim=1, end_dim=-1)(x)", "TL403"),
    ("torch.stack([x, y])", "torch.cat([x.unsqueeze(0), y.unsqueeze(0)], dim=0)", "TL409"),
    ("torch.stack([f(x) for f in net], dim=1)", "torch.cat([f(x).unsqueeze(1) for f in net], dim=1)", "TL409"),
    ("torch.zeros(size, device=device)", "torch.zeros(size).to(device)", "TL102"),
    ("torch.ones(2, dtype=torch.int64, device=device)", "torch.ones(2).to(torch.int64).to(device)", "TL102"),
    ("torch.as_tensor(a, dtype=torch.float32, device=device)", "torch.FloatTensor(a).to(device)", "TL101"),
    ("torch.tensor([1, 2], dtype=torch.long, device=device)", "torch.LongTensor([1, 2]).to(device)", "TL101"),
    ("x.sum().backward()", "x.sum().backward(retain_graph=True)", "TL304"),
    ("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)", "TL308"),
]
KEPT = [
    "some.flatten()",  # may be an array
    "F.mse_loss(x, y, reduction=size)",  # no literal: no fix
    "F.mse_loss(input=x, target=y)",
    "F.dropout(x, training=True)",
    "torch.stack(net)",
    "torch.stack([x])",  # the rule asks for two
    "torch.stack([x, y], dim=-1)",
    "torch.zeros(size)",
    "torch.zeros(size, device=device, requires_grad=True)",
    "torch.tensor(a, dtype=torch.float32, device=device)",  # copies, where FloatTensor may share memory
    "torch.as_tensor(x, dtype=torch.float32, device=device)",  # a tensor: FloatTensor refuses most
    "torch.as_tensor(some, dtype=torch.float32, device=device)",
    "x.backward(retain_graph=True)",
]


def inverted(folder: Path, text: str) -> tuple[str, Counter[str]]:
    """A file with its places turned round, and how many by code."""
    path = folder / "package" / "module.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    done = invert(folder, "package")
    return path.read_text(encoding="utf-8"), done


@pytest.mark.parametrize(("line", "expected", "code"), TURNED)
def test_a_place_is_turned_round(tmp_path: Path, line: str, expected: str, code: str) -> None:
    text, done = inverted(tmp_path, HEAD.format(line=line))
    assert text == HEAD.format(line=expected)
    assert done == Counter([code])


@pytest.mark.parametrize("line", KEPT)
def test_a_place_is_left_alone(tmp_path: Path, line: str) -> None:
    text, done = inverted(tmp_path, HEAD.format(line=line))
    assert text == HEAD.format(line=line)
    assert not done


@pytest.mark.parametrize(("code", "fixed"), EXAMPLES)
def test_the_fix_turns_it_back(tmp_path: Path, code: str, fixed: str) -> None:
    """Of an example of a rule its fixed version is turned round and fixed again."""
    text, done = inverted(tmp_path, fixed)
    assert done[code]
    again = fixed_text(tmp_path / "lint", "module.py", text, select=(code,), preview=True, unsafe_fixes=True)
    assert inverted(tmp_path / "again", again)[1][code] == done[code]
    assert compile(again, "module.py", "exec")
