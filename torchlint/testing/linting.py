"""Linting one text in a folder of its own."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from torchlint.engine.result import Result
from torchlint.engine.run import check
from torchlint.late import regex
from torchlint.rule import Finding
from torchlint.settings.model import Settings

_NAME = "fixture.py"
_TARGET = regex(r"^# target-torch: (\d+\.\d+)$", re.MULTILINE)


def found(text: str, codes: Sequence[str], plugins: Sequence[str]) -> tuple[Finding, ...]:
    """Return what these rules find in a text, which is linted once for all checks.

    Raises:
        AssertionError: a rule failed, or a statement could not be read.
    """
    return _found(text, tuple(codes), tuple(plugins))


@lru_cache(maxsize=1024)
def _found(text: str, codes: tuple[str, ...], plugins: tuple[str, ...]) -> tuple[Finding, ...]:
    return tuple(_linted(text, codes, plugins).findings)


def fixed(
    text: str,
    codes: Sequence[str],
    plugins: Sequence[str],
    *,
    unsafe: bool,
    torch: str | None = None,
    width: int | None = None,
) -> str:
    """Apply the fixes of these rules to a text.

    ``torch``: the version that the project runs with, e.g. ``2.4``. ``width``: how long its lines are.

    Raises:
        AssertionError: as ``found``.
    """
    result = _linted(text, codes, plugins, fix=True, unsafe_fixes=unsafe, torch=torch, width=width)
    return result.fixed[_NAME].after.text if _NAME in result.fixed else text


def target_of(text: str) -> str | None:
    """Return the torch that a text says it is for, e.g. ``2.4``."""
    stated = _TARGET.search(text)
    return stated[1] if stated else None


def _linted(
    text: str,
    codes: Sequence[str],
    plugins: Sequence[str],
    fix: bool = False,
    unsafe_fixes: bool = False,
    torch: str | None = None,
    width: int | None = None,
) -> Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / _NAME).write_text(text, encoding="utf-8")
        settings = Settings(
            root=folder,
            isolated=True,
            select=tuple(codes),
            plugins=tuple(plugins),
            fix=fix,
            unsafe_fixes=unsafe_fixes,
            target_torch=target_of(text) or torch,
            line_length=width,
        )
        result = check([folder], settings)
    if result.problems:
        raise AssertionError("; ".join(problem.message for problem in result.problems))
    if result.unpaired:
        raise AssertionError(f"{result.unpaired} statements could not be read")
    return result
