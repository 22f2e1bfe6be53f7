"""Runs that are kept and compared: what is new, gone and the same, and the badge."""

import json
from dataclasses import replace

import pytest
from conftest import in_this_process
from reporting import COST, STEP, context_of, finding_of, fix_of
from test_cli_whole import AGENT, OLD

from torchlint.report import full, markdown
from torchlint.report.state import Compared, SavedFinding, StateError, badge, compare, read, to_text
from torchlint.report.summary import summary
from torchlint.rule import Counted, Counts, Level, Position

TEXT = "x = torch.FloatTensor(obs)\n"
CODE = "torch.FloatTensor(obs)"


def finding(fingerprint, **fields):
    return finding_of(TEXT, CODE, fingerprint=fingerprint, **fields)


def everywhere(path):
    return True


# the file -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


def test_a_state_is_read_as_it_was_written():
    found = [finding("b", path="z.py"), finding("a", level=Level.NOTE, message="it waits; read it later")]
    assert read(to_text(found, "1.0")) == (
        SavedFinding("agent.py", 1, "TL101", "note", "it waits", "a"),
        SavedFinding("z.py", 1, "TL101", "warning", "use torch.as_tensor", "b"),
    )
    assert read(to_text([], "1.0")) == ()


def test_a_state_says_what_findings_cost_and_is_the_same_in_whatever_order_they_come():
    events = Counted(Counts(waits=2), Counts(launches=1), "obs 17")
    found = [finding("a", hot=STEP, cost=COST, events=events, fix=fix_of(TEXT, CODE, "z")), finding("b", path="z.py")]
    text = to_text(found, "1.0")
    first, second = json.loads(text)["findings"]
    assert {key: first[key] for key in ("frequency", "fix", "saves_us", "waits", "launches")} == {
        "frequency": "step",
        "fix": "safe",
        "saves_us": 3.6,
        "waits": 2,
        "launches": -1,
    }
    assert (second["fix"], second["saves_us"], second["waits"]) == (None, None, None)
    assert json.loads(text)["cost"] == "about 3.6 us per environment step at the sizes measured (CPU)"
    assert to_text(reversed(found), "1.0") == text
    assert sum('"path"' in line for line in text.splitlines()) == 2


BROKEN = {
    "no JSON": "{",
    "a list": "[]",
    "no findings": '{"version": 1}',
    "another version": '{"version": 2, "findings": []}',
    "a number": '{"version": 1, "findings": [3]}',
    "a finding without a path": '{"version": 1, "findings": [{"row": 1}]}',
    "a row in words": to_text([finding("a")], "1").replace('"row": 1', '"row": "1"'),
    "deep": '{"a":' * 100_000,
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_state_is_refused(name):
    with pytest.raises(StateError):
        read(BROKEN[name])


# the difference -------------------------------------------------------------------------------------------------------


def test_moved_lines_are_the_same_and_what_is_not_found_again_is_gone():
    before = read(to_text([finding("a"), finding("b"), finding("c")], "1"))
    moved = finding("a", start=Position(9, 5), end=Position(9, 7))
    new, compared = compare([moved, finding("d")], before, everywhere, "before.json")
    assert [each.fingerprint for each in new] == ["d"]
    assert (compared.same, [kept.fingerprint for kept in compared.gone]) == (1, ["b", "c"])


def test_files_that_were_not_looked_at_are_not_gone():
    before = read(to_text([finding("a"), finding("b", path="other.py")], "1"))
    _, compared = compare([], before, lambda path: path == "agent.py", "before.json")
    assert [kept.path for kept in compared.gone] == ["agent.py"]


GONE = tuple(SavedFinding("agent.py", row, "TL101", "warning", "it waits", str(row)) for row in range(1, 9))


def test_the_difference_is_summed_up_and_what_is_gone_is_listed():
    context = context_of(TEXT, finding("d"), compared=Compared("before.json", 20, GONE), partial=True)
    assert summary(context) == "1 new, 8 gone, 20 the same as in before.json; 1 finding"
    shown = full.render(context).splitlines()
    assert shown[-8] == "gone:  agent.py:1 TL101 it waits"
    assert shown[-3] == "       3 more: --all"
    assert full.render(replace(context, cuts=False)).count("TL101 it waits") == 8
    assert markdown.render(context).count("- agent.py:") == 9
    nothing = replace(context, findings=(), compared=Compared("before.json", 20, ()))
    assert summary(nothing) == "0 new, 0 gone, 20 the same as in before.json; Nothing new found in 1 file"


# the badge ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "message", "color"),
    [
        ([], "nothing slow", "brightgreen"),
        ([Level.NOTE], "1 finding", "yellow"),
        ([Level.NOTE, Level.WARNING], "2 findings", "orange"),
        ([Level.WARNING, Level.ERROR], "2 findings", "red"),
    ],
)
def test_a_badge_has_the_fields_of_the_endpoint(levels, message, color):
    told = json.loads(badge(finding(str(number), level=level) for number, level in enumerate(levels)))
    assert told == {"schemaVersion": 1, "label": "torchlint", "message": message, "color": color}


# the command line -----------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def test_only_what_is_new_fails(torchlint, project):
    saved = torchlint("check", "--save", "before.json", "--badge", "badge.json", cwd=project)
    assert saved.returncode == 1
    assert json.loads((project / "badge.json").read_text())["message"] == "1 finding"
    same = torchlint("check", "--compare", "before.json", cwd=project)
    assert (same.returncode, same.stdout) == (0, "")
    assert same.stderr.startswith("0 new, 0 gone, 1 the same as in before.json; ")
    (project / "more.py").write_text(AGENT)
    more = torchlint("check", "--compare", "before.json", "--output-format", "json", cwd=project)
    assert more.returncode == 1
    assert [finding["filename"] for finding in json.loads(more.stdout)] == [str(project / "more.py")]
    (project / "agent.py").write_text(AGENT.replace(OLD, "obs"))
    (project / "more.py").unlink()
    gone = torchlint("check", "--compare", "before.json", cwd=project)
    assert (gone.returncode, gone.stderr.partition(";")[0]) == (0, "0 new, 1 gone, 0 the same as in before.json")


def test_a_run_can_be_compared_with_the_file_that_it_saves(torchlint, project):
    torchlint("check", "--save", "state.json", cwd=project)
    (project / "more.py").write_text(AGENT)
    first = torchlint("check", "--compare", "state.json", "--save", "state.json", cwd=project)
    assert (first.returncode, first.stderr.partition(",")[0]) == (1, "1 new")
    second = torchlint("check", "--compare", "state.json", "--save", "state.json", cwd=project)
    assert (second.returncode, second.stderr.partition(",")[0]) == (0, "0 new")


@pytest.mark.parametrize("text", [None, "{}", "\udcff"])
def test_a_file_that_cannot_be_compared_with_is_one_line(torchlint, project, text):
    if text is not None:
        (project / "state.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = torchlint("check", "--compare", "state.json", cwd=project)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "state.json" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("flag", ["--save", "--compare", "--badge", "--html"])
def test_standard_input_keeps_no_records(torchlint, project, flag):
    done = torchlint("check", "-", flag, "file", cwd=project)
    assert (done.returncode, done.stderr.count("cannot be given together")) == (2, 1)
