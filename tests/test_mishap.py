"""Crashes inside torchlint: told with file, row and rule and a command that shows them again; the rest is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from conftest import in_this_process
from hostile import AGENT, NEIGHBOUR, SMELL

from torchlint.engine import fixing, linking, run
from torchlint.engine.lint import Linter
from torchlint.engine.rules import ListedRule, listed_rules
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.model import FileFacts
from torchlint.rule import Frequency, Method, Report, Rule, Site
from torchlint.settings.model import Settings
from torchlint.sources.text import Source

pytestmark = pytest.mark.versions


class Failing(Rule):
    """Fails at every call of ``env.step``."""

    code = "TL999"
    name = "failing"
    summary = "Fails."
    least = Frequency.ONCE
    trigger = Method("step")

    def check(self, site: Site) -> Iterator[Report]:
        raise RecursionError("too deep")
        yield


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two agents in two files."""
    (tmp_path / "bad.py").write_text(AGENT)
    (tmp_path / "good.py").write_text(NEIGHBOUR)
    return tmp_path


def test_a_rule_that_crashes(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = (*listed_rules(), ListedRule.of(Failing))
    monkeypatch.setattr(run, "listed_rules", lambda *_: ours)
    torchlint = in_this_process(capsys, monkeypatch)
    done = torchlint("check", "--isolated", "bad.py", "good.py", "--output-format", "concise", cwd=project)
    assert done.returncode == 2
    assert [line.split(" ")[0] for line in done.stdout.splitlines()] == ["bad.py:7:16:", "good.py:7:16:"]
    errors = done.stderr.splitlines()
    assert errors[0] == "torchlint: internal error: bad.py: rule TL999 failed at bad.py:12: RecursionError: too deep"
    assert "please report it" in errors[2]
    assert errors[2].endswith("torchlint check --verbose --select TL999 bad.py")
    assert "Traceback" not in done.stderr
    told = torchlint("check", "--isolated", "--verbose", "bad.py", cwd=project)
    assert "Traceback" in told.stderr and "in check" in told.stderr


def fixed(folder: Path) -> run.Result:
    return run.check([folder], Settings(root=folder, isolated=True, fix=True, unsafe_fixes=True))


def test_a_file_whose_linting_crashes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lint = Linter.lint

    def crashing(self: Linter, analyses: Analyses, facts: FileFacts, *rest: object) -> object:
        if facts.path == "bad.py":
            node = facts.tree.body[0]
            raise KeyError(node.lineno)
        return lint(self, analyses, facts, *rest)

    monkeypatch.setattr(Linter, "lint", crashing)
    result = fixed(project)
    assert [(p.path, p.internal, p.message) for p in result.problems] == [
        ("bad.py", True, "linting failed at bad.py:2: KeyError: 2")
    ]
    assert SMELL not in (project / "good.py").read_text()


def test_a_file_that_cannot_be_linked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analyse = linking.analyse

    def crashing(files: Sequence[FileFacts], settings: Settings, checkpoint: Callable[[], None]) -> Analyses:
        if any(facts.path == "bad.py" for facts in files):
            raise MemoryError
        return analyse(files, settings, checkpoint)

    monkeypatch.setattr(linking, "analyse", crashing)
    result = fixed(project)
    assert [(p.path, p.message) for p in result.problems] == [
        ("bad.py", "following its code failed at bad.py: MemoryError")
    ]
    assert SMELL not in (project / "good.py").read_text()
    assert (project / "bad.py").read_text() == AGENT


def test_files_that_cannot_be_linked_together(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "good.py").write_text("import bad\n" + NEIGHBOUR)
    analyse = linking.analyse

    def crashing(files: Sequence[FileFacts], settings: Settings, checkpoint: Callable[[], None]) -> Analyses:
        if len(list(files)) > 1:
            raise ValueError("two")
        return analyse(files, settings, checkpoint)

    monkeypatch.setattr(linking, "analyse", crashing)
    result = fixed(project)
    assert len(result.problems) == len(result.fixed) == 1


def test_a_file_whose_fixing_crashes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = fixing.read

    def crashing(source: Source) -> fixing.Reading | None:
        if source.name == "bad.py":
            raise ZeroDivisionError
        return read(source)

    monkeypatch.setattr(fixing, "read", crashing)
    result = fixed(project)
    assert [(p.path, p.internal, p.fixing) for p in result.problems] == [("bad.py", True, True)]
    assert (project / "bad.py").read_text() == AGENT
    assert SMELL not in (project / "good.py").read_text()
