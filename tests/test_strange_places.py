"""Runs in strange places: pipes and devices where files are looked for, closed streams, a folder that is gone."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, ROOT
from hostile import AGENT

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.platform == "win32", reason="no such files and shells there"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with one agent."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    return folder


def run(folder: Path, *words: str, shell: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run ``torchlint``; ``shell`` is a line in which ``torchlint`` stands for it. A run that waits for ever fails."""
    start = shlex.join([sys.executable, "-m", "torchlint"])
    line = shell.replace("torchlint", start) if shell else f"{start} {shlex.join(words)}"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TORCHLINT_DATA_DIR": str(folder.parent / "data"),
            "TORCHLINT_NO_CACHE": "",
            **env,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert "Traceback" not in done.stderr and "internal" not in done.stderr, done.stderr
    return done


def made(path: Path, kind: str) -> None:
    """Put a pipe, or a link to a device without end, at a path."""
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


KINDS = ("pipe", "device")
LOOKED_FOR = (
    *("pyproject.toml", "torchlint.toml", ".torchlint.toml", ".gitignore", ".git"),
    *("setup.py", "setup.cfg", "requirements.txt", "uv.lock"),
)


@pytest.mark.third
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOOKED_FOR)
def test_what_is_looked_for_may_be_anything(project: Path, name: str, kind: str) -> None:
    made(project / name, kind)
    assert run(project, "check").returncode == 1
    (project / "agent.py").write_text("x = 1\n")
    assert run(project, "check", "agent.py").returncode == 0


@pytest.mark.third
@pytest.mark.parametrize("kind", KINDS)
def test_all_of_it_at_once(project: Path, kind: str) -> None:
    for name in LOOKED_FOR:
        made(project / name, kind)
    assert run(project, "check", "--fix", "--unsafe-fixes").returncode == 0


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "pipe.py"])
def test_devices_and_pipes_that_are_given_are_told(project: Path, name: str) -> None:
    os.mkfifo(project / "pipe.py")
    done = run(project, "check", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"torchlint: error: {name}: neither a file nor a folder\n")


@pytest.mark.third
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["baseline", "extend"])
def test_settings_may_name_anything(project: Path, key: str, kind: str) -> None:
    made(project / "odd", kind)
    (project / "torchlint.toml").write_text(f'{key} = "odd"\n')
    done = run(project, "check")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("path", ["~nobody at all/x", "~", "\\u0000", "/", "..", "x/" * 2000])
def test_a_baseline_may_be_said_to_lie_anywhere(project: Path, path: str) -> None:
    (project / "torchlint.toml").write_text(f'baseline = "{path}"\n')
    done = run(project, "check")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("raw", ["[" * 100_000, "1" * 10_000, '{"path": ', "\x00", "null", '{"path": 1}'])
def test_what_is_no_baseline_is_told(project: Path, raw: str) -> None:
    (project / "known.jsonl").write_text(raw)
    done = run(project, "check", "--baseline", "known.jsonl")
    assert done.returncode == 2
    assert "known.jsonl:1: " in done.stderr
    assert run(project, "baseline", "--baseline", "known.jsonl").returncode == 2
    assert (project / "known.jsonl").read_text() == raw


@pytest.mark.third
@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_may_be_anything(project: Path, kind: str) -> None:
    said = run(project, "check").stdout
    cache = next((project / ".torchlint_cache").glob("*.cache"))
    cache.unlink()
    made(cache, kind)
    assert run(project, "check").stdout == said
    assert cache.is_file()
    assert not cache.is_symlink()


# git ------------------------------------------------------------------------------------------------------------------

git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def repository(project: Path) -> Path:
    """The project with a commit."""
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=project, check=True)
    return project


@git
@pytest.mark.parametrize(
    "damage", ["echo x > .git/HEAD", "rm -r .git/objects", "rm -r .git; echo 'gitdir: /no' > .git"]
)
def test_a_broken_repository_is_one_error(repository: Path, damage: str) -> None:
    subprocess.run(damage, shell=True, cwd=repository, check=True)
    done = run(repository, "check", "--since", "HEAD")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("torchlint: error: --since: ")
    assert run(repository, "check").returncode == 1


