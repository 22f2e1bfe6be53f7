import dataclasses
import os
import random
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from torchlint.settings.model import Settings
from torchlint.settings.root import project_root
from torchlint.sources import wildcards
from torchlint.sources.gitignore import ignores_in
from torchlint.sources.globs import Globs
from torchlint.sources.walk import Walk, python_files, walk

pytestmark = pytest.mark.versions

NOBODY = 65534


@pytest.fixture
def tree(tmp_path):
    """Makes files, ``path`` or ``path: text``, in a project folder, and gives the folder."""

    def make(*paths, **texts):
        for path in paths:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(texts.get(path, ""))
        return tmp_path

    return make


def found(root, *paths, **changes):
    settings = dataclasses.replace(Settings(root), **changes)
    files = walk([root / path for path in paths] or [root], settings).files
    return [file.relative_to(root).as_posix() for file in files]


def ignore(root, *patterns, folder="."):
    (root / folder / ".gitignore").write_text("\n".join(patterns) + "\n")


def test_notebooks_are_files_to_lint(tmp_path: Path) -> None:
    notebook = tmp_path / "agent.ipynb"
    notebook.write_text("{}")
    assert walk([notebook], Settings(root=tmp_path)) == Walk((notebook,))
    assert walk([tmp_path], Settings(root=tmp_path)) == Walk((notebook,))


def test_python_files_of_a_folder_sorted(tree):
    root = tree("b.py", "a/z.py", "a/b/c.py", "a.py", "a/stub.pyi", "a/notes.txt", "a/data.pyc", "a-b.py")
    assert found(root) == ["a/b/c.py", "a/z.py", "a-b.py", "a.py", "b.py"]


def test_given_files_count_whatever_their_suffix_and_once(tree):
    root = tree("script", "a.py", "sub/b.py", "stub.pyi")
    assert found(root, "script", "a.py", "a.py", "sub/../a.py", "stub.pyi") == ["a.py", "script", "stub.pyi"]
    assert found(root, ".", "sub", "sub/b.py") == ["a.py", "sub/b.py"]


def test_what_does_not_exist_is_a_problem_and_the_rest_is_found(tree):
    root = tree("a.py")
    result = walk([root / "gone.py", root / "a.py", root / "gone.py", root / "a.py" / "x"], Settings(root))
    assert [file.name for file in result.files] == ["a.py"]
    assert result.problems == (
        (str(root / "a.py" / "x"), "cannot be read: Not a directory"),
        (str(root / "gone.py"), "no such file or folder"),
    )


def test_relative_paths_are_made_absolute(tree, monkeypatch):
    root = tree("a.py", "sub/b.py")
    monkeypatch.chdir(root / "sub")
    assert walk([Path("../a.py"), Path(".")], Settings(root)).files == (root / "a.py", root / "sub" / "b.py")


def test_a_parent_of_a_link_is_that_of_its_target(tree, monkeypatch):
    root = tree("real/deep/b.py", "real/a.py", "a.py")
    (root / "link").symlink_to(root / "real" / "deep")
    monkeypatch.chdir(root)
    assert walk([Path("link/../a.py")], Settings(root)).files == (root.resolve() / "real" / "a.py",)


def test_default_and_own_excludes(tree):
    root = tree(
        ".venv/x.py", "build/x.py", "src/dist/x.py", "node_modules/a/x.py", "src/gen/x.py", "src/a.py", "t_gen.py"
    )
    assert found(root) == ["src/a.py", "src/gen/x.py", "t_gen.py"]
    assert found(root, extend_exclude=("src/gen", "*_gen.py")) == ["src/a.py"]
    assert found(root, extend_exclude=("./src/gen/", "t_?en.py")) == ["src/a.py"]
    assert "build/x.py" in found(root, exclude=())


