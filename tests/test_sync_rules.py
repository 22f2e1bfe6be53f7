"""What fixtures of TL202, TL205, TL206, TL208 and TL604 cannot hold: settings of a whole project, and messages."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from linting import fixed_text, lint

POLICY = """\
import torch
from torch import nn
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)

    def act(self, obs):
        return Normal(self.net(obs), 1.0).sample().numpy()


def collect(env, steps):
    policy = Policy()
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(policy.act(obs))
"""

MESSAGES = '''\
import logging

import torch

logger = logging.getLogger("messages")


class Learner:
    def __init__(self):
        self.net = torch.nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.name = "first"

    def update(self, x: torch.Tensor):
        loss = self.net(x).square().mean()
        share, count, row = 0.25, 3, x[0]
        logger.debug(f"{x}")
        logger.debug(f"{share:.1f}% {{braces}} of {x!r} \\n{count:3f}|{loss:8.3e}|{loss:g}")
        logger.debug(rf"\\d+ {self.name} {x!s} 100%", stacklevel=1)
        logger.info(
            f"{count:5.2f} of "  # the first half
            "100% {plain} "
            f"""and {row}"""
        )
        logger.debug("%s at %.2f%% of %r" % (x, share, self.name))
        logger.debug("all of %s" % x)
        logger.log(logging.WARNING, f"x: {(row if count else x)} {x.shape}")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(batches):
    learner = Learner()
    for x in batches:
        learner.update(x)
'''


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("torch.distributions.Distribution.set_default_validate_args(False)", 0),
        ("torch.distributions.distribution.Distribution.set_default_validate_args(value=False)", 0),
        ("torch.distributions.Beta.set_default_validate_args(False)", 0),
        ("torch.distributions.Distribution.set_default_validate_args(SETTING)", 0),
        ("torch.distributions.Distribution.set_default_validate_args(True)", 1),
        ("torch.autograd.set_detect_anomaly(False)", 1),
    ],
)
def test_the_default_for_validation_counts_wherever_the_project_sets_it(
    statement: str, found: int, tmp_path: Path
) -> None:
    texts = {"policy.py": POLICY, "setup_run.py": f"import torch\nfrom settings import SETTING\n\n{statement}\n"}
    assert len(lint(tmp_path, texts, select=("TL205",)).findings) == found


def said(text: str) -> list[str]:
    """The messages that one update of the program logs."""
    import torch

    names: dict[str, object] = {"__name__": "messages"}
    exec(compile(text, "messages.py", "exec"), names)
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("messages")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    torch.manual_seed(0)
    names["train"]([torch.linspace(-1.0, 1.0, 6).reshape(3, 2)])  # type: ignore[operator]
    logger.removeHandler(handler)
    return messages


@pytest.mark.torch
def test_a_message_that_is_formatted_later_says_the_same(tmp_path: Path) -> None:
    fixed = fixed_text(tmp_path, "messages.py", MESSAGES, select=("TL206",), unsafe_fixes=True)
    assert 'f"' not in fixed and '" %' not in fixed
    assert said(fixed) == said(MESSAGES)


BRANCHES = {
    "if x.abs().max() > limit:\n            raise ValueError(limit)": "on the host",
    "assert not (x < 0).any()": "on the host",
    "assert limit or x.max() <= limit": "on the host",
    "if (x < 0).any():\n            x = x.clamp(min=0)": "`torch.where`",
    "if (x < 0).any():\n            print(limit)": "on the host",
    "if (x < 0).any():\n            print(limit)\n        else:\n            x = x + 1": "already on the host",
    "if (x < 0).any():\n            x = x.abs()\n        else:\n            x = x + 1": "`torch.where`",
    "x = x.abs() if (x < 0).any() else x + 1": "`torch.where`",
    "if (x < 0).any():\n            x = []": "already on the host",
    "limit = not (x < 0).any()": "in a tensor",
    "if (x < 0).any():\n            limit.sync()": "already on the host",
    "if (x < 0).any():\n            return x.sum()": "`torch.where`",
    "while (x < 0).any() or (x > 9).any():\n            x = x * 0.5": "every few iterations",
}
ENDING = (
    "for _ in range(8):\n            if (x < 0).any():\n                break\n            x = x - 1",
    "while (x < 0).any():\n            x = x + 1",
    "for _ in range(8):\n            if (x < 0).any():\n                return x.sum()\n            x = x - 1",
)


READS = """
import torch

