"""Safe fixes in programs beyond the rules' examples: nothing changes, whatever the arguments are at run time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.linting import fixed_text, lint
from torchlint.engine.rules import load_rules
from torchlint.rule import Example, Input, Kind

pytestmark = pytest.mark.torch

ARRAY = Input("x", Kind.NDARRAY, (8, 4), "int64")
FLOATS = Input("x", Kind.NDARRAY, (8, 4))
TENSOR = Input("x", Kind.TENSOR, (8, 4))
NUMBER = Input("x", Kind.NUMBER, dtype="int")

PROGRAM = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import BatchSampler, SubsetRandomSampler

{speaking}

def work(x{annotation}):
    device = torch.device("cpu")
    {body}


def train(net: nn.Module, optimizer, batches):
    for x in batches:
        loss = net(work(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
BATCHES = """\
found = []
    for index in BatchSampler(SubsetRandomSampler(range({rows})), {size}, False):
        found.append(x[index])
    return found"""

# What code may be given without saying so, and what a fix must not take for granted.
UNKNOWN = [
    *("x[None]", "x[:2]", "x[..., 0]", "x[0, :]", "x / 255.0", "x.reshape(-1)", "x.ravel()", "x.copy()", "x.squeeze()"),
    *("x.astype(np.int64)", "x.transpose()", "np.array(x)", "np.asarray(x)", "np.array([x, x])", "x.numpy()", "x"),
]
ARRAYS = [
    *("x", "x.sum(axis=-1)", "x.sum(axis=0, keepdims=True)", "x.squeeze()", "x.copy()", "x.astype(np.int64)", "x[...]"),
    *("x[0]", "x[:, 0]", "x[0, 0]", "x[x > 0]", "x[[0, 1]]", "x[x.argmax()]", "x @ x.T", "x + 1", "x > 0", "x / 2"),
    *("x.reshape(-1)", "x.ravel()", "x.max(axis=0)", "x.cumsum()", "np.cumsum(x > 0)", "np.take(x, x[0])", "x.T"),
    *("np.squeeze(x)", "np.stack([x, x])", "np.where(x > 0, x, 0)", "np.clip(x, 0, 1)", "np.matmul(x, x.T)"),
    *("np.zeros(x.shape)", "np.zeros_like(x)", "np.expand_dims(x, 0)", "np.argsort(x)", "x.min(0)", "x.any(axis=-1)"),
]
CONSTRUCTORS = ("torch.Tensor", "torch.FloatTensor", "torch.LongTensor")
LINES = [
    *((Input("x", kind, (8, 4), "int64"), "", f"return {name}({data}).to(device)")
      for kind in (Kind.NDARRAY, Kind.TENSOR) for data in UNKNOWN for name in CONSTRUCTORS),
    *((given, ": np.ndarray", f"return {name}({data})")
      for given in (ARRAY, FLOATS) for data in ARRAYS for name in CONSTRUCTORS[1:]),
]  # fmt: skip
OTHERS = [
    (NUMBER, ": int", "return torch.arange(x, x + 80).float()"),
    (NUMBER, ": int", "return torch.arange(x, x + 80).int()"),
    (NUMBER, ": int", "return torch.arange(x, x + 80).double()"),
    (NUMBER, ": int", "return torch.arange(x, x + 80).long()"),
    (TENSOR, ": torch.Tensor", "return torch.arange(x.shape[0]).float()"),
    (TENSOR, ": torch.Tensor", "return torch.arange(-8, 8, 3).float(), torch.arange(x.shape[0]).int()"),
    (TENSOR, ": torch.Tensor", "return torch.zeros_like(x).bool(), torch.ones_like(x).double()"),
    (TENSOR, ": torch.Tensor", "return torch.tensor(x.detach().numpy())"),
    (TENSOR, ": torch.Tensor", "return torch.cat([x[None], x.t().t()[None]])"),
    (TENSOR, ": torch.Tensor", "return [int(v) for v in x.argmax(-1)]"),
    *(
        (given, annotation, BATCHES.format(rows=rows, size=size))
        for given, annotation in ((FLOATS, ": np.ndarray"), (TENSOR, ": torch.Tensor"))
        for rows, size in ((8, 4), (7, 3), (8, 1), (1, 4))
    ),
]


SPEAKING = "torch.set_default_dtype(torch.get_default_dtype())\n"
"""Changes nothing; only a program that holds it is proven for other default dtypes."""


def changed(
    given: Input, annotation: str, body: str, folder: Path, speaking: str = SPEAKING, **settings: object
) -> tuple[str, ...]:
    """What the suite says against the fixes that are made of a program."""
    from torchlint.bench.equal import judge
    from torchlint.bench.fixed import Fixed

    before = PROGRAM.format(annotation=annotation, body=body, speaking=speaking)
    after = fixed_text(folder, "program.py", before, select=("TL1", "TL4", "TL6", "TL7"), preview=True, **settings)
    if after == before:
        return ()
    example = Example("program", before, after, setup="", workload="work(x)", inputs=(given,))
    rule = next(rule for rule in load_rules() if rule.code == "TL101")
    return judge(rule, example, Fixed(after, frozenset(), assumes=False)).wrong


@pytest.mark.third
@pytest.mark.parametrize(("given", "annotation", "body"), LINES + OTHERS)
def test_a_safe_fix_changes_nothing(given: Input, annotation: str, body: str, tmp_path: Path) -> None:
    assert changed(given, annotation, body, tmp_path) == ()


@pytest.mark.parametrize("body", ["return torch.Tensor([x, x])", "return torch.Tensor(np.array([x, x])).to(device)"])
def test_a_program_that_leaves_the_defaults_alone_is_proven_for_those(body: str, tmp_path: Path) -> None:
    from torchlint.bench.equal import OTHER_DEFAULT

    given = Input("x", Kind.NDARRAY, (8, 4))
    wrong = changed(given, ": np.ndarray", body, tmp_path, speaking="")
    assert [line for line in wrong if not line.startswith(OTHER_DEFAULT)] == []
    assert "dtype=torch.float32" in fixed_text(
        tmp_path, "again.py", PROGRAM.format(annotation=": np.ndarray", body=body, speaking=""), select=("TL101",)
    )


def test_a_library_is_proven_for_all_defaults(tmp_path: Path) -> None:
    text = PROGRAM.format(annotation=": np.ndarray", body="return torch.Tensor(x[None]).to(device)", speaking="")
    package = {"lib/__init__.py": "from lib.work import work, train\n", "lib/work.py": text}
    fixed = lint(tmp_path, package, fix=True, select=("TL101",)).fixed["lib/work.py"].after.text
    assert "dtype=torch.get_default_dtype()" in fixed


AVERAGE = """\
import copy