def test_what_is_given_is_linted_though_excluded_unless_forced(tree):
    root = tree("build/a.py", "build/b/c.py", "src/skip_me.py", "src/a.py")
    assert found(root, "build/a.py") == ["build/a.py"]
    assert found(root, "build") == ["build/a.py", "build/b/c.py"]
    assert found(root, "build/a.py", "build", "src/a.py", force_exclude=True) == ["src/a.py"]
    forced = {"force_exclude": True, "extend_exclude": ("src/skip_*.py",)}
    assert found(root, "src/skip_me.py", "src/a.py", **forced) == ["src/a.py"]


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("gen", "a/gen", True),
        ("gen", "a/gen.py", False),
        ("*.py", "a/b/c.py", True),
        ("a/*.py", "a/b.py", True),
        ("a/*.py", "a/b/c.py", True),
        ("a/*.py", "b/a/c.py", False),
        ("**/gen/*.py", "gen/x.py", True),
        ("**/gen/*.py", "a/b/gen/x.py", True),
        ("a/**", "a/b/c", True),
        ("a/**/c.py", "a/c.py", True),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("[a-c]?.py", "bz.py", True),
        ("[z-a].py", "[z-a].py", True),
        ("a[.py", "a[.py", True),
        ("a+(b).py", "a+(b).py", True),
        ("/project/a/b.py", "a/b.py", True),
        ("/project/**/b.py", "a/b.py", True),
        ("/other/b.py", "b.py", False),
        ("", "a.py", False),
    ],
)
def test_patterns(pattern, path, matches):
    assert Globs([pattern], Path("/project")).match(f"/project/{path}") is matches


def test_gitignore_with_negation_and_folders(tree):
    root = tree("a_gen.py", "keep_gen.py", "out/x.py", "src/out/y.py", "src/a.py", "src/b_gen.py")
    ignore(root, "*_gen.py", "!keep_gen.py", "/out/", "# a comment", "")
    assert found(root) == ["keep_gen.py", "src/a.py", "src/out/y.py"]
    assert "out/x.py" in found(root, respect_gitignore=False)


def test_a_nearer_gitignore_wins(tree):
    root = tree("src/a_gen.py", "src/b.py", "lib/a_gen.py", "lib/deep/b.py", "lib/deep/c.py")
    ignore(root, "*_gen.py", "c.py")
    ignore(root, "!a_gen.py", "b.py", folder="src")
    ignore(root, "!c.py", "/b.py", folder="lib/deep")
    assert found(root) == ["lib/deep/c.py", "src/a_gen.py"]


