"""Linking the files of a project, also when some of them make that fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchlint.engine.analysis import analyse
from torchlint.engine.mishap import kept_going, mishaps
from torchlint.engine.result import Problem
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.settings.model import Settings


def linked(
    files: Sequence[FileFacts], settings: Settings, checkpoint: Callable[[], None] = lambda: None
) -> tuple[Analyses, list[Problem]]:
    """Link the facts of files; if that fails, link as many as possible, and return what is wrong with the others."""
    errors: list[Exception] = []
    with kept_going(errors.append):
        return analyse(files, settings, checkpoint), []
    if len(files) < 2:
        return analyse((), settings, checkpoint), _problems(files, errors)
    middle = len(files) // 2
    (one, wrong), (other, too) = (linked(half, settings, checkpoint) for half in (files[:middle], files[middle:]))
    halves = [list(analyses[Project].files.values()) for analyses in (one, other)]
    if wrong or too:
        both, more = linked([*halves[0], *halves[1]], settings, checkpoint)
        return both, [*wrong, *too, *more]
    # Each half is fine, and both together are not: the smaller one is given up.
    halves.sort(key=len)
    return linked(halves[1], settings, checkpoint)[0], _problems(halves[0], errors)


def _problems(files: Sequence[FileFacts], errors: Sequence[Exception]) -> list[Problem]:
    names = [facts.path for facts in files]
    return [problem for error in errors for problem in mishaps(names, "following its code", error)]
