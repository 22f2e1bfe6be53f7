"""The tutorial: its blocks hold their commands, what does not vary is as printed now, and all of it runs."""

from __future__ import annotations

import subprocess
from types import ModuleType

import pytest
from programs import benchmark


@pytest.fixture(scope="module")
def tutorial() -> ModuleType:
    """The program that writes the page."""
    return benchmark("tutorial")


@pytest.fixture(scope="module")
def blocks(tutorial: ModuleType) -> dict[str, str]:
    """What is in the page as printed, by command."""
    page = tutorial.PAGE.read_text(encoding="utf-8")
    found = {each["command"]: each["output"] for each in tutorial.BLOCK.finditer(page)}
    assert len(found) == page.count("<!-- runs: ")
    return found


def test_every_block_begins_with_its_command_and_holds_an_answer(blocks) -> None:
    for command, output in blocks.items():
        first, _, answer = output.partition("\n")
        assert first == f"$ {command}"
        assert answer.strip(), command


def test_the_walk_is_whole(blocks) -> None:
    """Profile, findings, fix, verification: each with what the text around it mentions."""
    told = {
        "torchlint profile": ("TL201 3 checks in QNetwork.forward", "Predicted frequencies", "environment steps"),
        "torchlint check --profile": ("measured: ",),
        "torchlint check --select TL201": ("+_DEBUG_CHECKS",),
        "torchlint verify --accept validation --diff": ("9 of 9 fixes kept",),
        "torchlint verify --accept validation --metric": ("x (", "interval)", "3 files written"),
    }
    for begin, words in told.items():
        (output,) = (output for command, output in blocks.items() if command.startswith(begin))
        assert [word for word in words if word not in output] == []


def test_what_does_not_vary_is_what_is_printed_now(tutorial, blocks, tmp_path) -> None:
    place = tutorial.prepared(tmp_path)
    (command,) = (command for command in blocks if command.endswith("--diff"))
    assert blocks[command] == f"$ {command}\n{tutorial.printed(command, *place)}"


def test_a_command_that_fails_is_told(tutorial, tmp_path) -> None:
    place = tutorial.prepared(tmp_path)
    assert tutorial.printed("echo out; echo err >&2; exit 1", *place) == "out\nerr\n"
    with pytest.raises(subprocess.CalledProcessError) as error:
        tutorial.printed("torchlint profile no-such-trace.json", *place)
    assert error.value.returncode == 2
    page = "<!-- runs: echo one -->\n```\n$ old\n```\ntext\n<!-- runs: echo two -->\n```\n```\n"
    new = (
        "<!-- runs: echo one -->\n```\n$ echo one\none\n```\ntext\n<!-- runs: echo two -->\n```\n$ echo two\ntwo\n```\n"
    )
    assert tutorial.rewritten(page, *place) == new


@pytest.mark.long
@pytest.mark.torch
def test_all_commands_run(tutorial, monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["tutorial.py", "--check"])
    assert tutorial.main() == 0