@git
@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 127\n", "no program", "#!/no/such/shell\n", None])
def test_a_git_that_does_not_run_is_one_error(repository: Path, tmp_path: Path, text: str | None) -> None:
    (tmp_path / "bin").mkdir()
    if text is not None:
        (tmp_path / "bin" / "git").write_text(text)
        (tmp_path / "bin" / "git").chmod(0o755)
    line = f"PATH={shlex.quote(str(tmp_path / 'bin'))} torchlint check --since HEAD"
    done = run(repository, shell=line)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def programs_of(repository: Path, mark: Path) -> None:
    """Let a repository name programs wherever git may run one; each would leave a mark."""
    program = repository / ".git" / "program"
    names = ["program", *(f"hooks/{name}" for name in ("post-index-change", "pre-auto-gc", "reference-transaction"))]
    for name in names:
        (repository / ".git" / name).parent.mkdir(exist_ok=True)
        (repository / ".git" / name).write_text(f"#!/bin/sh\ntouch {shlex.quote(str(mark))}\ncat\n")
        (repository / ".git" / name).chmod(0o755)
    settings = {
        **dict.fromkeys(("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "core.askPass"), program),
        **dict.fromkeys(
            ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.evil.command"), program
        ),
        **dict.fromkeys(
            ("credential.helper", "gpg.program", "remote.evil.uploadpack", "interactive.diffFilter"), program
        ),
        "filter.evil.required": "true",
        "protocol.allow": "always",
        "remote.evil.url": repository / ".git",
        "remote.evil.promisor": "true",
        "extensions.partialClone": "evil",
        "core.repositoryformatversion": "1",
    }
    for name, value in settings.items():
        subprocess.run(["git", "config", name, str(value)], cwd=repository, check=True)
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "attributes").write_text("*.py filter=evil diff=evil\n")


@git
def test_git_runs_no_program_that_a_repository_names(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    programs_of(repository, mark)
    (repository / "agent.py").touch()
    assert run(repository, "check", "--since", "HEAD").returncode == 0
    (repository / "agent.py").write_text(AGENT + "# changed\n")
    (repository / "new.py").write_text("")
    done = run(repository, "check", "--since", "HEAD")
    assert (done.returncode, done.stdout, mark.exists()) == (0, "", False), done.stderr


@git
def test_what_a_partial_clone_lacks_is_an_error_and_not_fetched(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    programs_of(repository, mark)
    (repository / "agent.py").write_text(AGENT + "# changed\n")
    shown = subprocess.run(["git", "rev-parse", "HEAD:agent.py"], cwd=repository, check=True, capture_output=True)
    name = shown.stdout.decode().strip()
    (repository / ".git" / "objects" / name[:2] / name[2:]).unlink()
    done = run(repository, "check", "--since", "HEAD")
    told = "torchlint: error: --since: git has no agent.py of that revision; a full clone has it\n"
    assert (done.returncode, done.stdout, done.stderr, mark.exists()) == (2, "", told, False)


@git
def test_files_that_git_ignores_and_those_of_submodules_did_not_change(repository: Path) -> None:
    (repository / ".gitignore").write_text("mine.py\n")
    (repository / "mine.py").write_text(AGENT)
    assert run(repository, "check", "--since", "HEAD", "mine.py").returncode == 0
    entry = f"160000,{'1' * 40},sub"
    subprocess.run(["git", "update-index", "--add", "--cacheinfo", entry], cwd=repository, check=True)
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, "commit", "-q", "-m", "second"], cwd=repository, check=True)
    (repository / "sub").mkdir()
    (repository / "sub" / "agent.py").write_text(AGENT)
    (repository / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    assert run(repository, "check", "--since", "HEAD", ".").returncode == 0


# streams and folders --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("torchlint check <&-", 1),
        ("torchlint check >&-", 1),
        ("torchlint check 2>&-", 1),
        ("torchlint check <&- >&- 2>&-", 1),
        ("torchlint check --no-cache --output-format json >&- 2>&-", 1),
        ("torchlint check -j 2 >&-", 1),
        ("torchlint check --fix --unsafe-fixes >&- 2>&-", 0),
        ("torchlint check - <&-", 2),
        ("torchlint check no.py 2>&-", 2),
        ("torchlint check --no-such-flag 2>&-", 2),
        ("torchlint rule TL101 >&-", 0),
        ("torchlint --help >&-", 0),
        ("torchlint --version >&-", 0),
        ("torchlint check | true; exit ${PIPESTATUS[0]}", 1),
        ("torchlint check --no-cache --output-format full | true; exit ${PIPESTATUS[0]}", 1),
        ("torchlint check --no-cache 2>&1 | true; exit ${PIPESTATUS[0]}", 1),
        ("torchlint check --diff --unsafe-fixes | true; exit ${PIPESTATUS[0]}", 1),
        ("torchlint check - < agent.py | true; exit ${PIPESTATUS[0]}", 1),
        ("torchlint rule TL101 | true; exit ${PIPESTATUS[0]}", 0),
        ("torchlint --help | true; exit ${PIPESTATUS[0]}", 0),
    ],
)
def test_streams_that_are_closed(project: Path, line: str, code: int) -> None:
    assert run(project, shell=line).returncode == code


@pytest.mark.parametrize(
    "words", ["check", "check .", "check - < /dev/null", "rule TL101", "config", "clean", "baseline"]
)
def test_a_folder_that_is_gone(project: Path, words: str) -> None:
    done = run(project, shell=f"mkdir gone; cd gone; rmdir ../gone; torchlint {words}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "torchlint: error: cannot access the working directory\n"


@pytest.mark.third
@pytest.mark.parametrize(
    "env",
    [
        {"HOME": ""},
        {"HOME": "/no/where"},
        {"TMPDIR": "/no/where"},
        {"PATH": "/no/where"},
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONOPTIMIZE": "2"},
        {"PYTHONWARNINGS": "error"},
        {"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "error"},
        {"TERM": "", "COLUMNS": "x"},
        {"FORCE_COLOR": "1", "COLUMNS": "1"},
    ],
    ids=str,
)
def test_odd_environments(project: Path, env: dict[str, str]) -> None:
    words = " ".join(f"{name}={value}" for name, value in env.items())
    for flags, code in (("", 1), ("--output-format full --diff --unsafe-fixes", 1), ("--fix --unsafe-fixes", 0)):
        done = run(project, shell=f"{words} torchlint check {flags}")
        assert done.returncode == code, done.stderr
