"""Linting texts from tests: a folder is written, the engine runs over it, and what it found and fixed comes back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torchlint.engine.result import Result
from torchlint.engine.run import check
from torchlint.settings.model import Settings


def lint(folder: Path, texts: Mapping[str, str], **settings: object) -> Result:
    """Write files into a folder of their own and check that folder. ``settings`` are fields of ``Settings``.

    A problem with a file is a failure.
    """
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    result = check([folder], Settings(root=folder, isolated=True, **settings))
    assert result.problems == []
    assert result.unpaired == 0
    return result


def fixed_text(folder: Path, name: str, text: str, **settings: object) -> str:
    """The text of a file after ``--fix``."""
    result = lint(folder, {name: text}, fix=True, **settings)
    return result.fixed[name].after.text if name in result.fixed else text
