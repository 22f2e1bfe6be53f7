"""Puts fixed texts into the files of a run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.engine.result import Problem
from torchlint.sources.text import Source
from torchlint.sources.write import ChangedMeanwhileError, Staged, UnencodableError, remove_strays, replace_together

if TYPE_CHECKING:
    from torchlint.engine.run import EngineRun


def write(run: EngineRun, texts: Mapping[str, tuple[Source, Source]], tied: Sequence[frozenset[str]]) -> set[str]:
    """Write files by name, and return those that failed.

    All new texts are on disk before the first replaces its file.

    Of those that are ``tied`` all are written or none.
    What was left by runs that were killed is removed from the folders of all files that could be written.
    """
    failed: set[str] = set()
    named = [source.path for name, source in run.sources.items() if name not in run.given]
    for folder in sorted({Path(os.path.realpath(path)).parent for path in named}):
        remove_strays(folder)
    together = frozenset[str]().union(*tied)
    with ExitStack() as stack:
        staged: dict[str, Staged] = {}
        for name in texts.keys() - together:
            with _not_fixed(run, [name], failed):
                staged[name] = stack.enter_context(Staged.of(*texts[name]))
        for name, ready in staged.items():
            with _not_fixed(run, [name], failed):
                ready.replace()
    for group in tied:
        names = sorted(group & texts.keys())
        with _not_fixed(run, names, failed):
            replace_together(texts[name] for name in names)
    return failed


@contextmanager
def _not_fixed(run: EngineRun, names: Collection[str], failed: set[str]) -> Iterator[None]:
    """Note why files cannot be written."""
    try:
        yield
    except (ChangedMeanwhileError, UnencodableError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        run.result_.problems.extend(Problem(name, f"not fixed: {reason}") for name in names)
        failed.update(names)
