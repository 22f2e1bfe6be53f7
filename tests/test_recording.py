"""Records of what updates read (TL203, TL204): what keeps the fix from moving the read to where the record is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import fixed_text, lint

from torchlint.rule import Change

PROGRAM = """\
import collections

import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def mean_or_nan(rows):
    return np.mean(rows) if rows else float("nan")


def last(rows):
    return rows.pop()


class Writer:
    def mean_of(self, rows):
        return np.mean(rows)


class Critic:
    def __init__(self):
        self.net = nn.Linear(3, 1).to(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-3)
        self.losses = collections.deque(maxlen=100)
        self.values = collections.deque(maxlen=100)

    def update(self, obs: torch.Tensor):
        values = self.net(obs.to(device)).mean(1)
        loss = values.square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())
        self.values.extend(values.detach().cpu().numpy())

    def statistics(self):
        return {"loss": mean_or_nan(self.losses), "value": mean_or_nan(self.values)}


def train(critic: Critic, replay, updates):
    for step in range(updates):
        critic.update(replay.sample(16))
        if step % 1000 == 0:
            print(critic.statistics())


if __name__ == "__main__":
    train(Critic(), None, 100_000)
"""
KEPT = {
    "a string names the attribute": ("np.mean(rows) if", "getattr(rows, 'losses', 0) if"),
    "a list of what is saved names it": ("def last(rows)", 'SAVED = ("net", "losses")\n\n\ndef last(rows)'),
    "another object of its class is asked for it": ("print(critic.statistics())", "print(critic.losses)"),
    "what reads it is found by its name alone": ("mean_or_nan(self.losses)", "self.writer.mean_of(self.losses)"),
    "it has another name, too": (
        "self.losses = collections.deque(maxlen=100)",
        "self.losses = self.shown = collections.deque(maxlen=100)",
    ),
    "what reads it changes it": ("mean_or_nan(self.losses)", "last(self.losses)"),
    "it is read as often as it grows": ("critic.statistics())", "critic)\n        critic.statistics()"),
    "it is another name for a list": ("self.losses = collections.deque(maxlen=100)", "self.losses = self.net.losses"),
    "it grows without end": ("self.losses = collections.deque(maxlen=100)", "self.losses = []"),
    "it begins with a number": (
        "self.losses = collections.deque(maxlen=100)",
        "self.losses = collections.deque([0.0], 9)",
    ),
    "something else is added": (
        "self.losses.append(loss.item())",
        "self.losses.append(loss.item())\n        self.losses.append(0)",
    ),
    "it goes elsewhere": ("self.optimizer.step()", "self.optimizer.step()\n        self.net.seen = self.losses"),
    "an object of unknown class has one": ("print(critic.statistics())", "print(critic.statistics(), replay.losses)"),
    "its name is taken": ("def last(rows)", "def _read_numbers(rows)"),
}


READ = "self.losses.append(loss.item())"
NUMBERS = "self.losses.append(loss.detach())"


def fixed(folder: Path, text: str) -> str:
    """The text after all fixes of the two rules."""
    return fixed_text(folder, "critic.py", text, unsafe_fixes=True, select=("TL203", "TL204"))


def test_records_keep_tensors_and_are_read_at_once(tmp_path: Path) -> None:
    after = fixed(tmp_path, PROGRAM)
    assert NUMBERS in after
    assert "self.values.extend(values.detach())" in after
    assert "mean_or_nan(_read_numbers(self.losses))" in after
    assert "mean_or_nan(_read_rows(self.values))" in after
    assert fixed(tmp_path, after) == after


@pytest.mark.parametrize(("old", "new"), KEPT.values(), ids=KEPT)
def test_records_stay_as_they_are_where_not_all_of_them_is_seen(tmp_path: Path, old: str, new: str) -> None:
    text = PROGRAM.replace(old, new)
    assert text != PROGRAM
    assert READ in fixed(tmp_path, text)


@pytest.mark.parametrize(("begins", "keeps_tensors"), [("[]", True), ("[0.0]", False)])
def test_a_list_is_a_record_where_it_is_made_again_and_begins_empty(
    tmp_path: Path, begins: str, keeps_tensors: bool
) -> None:
    made = f"self.begin()\n\n    def begin(self):\n        self.losses = {begins}\n        self.values"
    text = PROGRAM.replace("self.losses = collections.deque(maxlen=100)\n        self.values", made)
    assert text != PROGRAM
    assert (NUMBERS if keeps_tensors else READ) in fixed(tmp_path, text)


def test_what_is_not_proven_is_said(tmp_path: Path) -> None:
    """A library may be used by code that reads its records; rows are stacked only where they have one shape."""
    texts = {"pack/__init__.py": "from pack.critic import Critic\n", "pack/critic.py": PROGRAM}
    found = {
        finding.code: finding.fix.assumes
        for finding in lint(tmp_path, texts, select=("TL203", "TL204")).findings
        if finding.fix is not None
    }
    assert found == {
        "TL203": "no code outside of this project reads `losses`",
        "TL204": "no code outside of this project reads `values` and all rows in `values` have one shape and dtype and "
        "nothing writes into recorded tensors later",
    }


def test_tensors_are_cloned_where_nothing_is_assumed(tmp_path: Path) -> None:
    flat = "torch.zeros(3, device=device)"
    text = PROGRAM.replace("self.values.extend(values.detach()", f"self.values.extend({flat}")
    accepted = frozenset((Change.ORDER, Change.MEMORY))
    after = fixed_text(tmp_path, "critic.py", text, select=("TL204",), accept=accepted)
    assert f"self.values.extend({flat}.clone())" in after
