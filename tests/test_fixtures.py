"""The files in ``fixtures/<CODE>/``: what that rule and those named in them find there, and what their fixes make.

``# expect: TL101`` at the end of a line says that a finding starts there (several codes with commas). ``NAME.fixed.py``
is the text after ``--fix``, ``NAME.accepted.py`` the text after ``--unsafe-fixes`` where that differs; without a twin
nothing is fixed. Marks are taken out before a file is linted, and stand in no twin.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from linting import fixed_text, lint

FOLDER = Path(__file__).parent / "fixtures"
MARK = re.compile(r"[ ]*# expect: (?P<codes>TL\d{3}(?:, ?TL\d{3})*)$", re.MULTILINE)
TWINS = (".fixed", ".accepted")
FILES = sorted(path for path in FOLDER.glob("TL*/*.py") if not path.stem.endswith(TWINS))
CASES = [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in FILES]

Places = Counter[tuple[str, int]]


def read(path: Path) -> tuple[str, Places]:
    """A fixture's text without its marks, and the codes and rows that the marks name."""
    text = path.read_text(encoding="utf-8")
    marked: Places = Counter()
    for row, line in enumerate(text.splitlines(), 1):
        if match := MARK.search(line):
            marked.update((code.strip(), row) for code in match["codes"].split(","))
    return MARK.sub("", text), marked


def asked(path: Path, marked: Places) -> tuple[str, ...]:
    """The rules that a fixture is about: that of its folder and those that its marks name."""
    return tuple(sorted({path.parent.name, *(code for code, _ in marked)}))


def places(folder: Path, text: str, codes: tuple[str, ...]) -> Places:
    """Codes and rows of what these rules find in a text."""
    found = lint(folder, {"fixture.py": text}, select=codes).findings
    return Counter((finding.code, finding.start.row) for finding in found)


def twin(path: Path, kind: str, otherwise: str) -> str:
    """The text of a fixture's twin, another text where it has none."""
    other = path.with_suffix(f".{kind}.py")
    return other.read_text(encoding="utf-8") if other.exists() else otherwise


@pytest.mark.parametrize("path", CASES)
def test_the_marked_lines_are_found_and_no_others(path: Path, tmp_path: Path) -> None:
    text, marked = read(path)
    assert places(tmp_path, text, asked(path, marked)) == marked


@pytest.mark.parametrize("path", CASES)
def test_fixes_make_the_twin_and_then_find_nothing_more(path: Path, tmp_path: Path) -> None:
    text, marked = read(path)
    codes = asked(path, marked)
    safe = fixed_text(tmp_path / "safe", "fixture.py", text, select=codes)
    assert safe == twin(path, "fixed", text)
    assert fixed_text(tmp_path / "safe-again", "fixture.py", safe, select=codes) == safe
    everything = fixed_text(tmp_path / "all", "fixture.py", text, select=codes, unsafe_fixes=True)
    assert everything == twin(path, "accepted", safe)
    again = fixed_text(tmp_path / "all-again", "fixture.py", everything, select=codes, unsafe_fixes=True)
    assert again == everything


@pytest.mark.parametrize("path", CASES)
def test_other_names_for_torch_and_for_locals_change_nothing(path: Path, tmp_path: Path) -> None:
    text, marked = read(path)
    assert places(tmp_path, renamed(text), asked(path, marked)) == marked


def test_every_twin_belongs_to_a_fixture() -> None:
    twins = [path for path in FOLDER.glob("TL*/*.py") if path.stem.endswith(TWINS)]
    assert [path for path in twins if path.with_name(f"{path.stem.split('.')[0]}.py") not in FILES] == []


def renamed(text: str) -> str:
    """The same program with ``import torch as th`` and with ``my_`` before the names that functions bind."""
    tree = ast.parse(text)
    edits = [*_torch_as_th(tree), *_renamed_locals(tree)]
    lines = text.split("\n")
    for row, column, old, new in sorted(edits, reverse=True):
        line = lines[row - 1]
        assert line.startswith(old, column)
        lines[row - 1] = f"{line[:column]}{new}{line[column + len(old) :]}"
    return "\n".join(lines)


Rename = tuple[int, int, str, str]


def _torch_as_th(tree: ast.Module) -> Iterator[Rename]:
    """Row, column, old and new text of each mention of torch, where a plain ``import torch`` alone binds it."""
    aliases = [
        alias for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names
    ]
    binders = [alias for alias in aliases if (alias.asname or alias.name).split(".")[0] == "torch"]
    parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    mentions = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "torch"]
    if [alias.name for alias in binders] != ["torch"] or "torch" in parameters | _in_strings(tree):
        return
    for node in mentions:
        yield node.lineno, node.col_offset, "torch", "th"
    yield binders[0].lineno, binders[0].col_offset, "torch", "torch as th"


def _renamed_locals(tree: ast.Module) -> Iterator[Rename]:
    """The same for names that functions assign, where nothing else in the file binds or reads a name like it."""
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inner = {node for function in functions for node in ast.walk(function) if isinstance(node, ast.Name)}
    outer = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in inner}
    assigned = {node.id for node in inner if isinstance(node.ctx, ast.Store)}
    free = assigned - outer - _bound_by_statements(tree) - _in_strings(tree)
    for node in inner:
        if node.id in free:
            yield node.lineno, node.col_offset, node.id, f"my_{node.id}"


def _bound_by_statements(tree: ast.Module) -> set[str]:
    """Names that are bound without a name node of their own: parameters, imports, definitions, handlers."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.split(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
    return found


def _in_strings(tree: ast.Module) -> set[str]:
    """Names inside f-strings, whose columns Python 3.11 and older do not tell."""
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    return {node.id for string in strings for node in ast.walk(string) if isinstance(node, ast.Name)}
