"""Fixes that rest on what a run of the user's program showed, and the run that shows it."""

from __future__ import annotations

import builtins
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import CommandLine, in_this_process
from linting import lint
from projects import Code
from reporting import finding_of

from torchlint.device import seeing
from torchlint.engine.missing import MissingFact, missing
from torchlint.engine.result import UnusableError
from torchlint.engine.run import EngineRun
from torchlint.engine.scope import RuleScope
from torchlint.engine.sights import extent, keys
from torchlint.facts.values.join import completed
from torchlint.rule import UNKNOWN, Change, Device, Edit, Kind, PlainFix, Value
from torchlint.rule.sight import ExpressionKey, Sight
from torchlint.settings.model import Settings
from torchlint.sources.lines import LineTable
from torchlint.sources.observations import MOST_BYTES, ObservationsError, read_observations, to_text
from torchlint.verify.observing import instrumented, merged

AGENT = """import torch


class Agent:
    def act(self, obs):
        state = torch.FloatTensor(obs).to(self.device)
        return self.net(state)
"""
TRAIN = """from importlib import import_module

from agent import Agent


def train(world, agent):
    obs = world.reset()
    for _ in range(5):
        obs = world.step(agent.act(obs))


if __name__ == "__main__":
    train(import_module("worlds").World(), Agent())
"""
OLD = "torch.FloatTensor(obs).to(self.device)"
NEW = "torch.as_tensor(obs, dtype=torch.float32, device=self.device)"
ARRAY = Value(Kind.NDARRAY, dtype="float32", rank=1)
TEXTS = {"agent.py": AGENT, "train.py": TRAIN}
NAME = "torchlint-observations.json"


def keys_of(text, expression, name="agent.py"):
    """The keys of all expressions of a file that read like a text."""
    code = Code({name: text})
    found = keys(code.file(), LineTable(text.encode()))
    return [key for _, key in found if key.expression == expression]


def written(folder, saw, key=None):
    """A file of observations of ``obs`` in the agent, or of another expression."""
    folder.mkdir(exist_ok=True)
    sight = Sight(key or keys_of(AGENT, "obs")[0], tuple(saw))
    (folder / NAME).write_text(to_text([sight], "1"))
    return folder / NAME


def agent_fix(folder, texts=TEXTS, **settings):
    """The fix of what is found in the agent, the one finding there is."""
    result = lint(folder, texts, **settings)
    (finding,) = (finding for finding in result.findings if finding.code == "TL101")
    return finding.fix, result


# what rests on observations -------------------------------------------------------------------------------------------


def test_a_missing_fact_that_was_seen_makes_a_fix_acceptable_and_not_safe(tmp_path):
    fix, _ = agent_fix(tmp_path / "before")
    assert fix.assumes.startswith("the argument is an array or a list")
    fix, result = agent_fix(tmp_path / "after", observations=written(tmp_path / "after", [ARRAY]))
    assert (fix.may_change, fix.assumes, fix.edits[0].text) == ((Change.OBSERVED,), "", NEW)
    assert result.outdated == (0, 1)


def test_only_who_accepts_what_was_observed_gets_such_a_fix(tmp_path):
    file = written(tmp_path, [ARRAY])
    assert lint(tmp_path, TEXTS, observations=file, fix=True).fixed == {}
    accepted = frozenset({Change.OBSERVED})
    result = lint(tmp_path, TEXTS, observations=file, fix=True, accept=accepted)
    assert result.fixed["agent.py"].after.text == AGENT.replace(OLD, NEW)


@pytest.mark.parametrize(
    "saw",
    [
        (),
        (UNKNOWN,),
        (Value(Kind.NUMBER, dtype="int"),),
        (ARRAY, Value(Kind.NUMBER, dtype="int")),
        (ARRAY, Value(Kind.NONE)),
        (replace(ARRAY, rank=0, dtype="int64"),),
    ],
)
def test_what_disagrees_or_speaks_against_the_fix_shows_nothing(tmp_path, saw):
    fix, result = agent_fix(tmp_path, observations=written(tmp_path, saw))
    assert fix.assumes
    assert fix.may_change == ()
    assert result.outdated == (0, 1)


