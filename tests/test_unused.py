"""Suppression comments that silence nothing, as a user meets them; the fixtures of TL909 hold what is found where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import in_this_process
from test_cli_whole import AGENT, NEW, OLD
from test_notebooks import HEAD, TRAIN, text_of

IDLE = AGENT.replace(OLD, f"{NEW}  # noqa: TL102")
USED = AGENT.replace(OLD, f"{OLD}  # noqa: TL102")
ASK = ("check", "--extend-select", "TL909", "--fail-level", "note")


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\n")
    return tmp_path


def test_only_who_asks_is_told(torchlint, project: Path) -> None:
    (project / "agent.py").write_text(IDLE)
    assert torchlint("check", cwd=project).stdout == ""
    assert torchlint("check", "--select", "ALL", "--preview", cwd=project).stdout == ""
    done = torchlint(*ASK, cwd=project)
    assert done.stdout == "agent.py:12:55: TL909 [*] this comment suppresses nothing: TL102 is not found here\n"
    assert done.returncode == 1
    assert torchlint("check", "--select", "unused-suppression", cwd=project).returncode == 0  # a note


@pytest.mark.parametrize("flags", [["--select", "TL909"], ["--ignore", "TL102"], ["--per-file-ignores", "*:TL102"]])
def test_a_comment_for_a_rule_that_does_not_run_today_is_used(torchlint, project: Path, flags: list[str]) -> None:
    (project / "agent.py").write_text(USED)
    assert torchlint(*ASK, *flags, cwd=project).stdout == ""
    (project / "agent.py").write_text(IDLE)
    assert torchlint(*ASK, *flags, cwd=project).stdout.count("TL909") == 1


def test_the_fix_takes_the_comment_away(torchlint, project: Path) -> None:
    (project / "agent.py").write_text(IDLE)
    done = torchlint(*ASK, "--fix", cwd=project)
    assert (done.returncode, done.stderr) == (0, "Fixed 1 finding in 1 file; nothing slow is left in 1 file\n")
    assert (project / "agent.py").read_text() == AGENT.replace(OLD, NEW)


def test_the_fix_of_a_line_makes_its_comment_idle_and_both_go_in_one_run(torchlint, project: Path) -> None:
    text = AGENT.replace(OLD, f"{OLD}  # torchlint: ignore[TL401]")
    (project / "agent.py").write_text(text)
    assert torchlint(*ASK, "--fix", cwd=project).returncode == 0
    assert (project / "agent.py").read_text() == AGENT.replace(OLD, NEW)


def test_windows_newlines_stay(torchlint, project: Path) -> None:
    idle = "import torch\r\n# torchlint: ignore[TL101]\r\nx = 1  # noqa: TL101, E501\r\n"
    (project / "agent.py").write_bytes(idle.encode())
    assert torchlint(*ASK, "--fix", cwd=project).returncode == 0
    assert (project / "agent.py").read_bytes() == b"import torch\r\nx = 1  # noqa: E501\r\n"


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("# torchlint: ignore", True),  # does not silence what is said of itself
        ("# torchlint: ignore[TL101]  # noqa", False),  # another one does
        ("# noqa: TL101, TL909", False),
        ("# torchlint: ignore[TL101, unused-suppression]", False),
        ("# torchlint: ignore[TL9]", True),
    ],
)
def test_it_can_be_silenced_in_turn(torchlint, project: Path, comment: str, found: bool) -> None:
    (project / "agent.py").write_text(f"import torch\nx = 1  {comment}\n")
    assert ("TL909" in torchlint(*ASK, cwd=project).stdout) is found
    assert "TL909" in torchlint(*ASK, "--ignore-noqa", cwd=project).stdout


def test_settings_for_files_and_known_findings_count(torchlint, project: Path) -> None:
    (project / "agent.py").write_text(IDLE)
    assert torchlint(*ASK, "--per-file-ignores", "agent.py:TL9", cwd=project).stdout == ""
    assert "[*]" not in torchlint(*ASK, "--unfixable", "TL909", cwd=project).stdout
    (project / "pyproject.toml").write_text('[tool.torchlint]\nextend-select = ["TL909"]\n')
    assert torchlint("baseline", cwd=project).stdout.startswith("1 known finding")
    done = torchlint("check", "--baseline", "torchlint-baseline.jsonl", cwd=project)
    assert (done.stdout, done.stderr) == ("", "Nothing new found in 1 file\n")


def test_files_in_which_no_rule_looks(torchlint, project: Path) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "test_agent.py").write_text(f"import torch\n{USED}")
    (project / "broken.py").write_text("import torch  # noqa: TL102\ndef f(:\n")
    done = torchlint(*ASK, cwd=project)
    assert [line.split(" ")[:2] for line in done.stdout.splitlines()] == [
        ["broken.py:2:7:", "TL000"],
        ["tests/test_agent.py:13:51:", "TL909"],
    ]


def test_in_notebooks(torchlint, project: Path) -> None:
    head = HEAD.replace(OLD, f"{NEW}  # noqa: TL102")
    (project / "nb.ipynb").write_text(text_of("# text", f"# torchlint: ignore[TL101]\n{head}", TRAIN))
    done = torchlint(*ASK, cwd=project)
    assert [line.split(" TL")[0] for line in done.stdout.splitlines()] == [
        "nb.ipynb:cell 2:1:1:",
        "nb.ipynb:cell 2:13:55:",
    ]
    assert torchlint(*ASK, "--fix", cwd=project).returncode == 0
    cells = [cell["source"] for cell in json.loads((project / "nb.ipynb").read_text())["cells"]]
    assert ["".join(cell) for cell in cells] == ["# text", HEAD.replace(OLD, NEW), TRAIN]
