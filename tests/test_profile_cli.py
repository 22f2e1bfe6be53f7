"""The commands ``profile`` and ``check --profile`` as a user meets them, over profiles of a small program made here."""

import json

import pytest
from measuring import profiles, project

from torchlint.cli import main

pytestmark = [pytest.mark.torch, pytest.mark.once]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return project(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def traces(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    profiles(small, folder)
    return folder


@pytest.fixture(scope="module")
def cprofiled(traces):
    return traces / "train.prof"


@pytest.fixture(scope="module")
def stacked(traces):
    return traces / "stack.json"


@pytest.fixture(scope="module")
def stackless(traces):
    return traces / "plain.json"


@pytest.fixture(autouse=True)
def in_project(small, monkeypatch):
    monkeypatch.chdir(small)
    monkeypatch.setenv("COLUMNS", "80")


def told(capsys, trace, *arguments):
    """What ``profile --json`` says, and its exit code."""
    code = main(["profile", str(trace), "--json", *arguments])
    return json.loads(capsys.readouterr().out), code


def groups(told):
    return {(group["code"], group["function"]): group for group in told["findings"]}


# what it says ---------------------------------------------------------------------------------------------------------


def test_cprofile_counts_steps_and_updates(cprofiled, capsys):
    found, code = told(capsys, cprofiled)
    assert (found["source"], found["steps"], found["updates"], code) == ("cprofile", 40, 20, 1)


@pytest.mark.parametrize("trace", ["cprofiled", "stacked"])
def test_checks_are_counted_in_their_function(trace, request, capsys):
    found, _ = told(capsys, request.getfixturevalue(trace))
    checks = groups(found)["TL201", "Policy.forward"]
    assert checks["measured"]["basis"] == "calls"
    assert checks["function_calls"] == 60
    # Two findings, each in 60 runs of the network, in 40 steps.
    assert checks["measured"]["calls"] == 120
    assert checks["measured"]["calls_per_unit"] == 3
    assert 0 < checks["measured"]["share"] < 1
    assert [place["row"] for place in checks["places"]] == [12, 14]


@pytest.mark.parametrize("trace", ["cprofiled", "stacked"])
def test_a_finding_in_a_function_that_was_not_called_never_ran(trace, request, capsys):
    found, _ = told(capsys, request.getfixturevalue(trace))
    assert groups(found)["TL201", "Policy.unused"]["measured"]["basis"] == "never"
    assert found["findings"][-1]["measured"]["share"] == 0


def test_findings_come_in_the_order_of_their_cost(stacked, capsys):
    found, _ = told(capsys, stacked)
    shares = [group["measured"]["share"] for group in found["findings"] if group["measured"]["basis"] == "calls"]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) > 1


def test_what_is_hot_without_a_finding_is_listed_and_is_of_the_project(cprofiled, capsys):
    found, _ = told(capsys, cprofiled)
    assert "Agent.rest" in [spot["function"] for spot in found["hot"]]
    assert {spot["path"] for spot in found["hot"]} <= {"agent.py", "train.py"}


def test_without_stacks_nothing_is_guessed(stackless, capsys):
    found, _ = told(capsys, stackless)
    assert not found["stacks"]
    # Two functions of the project check for NaN.
    assert groups(found)["TL201", "Policy.forward"]["measured"]["basis"] == "unseen"
    shared = {each["name"]: each for each in found["operators"]}
    assert {each["code"] for each in shared["aten::isnan"]["findings"]} == {"TL201"}
    assert shared["aten::isnan"]["calls"] > 0
    main(["profile", str(stackless)])
    out = capsys.readouterr().out
    assert "The trace has no stacks" in out
    assert "with_stack=True" in out
    assert "guess" not in out
    main(["check", "--profile", str(stackless)])
    assert "warning: The trace has no stacks" in capsys.readouterr().err


def test_predictions_are_compared_with_calls(cprofiled, capsys):
    found, _ = told(capsys, cprofiled)
    assert found["agreement"]["compared"] >= 8
    assert found["agreement"]["near"] == found["agreement"]["compared"]
    assert found["agreement"]["rank_correlation"] > 0.5


def test_exit_zero(cprofiled, capsys):
    assert told(capsys, cprofiled, "--exit-zero")[1] == 0
    assert told(capsys, cprofiled, "--select", "TL703")[1] == 0


# how it looks ---------------------------------------------------------------------------------------------------------


@pytest.mark.third
@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("trace", ["cprofiled", "stackless"])
def test_no_line_is_wider_than_the_terminal(trace, columns, request, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    main(["profile", str(request.getfixturevalue(trace))])
    lines = capsys.readouterr().out.splitlines()[1:]
    assert max(map(len, lines)) <= columns


def test_the_table_names_the_checks_their_places_and_the_fix(stacked, capsys):
    main(["profile", str(stacked)])
    out = capsys.readouterr().out
    assert "TL201 2 checks in Policy.forward" in out
    assert "agent.py:12, 14" in out
    assert "check only when" in out
    assert "Findings that never ran" in out
    assert "\x1b" not in out


def test_colours_where_they_are_wanted(stacked, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["profile", str(stacked)])
    assert "\x1b[" in capsys.readouterr().out


def test_top_limits_the_tables(stacked, capsys):
    main(["profile", str(stacked), "--top", "1"])
    assert "more (--top)" in capsys.readouterr().out


# check --profile ------------------------------------------------------------------------------------------------------


def checked(capsys, *arguments):
    """What ``check --output-format json`` says."""
    main(["check", "--output-format", "json", *map(str, arguments)])
    return json.loads(capsys.readouterr().out)


def test_check_ranks_and_says_what_was_measured(cprofiled, capsys):
    found = checked(capsys, "--profile", cprofiled)
    bases = [finding["measured"]["basis"] for finding in found]
    assert "calls" in bases
    main(["check", "--output-format", "concise", "--profile", str(cprofiled)])
    assert "; measured: 3 calls per step, " in capsys.readouterr().out
    main(["check", "--output-format", "full", "--profile", str(cprofiled)])
    assert "cost:  measured: 3 calls per step, " in capsys.readouterr().out


def test_code_that_never_ran_is_not_hot(cprofiled, capsys):
    rows = {finding["location"]["row"] for finding in checked(capsys) if finding["code"] == "TL201"}
    left = {
        finding["location"]["row"] for finding in checked(capsys, "--profile", cprofiled) if finding["code"] == "TL201"
    }
    assert rows - left == {19}


def test_code_that_ran_often_is_hot(cprofiled, capsys, small, tmp_path, monkeypatch):
    copy = project(tmp_path)
    text = (copy / "train.py").read_text().replace("agent.act(obs)", "getattr(agent, name)(obs)")
    (copy / "train.py").write_text(text.replace("steps=40", "steps=40, name='act'"))
    monkeypatch.chdir(copy)
    assert "TL101" not in {finding["code"] for finding in checked(capsys)}
    found = checked(capsys, "--profile", cprofiled, "--map", f"{small}=.")
    constructor = next(finding for finding in found if finding["code"] == "TL101")
    assert constructor["hot"]["frequency"] == "step"


def test_why_a_line_is_hot_heeds_the_profile(cprofiled, capsys):
    main(["check", "--profile", str(cprofiled), "--explain-hot", "agent.py:19"])
    assert "Policy.unused never ran in the profile" in capsys.readouterr().out


def test_a_run_with_a_profile_is_not_taken_for_one_without(cprofiled, capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("TORCHLINT_NO_CACHE")
    monkeypatch.setenv("TORCHLINT_DATA_DIR", str(tmp_path))
    cache = ["--cache-dir", tmp_path / "cache"]
    plain, measured = checked(capsys, *cache), checked(capsys, *cache, "--profile", cprofiled)
    assert checked(capsys, *cache) == plain != measured
    assert checked(capsys, *cache, "--profile", cprofiled) == measured


# bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["profile"], ["check", "--profile"]])
@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("missing.json", None, "cannot be read"),
        ("empty.json", b"", "is empty"),
        ("foreign.json", b'{"answer": 42}', "not a profile"),
        ("notes.txt", b"these are notes\n", "not a profile"),
        ("cut.json", b'{"traceEvents": [{"ph": "X", "name": "aten::to", "ts": 1, "d', "cut short"),
    ],
)
def test_what_is_no_profile_is_one_error(command, name, data, words, tmp_path, capsys):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    assert main([*command, str(tmp_path / name)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert words in captured.err
    assert name in captured.err


def test_a_cut_cprofile_file_is_one_error(cprofiled, tmp_path, capsys):
    data = cprofiled.read_bytes()
    cut = tmp_path / "cut.prof"
    cut.write_bytes(data[: len(data) // 2])
    assert main(["profile", str(cut)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.fixture
def moved(tmp_path, monkeypatch):
    """The project's files in a folder below another project, under other paths than recorded."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "deep" / "agent.py").write_text((project(tmp_path / "deep") / "agent.py").read_text())
    (tmp_path / "deep" / "pyproject.toml").unlink()
    (tmp_path / "deep" / "train.py").unlink()
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("moved")
def test_paths_of_another_place_name_the_mapping_that_would_fit(cprofiled, small, capsys):
    assert main(["profile", str(cprofiled)]) == 2
    error = capsys.readouterr().err
    assert f"--map {small}=deep" in error
    found, _ = told(capsys, cprofiled, "--map", f"{small}=deep")
    assert groups(found)["TL201", "Policy.forward"]["function_calls"] == 60


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["profile"], "Missing argument 'TRACE'"),
        (["profile", "{trace}", "--htm", "x"], "did you mean '--html'?"),
        (["profile", "{trace}", "--map", "nothing"], "--map takes FROM=TO"),
        (["profile", "{trace}", "no_such_folder"], "no_such_folder"),
        (["check", "--map", "a=b"], "give --profile, too"),
        (["check", "-", "--profile", "{trace}"], "cannot be given together"),
    ],
)
def test_wrong_usage_is_one_error(arguments, words, cprofiled, capsys):
    assert main([word.format(trace=cprofiled) for word in arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