def test_arrays_of_several_shapes_and_dtypes_are_arrays(tmp_path):
    saw = [ARRAY, replace(ARRAY, rank=2), replace(ARRAY, dtype="float64")]
    fix, _ = agent_fix(tmp_path, observations=written(tmp_path, saw))
    assert fix.may_change == (Change.OBSERVED,)


def test_what_was_seen_takes_the_place_of_what_a_name_suggests(tmp_path):
    train = TRAIN.replace("world", "env").replace("obs = env.step", "obs, reward, done, info = env.step")
    texts = {**TEXTS, "train.py": train}
    fix, _ = agent_fix(tmp_path / "before", texts)
    assert fix.assumes == "the array has at least one dimension"
    fix, _ = agent_fix(tmp_path / "after", texts, observations=written(tmp_path / "after", [ARRAY]))
    assert (fix.may_change, fix.assumes) == ((Change.OBSERVED,), "")


def test_edits_of_other_statements_leave_an_observation_valid(tmp_path):
    moved = AGENT.replace("class Agent:", "LIMIT = 5\n\n\nclass Agent:\n    def reset(self):\n        self.count = 0\n")
    moved = moved.replace("torch.FloatTensor(obs)", "torch.FloatTensor(\n            obs\n        )")
    fix, result = agent_fix(tmp_path, {**TEXTS, "agent.py": moved}, observations=written(tmp_path, [ARRAY]))
    assert fix.may_change == (Change.OBSERVED,)
    assert result.outdated == (0, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [(".to(self.device)", ".to(self.place)"), ("def act(", "def choose("), ("class Agent", "class Player")],
)
def test_an_observation_of_another_statement_or_function_counts_for_nothing(tmp_path, old, new):
    texts = {
        "agent.py": AGENT.replace(old, new),
        "train.py": TRAIN.replace(old[:-1], new[:-1]).replace(".act(", ".choose("),
    }
    texts["train.py"] = TRAIN if "device" in old else texts["train.py"]
    result = lint(tmp_path, texts, observations=written(tmp_path, [ARRAY]))
    assert all(finding.fix is None or Change.OBSERVED not in finding.fix.may_change for finding in result.findings)
    assert result.outdated == (1, 1)


def test_an_observation_of_another_project_counts_for_nothing(tmp_path):
    key = replace(keys_of(AGENT, "obs")[0], path="elsewhere/agent.py")
    fix, result = agent_fix(tmp_path, observations=written(tmp_path, [ARRAY], key))
    assert fix.assumes
    assert result.outdated == (1, 1)


def test_equal_statements_of_one_function_are_observed_apart():
    text = "def f(x):\n    g(x, x)\n    x = h(x)\n    g(x, x)\n"
    found = [(key.repeat, key.nth) for key in keys_of(text, "x") if key.statement == keys_of(text, "x")[0].statement]
    assert found == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_what_is_known_wins_over_what_was_seen():
    tensor = Value(Kind.TENSOR, dtype="float32", device=Device.EITHER, shaped=True)
    seen = Value(Kind.TENSOR, dtype="int64", device=Device.CUDA, rank=2)
    assert completed(tensor, seen) == Value(Kind.TENSOR, dtype="float32", device=Device.CUDA, rank=2)
    assert completed(tensor, ARRAY) == tensor
    assert completed(UNKNOWN, seen) == completed(None, seen) == seen
    assert completed(Value(device=Device.CPU), ARRAY) == replace(ARRAY, device=Device.CPU)
    assert completed(Value(Kind.ITEM), ARRAY) == ARRAY
    base = Value(Kind.MODULE, name="nets.Base", derived=True)
    assert completed(base, Value(Kind.MODULE, name="nets.Net")) == Value(Kind.MODULE, name="nets.Net")


