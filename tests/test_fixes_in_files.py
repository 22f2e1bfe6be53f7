"""Fixes that change several files: all of them or none, whoever shows or applies them."""

import asyncio
import dataclasses
import json
from pathlib import Path

import pytest
from linting import lint

from torchlint.engine.codec import from_row, to_row
from torchlint.engine.fixing import fix
from torchlint.engine.run import EngineRun, Reach, check
from torchlint.report.context import Context
from torchlint.report.diff import render as as_diff
from torchlint.report.full import render as as_full
from torchlint.report.lintrunner import render as as_lintrunner
from torchlint.report.markdown import render as as_markdown
from torchlint.report.rdjson import render as as_rdjson
from torchlint.report.sarif import render as as_sarif
from torchlint.rule import Change, Edit, Finding, Level, PlainFix, Position
from torchlint.settings.model import Settings
from torchlint.sources.decode import decode

POLICY = """\
import torch
from torch.distributions import Categorical, Normal


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(17, 6)

    @torch.no_grad()
    def act(self, obs):
        return Categorical(logits=self.net(obs)).sample().numpy()

    @torch.no_grad()
    def explore(self, obs):
        return Normal(self.net(obs), 1.0).sample().numpy()
"""
COLLECT = """\
def collect(policy, env, steps):
    obs, info = env.reset()
    for _ in range(steps):
        policy.explore(obs)
        obs, reward, terminated, truncated, info = env.step(policy.act(obs))
"""
MAIN = """\
from collect import collect
from policy import Policy

if __name__ == "__main__":
    collect(Policy(), make_env(), 1000)
"""
PROJECT = {"policy.py": POLICY, "collect.py": COLLECT, "main.py": MAIN, "pyproject.toml": "[project]\nname = 'p'\n"}
OFF = "    torch.distributions.Distribution.set_default_validate_args(False)\n"
BEGUN = "import torch\n" + MAIN.replace('"__main__":\n', f'"__main__":\n{OFF}')


def source(name, text):
    return decode(text.encode(), Path("/project") / name, name)


def replaced(source, old, new):
    at = source.text.index(old)
    return Edit(at, at + len(old), new)


def finding(sources, home, *changes, **details):
    """A finding in a file whose fix makes changes in files: name, old text, new text."""
    edits = {name: (replaced(sources[name], old, new),) for name, old, new in changes}
    own = edits.pop(home, ())
    plain = PlainFix("do it", own, in_files=tuple(sorted(edits.items())), **details)
    place = Position(1, 1)
    return Finding("TL101", "smell", "message", Level.WARNING, home, place, Position(1, 2), (1, 1), fix=plain)


def fixed(texts, *changes, accepts=lambda name, plain: True):
    """What becomes of texts with a finding in the file of the first change, while the old texts are all there."""

    def lint(sources):
        there = all(old in sources[name].text for name, old, _ in changes)
        home = changes[0][0]
        return {name: [finding(sources, home, *changes)] if there and name == home else [] for name in sources}

    return fix({name: source(name, text) for name, text in texts.items()}, lint, accepts)


def texts_of(outcome):
    return {name: each.text for name, each in outcome.sources.items()}


def test_a_fix_changes_two_files():
    outcome = fixed({"a.py": "x = one\n", "b.py": "y = one\n"}, ("a.py", "one", "1"), ("b.py", "one", "1"))
    assert texts_of(outcome) == {"a.py": "x = 1\n", "b.py": "y = 1\n"}
    assert [found.path for found in outcome.applied["a.py"]] == ["a.py"]
    assert outcome.applied["b.py"] == ()
    assert outcome.tied == (frozenset({"a.py", "b.py"}),)


@pytest.mark.parametrize("wrong", ["1 1", "undefined_name"])
def test_a_fix_that_breaks_one_file_changes_none(wrong):
    before = {"a.py": "x = len('')\n", "b.py": "y = len('')\n"}
    outcome = fixed(before, ("a.py", "len('')", "1"), ("b.py", "len('')", wrong))
    assert texts_of(outcome) == before
    (problem,) = outcome.problems
    assert problem.path == "a.py"
    assert "the fix of TL101 at 1:1 is not applied" in problem.message


def test_a_fix_is_accepted_by_the_settings_of_all_its_files():
    before = {"a.py": "x = one\n", "b.py": "y = one\n"}
    changes = [("a.py", "one", "1"), ("b.py", "one", "1")]
    outcome = fixed(before, *changes, accepts=lambda name, plain: name == "a.py")
    assert texts_of(outcome) == before


