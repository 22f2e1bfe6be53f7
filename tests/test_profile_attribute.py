"""Functions of a profile found in a project: paths, names and lines, and whose cost is whose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from torchlint.profile.attribute import attribute
from torchlint.profile.errors import UnrelatedError
from torchlint.profile.model import (
    Attribution,
    Callee,
    Effect,
    FunctionCost,
    LineCost,
    Operator,
    OperatorCost,
    Profile,
    ProfileSource,
)
from torchlint.profile.sole import TELLING
from torchlint.profile.tree import Numbers, Tree, frames_of

AGENT = """\
import torch

class Agent:
    def __init__(self):
        self.net = None

    @torch.no_grad()
    def act(self, x):
        y = [self.net(z) for z in x]
        return y[0].item()

def helper():
    def act():
        return 1
    return act
"""
TRAIN = "from src.agent import Agent\n\ndef main():\n    Agent().act(1)\n\nmain()\n"
UTILS = "def mean(x):\n    return x.mean()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {"train.py": TRAIN, "src/agent.py": AGENT, "src/utils.py": UTILS, "lib/utils.py": UTILS}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


Stack = Sequence[tuple[str, int, str]]


def profile_of(*stacks: tuple[Stack, float], exact: bool = True, operators: Sequence[Operator] = ()) -> Profile:
    """A profile of stacks, the outermost frame first, with the time of each."""
    tree, numbers = Tree(), Numbers()
    for frames, time in stacks:
        tree.add(tree.path(map(numbers.number, frames))[-1], 1, time)
    nodes = tree.nodes()
    return Profile(
        source=ProfileSource.SAMPLES,
        total_us=sum(time for _, time in stacks),
        steps=0,
        exact_lines=exact,
        stacks=True,
        device=False,
        assumed_rate=False,
        frames=frames_of(nodes, numbers.keys()),
        nodes=nodes,
        operators=tuple(operators),
        order=(),
        threads=(),
        slices=(),
    )


def attributed(project: Path, profile: Profile, *mapping: tuple[str, str]) -> Attribution:
    return attribute(profile, project, sorted(project.rglob("*.py")), mapping)


def found(project: Path, *frames: tuple[str, int, str], mapping: Sequence[tuple[str, str]] = ()) -> list[str]:
    """Where each frame is: path, name and line of the definition, ``-`` outside of the project."""
    result = attributed(project, profile_of(*[([frame], 1.0) for frame in frames]), *mapping)
    places = [f"{one.path}:{one.name}:{one.line}" for one in result.functions] + ["-"]
    return [places[owner] for owner in result.owners]


ACT = "src/agent.py:Agent.act:7"


@pytest.mark.parametrize(
    "path",
    [
        "{root}/src/agent.py",
        "src/agent.py",
        "/app/src/agent.py",
        "/workspace/someone/project/src/agent.py",
        "agent.py",
        "C:\\\\work\\\\src\\\\agent.py",
    ],
)
def test_a_path_may_be_absolute_moved_or_short(project: Path, path: str) -> None:
    assert found(project, (path.format(root=project), 7, "act")) == [ACT]


@pytest.mark.parametrize(
    "path",
    [
        "/usr/lib/python3.12/site-packages/src/agent.py",
        "/usr/lib/python3.12/src/agent.py",
        "<string>",
        "/elsewhere/agent.py",
        "{root}/other/agent.py",
        "",
    ],
)
def test_paths_that_are_of_other_code(project: Path, path: str) -> None:
    assert found(project, (path.format(root=project), 7, "act"), ("train.py", 3, "main"))[0] == "-"


def test_a_name_that_several_files_have_decides_nothing(project: Path) -> None:
    assert found(project, ("utils.py", 1, "mean"), ("x/lib/utils.py", 1, "mean"), ("train.py", 3, "main")) == [
        "-",
        "lib/utils.py:mean:1",
        "train.py:main:3",
    ]


def test_a_file_of_the_same_name_with_other_functions_is_another(project: Path) -> None:
    frames = [("train.py", line, name) for line, name in ((1, "start"), (5, "stop"), (3, "main"))]
    assert found(project, *frames, ("src/agent.py", 7, "act")) == ["-", "-", "-", ACT]


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        (7, "act", ACT),
        (8, "act", ACT),
        (10, "act", ACT),
        (13, "act", "src/agent.py:helper.act:13"),
        (14, "act", "src/agent.py:helper.act:13"),
        (9, "<listcomp>", ACT),
        (9, "<lambda>", ACT),
        (8, "Agent.act", ACT),
        (400, "Agent.act", ACT),
        (14, "helper.<locals>.act", "src/agent.py:helper.act:13"),
        (400, "helper", "src/agent.py:helper:12"),
        (0, "helper", "src/agent.py:helper:12"),
        (3, "act", ACT),
        (0, "act", "-"),
        (400, "act", "-"),
        (0, "<listcomp>", "-"),
        (6, "gone", "-"),
        (1, "<module>", "src/agent.py:<module>:1"),
    ],
)
def test_a_function_is_found_by_line_or_by_name(project: Path, line: int, name: str, expected: str) -> None:
    assert found(project, (f"{project}/src/agent.py", line, name), ("train.py", 3, "main"))[0] == expected


def test_functions_that_are_gone_are_named(project: Path) -> None:
    path = f"{project}/src/agent.py"
    profile = profile_of(([(path, 6, "gone")], 1.0), ([(path, 7, "act")], 1.0), ([("torch/x.py", 1, "f")], 1.0))
    assert attributed(project, profile).unmatched == (path,)


def test_a_mapping_comes_first(project: Path) -> None:
    assert found(project, ("/old/utils.py", 1, "mean"), mapping=[("/old", "lib")]) == ["lib/utils.py:mean:1"]
    assert found(project, ("/old/deep/agent.py", 7, "act"), mapping=[("/no", "."), ("/old/deep", "./src/")]) == [ACT]


def test_files_that_cannot_be_read_have_no_functions(project: Path) -> None:
    (project / "src" / "agent.py").write_text("def act(:\n")
    assert found(project, ("src/agent.py", 1, "act"), ("train.py", 3, "main"))[0] == "-"


def test_another_project_is_refused_with_the_mapping_that_helps(project: Path) -> None:
    profile = profile_of(([("/old/a/utils.py", 1, "mean")], 1.0), ([("/old/a/agent.py", 7, "act")], 1.0))
    with pytest.raises(UnrelatedError) as raised:
        attributed(project, profile)
    assert raised.value.mapping == ("/old/a", "src")
    assert str(raised.value) == (
        "No function in the profile is in the linted files: it names /old/a/agent.py and 1 other file."
        " They match with --map /old/a=src."
    )
    assert len(attributed(project, profile, raised.value.mapping).functions) == 2


def test_another_project_without_anything_in_common(project: Path) -> None:
    with pytest.raises(UnrelatedError, match=r"it names /old/x\.py\.$") as raised:
        attributed(project, profile_of(([("/old/x.py", 1, "f")], 1.0)))
    assert raised.value.mapping is None
    with pytest.raises(UnrelatedError, match="all of them are of installed code"):
        attributed(project, profile_of(([("/x/site-packages/torch/a.py", 1, "f"), ("", 0, "len")], 1.0)))


MAIN, ACT_9, ACT_10 = ("train.py", 4, "main"), ("src/agent.py", 9, "act"), ("src/agent.py", 10, "act")
CALL, ITEM = ("torch/nn/modules/module.py", 1, "_call_impl"), ("", 0, "<built-in method item of Tensor object>")


def by_name(result: Attribution) -> dict[str, FunctionCost]:
    return {one.name: one for one in result.functions}


def test_work_outside_belongs_to_the_innermost_function_of_the_project(project: Path) -> None:
    profile = profile_of(
        ([MAIN], 1.0),
        ([MAIN, CALL, ACT_9], 2.0),
        ([MAIN, CALL, ACT_9, CALL, CALL], 4.0),
        ([MAIN, CALL, ACT_10, ITEM], 8.0),
        ([MAIN, CALL], 16.0),
        ([CALL], 32.0),
    )
    result = attributed(project, profile)
    costs = by_name(result)
    assert result.outside_us == 32
    assert (costs["main"].own_us, costs["main"].total_us) == (17, 31)
    assert (costs["Agent.act"].own_us, costs["Agent.act"].total_us) == (14, 14)
    assert costs["main"].lines == (LineCost(4, 17, 31),)
    assert costs["Agent.act"].lines == (LineCost(9, 6, 6), LineCost(10, 8, 8))
    assert costs["main"].callees == (Callee("_call_impl", "torch/nn/modules/module.py", 1, 30),)
    assert costs["Agent.act"].callees == (
        Callee(ITEM[2], "", 1, 8),
        Callee("_call_impl", "torch/nn/modules/module.py", 0, 4),
    )
    assert sum(one.own_us for one in result.functions) + result.outside_us == profile.total_us


def test_recursion_through_other_functions_counts_once(project: Path) -> None:
    result = attributed(project, profile_of(([ACT_9, CALL, ACT_10, CALL, ACT_9, ITEM], 5.0)))
    act = by_name(result)["Agent.act"]
    assert (act.own_us, act.total_us) == (5, 5)
    assert act.lines == (LineCost(9, 5, 5), LineCost(10, 0, 5))


def test_comprehensions_are_their_functions(project: Path) -> None:
    inner = ("src/agent.py", 9, "<listcomp>")
    act = by_name(attributed(project, profile_of(([ACT_9], 1.0), ([ACT_9, inner, CALL], 2.0))))["Agent.act"]
    assert (act.own_us, act.total_us, act.calls) == (3, 3, 1)
    assert [one.name for one in act.callees] == ["_call_impl"]


def test_lines_count_only_where_they_are_known_and_still_there(project: Path) -> None:
    moved = ("src/agent.py", 400, "Agent.act")
    assert by_name(attributed(project, profile_of(([moved], 1.0))))["Agent.act"].lines == ()
    assert by_name(attributed(project, profile_of(([ACT_9], 1.0), exact=False)))["Agent.act"].lines == ()


def test_operators_are_summed_over_contexts(project: Path) -> None:
    def item(node: int, effect: Effect, device_us: float = 0.0) -> Operator:
        return Operator("aten::item", node, "", effect, 2, 1.0, 3.0, device_us)

    operators = [item(1, Effect.SYNC), item(2, Effect.SYNC), item(0, Effect.COPY, 7.0), item(-1, Effect.SYNC)]
    profile = profile_of(([MAIN, ACT_9, CALL], 1.0), operators=operators)
    costs = by_name(attributed(project, profile))
    act, main = costs["Agent.act"], costs["main"]
    assert act.operators == (OperatorCost("aten::item", "", Effect.SYNC, 4, 2, 6, 0),)
    assert (act.syncs, act.copies, act.launches, act.device_us) == (4, 0, 0, 0)
    assert (main.syncs, main.copies, main.launches, main.device_us) == (0, 2, 0, 7)


def test_a_profile_without_stacks_has_no_functions(project: Path) -> None:
    profile = profile_of(([CALL], 1.0))
    empty = Profile(
        ProfileSource.TORCH, 1.0, 0, False, False, False, False, (), (), profile.operators, ("aten::mul",), (), ()
    )
    found = attributed(project, empty)
    assert replace(found, mentions={}) == Attribution((), 0.0, (), ())
    assert set(found.mentions) == TELLING