def test_a_fix_that_the_user_accepts_is_offered_before_one_that_rests_on_a_run(tmp_path):
    own = PlainFix("one", (Edit(0, 1, "y"),), (Change.VALIDATION,))
    seen = PlainFix("other", (Edit(0, 1, "z"),), (Change.OBSERVED,))
    finding = finding_of("x\n", "x", fix=own, seen=seen)

    def offered(*accept):
        settings = Settings(root=tmp_path, accept=frozenset(accept))
        return RuleScope.of(settings, (), []).offered(finding)

    assert offered() == offered(Change.OBSERVED) == replace(finding, fix=seen, seen=None)
    assert offered(Change.VALIDATION) == offered(*Change) == replace(finding, seen=None)


def test_of_fixes_in_each_others_place_the_first_that_the_user_accepts_is_offered(tmp_path):
    safe = PlainFix("safe", (Edit(0, 1, "z"),))
    rounded = PlainFix("rounded", (Edit(0, 1, "y"),), (Change.ROUNDING,), instead=safe)
    doubted = PlainFix("doubted", (Edit(0, 1, "x"),), assumes="it is so", instead=rounded)
    finding = finding_of("x\n", "x", fix=doubted)

    def offered(finding, *accept, unsafe_fixes=False):
        settings = Settings(root=tmp_path, accept=frozenset(accept), unsafe_fixes=unsafe_fixes)
        return RuleScope.of(settings, (), []).offered(finding).fix

    assert offered(finding) == offered(finding, Change.ORDER) == safe
    assert offered(finding, Change.ROUNDING) == rounded
    assert offered(finding, unsafe_fixes=True) == doubted
    assert offered(replace(finding, fix=replace(rounded, instead=None))) == replace(rounded, instead=None)


# the file -------------------------------------------------------------------------------------------------------------


def test_a_file_gives_back_what_was_written():
    net = Value(Kind.MODULE, name="nets.py:Net")
    pair = Value(Kind.TUPLE, items=(ARRAY, Value(Kind.LIST, items=(net,))), nonempty=True)
    table = Value(Kind.DICT, items=(pair, UNKNOWN), keys=("a", "ü"))
    tensor = Value(Kind.TENSOR, dtype="bool", rank=0, device=Device.CUDA)
    sights = [
        Sight(ExpressionKey("a.py", "f", "0", 0, text, 0), saw) for text, saw in (("y", (table,)), ("x", (tensor,)))
    ]
    text = to_text(sights, "1")
    assert [json.loads(line.rstrip(","))["expression"] for line in text.splitlines()[1:-1]] == ["x", "y"]
    assert to_text(reversed(sights), "1") == text


def test_a_file_is_read_as_it_was_written(tmp_path):
    file = written(tmp_path, [ARRAY, Value(Kind.LIST)])
    assert read_observations(file) == (Sight(keys_of(AGENT, "obs")[0], (ARRAY, Value(Kind.LIST))),)
    file.write_text(to_text([], "1"))
    assert read_observations(file) == ()


ROW = {"path": "a.py", "function": "", "statement": "0", "repeat": 0, "expression": "x", "nth": 0, "saw": []}