net = torch.nn.Linear(8, 1).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)


def update(x: torch.Tensor, shift):
    loss = net(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if shift:
        shown = (loss + 1).item()
    {between}
        shown = (loss - 1).item()
    print(shown)


for batch in batches:
    update(batch.cuda(), False or flag)
"""


@pytest.mark.parametrize(("between", "count"), [("else:", 0), ("if x is not None:", 2)])
def test_reads_of_which_one_runs_are_not_told_to_be_stacked(tmp_path: Path, between: str, count: int) -> None:
    found = lint(tmp_path, {"train.py": READS.format(between=between)}, select=("TL203",)).findings
    assert len(found) == 2
    assert sum("2 such reads" in each.message for each in found) == count


LOSS = """import torch
from torch import nn


class Loss(nn.Module):
    def forward(self, x: torch.Tensor, limit):
        {}
        return x.square().mean()


def train(net: nn.Module, batches, optimizer):
    loss = Loss()
    for batch in batches:
        optimizer.zero_grad()
        loss(net(batch.cuda()), 4.0).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("statement", BRANCHES)
def test_a_condition_that_only_raises_is_not_told_to_be_a_where(tmp_path: Path, statement: str) -> None:
    [found] = lint(tmp_path, {"train.py": LOSS.format(statement)}, select=("TL208",)).findings
    assert BRANCHES[statement] in found.message


@pytest.mark.parametrize("statement", ENDING)
def test_a_loop_that_ends_by_a_value_may_read_it(tmp_path: Path, statement: str) -> None:
    assert not lint(tmp_path, {"train.py": LOSS.format(statement)}, select=("TL208",)).findings


HANDED_ON = """
import torch

net = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)


def returns(rewards: torch.Tensor, masks: torch.Tensor):
    found, later = torch.zeros_like(rewards), 0
    for i in reversed(range(len(rewards))):
        found[i] = rewards[i] + {decay} * masks[i]
        later = {kept}
    return found


for obs, rewards, masks in batches:
    optimizer.zero_grad()
    (net(obs) - returns(rewards, masks)).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("decay", "kept", "alone"),
    [("0.9 * later", "found[i]", False), ("0.9 * later", "rewards[i]", True), ("0.9", "found[i]", True)],
)
def test_a_name_may_carry_what_a_round_has_filled_in(tmp_path: Path, decay: str, kept: str, alone: bool) -> None:
    program = HANDED_ON.format(decay=decay, kept=kept)
    (found,) = lint(tmp_path, {"train.py": program}, select=("TL604",)).findings
    assert ("with independent values" in found.message) is alone


SELECTING = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def update(net: nn.Module, optimizer, obs: torch.Tensor, mask: torch.Tensor):
    loss = net(obs).sum()
    {line}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("line", "better"),
    [
        ("rows = obs[mask.nonzero().squeeze(1)]", "work on all rows, and leave out by the mask what does not count"),
        ("rows = mask.nonzero()", "keep the mask instead"),
        ("rows = mask.nonzero().squeeze(1).cpu()", "copy the mask to the host and select there, with a single sync"),
        ("rows = mask.nonzero().tolist()", "copy the mask to the host and select there, with a single sync"),
        ("rows = [names[row] for row in mask.nonzero()]", "`tolist()` before the loop reads all elements at once"),
        (
            "rows = mask.nonzero().squeeze(1)\n    for at, row in enumerate(rows): names[row] = at",
            "`tolist()` before the loop reads all elements at once",
        ),
        (
            "rows = obs.unique(dim=0)",
            "find the distinct values once, where the data is created, or in a copy on the host",
        ),
    ],
)
def test_the_remedy_for_indices_fits_where_they_go(tmp_path: Path, line: str, better: str) -> None:
    [found] = lint(tmp_path, {"train.py": SELECTING.format(line=line)}, select=("TL202",)).findings
    operation = "unique" if "unique" in line else "nonzero"
    assert found.message == (
        f"`{operation}` forces a GPU sync, because the size of its result depends on the data; {better}"
    )


@pytest.mark.parametrize(
    ("line", "better"),
    [
        ("rows = obs[mask].view(-1, 2).cpu().tolist()", "copy it and the mask to the host, and select there"),
        ("rows = obs[mask].mean(0)", "`torch.where` or a masked reduction has a fixed size"),
        ("obs[mask] = net(obs[mask])", "`torch.where(mask, new, old)` has a fixed size"),
        (
            "obs[mask] = obs.square().view(-1, 4)",
            "`torch.where(mask, new, old)` has a fixed size; so has `masked_scatter` of one row for each that the mask "
            "picks",
        ),
    ],
)
def test_the_remedy_for_masks_fits_what_is_done_with_the_rows(tmp_path: Path, line: str, better: str) -> None:
    program = SELECTING.format(line=line).replace("mask: torch.Tensor", "mask: torch.BoolTensor")
    [found] = lint(tmp_path, {"train.py": program}, select=("TL202",)).findings
    assert found.message.endswith(f"depends on the data; {better}")


@pytest.mark.parametrize(
    ("over", "better"),
    [
        ("size in sizes", "`tolist()` before the loop reads all elements at once"),
        ("size, rest in sizes", "`tolist()` before the loop reads all elements at once"),
        ("size in rounds", "use `torch.where` in place of the branch"),
    ],
)
def test_elements_that_a_loop_asks_one_by_one_are_read_before_it(tmp_path: Path, over: str, better: str) -> None:
    line = f"for {over}:\n        loss = loss * 2 if size > 1 else loss"
    program = SELECTING.format(line=line).replace("mask: torch.Tensor", "sizes: torch.Tensor, rounds: range")
    program = program.replace("if size", "if net(obs).sum()") if "rounds:" in line else program
    [found] = lint(tmp_path, {"train.py": program}, select=("TL208",)).findings
    assert found.message == f"branching on a tensor forces a GPU sync; {better}"


SHARED = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 2), nn.Dropout())
{head}
    while True:
        net.eval()
        obs, reward, terminated, truncated, info = env.step(net(obs))
        net.train()
"""


@pytest.mark.parametrize(("head", "word"), [("def run(env, obs):", "function"), ("if True:", "file")])
def test_calls_that_share_a_function_or_the_top_of_a_file_say_so(tmp_path: Path, head: str, word: str) -> None:
    found = lint(tmp_path, {"train.py": SHARED.format(head=head)}, select=("TL305",)).findings
    assert len(found) == 2
    assert all(f"(2 such calls in this {word})" in each.message for each in found)


def test_the_first_compilation_of_a_process_turns_the_validation_of_torch_off() -> None:
    """TL205 is silent in a program that compiles: this is why."""
    code = (
        "import torch\n"
        "from torch.distributions import Distribution\n"
        "print(Distribution._validate_args)\n"
        "torch.compile(lambda x: x)\n"
        "print(Distribution._validate_args)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_program_that_compiles_elsewhere_validates_nothing(tmp_path: Path, compiled: bool) -> None:
    decorator = "@torch.compile\n" if compiled else ""
    loss = f"import torch\n\n\n{decorator}def loss(x):\n    return x.square().mean()\n"
    policy = POLICY + '\n\nif __name__ == "__main__":\n    collect(make(), 10)\n'
    texts = {"loss.py": loss, "main.py": "from loss import loss\n" + policy, "other.py": policy}
    found = sorted(each.path for each in lint(tmp_path, texts).findings if each.code == "TL205")
    assert found == (["other.py"] if compiled else ["main.py", "other.py"])