import torch
from nets import Critic


def train(replay):
    critic = Critic()
    target = copy.deepcopy(critic)
    optimizer = torch.optim.Adam(critic.parameters())
    while True:
        obs, goal = replay.sample(64)
        loss = (critic(obs) - goal).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for p, t in zip(critic.parameters(), target.parameters()):
            t.data.copy_(0.01 * p.data + 0.99 * t.data)
"""
CRITIC = "from torch import nn\n\n\nclass Critic(nn.Linear):\n    def __init__(self):\n        super().__init__(4, 1)\n"
TYING = "import torch\n\n\ndef tie(a, b):\n    a.weight = b.weight\n    return torch.ones(3)\n"


@pytest.mark.parametrize(("name", "apart"), [("alone.py", True), ("nets.py", False)])
def test_only_connected_code_may_tie_networks(tmp_path: Path, name: str, apart: bool) -> None:
    """Of networks that may share a parameter both products are computed before anything is written."""
    texts = {"train.py": AVERAGE, "nets.py": CRITIC}
    texts[name] = texts.get(name, "") + "\n\n" + TYING
    (finding,) = lint(tmp_path, texts, select=("TL603",)).findings
    assert finding.fix is not None
    assert finding.fix.assumes == ""
    assert finding.fix.edits[0].text == (
        "t.data.mul_(0.99).add_(0.01 * p.data)" if apart else "torch.add(0.01 * p.data, 0.99 * t.data, out=t.data)"
    )