def whole(*rows, **more):
    return json.dumps({"schema": 1, "torchlint": "1", "observations": rows, **more})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a file of observations: not JSON in UTF-8"),
        ("\udcff", "not a file of observations: not JSON in UTF-8"),
        ("[" * 100_000, "not a file of observations: not JSON in UTF-8"),
        ("[]", "not a file of observations: it has no list of them"),
        ('{"observations": 5}', "not a file of observations: it has no list of them"),
        (whole(schema=2), "of schema 2, where this torchlint reads 1: write it again with torchlint verify --observe"),
        (whole([]), "observation 1: it has the keys path, function, statement, repeat, expression, nth, saw"),
        (whole({**ROW, "more": 1}), "observation 1: it has the keys"),
        (whole({**ROW, "nth": True}), "observation 1: nth is of another type than int"),
        (whole(ROW, ROW), "observation 2: the expression has one already"),
        (whole({**ROW, "saw": [{"kind": "none"}] * 17}), "observation 1: it has more than 16 values"),
        (whole({**ROW, "saw": ["array"]}), "observation 1: a value is an object"),
        (whole({**ROW, "saw": [{"kind": "cube"}]}), "observation 1: 'cube' is not one of unknown, tensor"),
        (whole({**ROW, "saw": [{"kind": "tensor", "literal": 1}]}), "observation 1: a value has no 'literal'"),
        (whole({**ROW, "saw": [{"kind": "tensor", "rank": -1}]}), "observation 1: a rank is a number of dimensions"),
        (whole({**ROW, "saw": [{"kind": "tensor", "device": "tpu"}]}), "observation 1: 'tpu' is not one of cpu, cuda"),
        (whole({**ROW, "saw": [{"kind": "dict", "keys": ["a"]}]}), "observation 1: keys belong to the items of a dict"),
        (
            whole({**ROW, "saw": [{"kind": "list", "items": [{"kind": "none"}] * 2}]}),
            "observation 1: a list has one item",
        ),
    ],
)
def test_a_broken_file_is_one_error(tmp_path, text, message):
    file = tmp_path / NAME
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ObservationsError) as error:
        read_observations(file)
    assert str(error.value).startswith(f"{file}: {message}")
    assert "\n" not in str(error.value)


def test_a_file_that_is_missing_no_file_or_too_large_is_one_error(tmp_path):
    with pytest.raises(UnusableError, match="no such file; write one with torchlint verify --observe"):
        lint(tmp_path, TEXTS, observations=tmp_path / NAME)
    with pytest.raises(ObservationsError, match="cannot be read: not a regular file"):
        read_observations(tmp_path)
    (tmp_path / NAME).write_bytes(b" " * (MOST_BYTES + 1))
    with pytest.raises(ObservationsError, match=r"larger than 10,000,000 bytes"):
        read_observations(tmp_path / NAME)


def test_a_dtype_that_torch_does_not_have_is_not_known(tmp_path):
    (tmp_path / NAME).write_text(whole({**ROW, "saw": [{"kind": "ndarray", "dtype": "uint16"}]}))
    assert read_observations(tmp_path / NAME)[0].saw == (Value(Kind.NDARRAY),)


def test_runs_are_added_up():
    key = ExpressionKey("a.py", "f", "0", 0, "x", 0)
    assert merged([Sight(key, (ARRAY,)), Sight(key, (UNKNOWN, ARRAY))]) == (Sight(key, (ARRAY, UNKNOWN)),)
    assert merged([Sight(key, (ARRAY,)), Sight(key, ())]) == (Sight(key, ()),)
    many = tuple(Value(Kind.TENSOR, rank=rank) for rank in range(9))
    assert merged([Sight(key, many), Sight(key, tuple(replace(each, dtype="bool") for each in many))]) == (
        Sight(key, ()),
    )


# questions, and the text that asks them -------------------------------------------------------------------------------


def questions(folder, texts):
    lint(folder, texts)
    run = EngineRun.prepare([folder], Settings(root=folder, isolated=True), {})
    return missing(run.linting.units(run.sources)[0]), run


def test_only_what_a_finding_lacks_is_asked_about(tmp_path):
    found, _ = questions(tmp_path, TEXTS)
    assert [fact.key.expression for fact in found] == ["obs", "self.device"]
    assert [AGENT.encode()[fact.start : fact.end] for fact in found] == [b"obs", b"self.device"]


def test_where_all_fixes_are_safe_nothing_is_asked(tmp_path):
    agent = AGENT.replace("(obs)", "([0.5, 0.5])")
    assert questions(tmp_path, {**TEXTS, "agent.py": agent})[0] == []


