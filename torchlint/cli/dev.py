"""``torchlint dev``: for people who write rules."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from torchlint.cli import OK, skeleton
from torchlint.cli.nearest import CommandGroup
from torchlint.cli.output import write
from torchlint.late import dataclass, regex

_CODE = regex(r"[A-Z]{2,}\d{3}")
_NAME = regex(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_BUILT_IN = Path("rules")
_INDEXER = Path("tests", "rule_index.py")
_ROW = regex(r"\| TL\d{3} ")
_MARK = "TORCHLINT_API"


@click.group(cls=CommandGroup, short_help="Write rules.")
def dev() -> None:
    """Write rules, for torchlint itself or for a package of your own."""


@dev.command("new-rule", short_help="Write a rule with fixtures and tests that pass.")
@click.argument("code")
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="A checkout of torchlint, or the folder of a package, which is created if missing (default: here).",
)
def new_rule(code: str, name: str, into: Path) -> int:
    """Write a rule that works, its fixtures, and tests that pass. Existing files are not overwritten.

    \b
    Examples:
      torchlint dev new-rule TL199 my-smell                         in a checkout of torchlint
      torchlint dev new-rule ACME101 slow-thing --into torchlint-acme

    The code is capital letters and three digits; TL is for torchlint's own rules. The name is that of the smell, in
    small letters with hyphens.
    """
    if not _CODE.fullmatch(code):
        raise click.UsageError(f"a code is capital letters and three digits, e.g. ACME101, not {code!r}")
    if not _NAME.fullmatch(name):
        raise click.UsageError(f"a name is words in small letters with hyphens, e.g. slow-thing, not {name!r}")
    rule = _NewRule(code, name)
    built_in = (into / _BUILT_IN / "index.py").is_file()
    if built_in != code.startswith("TL"):
        here, elsewhere = "in a checkout of torchlint codes begin with TL", "codes that begin with TL are torchlint's"
        raise click.UsageError(f"{here if built_in else elsewhere}: {code}")
    files = rule.built_in(into) if built_in else rule.in_package(into)
    _write(files)
    if built_in:
        _list(rule, into)
    write(sys.stdout, "".join(f"{Path(os.path.relpath(path))}\n" for path in files))
    write(sys.stderr, f"Next: {_next(code, into, built_in)}\n")
    return OK


@dataclass(frozen=True, slots=True)
class _NewRule:
    """The rule to write."""

    code: str
    name: str

    def built_in(self, root: Path) -> dict[Path, str]:
        """Return the files of a built-in rule.

        Raises:
            click.UsageError: there is no such family of rules.
        """
        families = sorted((root / _BUILT_IN).glob(f"tl{self.code[2]}_*"))
        if not families:
            known = ", ".join(sorted(path.name for path in (root / _BUILT_IN).glob("tl?_*")))
            raise click.UsageError(f"there is no family for {self.code}; make a folder beside {known}")
        return {families[0] / self._module: self._rule("PREVIEW"), **self._fixtures(root / "tests")}

    def in_package(self, folder: Path) -> dict[Path, str]:
        """Return the files of a rule in a package of its own, and the package where there is none."""
        home = _package_in(folder)
        made = {} if home is not None else self._package(folder)
        home = home or next(path.parent for path in made if path.name == "__init__.py")
        return {**made, home / self._module: self._rule("DEFAULT"), **self._fixtures(folder / "tests")}

    @property
    def _module(self) -> str:
        return f"{self.name.replace('-', '_')}.py"

    def _rule(self, which: str) -> str:
        class_name = "".join(word.capitalize() for word in self.name.split("-"))
        return skeleton.RULE.substitute(code=self.code, name=self.name, class_name=class_name, set=which)

    def _fixtures(self, tests: Path) -> dict[Path, str]:
        folder = tests / "fixtures" / self.code
        return {folder / name: text for name, text in skeleton.fixtures(self.code).items()}

    def _package(self, folder: Path) -> dict[Path, str]:
        distribution = Path(os.path.abspath(folder)).name
        package = re.sub(r"[^a-z0-9]+", "_", distribution.lower()).strip("_")
        if not package.isidentifier():
            raise click.UsageError(f"a package cannot be called {distribution!r}")
        return {
            folder / "pyproject.toml": skeleton.PYPROJECT.substitute(distribution=distribution, package=package),
            folder / package / "__init__.py": skeleton.PACKAGE,
            folder / "tests" / "test_rules.py": skeleton.TESTS.substitute(package=package),
        }


def _package_in(folder: Path) -> Path | None:
    """The rule package that a folder holds, if it holds one."""
    for file in sorted([*folder.glob("*/__init__.py"), *folder.glob("src/*/__init__.py")]):
        if _MARK in file.read_text(encoding="utf-8", errors="replace"):
            return file.parent
    return None


def _write(files: Mapping[Path, str]) -> None:
    """Write new files.

    Raises:
        click.UsageError: one of them is there already.
        click.ClickException: one cannot be written.
    """
    for path in files:
        if path.exists():
            raise click.UsageError(f"{path} already exists")
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {error.filename}: {error.strerror}") from error


def _list(rule: _NewRule, root: Path) -> None:
    """Put a built-in rule into the list of all rules and into the index.

    Raises:
        click.ClickException: the index cannot be made.
    """
    page = root / "docs" / "all-rules.md"
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    before = [number for number, line in enumerate(lines) if _ROW.match(line) and line[2:7] < rule.code]
    if before:
        lines.insert(before[-1] + 1, skeleton.LISTED.substitute(code=rule.code, name=rule.name))
        page.write_text("".join(lines), encoding="utf-8")
    path = str(root.resolve())
    command = [sys.executable, str(_INDEXER)]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise click.ClickException(f"the rule was written without its index: {' '.join(done.stderr.split())[-300:]}")


def _next(code: str, into: Path, built_in: bool) -> str:
    if built_in:
        return f"pytest -k {code}"
    return f"pip install -e {into} pytest, then in {into}: pytest"
