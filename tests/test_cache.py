"""The cache through the command line: what is served from it, what is not, and what happens to bad ones."""

import errno
import os
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest
from conftest import ROOT, in_this_process
from test_cli_whole import AGENT, NEW, OLD

from torchlint.cache import store, tool, world
from torchlint.cache.key import make_key, read_key
from torchlint.cache.pack import pack, unpack
from torchlint.engine import run as engine
from torchlint.engine.decisive import DECISIVE
from torchlint.settings.model import Settings

HEAD, TRAIN = AGENT.split("def train")
TRAIN = f"from agent import Agent\n\n\ndef train{TRAIN}"
SETTLED = 10_000_000_000


@pytest.fixture
def torchlint(capsys, monkeypatch, tmp_path_factory):
    """The command line in this process, with a cache, by a user of their own."""
    monkeypatch.delenv("TORCHLINT_NO_CACHE")
    monkeypatch.setenv("TORCHLINT_DATA_DIR", str(tmp_path_factory.mktemp("data")))
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def project(tmp_path):
    """An agent that another file makes hot, a file of its own, and a file without torch; none changed lately."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.torchlint]\n")
    (folder / "agent.py").write_text(HEAD)
    (folder / "train.py").write_text(TRAIN)
    (folder / "alone.py").write_text(AGENT)
    (folder / "plain.py").write_text("x = 1\n")
    settle(folder)
    return folder


@pytest.fixture
def linted(monkeypatch):
    """The names of the files that rules looked at, so far."""
    names = []
    from torchlint.engine.units import Unit

    real = Unit.lint
    monkeypatch.setattr(Unit, "lint", lambda self, name: names.append(name) or real(self, name))
    return names


@pytest.fixture
def runs(monkeypatch):
    """A list that grows with each run of the engine."""
    started = []
    real = engine.check
    monkeypatch.setattr(engine, "check", lambda *args, **more: started.append(1) or real(*args, **more))
    return started


def settle(folder):
    """Make everything look as if it changed some time ago, as far as a program can."""
    then = time.time_ns() - SETTLED
    for path in [*folder.rglob("*"), folder]:
        if ".torchlint_cache" not in path.parts:
            os.utime(path, ns=(then, then))
    time.sleep(0.05)  # a change within a tick of the clock before a run might come after it


def cache_of(project):
    (path,) = (project / ".torchlint_cache").glob("*.cache")
    return path


def fresh(torchlint, project, *flags):
    """What a run without a cache says."""
    return answer(torchlint("check", *flags, "--no-cache", cwd=project))


def answer(done):
    return done.returncode, done.stdout, done.stderr


# what is served -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--output-format", "full"],
        ["--output-format", "json"],
        ["--output-format", "full", "--top", "1"],
        ["--output-format", "markdown"],
        ["--all"],
        ["--statistics"],
        ["-q"],
        ["-s"],
        ["-v"],
        ["agent.py"],
        ["--select", "TL2"],
        ["--isolated"],
        ["-e"],
        ["--no-context", "alone.py"],
        ["--config", "preview = true"],
    ],
)
def test_a_second_run_says_the_same_without_the_engine(torchlint, project, runs, flags):
    first = answer(torchlint("check", *flags, cwd=project))
    assert len(runs) == 1
    assert answer(torchlint("check", *flags, cwd=project)) == first
    assert len(runs) == 1
    assert fresh(torchlint, project, *flags) == first


def test_runs_that_differ_are_kept_apart(torchlint, project, runs):
    lines = [[], ["-q"], ["agent.py"], ["--output-format", "json"]]
    said = [answer(torchlint("check", *line, cwd=project)) for line in lines]
    assert len(set(said)) == 4
    assert [answer(torchlint("check", *line, cwd=project)) for line in lines] == said
    assert len(runs) == 4
    torchlint("check", cwd=project, env={"NO_COLOR": "", "FORCE_COLOR": "1"})
    (project / "sub").mkdir()
    torchlint("check", "..", cwd=project / "sub")
    assert len(runs) == 6


def test_no_environment_answers_for_another(torchlint, project, runs, monkeypatch):
    """Another one may have other rule packages, or other code of the same version."""
    first = answer(torchlint("check", cwd=project))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "prefix", os.path.join(sys.prefix, "another"))
        torchlint("check", cwd=project)
        assert len(runs) == 2
    assert answer(torchlint("check", cwd=project)) == first
    assert len(runs) == 2


def test_files_that_only_look_changed_are_compared_by_content(torchlint, project, runs):
    first = answer(torchlint("check", cwd=project))
    for name in ("agent.py", "pyproject.toml"):
        os.utime(project / name)
    text = (project / "train.py").read_text()
    (project / "train.py").unlink()
    (project / "train.py").write_text(text)
    assert answer(torchlint("check", cwd=project)) == first
    assert len(runs) == 1


def test_looks_are_noted_once_they_have_settled(torchlint, project, runs, monkeypatch):
    torchlint("check", cwd=project)
    before = cache_of(project).read_bytes()
    assert f"{world.DIRTY}\n".encode() in before  # their ctime is new
    later = time.time_ns() + SETTLED
    monkeypatch.setattr(time, "time_ns", lambda: later)
    torchlint("check", cwd=project)
    after = cache_of(project).read_bytes()
    assert before != after
    assert f"{world.DIRTY}\n".encode() not in after
    monkeypatch.setattr(world, "content", lambda entry: pytest.fail(f"{entry} is read"))
    torchlint("check", cwd=project)
    assert cache_of(project).read_bytes() == after
    assert len(runs) == 1


# what is not served ---------------------------------------------------------------------------------------------------


def more(project, name, text):
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text(text)


def same_size_same_time(project):
    before = (project / "alone.py").stat()
    text = (project / "alone.py").read_text()
    (project / "alone.py").write_text(text.replace("import torch", "import torsh"))
    os.utime(project / "alone.py", ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = {
    "a finding goes": lambda p: more(p, "alone.py", AGENT.replace(OLD, NEW)),
    "a finding comes": lambda p: more(
        p, "agent.py", HEAD + "\n# more\n" + AGENT.split("\n", 2)[2].replace("Agent", "B") + "\n\nRUNS = [B, train]\n"
    ),
    "rows move": lambda p: more(p, "agent.py", "# a comment\n" + HEAD),
    "same size, same time": same_size_same_time,
    "what made it hot changes": lambda p: more(p, "train.py", TRAIN.replace("env.step", "table.look")),
    "what made it hot goes": lambda p: (p / "train.py").unlink(),
    "a file comes": lambda p: more(p, "b.py", AGENT),
    "a folder comes": lambda p: more(p, "sub/b.py", AGENT),
    "a file is renamed": lambda p: (p / "alone.py").rename(p / "other.py"),
    "a file without torch gets some": lambda p: more(p, "plain.py", AGENT),
    "a syntax error": lambda p: more(p, "alone.py", "import torch\ndef f(:\n"),
    "settings change": lambda p: more(p, "pyproject.toml", '[tool.torchlint]\nignore = ["TL102"]\n'),
    "settings below": lambda p: more(p, "torchlint.toml", 'ignore = ["TL102"]\n'),
    "settings of a folder": lambda p: more(p, "sub/torchlint.toml", 'ignore = ["TL102"]\n'),
    "settings above": lambda p: (
        (p / "pyproject.toml").unlink(),
        more(p.parent, "torchlint.toml", "fail-level = 'never'\n"),
    ),
    "gitignore": lambda p: more(p, ".gitignore", "alone.py\n"),
    "a comment silences": lambda p: more(p, "alone.py", AGENT.replace(OLD, f"{OLD}  # noqa")),
    "broken settings": lambda p: more(p, "pyproject.toml", "[tool.torchlint]\nselct = []\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_linted_again(torchlint, project, change):
    before = answer(torchlint("check", cwd=project))
    CHANGES[change](project)
    after = answer(torchlint("check", cwd=project))
    assert after == fresh(torchlint, project)
    if change != "settings of a folder":
        assert after != before
    settle(project)
    assert answer(torchlint("check", cwd=project)) == after


def test_only_units_that_changed_are_linted_again(torchlint, project, linted):
    more(project, "other.py", AGENT)
    more(project, "user.py", "import torch\nimport other\n")
    torchlint("check", cwd=project)
    assert sorted(linted) == ["agent.py", "alone.py", "other.py", "train.py", "user.py"]
    linted.clear()
    more(project, "other.py", f"# more\n{AGENT}")
    assert answer(torchlint("check", cwd=project)) == fresh(torchlint, project)
    assert sorted(linted[:2]) == ["other.py", "user.py"]
    assert len(linted) == 7
    linted.clear()
    more(project, "train.py", TRAIN + "\n# more\n")
    assert torchlint("check", cwd=project).stdout == fresh(torchlint, project)[1]
    assert sorted(linted[:3]) == ["agent.py", "alone.py", "train.py"]
    assert len(linted) == 8


def test_a_unit_that_is_as_it_was_before_the_last_change_is_remembered(torchlint, project, linted):
    first = answer(torchlint("check", cwd=project))
    more(project, "alone.py", AGENT.replace(OLD, NEW))
    assert answer(torchlint("check", cwd=project)) != first
    linted.clear()
    more(project, "alone.py", AGENT)
    assert answer(torchlint("check", cwd=project)) == first
    assert linted == []


def test_units_that_join_or_part_are_linted_again(torchlint, project, linted):
    torchlint("check", cwd=project)
    linted.clear()
    more(project, "plain.py", "import alone\nimport agent\n")
    assert answer(torchlint("check", cwd=project)) == fresh(torchlint, project)
    assert sorted(linted[:4]) == ["agent.py", "alone.py", "plain.py", "train.py"]


def test_a_subset_adds_to_what_is_known_of_a_unit(torchlint, project, linted):
    torchlint("check", "agent.py", cwd=project)
    assert linted == ["agent.py"]
    torchlint("check", "train.py", cwd=project)
    assert linted == ["agent.py", "train.py"]
    torchlint("check", "agent.py", "train.py", cwd=project)
    assert linted == ["agent.py", "train.py"]


def test_the_baseline_and_what_is_fixable_are_asked_anew(torchlint, project, linted):
    first = torchlint("check", "alone.py", cwd=project)
    torchlint("baseline", "alone.py", cwd=project)
    linted.clear()
    known = torchlint("check", "alone.py", "--baseline", "torchlint-baseline.jsonl", cwd=project)
    assert (first.returncode, known.returncode, known.stdout) == (1, 0, "")
    assert "[*]" not in torchlint("check", "alone.py", "--unfixable", "TL1", cwd=project).stdout
    assert linted == []
    (project / "torchlint-baseline.jsonl").write_text("")
    again = torchlint("check", "alone.py", "--baseline", "torchlint-baseline.jsonl", cwd=project)
    assert again.stdout == first.stdout


def test_a_guard_that_is_switched_off_is_asked_anew(torchlint, project, linted):
    """The bytes of the files stay as they are; what is found in them does not."""
    (project / "alone.py").write_text(AGENT.replace("        mask", "        if self.debug:\n            mask", 1))
    settle(project)
    before = torchlint("check", cwd=project).stdout.count("alone.py")
    (project / "pyproject.toml").write_text('[tool.torchlint]\nignore-guards = ["debug flag"]\n')
    settle(project)
    assert torchlint("check", cwd=project).stdout.count("alone.py") > before
    (project / "pyproject.toml").write_text('[tool.torchlint]\nignore-guards = ["debug flug"]\n')
    refused = torchlint("check", cwd=project)
    assert refused.returncode == 2
    assert "there is no guard 'debug flug'; did you mean 'debug flag'?" in refused.stderr


# What is shown of findings, which files are looked at, and how a run goes. What the file ``observations`` holds is
# ``sights``, which decides.
_SHOWN = {
    *("fix", "diff", "unsafe_fixes", "accept", "fixable", "unfixable", "fix_only", "show_fixes", "baseline", "since"),
    *("exclude", "extend_exclude", "force_exclude", "respect_gitignore", "no_context", "docs_url", "fail_level"),
    *("output_format", "output_file", "exit_zero", "exit_non_zero_on_fix", "jobs", "isolated", "color"),
    *("file", "files", "observations", "target_stated"),
}


def test_each_setting_is_known_to_decide_what_is_found_or_not_to():
    names = {field.name for field in fields(Settings)}
    assert names == _SHOWN | set(DECISIVE)
    assert not _SHOWN & set(DECISIVE)


def test_fixes_are_never_taken_from_the_cache(torchlint, project, runs):
    torchlint("check", cwd=project)
    assert torchlint("check", "--diff", cwd=project).stdout.count("@@") == 4
    assert torchlint("check", "--fix", cwd=project).returncode == 0
    assert len(runs) == 3
    assert answer(torchlint("check", cwd=project)) == fresh(torchlint, project)
    assert (project / "alone.py").read_text() == AGENT.replace(OLD, NEW)


def test_other_code_of_the_tool_makes_a_cache_worthless(torchlint, project, runs, linted, monkeypatch):
    from torchlint.cli import keeping

    torchlint("check", cwd=project)
    linted.clear()
    monkeypatch.setattr(keeping, "__version__", "another")
    torchlint("check", "-q", cwd=project)
    assert sorted(linted) == ["agent.py", "alone.py", "train.py"]


@pytest.fixture
def code(tmp_path, monkeypatch, tmp_path_factory):
    """Two files of a tool as the entries of a world with their names."""
    monkeypatch.setenv("TORCHLINT_DATA_DIR", str(tmp_path_factory.mktemp("data")))
    make_key()
    files = {}
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(f"NAME = {name!r}\n")
        files[f"s{tmp_path / name}"] = f"tool/{name}"
    return files


def test_the_code_of_the_tool_is_read_once(code, monkeypatch):
    first = tool.code_of(code, time.time_ns() + SETTLED)
    monkeypatch.setattr(tool, "content", None)  # to call it would raise
    assert tool.code_of(code, time.time_ns() + SETTLED) == first


@pytest.mark.parametrize("recent", [False, True])
def test_changed_code_of_the_tool_is_other_code(code, recent):
    began = time.time_ns() + (0 if recent else SETTLED)
    first = tool.code_of(code, began)
    path = Path(next(iter(code))[1:])
    path.write_text(path.read_text().replace("one", "two"))
    os.utime(path, (2, 2))
    assert tool.code_of(code, began) != first
    path.write_text(path.read_text().replace("two", "one"))
    os.utime(path, (3, 3))
    assert tool.code_of(code, began) == first


def test_code_of_the_tool_is_the_same_wherever_it_is_installed(code, tmp_path):
    there = {}
    (tmp_path / "elsewhere").mkdir()
    for entry, name in code.items():
        copy = tmp_path / "elsewhere" / Path(entry).name
        copy.write_bytes(Path(entry[1:]).read_bytes())
        there[f"s{copy}"] = name
    assert tool.code_of(there, time.time_ns()) == tool.code_of(code, time.time_ns() + SETTLED)
    assert tool.code_of(dict.fromkeys(code, "renamed"), time.time_ns()) != tool.code_of(code, time.time_ns())


@pytest.mark.parametrize("told", [b"", b"\xff\n", b"key\n", b"a b c\n\n"])
def test_digests_of_tools_that_cannot_be_read_are_made_again(code, told):
    first = tool.code_of(code, time.time_ns() + SETTLED)
    kept = Path(os.environ["TORCHLINT_DATA_DIR"], "tools")
    assert first in kept.read_text()
    kept.write_bytes(told)
    assert tool.code_of(code, time.time_ns() + SETTLED) == first
    kept.unlink()
    kept.mkdir()
    assert tool.code_of(code, time.time_ns() + SETTLED) == first


def test_the_code_of_the_tool_is_part_of_what_a_run_depends_on(torchlint, project):
    torchlint("check", cwd=project)
    (said,) = store.read_runs(str(cache_of(project)), read_key())
    entries = set(said.world().entries)
    for name in ("torchlint/engine/lint.py", "rules/figures.json", "rules/__init__.py"):
        assert f"s{ROOT / name}" in entries


def test_no_cache_reads_and_leaves_none(torchlint, project, runs):
    torchlint("check", "--no-cache", cwd=project)
    assert not (project / ".torchlint_cache").exists()
    torchlint("check", cwd=project)
    torchlint("check", "--no-cache", cwd=project)
    torchlint("check", cwd=project, env={"TORCHLINT_NO_CACHE": "1"})
    assert len(runs) == 4


def test_a_folder_of_ones_own(torchlint, project, tmp_path, runs):
    torchlint("check", "--cache-dir", "../kept", cwd=project)
    torchlint("check", cwd=project, env={"TORCHLINT_CACHE_DIR": str(tmp_path / "kept")})
    torchlint("check", cwd=project, env={"TORCHLINT_CACHE_DIR": str(tmp_path / "kept")})
    assert not (project / ".torchlint_cache").exists()
    assert len(list((tmp_path / "kept").glob("*.cache"))) == 1
    assert len(runs) == 2
    assert torchlint("clean", cwd=project, env={"TORCHLINT_CACHE_DIR": str(tmp_path / "kept")}).returncode == 0
    assert list((tmp_path / "kept").glob("*.cache")) == []


# bad caches -----------------------------------------------------------------------------------------------------------


def mangled(data):
    """Caches that are not what was written."""
    yield from (data[:end] for end in (0, 1, 17, 18, 60, 113, 114, 200, len(data) // 2, len(data) - 1))
    yield b"\0" * len(data)
    yield data + b"more"
    yield data.replace(b"cache 1", b"cache 2", 1)
    yield b"# a file of someone else's\n"
    for place in range(0, len(data), len(data) // 40):
        yield data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_what_is_no_cache_is_ignored_and_written_anew(torchlint, project):
    first = answer(torchlint("check", cwd=project))
    path = cache_of(project)
    good = path.read_bytes()
    for bad in mangled(good):
        path.write_bytes(bad)
        assert answer(torchlint("check", cwd=project)) == first
        (said,) = store.read_runs(str(path), read_key())
        assert said.code == first[0]


def test_a_cache_of_somebody_else_counts_for_nothing(torchlint, project, tmp_path, runs):
    first = answer(torchlint("check", cwd=project))
    os.environ["TORCHLINT_DATA_DIR"] = str(tmp_path / "another")
    assert answer(torchlint("check", cwd=project)) == first
    assert len(runs) == 2


def test_a_planted_cache_says_nothing(torchlint, project, tmp_path, monkeypatch):
    """A repository may bring a cache along that is right in every way, but for the key."""
    torchlint("check", cwd=project)
    path = str(cache_of(project))
    (said,) = store.read_runs(path, read_key())
    said.told, said.code = [(b"1", b"\x1b]0;owned\x07all is well\n")], 0
    store.write(path, b"k" * 32, [said], b"")
    done = torchlint("check", cwd=project)
    assert (done.returncode, "owned" in done.stdout) == (1, False)


def test_parts_of_a_cache_are_data_and_strictly_checked(tmp_path):
    key = b"k" * 32
    path = str(tmp_path / "x.cache")
    whole = world.World(["fa"], ["1"], ["2"])
    good = pack([b"key", b"0", b"0", b"1", b"text"])
    for rows, worlds in [
        ([pack([b"key", b"3", b"0"])], [store.packed_world(whole)]),
        ([pack([b"key", b"0", b"1"])], [store.packed_world(whole)]),
        ([pack([b"key", b"0", b"-1"])], [store.packed_world(whole)]),
        ([pack([b"key", b"0", b"0", b"3", b"text"])], [store.packed_world(whole)]),
        ([pack([b"key", b"0", b"0", b"1"])], [store.packed_world(whole)]),
        ([pack([b"k\xff", b"0", b"0"])], [store.packed_world(whole)]),
        ([b"nonsense"], [store.packed_world(whole)]),
        ([good], []),
    ]:
        first = pack([pack(rows), *worlds])
        head = [store._MAGIC, store.seal(first, key).encode(), store.seal(b"", key).encode()]
        (tmp_path / "x.cache").write_bytes(b"".join([*head, b"%015d %015d\n" % (len(first), 0), first]))
        assert store.read_runs(path, key) == []
    for packed in (b"", b"x", pack([b"a"]), pack([b"a\nb", b"a", b"a"])):
        with pytest.raises(ValueError, match=r"world|length"):
            store.Said("key", 0, [], packed).world()


@pytest.mark.parametrize("data", [b"3", b"x:", b"3:ab", b"-1:a", b"1:a2:", b"99999999999999999:a", b" 1:a"])
def test_what_is_not_packed_is_refused(data):
    with pytest.raises(ValueError, match=r"length|end"):
        unpack(data)
    assert unpack(pack([b"", b"1:a", b"\n"])) == [b"", b"1:a", b"\n"]


def test_the_key_is_for_its_user_alone(torchlint, project):
    torchlint("check", cwd=project)
    path = os.path.join(os.environ["TORCHLINT_DATA_DIR"], "cache.key")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert make_key() == read_key()
    with open(path, "wb") as stream:
        stream.write(b"short")
    assert read_key() is None
    torchlint("check", cwd=project)
    assert read_key() is not None


# where none can be kept -----------------------------------------------------------------------------------------------


def test_where_no_folder_can_be_made_is_one_warning(torchlint, project):
    expected = fresh(torchlint, project)
    (project / ".torchlint_cache").write_text("")
    done = torchlint("check", cwd=project)
    assert (done.returncode, done.stdout) == expected[:2]
    (warning,) = [line for line in done.stderr.splitlines() if line.startswith("torchlint: ")]
    assert warning.startswith("torchlint: warning: cannot cache results: ")
    assert answer(torchlint("check", "-q", cwd=project)) == (1, done.stdout, "")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_full_or_read_only_disk_is_one_warning(torchlint, project, monkeypatch, number):
    expected = fresh(torchlint, project)
    make_key()

    def refuse(*_):
        raise OSError(number, os.strerror(number), "x.cache")

    monkeypatch.setattr(os, "replace", refuse)
    done = torchlint("check", cwd=project)
    assert (done.returncode, done.stdout) == expected[:2]
    warning = f"torchlint: warning: cannot cache results: x.cache: {os.strerror(number)}"
    assert [line for line in done.stderr.splitlines() if line.startswith("torchlint: ")] == [warning]
    assert [path.name for path in (project / ".torchlint_cache").iterdir()] == [".gitignore"]


def test_without_a_place_for_a_key_nothing_is_kept(torchlint, project, tmp_path, runs):
    (tmp_path / "file").write_text("")
    for _ in range(2):
        done = torchlint("check", cwd=project, env={"TORCHLINT_DATA_DIR": str(tmp_path / "file" / "below")})
        assert done.stderr.count("cannot cache results") == 1
    assert len(runs) == 2


# other processes ------------------------------------------------------------------------------------------------------


def command(project, *flags, options=(), **variables):
    path = str(ROOT)
    environ = {**os.environ, "PYTHONPATH": path, "COLUMNS": "80", **variables}
    words = [sys.executable, *options, "-m", "torchlint", "check", *flags]
    return subprocess.Popen(words, cwd=project, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_what_killed_runs_left_is_removed(torchlint, project):
    torchlint("check", cwd=project)
    path = cache_of(project)
    ended, other = (path.with_name(f"{path.name}.{number}-0123abcd.tmp") for number in (99999999, os.getpid()))
    kept = [path.with_name(name) for name in ("notes.tmp", f"x{path.name}.99999999-0123abcd.tmp")]
    for each in (ended, other, *kept):
        each.touch()
    (project / "agent.py").write_text("import torch\n")
    torchlint("check", cwd=project)
    assert [each.exists() for each in (ended, other, *kept)] == [False, True, True, True]


def test_runs_at_once_leave_a_whole_cache(torchlint, project, runs):
    expected = fresh(torchlint, project)[1]
    for _ in range(2):
        together = [command(project, *flags) for flags in ([], ["-v"], [], ["-e"])]
        assert {process.communicate()[0] for process in together} == {expected}
        assert len(store.read_runs(str(cache_of(project)), read_key())) >= 1
    assert [path.suffix for path in (project / ".torchlint_cache").iterdir() if path.name != ".gitignore"] == [".cache"]


def imported(project, *flags):
    """The modules that a run imports."""
    process = command(project, *flags, options=("-X", "importtime"))
    _, told = process.communicate()
    rows = [line for line in told.splitlines() if line.startswith("import time:")]
    return process.returncode, {row.rpartition("|")[2].strip() for row in rows}


HEAVY = {
    "libcst",
    "click",
    "rich",
    "ast",
    "json",
    "argparse",
    "dataclasses",
    "pathlib",
    "tempfile",
    "hashlib",
    "shutil",
}


def test_a_warm_run_imports_nothing_that_takes_time(torchlint, project):
    first = command(project).communicate()
    assert command(project).communicate() == first
    code, modules = imported(project)
    assert code == 1
    # What the interpreter itself imports for ``-m`` is not one of ours.
    own = modules - imported_by_the_interpreter()
    assert own & HEAVY == set()
    assert {"torchlint.cli.warm", "torchlint.cache.store"} <= own
    allowed = ("torchlint", "__future__", "gc", "errno", "_blake2")
    assert {name for name in own if not name.startswith(allowed)} == set()
    assert not any(name.startswith(("torchlint.engine", "torchlint.facts", "torchlint.rule")) for name in own)


def imported_by_the_interpreter():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "this"], capture_output=True, text=True, check=True
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()} - {"this"}


# What only some runs need: on a terminal, with several processes, with notebooks or questions.
RARE = {
    "shlex",
    "torchlint.sources.notebook",
    "torchlint.facts.hotness.why",
}


def test_torch_without_a_site_needs_no_libcst(tmp_path):
    (tmp_path / "a.py").write_text("import torch\n\n\ndef f(x):\n    return torch.relu(x)\n")
    code, modules = imported(tmp_path)
    assert code == 0
    assert modules & {"libcst", "rich", *RARE} == set()


def test_findings_need_no_rich(torchlint, project):
    code, modules = imported(project)
    assert code == 1
    assert "libcst" in modules
    assert "rich" not in modules


def test_what_is_known_of_units_outlives_a_new_checkout(torchlint, project, linted, tmp_path):
    """Another copy of the same files in the same place, as the next job of a service has it."""
    first = answer(torchlint("check", cwd=project))
    texts = {path: path.read_bytes() for path in project.glob("*.*") if path.is_file()}
    for path in texts:
        path.unlink()
    for path, text in texts.items():
        path.write_bytes(text)
    linted.clear()
    assert answer(torchlint("check", "-q", cwd=project))[1] == first[1]
    assert linted == []


def test_a_link_in_the_place_of_the_cache_is_refused(torchlint, project, tmp_path):
    """It comes with the project, and could lead anywhere."""
    cache = project / ".torchlint_cache"
    torchlint("check", cwd=project)
    cache.rename(tmp_path / "elsewhere")
    cache.symlink_to(tmp_path / "elsewhere")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()}
    done = torchlint("check", cwd=project)
    told = f"warning: cannot cache results: {cache}: it is a symbolic link; remove it with torchlint clean\n"
    assert told in done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()} == kept
    chosen = torchlint("check", "--cache-dir", ".torchlint_cache", cwd=project)
    assert "warning" not in chosen.stderr
