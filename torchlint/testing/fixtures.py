"""Fixtures: files in ``<CODE>/``, what that rule and those named in them find there, and what their fixes make.

``# expect: ACME101`` at the end of a line says that a finding starts there (several codes with commas).
``NAME.fixed.py`` is the text after ``--fix``, ``NAME.accepted.py`` the text after ``--unsafe-fixes`` where that
differs; without a twin nothing is fixed. Lines are as long as in the project that holds the fixtures. Marks are taken
out before a file is linted, and are in no twin.
``# target-torch: 2.4`` on a line of its own says which torch the fixture is for; without it no torch is stated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from torchlint.late import regex
from torchlint.rule import Applicability
from torchlint.settings.root import project_root
from torchlint.settings.width import width_of
from torchlint.testing.linting import fixed, found
from torchlint.testing.renaming import renamed

_CODE = r"[A-Z]{2,}\d{3}"
_MARK = regex(rf"[ ]*# expect: (?P<codes>{_CODE}(?:, ?{_CODE})*)$", re.MULTILINE)
_TWINS = (".fixed", ".accepted")

Places = Counter[tuple[str, int]]


def fixtures(folder: Path) -> list[Path]:
    """Return the fixtures of all rules below a folder, without their twins.

    Raises:
        AssertionError: a twin belongs to no fixture.
    """
    files = sorted(path for path in folder.glob("*/*.py") if re.fullmatch(_CODE, path.parent.name))
    own = {path for path in files if not path.stem.endswith(_TWINS)}
    lonely = [path for path in files if path not in own and _fixture_of(path) not in own]
    if lonely:
        raise AssertionError(f"twins of no fixture: {', '.join(map(str, lonely))}")
    return sorted(own)


def unmarked(path: Path) -> str:
    """Return the text of a fixture without its marks."""
    return _read(path)[0]


def check_marks(path: Path, plugins: Sequence[str] = ()) -> None:
    """Check that the marked lines of a fixture are found, and no others.

    Raises:
        AssertionError: they are not.
    """
    text, marked = _read(path)
    _compare(path, _places(text, path, marked, plugins, _width(path)), marked)


def check_names(path: Path, plugins: Sequence[str] = ()) -> None:
    """Check that other names for torch and for locals change nothing in the findings.

    Raises:
        AssertionError: they do.
    """
    text, marked = _read(path)
    _compare(path, _places(renamed(text), path, marked, plugins), marked)


def check_twins(path: Path, plugins: Sequence[str] = ()) -> None:
    """Check that the fixes turn a fixture into its twin, and then find nothing more to do.

    Raises:
        AssertionError: they do not.
    """
    text, marked = _read(path)
    codes = _asked(path, marked)
    width = _width(path)

    def made(of: str, *, unsafe: bool) -> str:
        """Apply fixes of some kind to a text; return it as it is if no finding has one."""
        kinds = {finding.fix.applicability for finding in found(of, codes, plugins, width) if finding.fix is not None}
        taken = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
        return of if kinds.isdisjoint(taken) else fixed(of, codes, plugins, unsafe=unsafe, width=width)

    safe = made(text, unsafe=False)
    _same(safe, _twin(path, "fixed", text), f"{path}: --fix makes")
    _same(made(safe, unsafe=False), safe, f"{path}: --fix, run again, makes")
    everything = made(text, unsafe=True)
    _same(everything, _twin(path, "accepted", safe), f"{path}: --unsafe-fixes makes")
    _same(made(everything, unsafe=True), everything, f"{path}: --unsafe-fixes, run again, makes")


def _read(path: Path) -> tuple[str, Places]:
    """A fixture's text without its marks, and the codes and rows that the marks name."""
    text = path.read_text(encoding="utf-8")
    marked: Places = Counter()
    for row, line in enumerate(text.splitlines(), 1):
        if match := _MARK.search(line):
            marked.update((code.strip(), row) for code in match["codes"].split(","))
    return _MARK.sub("", text), marked


def _asked(path: Path, marked: Places) -> tuple[str, ...]:
    """The rules that a fixture is about: that of its folder and those that its marks name."""
    return tuple(sorted({path.parent.name, *(code for code, _ in marked)}))


def _places(text: str, path: Path, marked: Places, plugins: Sequence[str], width: int | None = None) -> Places:
    """Codes and rows of what the rules of a fixture find in a text."""
    return Counter((finding.code, finding.start.row) for finding in found(text, _asked(path, marked), plugins, width))


def _width(path: Path) -> int | None:
    """How long lines are in the project that holds a fixture; the same wherever it is linted, so that is done once."""
    return width_of(project_root(path.parent))


def _twin(path: Path, kind: str, otherwise: str) -> str:
    """The text of a fixture's twin, another text where it has none."""
    other = path.with_suffix(f".{kind}.py")
    return other.read_text(encoding="utf-8") if other.exists() else otherwise


def _fixture_of(twin: Path) -> Path:
    return twin.with_name(f"{twin.stem.split('.')[0]}.py")


def _compare(path: Path, places: Places, marked: Places) -> None:
    wrong = [f"{path}:{row}: {code} is found, but not marked" for code, row in sorted((places - marked).elements())]
    wrong += [f"{path}:{row}: {code} is marked, but not found" for code, row in sorted((marked - places).elements())]
    if wrong:
        raise AssertionError("\n".join(wrong))


def _same(text: str, wanted: str, what: str) -> None:
    if text == wanted:
        return
    import difflib

    lines = difflib.unified_diff(wanted.splitlines(), text.splitlines(), "wanted", "made", lineterm="")
    raise AssertionError("\n".join([f"{what} something else", *lines]))