def test_code_that_is_compiled_from_its_text_is_left_alone(tmp_path):
    agent = AGENT + "\n\n@torch.jit.script\ndef twice(x: torch.Tensor):\n    return 2 * x\n"
    assert questions(tmp_path, {**TEXTS, "agent.py": agent})[0] == []


def test_the_text_that_asks_runs_as_before_and_keeps_its_rows(monkeypatch):
    text = """
def f(a, b=3, *rest, **named):
    total = (a
             + b) * 2 + max(*rest, key=lambda x: -x)
    for i, x in enumerate([y for y in rest if y > b][1:]):
        total += x if i % 2 else named["c"].d
    del named["c"]
    with open(__file__) as file: total += len(file.name) * 0
    return f"{total}" if (n := total) else super

assert f.__name__ == "f"
"""
    code = Code({"code.py": text})
    table = LineTable(code.texts["code.py"].encode())
    found = keys(code.file(), table)
    asked = sorted((MissingFact(key, *extent(table, node)) for node, key in found), key=lambda fact: fact.start)
    source = instrumented({"code.py": code.file().source}, asked)["code.py"]
    assert source.text.count(seeing.NAME) == len(asked) > 25
    assert source.text.count("\n") == code.texts["code.py"].count("\n")
    monkeypatch.setattr(builtins, seeing.NAME, lambda _, value: value, raising=False)

    def outcome(text):
        names = {"__file__": __file__, "__name__": "m"}
        exec(compile(text, "code.py", "exec"), names)
        return names["f"](1, 2, 5, 8, 9, c=Local)

    assert outcome(source.text) == outcome(code.texts["code.py"])


# what is seen in a program --------------------------------------------------------------------------------------------


@pytest.fixture
def looking(tmp_path):
    """Look at values as a program would, and read what was written of each."""
    reports = tmp_path / "reports"
    reports.mkdir()
    program = seeing.Looking({"reports": str(reports), "root": str(Path(__file__).parent)})

    def look(*values, number=0):
        for value in values:
            assert program.look(number, value) is value
        rows = [json.loads(line) for path in reports.glob("*.rows") for line in path.read_text().splitlines()]
        return [told for asked, told in rows if asked == number]

    return look


class Local:
    """A class of the program."""

    d = 7


INT = {"kind": "number", "dtype": "int"}


def listing(told):
    return {"kind": "list", "nonempty": True, "items": [told]}


class Rude(type):
    """A class whose objects answer nothing."""

    def __getattribute__(cls, name):
        raise ValueError(name)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, {"kind": "none"}),
        (True, {"kind": "number", "dtype": "bool"}),
        (2.5, {"kind": "number", "dtype": "float"}),
        ("a", {"kind": "string"}),
        ([1, 2], {"kind": "list", "nonempty": True, "items": [INT]}),
        ([1, "a"], {"kind": "list", "nonempty": True}),
        ([], {"kind": "list", "nonempty": False}),
        ((1, "a"), {"kind": "tuple", "nonempty": True, "items": [INT, {"kind": "string"}]}),
        ({"b": None, "a": 1}, {"kind": "dict", "keys": ["a", "b"], "items": [INT, {"kind": "none"}]}),
        ({1: 2}, {"kind": "dict"}),
        ([[[[1]]]], listing(listing(listing({"kind": "list"})))),
        (Local(), {"kind": "instance", "name": "test_observations.py:Local"}),
        (Local, {"kind": "unknown"}),
        (len, {"kind": "function"}),
        (os.environ, {"kind": "unknown"}),
    ],
)
def test_values_of_python_are_told(looking, value, told):
    assert looking(value) == [told]


def test_the_same_is_written_once_and_a_program_that_cannot_be_read_goes_on(looking):
    assert looking(1, 2, 3) == [{"kind": "number", "dtype": "int"}]
    assert looking(Rude("Rude", (), {})(), number=1) == []
    assert len(looking(*(tuple(range(size)) for size in range(40)), number=2)) == seeing.MOST + 1