def test_a_file_that_is_not_there_is_not_changed():
    sources = {"a.py": source("a.py", "x = 1\n"), "b.py": source("b.py", "y = 1\n")}
    found = finding(sources, "a.py", ("b.py", "1", "2"))
    outcome = fix({"a.py": sources["a.py"]}, lambda texts: {"a.py": [found]}, lambda name, plain: True)
    assert outcome.applied == {}


def test_files_of_one_fix_that_comes_to_no_end_stay_both():
    def endless(sources):
        length = len(sources["a.py"].text)
        edits = (Edit(length, length, "x = 1\n"),)
        there = (("b.py", (Edit(0, 0, "y = 1\n"),)),) if length < 20 else ()
        plain = PlainFix("grow", edits, in_files=there)
        row = Position(1, 1)
        return {"a.py": [Finding("TL1", "s", "m", Level.NOTE, "a.py", row, Position(1, 2), (1, 1), fix=plain)]}

    before = {"a.py": "x = 0\n", "b.py": "y = 0\n"}
    outcome = fix({name: source(name, text) for name, text in before.items()}, endless, lambda name, plain: True)
    assert texts_of(outcome) == before
    assert outcome.applied == {}


def test_it_comes_back_from_the_cache():
    other = PlainFix("other", (Edit(1, 2, "z"),))
    sources = {"a.py": source("a.py", "x = 1\n"), "b.py": source("b.py", "y = 1\n")}
    found = finding(sources, "a.py", ("b.py", "1", "2"), may_change=(Change.VALIDATION,), instead=other)
    assert from_row(json.loads(json.dumps(to_row(found)))) == found


def test_validation_is_turned_off_once_where_the_program_begins(tmp_path):
    result = lint(tmp_path, PROJECT, select=("TL205",), accept=frozenset({Change.VALIDATION}), fix=True)
    assert result.findings == []
    assert {name: file.after.text for name, file in result.fixed.items()} == {"main.py": BEGUN}
    assert [found.path for found in result.fixed["main.py"].applied] == ["policy.py", "policy.py"]
    assert (tmp_path / "main.py").read_text() == BEGUN
    assert (tmp_path / "policy.py").read_text() == POLICY


def test_all_programs_that_run_it_are_changed(tmp_path):
    other = MAIN.replace("1000", "10")
    texts = {**PROJECT, "play.py": other}
    result = lint(tmp_path, {**texts, "policy.py": POLICY + _THIRD}, select=("TL205",), fix=True, unsafe_fixes=True)
    assert result.findings == []
    assert set(result.fixed) == {"main.py", "play.py"}


def test_a_program_that_only_imports_it_is_not_changed(tmp_path):
    plot = 'from policy import Policy\n\nif __name__ == "__main__":\n    print("plot")\n'
    result = lint(tmp_path, {**PROJECT, "plot.py": plot}, select=("TL205",), fix=True, unsafe_fixes=True)
    assert set(result.fixed) == {"main.py"}
    (tmp_path / "main.py").write_text(MAIN.replace('if __name__ == "__main__":\n    ', ""))
    (tmp_path / "policy.py").write_text(POLICY)
    alone = lint(tmp_path, {"plot.py": plot}, select=("TL205",), fix=True, unsafe_fixes=True)
    assert set(alone.fixed) == {"policy.py"}


_THIRD = """
    @torch.no_grad()
    def again(self, obs):
        return Normal(self.net(obs), 2.0).sample().numpy()

    def __call__(self, obs):
        for _ in range(10):
            self.again(obs)
        self.optimizer.step()
"""


@pytest.mark.parametrize(
    "change",
    [
        {"main.py": MAIN.replace("from collect", "import os\n\nos.environ['A'] = '1'\nfrom collect")},
        {"main.py": MAIN.replace("from collect", "torch = None\nfrom collect")},
        {"collect.py": COLLECT.replace("        policy.explore(obs)\n", "")},
        {"collect.py": COLLECT.replace("steps):", "steps):  # noqa: TL205")},
        {"torchlint.toml": "[rules.TL205]\nonce = false\n"},
        {"main.py": MAIN.replace('if __name__ == "__main__":', "if True:")},
    ],
    ids=["environment first", "another torch", "one call", "wanted somewhere", "option", "no program"],
)
def test_each_call_is_changed_where_the_default_is_no_choice(tmp_path, change):
    texts = {**PROJECT, **change}
    rules = {"TL205": {"once": False}} if "torchlint.toml" in change else {}
    result = lint(tmp_path, texts, select=("TL205",), fix=True, unsafe_fixes=True, rules=rules)
    assert set(result.fixed) == {"policy.py"}
    assert "validate_args=False" in result.fixed["policy.py"].after.text


