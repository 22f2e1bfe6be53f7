"""Work that grows with the code and not with its square: counts of calls for some code and for twice as much."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from deep import DEEP, Project
from hostile import LONG
from projects import Code

from torchlint.engine.run import check
from torchlint.facts.code.closure import Closure
from torchlint.facts.code.reach import MOST_BINDINGS
from torchlint.rule import Kind
from torchlint.settings.model import Settings
from torchlint.sources.text import Source

AGENT = """
import torch
import shared

class Agent{n}:
    def __init__(self, network):
        self.network = network
        self.losses = []

    def act(self, obs):
        return self.network(torch.as_tensor(obs))

    def learn(self, batch):
        self.losses.append(self.network(batch).mean().item())
        return self.losses

def train_{n}(env, agent, steps):
    obs = env.reset()
    for step in range(steps):
        obs, reward, done, info = env.step(agent.act(obs))
        agent.learn(obs)
"""


def lint(folder: Path, project: Project, count: int, *, fix: bool = False) -> None:
    folder.mkdir()
    for name, text in project(count).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "pyproject.toml").touch()
    settings = Settings(root=folder, isolated=True, jobs=1, fix=fix, unsafe_fixes=fix)
    assert check([folder], settings).problems == []


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of torchlint some work calls."""
    calls = 0

    def count_calls(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and "torchlint" in frame.f_code.co_filename

    threading.setprofile(count_calls)
    sys.setprofile(count_calls)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def alone(name: str) -> Project:
    return lambda count: {"agent.py": LONG[name](count)}


def side_by_side(count: int) -> dict[str, str]:
    return {"shared.py": "import torch\n", **{f"agent_{n}.py": AGENT.format(n=n) for n in range(count)}}


def with_modules_that_are_not_there(count: int) -> dict[str, str]:
    """A package that imports all of many modules, as those of a library that is there in part."""
    starred = "".join(f"from .part_{n} import *\n" for n in range(count))
    agent = AGENT.format(n=0).replace("class Agent0", "class Agent0(pkg.Base, pkg.Other)")
    return {
        "shared.py": "import torch\n",
        "pkg/__init__.py": f"import torch\n{starred}",
        "agent.py": f"import pkg\n{agent}",
    }


def with_imports_that_cross(count: int) -> dict[str, str]:
    """Files that each import two others, and of which the last sets a variable that torch reads when it is imported."""
    imports = {n: f"import part_{(n + 1) % count}\nimport part_{(n + 2) % count}\n" for n in range(count)}
    setting = "import os\nos.environ['OMP_NUM_THREADS'] = '1'\n"
    parts = {f"part_{n}.py": text + setting * (n == count - 1) for n, text in imports.items()}
    return {"main.py": f"import torch\nimport part_0\n{AGENT.format(n=0)}", "shared.py": "import torch\n", **parts}


CHAINS: dict[str, Project] = {
    **{
        name: DEEP[name]
        for name in (
            *("names", "names in a circle", "lists", "devices", "globals", "files of many files"),
            *("one name", "in place", "arrays", "methods", "two arms", "branches", "generators", "decorators"),
            *("functions that call two", "classes", "classes that say super", "classes with two bases"),
            *(
                "modules in modules",
                "parts of what calls itself",
                "attributes of one class",
                "classes of many files in two circles",
            ),
        )
    },
    **{
        name: alone(name)
        for name in ("rebound under conditions", "rebound in place", "loops one after the other", "appends")
    },
    "agents in a file each": side_by_side,
    "modules that are not there": with_modules_that_are_not_there,
    "imports that cross": with_imports_that_cross,
}


@pytest.mark.third
@pytest.mark.parametrize("name", CHAINS)
def test_twice_the_code_is_twice_the_work(tmp_path: Path, name: str) -> None:
    project = CHAINS[name]
    lint(tmp_path / "warm", project, 10)
    once = calls_of(lambda: lint(tmp_path / "once", project, 100))
    twice = calls_of(lambda: lint(tmp_path / "twice", project, 200))
    assert twice < 2.3 * once


def test_fixing_twice_the_code_is_twice_the_work(tmp_path: Path) -> None:
    project = alone("creations")
    lint(tmp_path / "warm", project, 10, fix=True)
    once = calls_of(lambda: lint(tmp_path / "once", project, 50, fix=True))
    twice = calls_of(lambda: lint(tmp_path / "twice", project, 100, fix=True))
    assert twice < 2.3 * once


# bindings that reach a use --------------------------------------------------------------------------------------------


def rebound(count: int) -> Code:
    rows = "".join("    if done:\n        x = x.cpu()\n" for _ in range(count))
    return Code(f"import torch\ndef f(done):\n    x = torch.zeros(3)\n{rows}    show(x)\n    x = 1\n")


def test_bindings_are_told_from_each_other_up_to_a_number() -> None:
    code = rebound(MOST_BINDINGS - 2)
    assert len(code.project.reaching(code.file(), code.shown()).bindings) == MOST_BINDINGS - 1
    assert code.value().kind is Kind.TENSOR


def test_more_bindings_than_that_are_all_bindings_of_the_name() -> None:
    code = rebound(MOST_BINDINGS + 5)
    reach = code.project.reaching(code.file(), code.shown())
    assert reach.scope is not None
    assert list(reach.bindings) == reach.scope.bindings["x"]
    assert code.value().kind is Kind.UNKNOWN  # the number below is among them


# names of classes ----------------------------------------------------------------------------------------------------


class Counted:
    """A source that counts how often it is read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.read = 0

    @property
    def utf8(self) -> bytes:
        self.read += 1
        return self.source.utf8


def test_whether_code_mentions_a_class_reads_each_file_a_fixed_number_of_times() -> None:
    texts = {f"m{n}.py": f"class A{n}: ...\nclass B{n}: ...\nclass C{n}: ...\nuse(A{n}, 'C{n}')\n" for n in range(40)}
    project = Code(texts).project
    sources = [Counted(facts.source) for facts in project.files.values()]
    for facts, source in zip(project.files.values(), sources, strict=True):
        facts.source = source  # type: ignore[assignment]
    assert all(project.mentions(f"A{n}") and project.mentions(f"C{n}") for n in range(40))
    assert not any(project.mentions(f"B{n}") for n in range(40))
    assert {source.read for source in sources} == {2}


# questions about graphs -----------------------------------------------------------------------------------------------


def test_a_closure_looks_at_each_node_and_edge_once() -> None:
    looked: list[int] = []

    def following(node: int) -> list[int]:
        looked.append(node)
        return [node - 1, node - 1] if node else []

    found = Closure(lambda node: node == 0, following)
    assert all(found.leads(node) for node in (*range(500, 1000), *range(1000)))
    none = Closure(lambda node: False, following)
    assert not any(none.leads(node) for node in (*range(500, 1000), *range(1000)))
    assert len(looked) <= 2 * 1000


@pytest.mark.parametrize("first", range(8))
def test_a_closure_gives_the_same_whoever_is_asked_first(first: int) -> None:
    # 0, 1 and 2 form a circle that leads to 3 and 4, which form another; 5 has the property, and 6 and 7 lead to it
    edges = {0: [1], 1: [2, 3], 2: [0], 3: [4], 4: [3], 5: [0], 6: [3, 7], 7: [6, 5]}
    found = Closure(lambda node: node == 5, edges.__getitem__)
    found.leads(first)
    assert [found.leads(node) for node in edges] == [False] * 5 + [True] * 3