def test_after_a_thousand_values_one_of_some_is_looked_at(looking):
    assert len(looking(*([0] * 1000), *([0.5] * 23), number=0)) == 1
    assert len(looking(0.5, number=0)) == 2


@pytest.mark.torch
def test_values_of_torch_and_numpy_are_told(looking, monkeypatch):
    import numpy as np
    import torch

    def told(value, number):
        (found,) = looking(value, number=number)
        return found

    assert told(np.ones((2, 3), np.uint8), 0) == {"kind": "ndarray", "rank": 2, "dtype": "uint8"}
    assert told(np.ones(3, ">f4"), 1) == {"kind": "ndarray", "rank": 1}
    assert told(np.ma.ones(3), 2) == {"kind": "unknown"}
    assert told(np.int64(3), 3) == {"kind": "scalar", "dtype": "int64"}
    assert told(torch.ones(3).long(), 4) == {"kind": "tensor", "dtype": "int64", "rank": 1}
    assert told(torch.ones(3).to_sparse(), 5) == {"kind": "unknown"}
    assert told(torch.nn.Linear(1, 1), 6) == {"kind": "module", "name": "torch.nn.Linear"}
    assert told(torch.float64, 7) == {"kind": "dtype", "dtype": "float64"}
    assert told(torch.device("cpu"), 8) == {"kind": "device"}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert told(torch.ones(3), 9) == {"kind": "tensor", "dtype": "float32", "rank": 1, "device": "cpu"}


@pytest.mark.torch
def test_a_graph_that_torch_compiles_has_no_break_where_it_looks(looking, monkeypatch):
    import torch

    monkeypatch.setattr(builtins, seeing.NAME, lambda number, value: value, raising=False)
    program = seeing.Looking({"reports": "nowhere", "root": "nowhere"})

    def double(x):
        return program.look(0, x) * 2

    compiled = torch.compile(double, fullgraph=True, backend="eager")
    assert compiled(torch.ones(2)).tolist() == [2, 2]


# the command ----------------------------------------------------------------------------------------------------------

WORLDS = """class World:
    def reset(self):
        return [0.5, 0.5]

    def step(self, action):
        return self.reset()
"""
# What takes the place of torch: the real one takes seconds to load.
TORCH = """class Made:
    def to(self, device):
        return self

    def FloatTensor(data):
        assert isinstance(data, list)
        return Made()

FloatTensor = Made.FloatTensor
"""


