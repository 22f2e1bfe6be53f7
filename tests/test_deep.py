"""Code that depends on itself in chains as long as it likes: nothing falls over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from deep import DEEP, Project
from projects import Code

from torchlint.engine.result import Result
from torchlint.engine.run import check
from torchlint.facts.code import room
from torchlint.facts.code.room import roomy
from torchlint.facts.code.solver import Solver
from torchlint.facts.values.values import Values
from torchlint.rule import Kind
from torchlint.settings.model import Settings

pytestmark = pytest.mark.versions

LONG = 350
SMELL = "TL101"


def lint(folder: Path, project: Project, count: int) -> Result:
    folder.mkdir()
    for name, text in project(count).items():
        (folder / name).write_text(text)
    (folder / "pyproject.toml").touch()
    return check([folder], Settings(root=folder, isolated=True, jobs=1))


@pytest.mark.third
@pytest.mark.parametrize("name", DEEP)
def test_a_long_chain_is_followed_to_its_end(tmp_path: Path, name: str) -> None:
    result = lint(tmp_path / "long", DEEP[name], LONG)
    assert (result.problems, result.skipped) == ([], [])
    assert SMELL in {finding.code for finding in result.findings}


@pytest.mark.third
@pytest.mark.parametrize("name", DEEP)
def test_a_long_chain_gives_what_a_short_one_gives(name: str) -> None:
    kinds = []
    for count in (40, LONG):  # more than a value keeps apart of functions that it may be
        code = Code(DEEP[name](count))
        kinds.append(code.analyses[Values].of(code.file("agent.py"), code.node("value", "agent.py")).kind)
    assert kinds[0] is kinds[1]


def deeper(count: int, ask: Callable[[], object]) -> object:
    """What a function gives that is called from so deep in the stack."""
    return ask() if count == 0 else deeper(count - 1, ask)


@pytest.mark.parametrize("depth", [0, 250, 450])
def test_findings_do_not_depend_on_how_deep_the_caller_is(tmp_path: Path, depth: int) -> None:
    result = deeper(depth, lambda: lint(tmp_path / "code", DEEP["names"], 120))
    assert isinstance(result, Result)
    assert (result.problems, len(result.findings)) == ([], len(lint(tmp_path / "top", DEEP["names"], 120).findings))


@roomy
def climb(count: int) -> int:
    return climb(count - 1) + 1 if count else 0


def test_there_is_room_for_any_depth_and_an_end_to_what_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert climb(20_000) == 20_000
    monkeypatch.setattr(room, "MOST", 5)
    with pytest.raises(RecursionError, match="more than 5 stacks"):
        climb(1_000_000)
    assert threading.active_count() < 20


def test_what_is_raised_in_another_thread_is_raised_where_it_was_called() -> None:
    @roomy
    def fail(count: int) -> None:
        if not count:
            raise KeyError("end")
        fail(count - 1)

    with pytest.raises(KeyError, match="end"):
        fail(2000)


def test_solvers_that_ask_each_other_in_long_chains() -> None:
    asked: list[int] = []

    def one(key: int) -> int:
        asked.append(key)
        return (other.ask(key - 1) or 0) + 1 if key else 0

    def two(key: int) -> int:
        asked.append(key)
        return (first.ask(key - 1) or 0) + 1 if key else 0

    first, other = Solver(one, -1), Solver(two, -1)
    assert first.ask(2000) == 2000
    assert len(asked) < 5 * 2000


def test_a_base_that_closes_a_circle_is_dropped() -> None:
    text = "".join(f"class C{n}(C{(n + 1) % 40}, D): ...\n" for n in range(40))
    project = Code(f"class D: ...\n{text}class E(C5): ...\nclass F(F, D): ...\nclass G(E): ...\n").project
    assert project.ancestry("code.C5") == ("code.C5", "code.D")
    assert project.ancestry("code.G") == ("code.G", "code.E", "code.C5", "code.D")
    assert project.ancestry("code.F") == ("code.F", "code.D")
    assert [each.name for each in project.descendants("code.C5")] == ["E", "G"]


def test_a_value_is_known_to_a_depth_that_code_reads_again() -> None:
    nested = Code("import torch\nshow(" + "[" * 10 + "torch.zeros(3)" + "]" * 10 + ")")
    assert nested.value().items
    deep = Code("import torch\nshow(" + "[" * 30 + "torch.zeros(3)" + "]" * 30 + ")")
    assert deep.value().kind in (Kind.LIST, Kind.UNKNOWN)
    pairs = "x0 = torch.zeros(3)\n" + "".join(f"x{n} = (x{n - 1}, x{n - 1})\n" for n in range(1, 60))
    assert Code(f"import torch\n{pairs}show(x59)").value().kind in (Kind.TUPLE, Kind.UNKNOWN)


RETRY = """\
import torch
from torch import nn


class Store:
    def fetch(self, index):
        try:
            pair = self.rows[index], self.goals[index]
        except KeyError:
            return self.fetch(index)
        return pair


def main(store: Store):
    net = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(net.parameters())
    while True:
        row = store.fetch(1)
        obs, goal = row
        loss = (net(obs) - goal).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_method_may_return_what_it_returns(tmp_path: Path) -> None:
    assert lint(tmp_path / "retry", lambda _: {"retry.py": RETRY}, 1).problems == []
