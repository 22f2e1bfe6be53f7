"""Files with names that try to break out, from the disk through the real program into every format; and full disks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import in_this_process
from junitparser import JUnitXml
from sarif_pydantic import Sarif
from test_cli_whole import AGENT, NEW, OLD

from torchlint.report.escape import defused
from torchlint.settings.options import OUTPUT_FORMATS

pytestmark = pytest.mark.versions

NAMES = [
    "a\nb.py",
    "\x1b[31mred\x1b[0m.py",
    "::error::x.py",
    "##vso[task.complete]x.py",
    "##[group]x.py",
    "per%cent,a:b;c=d].py",
    "<x>&\"'`.py",
    "-dash.py",
    "@at.py",
    "nb .py",
    "日本 ü.py",
    "\u202eevil.py",
    os.fsdecode(b"bad\xff.py"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which every file has the same finding on line 12, and a function that is named like a command."""
    made = tmp_path_factory.mktemp("hostile")
    (made / "pyproject.toml").write_text("[tool.torchlint]\n")
    for name in NAMES:
        (made / name).write_text(AGENT)
    return made


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which what was found is kept: it is the same in every format."""
    return {"TORCHLINT_NO_CACHE": "", "TORCHLINT_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_no_format_passes_on_what_a_terminal_or_a_service_would_obey(torchlint, kept, folder: Path, name: str) -> None:
    done = torchlint("check", "--output-format", name, cwd=folder, env=kept)
    assert done.returncode == 1
    for text in (done.stdout, done.stderr):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]", text)
    lines = done.stdout.splitlines()
    own = {"github": "::warning title=TL102,file=", "azure": "##vso[task.logissue type=warning;sourcepath="}.get(name)
    commands = [line for line in lines if re.match(r"\s*::", line) or "##vso[" in line or "##[" in line]
    if own:
        assert len(lines) == 10 + 1 if name == "github" else len(lines) == len(NAMES)
        assert all(line.startswith(own) or line == "::notice title=torchlint::3 more" for line in lines)
    else:
        assert commands == []


COMMANDS = (
    "::error::taken",
    "\u3000::error::taken",
    "##[error]taken",
    "##vso[task.setvariable variable=PATH]taken",
    "##VSO[task.complete]taken",
    "plain ##[group]taken",
    "cr\r::error::taken",
)


def obeyed(text: str) -> list[str]:
    """The lines that a service takes for commands: it ends them at carriage returns, too, and strips any blank."""
    lines = re.split(r"[\r\n]", text)
    return [line for line in lines if line.strip().startswith("::") or re.search(r"##(\[|vso\[)", line, re.IGNORECASE)]


@pytest.mark.parametrize("quote", ['"""', "#"])
def test_no_line_of_source_is_a_command(torchlint, kept, tmp_path: Path, quote: str) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    for number, command in enumerate(COMMANDS):
        if quote == "#":
            text = AGENT.replace(f"mask = {OLD}", f"mask = (  # {command}\n            {OLD}\n        )")
        else:
            text = AGENT.replace(f"        mask = {OLD}", f'        """\n{command}\n        """\n        mask = {OLD}')
        with (tmp_path / f"agent_{number}.py").open("w", newline="") as stream:
            stream.write(text.replace("cr\r", "cr\r" if quote != "#" else "cr"))
    (tmp_path / "other.py").write_text(AGENT)
    for name in OUTPUT_FORMATS:
        if name not in ("github", "azure"):
            done = torchlint("check", "--output-format", name, cwd=tmp_path, env=kept)
            assert done.returncode == 1
            assert obeyed(done.stdout + done.stderr) == [], name
    done = torchlint("check", "--diff", cwd=tmp_path)
    assert obeyed(done.stdout + done.stderr) == []
    shown = {f"agent_{number}.py" for number, each in enumerate(COMMANDS) if quote == "#" and "::" in each}
    hidden = sorted({f"agent_{number}.py" for number in range(len(COMMANDS))} - shown)
    assert set(re.findall(r"^\+\+\+ (.*)$", done.stdout, re.MULTILINE)) == {"other.py", *shown}
    assert done.returncode == 2
    assert f"{', '.join(hidden)}: a line of its diff may be a command to a service that reads the output" in done.stderr
    torchlint("check", "--diff", "--output-file", "fix.patch", cwd=tmp_path)
    patched = subprocess.run(["git", "apply", "-p0", "fix.patch"], cwd=tmp_path, capture_output=True, check=False)
    assert patched.returncode == 0, patched.stderr
    assert torchlint("check", cwd=tmp_path).returncode == 0