@pytest.fixture
def torchlint(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that trains with a module in the place of torch."""
    folder, stubs = tmp_path / "a project", tmp_path / "stubs"
    folder.mkdir()
    stubs.mkdir()
    (stubs / "torch.py").write_text(TORCH)
    agent = AGENT.replace(
        "class Agent:", "class Agent:\n    device = 'cpu'\n\n    def net(self, x):\n        return x\n"
    )
    for name, text in {**TEXTS, "agent.py": agent, "worlds.py": WORLDS, "pyproject.toml": ""}.items():
        (folder / name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(stubs))
    return folder


def test_a_run_shows_what_a_fix_lacks(torchlint, project):
    before = {path: path.read_bytes() for path in project.iterdir()}
    done = torchlint("verify", "--observe", "--isolated", "--", sys.executable, "train.py", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 of 1 expressions in question seen." in done.stdout
    assert f"Fixes that rest on what was seen: 1 with --accept observed. Written: {NAME}" in done.stdout
    assert {path: path.read_bytes() for path in before} == before
    (sight,) = read_observations(project / NAME)
    number = Value(Kind.NUMBER, dtype="float")
    assert (sight.key.path, sight.key.function, sight.key.expression) == ("agent.py", "Agent.act", "obs")
    assert sight.saw == (Value(Kind.LIST, items=(number,), nonempty=True),)

    def check(*options):
        return torchlint("check", "--isolated", "--no-cache", "--observations", NAME, *options, cwd=project)

    assert "agent.py:11:17: TL101 [observed] " in check().stdout
    assert "right by what was seen in a run of yours; --fix --accept observed applies it" in " ".join(
        check("--output-format", "full").stdout.split()
    )
    check("--fix", "--accept", "observed")
    assert NEW in (project / "agent.py").read_text()


def test_a_cached_run_notices_that_another_file_is_named_and_that_it_changed(torchlint, project):
    def check(*options):
        return torchlint("check", "--isolated", "--cache-dir", "kept", *options, cwd=project).stdout

    assert "[unsafe]" in check()
    torchlint("verify", "--observe", "--isolated", "--", sys.executable, "train.py", cwd=project)
    assert "[observed]" in check("--observations", NAME)
    (project / NAME).write_text(to_text([], "1"))
    assert "[unsafe]" in check("--observations", NAME)
    assert "[unsafe]" in check()


def test_what_is_out_of_date_is_a_warning(torchlint, project):
    torchlint("verify", "--observe", "--isolated", "--", sys.executable, "train.py", cwd=project)
    agent = project / "agent.py"
    agent.write_text(agent.read_text().replace("state = ", "state_now = state = "))
    done = torchlint("check", "--isolated", "--no-cache", "--observations", NAME, cwd=project)
    assert "1 of 1 observations" in done.stderr
    assert "are ignored, because their code has changed or is in another project" in done.stderr
    assert "[unsafe]" in done.stdout
    assert done.returncode == 1


def test_a_second_run_adds_to_the_first_and_drops_what_is_out_of_date(torchlint, project):
    words = ("verify", "--observe", "--isolated", "--", sys.executable, "train.py")
    torchlint(*words, cwd=project)
    lost = Sight(ExpressionKey("gone.py", "f", "0", 0, "x", 0), (ARRAY,))
    (sight,) = read_observations(project / NAME)
    (project / NAME).write_text(to_text([lost, replace(sight, saw=(ARRAY,))], "1"))
    torchlint(*words[:3], "--observations", NAME, *words[3:], cwd=project)
    assert read_observations(project / NAME) == (replace(sight, saw=(ARRAY, *sight.saw)),)


def test_a_command_that_fails_shows_nothing(torchlint, project):
    (project / "worlds.py").write_text(WORLDS.replace("[0.5, 0.5]", "0.5"))
    done = torchlint("verify", "--observe", "--isolated", "--", sys.executable, "train.py", cwd=project)
    assert done.returncode == 2
    assert done.stderr.endswith("the command failed while it was observed (exit code 1); nothing was written\n")
    assert "AssertionError" in done.stderr
    assert not (project / NAME).exists()


def test_a_command_may_be_ended_at_a_time_limit(torchlint, project):
    (project / "worlds.py").write_text(
        f"import time\n{WORLDS}".replace("return self", "time.sleep(60)\n        return self")
    )
    words = ("verify", "--observe", "--isolated", "--json", "--timeout", "3", "--", sys.executable, "train.py")
    done = torchlint(*words, cwd=project)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["limited"], told["asked"], told["seen"], told["accept"]) == (True, 1, 1, {"observed": 1})


def test_where_nothing_is_missing_the_command_does_not_run(torchlint, project):
    (project / "agent.py").write_text("import torch\n")
    done = torchlint("verify", "--observe", "--isolated", "--", "false", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "No fix lacks a fact that a run could show, so the command was not run.\n"
    assert not (project / NAME).exists()


@pytest.mark.parametrize("options", [("--observe", "--diff"), ("--observe", "--metric", "time"), ("--counted",)])
def test_options_that_do_not_go_together_are_wrong_usage(torchlint, project, options):
    assert torchlint("verify", *options, "--", "true", cwd=project).returncode == 2
