"""The repository itself: what is installed, what the packages hold, and that the shipped example works."""

from __future__ import annotations

import ast
import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import CommandLine

from torchlint.engine.rules import load_rules
from torchlint.rule import RuleSet
from website.pages import Site

SHIPPED = (
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
    "torchlint",
    "rules",
    "setup.py",
    "tests",
    "examples",
    "requirements",
)


@pytest.fixture(scope="module")
def packages(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it. Nothing is downloaded."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in SHIPPED:
        if (root / name).is_dir():
            shutil.copytree(root / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(root / name, tree / name)
    build(tree, "build_sdist", out)
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(next(out.glob("*.tar.gz"))) as archive:
        archive.extractall(unpacked, filter="data")
    build(next(unpacked.iterdir()), "build_wheel", out)
    return out


def build(tree: Path, what: str, out: Path) -> None:
    """Call one hook of the build backend in a source tree."""
    code = f"import sys; from setuptools import build_meta; build_meta.{what}(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, out], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def ours(root: Path) -> set[str]:
    """What must be in the wheel: modules, tables, parts of pages and markers, by their paths there."""
    folders = {"torchlint": root / "torchlint", "torchlint/rules": root / "rules"}
    return {
        f"{name}/{path.relative_to(folder).as_posix()}"
        for name, folder in folders.items()
        for path in folder.rglob("*")
        if path.suffix in (".py", ".json", ".css", ".js") or path.name == "py.typed"
    }


def test_wheel_holds_everything(root: Path, packages: Path) -> None:
    """Modules, tables, figures and type markers are in the wheel, and nothing else of ours."""
    with zipfile.ZipFile(next(packages.glob("*.whl"))) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == ours(root)
    assert {"torchlint/py.typed", "torchlint/rules/py.typed"} <= held


def test_sdist_can_be_built_and_tested(root: Path, packages: Path) -> None:
    """The source distribution holds the packages and the tests with what they need."""
    with tarfile.open(next(packages.glob("*.tar.gz"))) as archive:
        held = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {re.sub("^torchlint/rules/", "rules/", name) for name in ours(root)} <= held
    assert {"LICENSE", "README.md", "tests/conftest.py", "examples/agent/train.py"} <= held


def test_installing_needs_no_torch(root: Path, packages: Path) -> None:
    """Torch and NumPy belong to the extra ``bench`` alone; version and licence are stated."""
    with zipfile.ZipFile(next(packages.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_string(wheel.read(name).decode())
        scripts = wheel.read(name.replace("METADATA", "entry_points.txt")).decode()
    needs = metadata.get_all("Requires-Dist", [])
    always = {re.split(r"[<>=!;\[ ]", need)[0] for need in needs if "extra ==" not in need}
    bench = {re.split(r"[<>=!;\[ ]", need)[0] for need in needs if re.search(r"""extra == ['"]bench['"]""", need)}
    version = re.search(r'__version__ = "(.+)"', (root / "torchlint" / "__init__.py").read_text())
    assert always == {"click", "libcst", "rich", "tomli"}
    assert bench == {"torch", "numpy"}
    assert version is not None
    assert metadata["Version"] == version[1]
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.10"
    assert "torchlint = torchlint.cli:main" in scripts


def test_only_what_runs_code_imports_torch(root: Path) -> None:
    """No module imports torch or NumPy but those of ``bench`` and ``device``, which run examples and programs."""
    banned = {"torch", "numpy"}
    running = (root / "torchlint" / "bench", root / "torchlint" / "device")
    files = [*(root / "torchlint").rglob("*.py"), *(root / "rules").rglob("*.py")]
    for path in files:
        if any(path.is_relative_to(folder) for folder in running):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not banned & {name.split(".")[0] for name in names}, path


def test_linting_imports_neither_torch_nor_what_imports_it(root: Path, tmp_path: Path) -> None:
    """A run of ``check`` over code with findings and fixes ends without torch, the counted device and its runner."""
    (tmp_path / "train.py").write_text("import torch\n\n\ndef f(obs, env):\n    while True:\n        env.step(obs)\n")
    program = (
        "import sys\nfrom torchlint.cli import main\nmain(['check', '--isolated', '--select', 'ALL', '--diff', '.'])\n"
        "main(['rule', 'TL101'])\nprint('modules', *sorted(sys.modules))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    modules = done.stdout.splitlines()[-1].split()
    assert "torchlint.engine.run" in modules
    running = ("torch", "numpy", "torchlint.device", "torchlint.count")
    assert not [name for name in modules if name in running or name.startswith(tuple(f"{each}." for each in running))]


# What a file without torch needs nothing of, and most of what a start would cost.
NEEDLESS = (
    *("hashlib", "json", "libcst", "multiprocessing", "pkgutil", "rich", "tomli", "tomllib", "unicodedata"),
    *("torchlint.engine.lint", "torchlint.engine.linting", "torchlint.engine.memory", "torchlint.facts"),
    *("torchlint.models", "torchlint.report.concise", "torchlint.rule.base", "torchlint.rule.finding"),
    *("torchlint.rule.site", "torchlint.rules.tl1_transfer"),
)


def test_a_file_without_torch_is_answered_without_facts_rules_and_findings(root: Path, tmp_path: Path) -> None:
    """What is imported decides what such a run costs."""
    (tmp_path / "plain.py").write_text("import os\n\nprint(os.getcwd())\n")
    program = (
        "import sys\nfrom torchlint.cli import main\nassert main(['check', '--isolated', '--no-cache', '.']) == 0\n"
        "print('modules', *sorted(sys.modules))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-S", "-c", f"import sys; sys.path += {sys.path!r}\n{program}"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()
    assert {"torchlint.engine.run", "torchlint.rules.index"} <= {*modules}
    assert "Nothing slow found in 1 file" in done.stderr
    assert not {*NEEDLESS} & {*modules}


def test_make_lists_its_targets(root: Path) -> None:
    """``make`` alone explains every target that a reader may call."""
    done = subprocess.run(["make", "-s"], cwd=root, capture_output=True, text=True, check=True)
    phony = re.search(r"^\.PHONY: (.+)$", (root / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    assert re.findall(r"^  make ([a-z-]+) ", done.stdout, re.MULTILINE) == phony[1].split()


def test_changelog_knows_the_version(root: Path) -> None:
    """The version in the code has an entry in the changelog."""
    version = re.search(r'__version__ = "(.+)"', (root / "torchlint" / "__init__.py").read_text())
    assert version is not None
    assert f"## {version[1]}" in (root / "CHANGELOG.md").read_text()


def test_hooks_run(root: Path, tmp_path: Path, torchlint: CommandLine) -> None:
    """The commands of the pre-commit hooks are understood, and pass a file that has nothing slow."""
    (tmp_path / "clean.py").write_text("import torch\n")
    hooks = re.findall(r"^  entry: torchlint (.+)$", (root / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    assert len(hooks) == 2
    for hook in hooks:
        done = torchlint(*hook.split(), "clean.py", cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_the_list_of_rules_names_every_rule(root: Path) -> None:
    """The page of all rules names each rule, and no other."""
    stated = {
        (
            re.search(r'^    code = "(TL\d+)"$', text, re.MULTILINE),
            re.search(r'^    name = "(.+)"$', text, re.MULTILINE),
        )
        for text in (path.read_text(encoding="utf-8") for path in (root / "rules").rglob("*.py"))
    }
    rules = {f"{code[1]} {name[1]}" for code, name in stated if code and name}
    page = (root / "docs" / "all-rules.md").read_text()
    assert set(re.findall(r"^\| (TL\d+ [a-z0-9-]+) \|", page, re.MULTILINE)) == rules


def test_the_list_of_rules_counts_those_of_each_family(root: Path) -> None:
    """The table of families says how many rules there are, and how many of them run by default."""
    page = (root / "docs" / "all-rules.md").read_text()
    stated = re.findall(r"^\| (TL\d) \|.+\| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    rules = load_rules()
    assert {family: (int(count), int(running)) for family, count, running in stated} == {
        family: (
            sum(rule.code.startswith(family) for rule in rules),
            sum(rule.code.startswith(family) and rule.set is RuleSet.DEFAULT for rule in rules),
        )
        for family in {rule.code[:3] for rule in rules}
    }


def test_links_between_documents_lead_somewhere(root: Path) -> None:
    """Every relative link in the Markdown files names a file that exists, or a page that the site makes."""
    made = {root / "docs" / page for page in Site.of(root).made}
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    assert pages
    for page in pages:
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists() or page.parent / target in made, f"{page.name}: {target}"


def test_the_comparison_names_tests_that_exist(root: Path) -> None:
    """Each cell of torchlint in the comparison links to files that define the tests it names, or says no or not yet."""
    page = root / "docs" / "comparison.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    heads = {index - 1 for index, line in enumerate(lines) if line.startswith("|---")}
    rows = [line for index, line in enumerate(lines) if line.startswith("| ") and index not in heads]
    assert rows
    for row in rows:
        cell = row.strip("| ").split(" | ")[-1]
        links = re.findall(r"\[(test_\w+)\]\(([^)]+)\)", cell)
        assert links or cell in ("n", "not yet"), row
        for name, target in links:
            assert f"def {name}(" in (page.parent / target).read_text(encoding="utf-8"), name


CODES = ("TL101", "TL102", "TL104", "TL201", "TL202", "TL209", "TL301", "TL401", "TL501")


def copied(root: Path, folder: Path) -> Path:
    """A copy of the example in a folder."""
    return Path(shutil.copytree(root / "examples" / "agent", folder / "agent", ignore=shutil.ignore_patterns("__py*")))


@pytest.fixture
def agent(root: Path, tmp_path: Path) -> Path:
    """A copy of the example."""
    return copied(root, tmp_path)


@pytest.fixture(scope="module")
def found(root: Path, tmp_path_factory: pytest.TempPathFactory, torchlint: CommandLine) -> list[dict]:
    """The findings in a copy of the example: where it lies, the whole repository is its project."""
    agent = copied(root, tmp_path_factory.mktemp("shipped"))
    done = torchlint("check", "--isolated", "--output-format", "json", ".", cwd=agent)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("code", CODES)
def test_example_has_the_smell(code: str, found: list[dict]) -> None:
    """The shipped agent holds each smell in code found to be hot; TL501 is about the place of a ``torch.compile``."""
    hot = [finding["hot"] for finding in found if finding["code"] == code]
    assert hot
    assert code == "TL501" or all(each["frequency"] in ("step", "update") and each["path"] for each in hot)


def losses(agent: Path) -> list[str]:
    """What a short training run of the example prints."""
    command = [sys.executable, "-W", "ignore", "train.py", "--updates", "60"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=agent, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.third
@pytest.mark.torch
def test_fixes_leave_the_training_as_it_was(agent: Path, torchlint: CommandLine) -> None:
    """The example trains to the same losses, digit for digit, before and after its fixes."""
    before = losses(agent)
    assert len([line for line in before if "loss" in line]) == 3
    sources = {path.name: path.read_text() for path in agent.glob("*.py")}
    done = torchlint("check", "--isolated", "--fix", "--accept", "validation", ".", cwd=agent)
    assert done.returncode in (0, 1), done.stderr
    changed = {path.name for path in agent.glob("*.py") if path.read_text() != sources[path.name]}
    assert {"agent.py", "networks.py", "replay.py"} <= changed
    assert losses(agent) == before