def test_nor_do_errors_and_explanations(torchlint, folder: Path) -> None:
    for words in (["--explain-hot", "::error::x.py:12"], ["--explain-hot", "##[group]x.py:12"], ["::error::gone.py"]):
        done = torchlint("check", *words, cwd=folder)
        assert done.returncode in (0, 2)
        assert "x.py:12 runs once per" in done.stdout or "gone.py" in done.stderr
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        assert [line for line in lines if re.match(r"\s*::", line) or "##[" in line] == []


def test_programs_get_the_names_back(torchlint, kept, folder: Path) -> None:
    def run(name: str) -> str:
        return torchlint("check", "--output-format", name, cwd=folder, env=kept).stdout

    def shown(name: str) -> str:
        return name.encode("utf-8", "backslashreplace").decode()

    names = sorted(NAMES)
    assert sorted(Path(row["filename"]).name for row in json.loads(run("json"))) == names
    assert sorted(Path(json.loads(line)["filename"]).name for line in run("json-lines").splitlines()) == names
    assert sorted(row["location"]["path"] for row in json.loads(run("gitlab"))) == sorted(map(shown, names))
    rdjson = json.loads(run("rdjson"))["diagnostics"]
    assert sorted(row["location"]["path"] for row in rdjson) == sorted(map(shown, names))
    assert len(Sarif.model_validate_json(run("sarif")).runs[0].results) == len(names)
    assert len(list(JUnitXml.fromstring(run("junit").encode()))) == len(names)
    found = [json.loads(line) for line in run("lintrunner").splitlines()]
    assert sorted(row["path"] for row in found if row["code"] == "TL102") == sorted(map(shown, names))
    concise = run("concise").splitlines()
    assert len(concise) == len(names)
    assert all(re.search(r":12:16: TL102 \[\*\] ", line) for line in concise)


def test_each_is_found_by_its_name_and_fixed(torchlint, folder: Path, tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_text(AGENT)
    (tmp_path / "pyproject.toml").write_text("")
    for name in NAMES:
        done = torchlint("check", "--", name, cwd=tmp_path)
        assert (done.returncode, done.stdout.count("TL102")) == (1, 1)
    diff = torchlint("check", "--diff", cwd=tmp_path).stdout
    patched = subprocess.run(
        ["git", "apply", "-p0", "-"],
        cwd=tmp_path,
        input=diff.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
    )
    assert patched.returncode == 0, patched.stderr
    assert {(tmp_path / name).read_text() for name in NAMES} == {AGENT.replace(OLD, NEW)}
    assert torchlint("check", cwd=tmp_path).returncode == 0
    for name in NAMES:
        (tmp_path / name).write_text(AGENT)
    assert torchlint("check", "--fix", "--show-fixes", cwd=tmp_path).returncode == 0
    assert {(tmp_path / name).read_text() for name in NAMES} == {AGENT.replace(OLD, NEW)}


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("::error::x\n", "\\x3a:error::x\n"),
        ("  ::error::x\na::b\n", "  \\x3a:error::x\na::b\n"),
        ("\u3000::error::x\na\r::b\r ::c\n", "\u3000\\x3a:error::x\na\r\\x3a:b\r \\x3a:c\n"),
        ("a ##[group]b\n", "a #\\x23[group]b\n"),
        ("##VSO[task.x]y", "#\\x23VSO[task.x]y"),
        ("## heading, ### and x[::2]\n", "## heading, ### and x[::2]\n"),
    ],
)
def test_commands_in_lines_for_people(text: str, harmless: str) -> None:
    assert defused(text) == harmless


# outputs that take nothing --------------------------------------------------------------------------------------------

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["check"], ["config"], ["rule", "TL101"], ["--help"], ["check", "--statistics"]])
def test_a_full_disk_is_one_clear_error(folder: Path, root: Path, words: list[str]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "torchlint", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "torchlint: error: cannot write the output: No space left on device\n"


def test_no_files_leave_every_format_in_order(torchlint, tmp_path: Path) -> None:
    for name in OUTPUT_FORMATS:
        done = torchlint("check", "--output-format", name, cwd=tmp_path)
        assert done.returncode == 0, name
        assert done.stderr.startswith("torchlint: warning: no Python files found in .\n"), name
        if name in ("json", "gitlab"):
            assert json.loads(done.stdout) == []
        elif name == "sarif":
            assert Sarif.model_validate_json(done.stdout).runs[0].results == []
        elif name == "rdjson":
            assert json.loads(done.stdout)["diagnostics"] == []
        elif name == "junit":
            assert JUnitXml.fromstring(done.stdout.encode()).failures == 0
        elif name == "markdown":
            assert done.stdout.startswith("### torchlint\n")
        elif name == "html":
            assert "<table" not in done.stdout
        elif name != "full":
            assert done.stdout == "", name