def test_git_agrees(tree):
    names = ["a.py", "b.py", "x/a.py", "x/b.py", "x/y/a.py", "x/y/c.py", "z/a.py", "z/y/a.py", "z/y/é.py", "w w/a.py"]
    root = tree(*names)
    ignore(root, "b.py", "x/y/*", "!x/y/c.py", "/z/*", "!/z/y", "w\\ w/")
    ignore(root, "a.py", folder="x")
    ignore(root, "!a.py", folder="x/y")
    try:
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    except FileNotFoundError:
        pytest.skip("no git here")
    command = ["git", "-C", str(root), "-c", "core.quotePath=false", "ls-files", "-co", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout.split("\n")
    assert sorted(found(root)) == sorted(filter(None, listed))
    assert found(root, "x") == [name for name in found(root) if name.startswith("x/")]
    assert found(root, "x/y") == [name for name in found(root) if name.startswith("x/y/")]


def test_the_gitignore_above_counts_for_a_given_folder_but_not_against_it(tree):
    root = tree("src/a.py", "src/a_gen.py", "out/a.py", "out/a_gen.py", "out/deep/a.py", "pyproject.toml")
    ignore(root, "*_gen.py", "out/")
    assert found(root, "src") == ["src/a.py"]
    assert found(root, "out") == ["out/a.py", "out/a_gen.py", "out/deep/a.py"]
    assert found(root, "out/deep") == ["out/deep/a.py"]
    assert found(root, "src/a_gen.py") == ["src/a_gen.py"]


def test_the_gitignore_of_the_repository_counts_for_a_project_inside(tree):
    root = tree("project/a.py", "project/b.py", ".git/config")
    ignore(root, "b.py")
    assert walk([root / "project"], Settings(root / "project")).files == (root / "project" / "a.py",)


def test_a_gitignore_that_is_no_text_is_no_crash(tree):
    root = tree("a.py", "b.py")
    (root / ".gitignore").write_bytes(b"\xff\xfe\nb.py\n")
    assert found(root) == ["a.py"]
    (root / ".gitignore").unlink()
    (root / ".gitignore").mkdir()
    assert found(root) == ["a.py", "b.py"]


def test_a_pattern_without_meaning_leaves_the_others_in_force(tree):
    root = tree("a.py", "b.py")
    ignore(root, "!", "/", "[z-a].py", "b.py", "a[", "\\")
    assert found(root) == ["a.py"]


def test_a_line_that_two_ways_lead_through_ends(tree):
    name = "a" * 120
    root = tree(f"{name}.py", f"{name}b", "c.py")
    hostile = "a*" * 15 + "b"
    ignore(root, hostile, "**/" + "*a*/**/" * 9 + "b", "c.py")
    assert found(root) == [f"{name}.py"]
    assert found(root, extend_exclude=(hostile, "x/" + hostile, "**/" + "a**/" * 12 + "b")) == [f"{name}.py"]


@pytest.mark.parametrize("length", [100, 200, 400])
def test_patterns_take_a_step_for_each_character(monkeypatch, length):
    steps = []
    moved = wildcards._Ways._moved
    monkeypatch.setattr(wildcards._Ways, "_moved", lambda ways, each: steps.append(each) or moved(ways, each))
    globs = Globs(["a*" * 15 + "b", "a**/" * 15 + "/b", "x"], Path("/project"))
    assert not globs.match("/project/" + "a" * length)
    assert 0 < len(steps) <= 3 * (length + 10)


@pytest.mark.parametrize("seed", range(20))
def test_few_wildcards_and_many_mean_the_same(monkeypatch, seed):
    draw = random.Random(seed)
    words = ["a", "b", "*", "**", "**/", "/", "?", "[ab]", "[!a]", "ab", "."]
    patterns = ["".join(draw.choices(words, k=draw.randint(1, 6))) for _ in range(50)]
    paths = ["".join(draw.choices("ab/.", k=draw.randint(1, 8))) for _ in range(50)]

    def matches():
        return [Globs([pattern], Path("/p")).match(f"/p/{path}") for pattern in patterns for path in paths]

    usual = matches()
    monkeypatch.setattr(wildcards, "_FEW", -1)
    assert matches() == usual
    monkeypatch.setattr(wildcards, "_FEW", 99)
    assert matches() == usual


RULES = (
    *("a*b", "a**b", "**/a", "a/**", "a/**/b", "/a", "a/", "!a", "\\!a", "\\#a", "#a", "a\\ ", "a ", "[ab]c", "[!a]b"),
    *(
        "[]a]",
        "[a-c]x",
        "[b-a]",
        "[[:alpha:]]1",
        "[[:none:]]",
        "a[",
        "a\\",
        "*/b",
        "*a*b*",
        "a*b*c*d*e",
        "?",
        "???",
        "**",
    ),
    *("***/b", "x/a*/**/b", "/**/a", "a//b", "[a/b]", "\\*", "*.py", "[\\]]", "[a-]", "-", "a b", "!*", "/"),
)
NAMES = (
    "a",
    "b",
    "ab",
    "acb",
    "a/b",
    "a/x/b",
    "x/a",
    "x/y/a",
    "!a",
    "#a",
    "a ",
    "ac",
    "bc",
    "cb",
    "]",
    "bx",
    "c1",
    "*",
)
MORE = (
    "x/b",
    "xaxbx",
    "abcde",
    "axbxcxdxe",
    "abc",
    "x/ab/c/b",
    "a\\",
    "a[",
    "b.py",
    "a/b.py",
    "-",
    "a b",
    "x/y/b",
    "[",
)


def test_git_reads_each_pattern_alike(tree):
    root = tree("x/y/z")
    try:
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    except FileNotFoundError:
        pytest.skip("no git here")
    paths = [*NAMES, *MORE]
    for pattern in RULES:
        ignore(root, "*.py", pattern)
        command = ["git", "-C", str(root), "check-ignore", "-z", "--no-index", "--stdin"]
        done = _asked(command, "\0".join(paths))
        ignores = ignores_in(str(root), None)
        assert ignores is not None
        ours = [path for path in paths if any(ignores.match(*each) for each in steps(root, path))]
        assert ours == done.stdout.split("\0")[:-1], pattern


def _asked(command, given):
    """What git answers; its status says whether it ignores anything."""
    return subprocess.run(command, check=False, input=given, capture_output=True, text=True, encoding="utf-8")


def steps(root, path):
    """A path below a folder, and the folders on the way to it."""
    parts = path.split("/")
    return [("/".join([str(root), *parts[:count]]), count < len(parts)) for count in range(1, len(parts) + 1)]


@pytest.mark.parametrize(
    ("text", "limit"), [("a\n" * 10_001, "10,001 patterns, more than 10,000"), ("#" * 1_000_001, "1,000,000 bytes")]
)
def test_a_gitignore_beyond_a_limit_is_a_problem(tree, text, limit):
    root = tree("a.py", "src/b.py")
    (root / "src" / ".gitignore").write_text(text)
    result = walk([root], Settings(root))
    assert [path.name for path in result.files] == ["a.py", "b.py"]
    (problem,) = result.problems
    assert problem[0] == str(root / "src" / ".gitignore")
    assert limit in problem[1]
    assert limit in walk([root / "src"], Settings(root)).problems[0][1]


def test_a_gitignore_loads_no_library(tree):
    root = tree("a.py")
    program = (
        "import sys; from pathlib import Path; from torchlint.settings.model import Settings;"
        "from torchlint.sources.walk import walk; root = Path(sys.argv[1]);"
        "print(len(walk([root], Settings(root)).files), 'libcst' in sys.modules)"
    )

    def run():
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", program, str(root)]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.split()

    assert run() == ["1", "False"]
    ignore(root, "a.py")
    assert run() == ["0", "False"]


def test_links(tree):
    root = tree("src/a.py", "src/deep/b.py", "lib/c.py")
    (root / "src" / "loop").symlink_to(root / "src")
    (root / "src" / "deep" / "up").symlink_to("..")
    (root / "src" / "lib").symlink_to(root / "lib")
    (root / "0.py").symlink_to(root / "src" / "a.py")
    (root / "again.py").symlink_to("0.py")
    (root / "self.py").symlink_to("self.py")
    (root / "gone.py").symlink_to("nowhere.py")
    assert found(root) == ["lib/c.py", "src/a.py", "src/deep/b.py"]
    assert found(root, "again.py", "0.py") == ["0.py"]
    assert found(root, "src/lib") == ["lib/c.py"]  # one name for each file, whichever way it was given
    assert [path for path, _ in walk([root / "self.py", root / "gone.py"], Settings(root)).problems] == [
        str(root / "gone.py"),
        str(root / "self.py"),
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_what_is_no_file_is_not_opened(tree, monkeypatch):
    root = tree("a.py")
    os.mkfifo(root / "pipe.py")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        assert found(root) == ["a.py"]
        assert walk([root / "pipe.py"], Settings(root)).problems == (
            (str(root / "pipe.py"), "neither a file nor a folder"),
        )


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no user ids")
def test_a_folder_that_cannot_be_read_is_a_problem():
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "a.py").write_text("")
        (root / "locked").mkdir(mode=0o000)
        superuser = os.geteuid() == 0
        if superuser:
            os.seteuid(NOBODY)
        try:
            result = walk([root], Settings(root))
        finally:
            if superuser:
                os.seteuid(0)
            (root / "locked").chmod(0o755)
    assert [file.name for file in result.files] == ["a.py"]
    assert result.problems == ((str(root / "locked"), "cannot be read: Permission denied"),)


MARKS = [
    *("pyproject.toml", ".git/HEAD", ".hg/requires", "setup.py", "setup.cfg"),
    *("torchlint.toml", ".torchlint.toml", "requirements.txt"),
]


@pytest.mark.parametrize("mark", MARKS)
def test_the_project_root(tree, mark):
    root = tree(f"project/{mark}", "project/src/deep/a.py")
    assert project_root(root / "project" / "src" / "deep" / "a.py") == root / "project"
    assert project_root(root / "project" / "src" / "deep") == root / "project"
    assert project_root(root / "project") == root / "project"
    assert project_root(root / "project" / "src" / "not-there.py") == root / "project"


def test_without_a_mark_the_root_is_the_folder_of_the_file():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "code"
        folder.mkdir()
        (folder / "a.py").write_text("")
        if project_root(Path(name).parent) != Path(name).parent:
            pytest.skip("the temporary folder lies in a project")
        assert project_root(folder / "a.py") == folder
        assert project_root(folder) == folder


def test_the_files_of_a_project(tree):
    root = tree("a.py", "src/b.py", ".venv/c.py", "d.txt")
    assert python_files(root, Settings(root)) == (root / "a.py", root / "src" / "b.py")