def test_a_file_that_was_not_asked_for_is_not_changed(tmp_path):
    lint(tmp_path, PROJECT)
    settings = Settings(root=tmp_path, isolated=True, select=("TL205",), fix=True, unsafe_fixes=True)
    result = check([tmp_path / "policy.py"], settings)
    assert set(result.fixed) == {"policy.py"}
    assert (tmp_path / "main.py").read_text() == MAIN


def test_another_program_that_sets_the_default_is_no_matter(tmp_path):
    texts = {**PROJECT, "other.py": f'import torch\n\nif __name__ == "__main__":\n{OFF}'}
    assert len(lint(tmp_path, texts, select=("TL205",)).findings) == 2
    texts["main.py"] = f"import other\n{MAIN}"
    assert lint(tmp_path, texts, select=("TL205",)).findings == []


def test_nothing_is_written_where_one_file_cannot_be(tmp_path):
    texts = {"a.py": "import torch\nx = one\n", "b.py": "import torch\ny = one\n"}
    lint(tmp_path, texts)
    run = EngineRun.prepare([tmp_path], Settings(root=tmp_path, isolated=True, fix=True, select=("ALL",)), {})
    (tmp_path / "b.py").write_text("y = changed_meanwhile\n")
    outcome = fixed(texts, ("a.py", "one", "1"), ("b.py", "one", "1"))
    after = {
        name: dataclasses.replace(run.sources[name], text=each.text, utf8=each.utf8)
        for name, each in outcome.sources.items()
    }
    result = run.written(dataclasses.replace(outcome, sources=after))
    assert (tmp_path / "a.py").read_text() == texts["a.py"]
    assert {problem.path for problem in result.problems} == {"a.py", "b.py"}
    assert result.fixed == {}


def context_of(folder):
    result = lint(folder, PROJECT, select=("TL205",))
    return dataclasses.replace(Context.of(result, folder), accept=frozenset({Change.VALIDATION}), accepts={})


def test_reports_show_the_changes_of_all_files(tmp_path):
    context = context_of(tmp_path)
    full = as_full(context)
    assert "in main.py:" in full
    assert f"+ {OFF.strip()}" in full
    assert f"@@ main.py @@\n+ import torch\n+ {OFF.strip()}" in as_markdown(context)
    (change,) = json.loads(as_sarif(context))["runs"][0]["results"][0]["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "main.py"
    assert [each["insertedContent"]["text"] for each in change["replacements"]] == ["import torch\n", OFF]
    assert "suggestions" not in as_rdjson(context)
    *_, replacement = map(json.loads, as_lintrunner(context).splitlines())
    assert (replacement["path"], replacement["replacement"]) == ("main.py", BEGUN)


def test_the_diff_is_one(tmp_path):
    result = lint(tmp_path, PROJECT, select=("TL205",), unsafe_fixes=True, diff=True)
    shown = as_diff(Context.of(result, tmp_path))
    assert shown.startswith("--- main.py\n+++ main.py\n")
    assert shown.count("---") == 1
    assert (tmp_path / "main.py").read_text() == MAIN


def test_an_editor_may_change_files_that_are_not_open(tmp_path):
    lint(tmp_path, PROJECT)
    opened = decode(POLICY.encode(), tmp_path / "policy.py", "policy.py")
    settings = Settings(root=tmp_path, isolated=True, select=("TL205",))
    result = check((), settings, opened=[opened], reach=Reach.PROJECT)
    assert [dict(found.fix.in_files).keys() for found in result.findings] == [{"main.py"}] * 2
    assert result.sources["main.py"].text == MAIN
    fixing = dataclasses.replace(settings, fix=True, unsafe_fixes=True)
    result = check((), fixing, opened=[opened], reach=Reach.OWN)
    assert set(result.fixed) == {"policy.py"}


def test_the_language_server_offers_both_fixes(tmp_path):
    pytest.importorskip("pygls")
    from pygls import uris
    from speaking import client_of

    lint(tmp_path, PROJECT)
    (tmp_path / "pyproject.toml").write_text('[tool.torchlint]\nselect = ["TL205"]\n')

    async def talk():
        async with client_of(tmp_path) as client:
            uri = client.open(tmp_path / "policy.py", POLICY)
            await client.diagnostics(uri, 1)
            once, here, *_ = await client.actions(uri, 11)
            assert "where the program begins: in `main.py`" in once.title
            (document,) = once.edit.document_changes
            assert document.text_document.uri == uris.from_fs_path(str(tmp_path / "main.py"))
            assert document.text_document.version is None
            assert [edit.new_text for edit in document.edits] == ["import torch\n", OFF]
            assert "pass `validate_args=False`" in here.title
            assert here.edit.document_changes[0].text_document.uri == uri

    asyncio.run(talk())
