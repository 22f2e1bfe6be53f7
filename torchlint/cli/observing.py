"""``torchlint verify --observe``: run a command of the user once, and keep what it showed for fixes to rest on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint import __version__
from torchlint.cli import FAILED, OK
from torchlint.cli.failure import Failure
from torchlint.cli.output import complain_of, write, write_file
from torchlint.cli.terminal import write_bytes
from torchlint.engine.result import UnusableError
from torchlint.late import dataclass
from torchlint.report.escape import defused, defused_json, encodable, visible
from torchlint.settings.load import Nested
from torchlint.settings.model import Settings

if TYPE_CHECKING:
    from torchlint.verify.observing import ObservedRun
    from torchlint.verify.trials import Listener
    from torchlint.verify.verifying import Plan

_NAME = "torchlint-observations.json"
_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Observer:
    """A run to observe: which files, by which settings, whether on the counted device, and how to say what came of it.

    ``own`` makes the settings of each file from those of the run.
    """

    paths: Sequence[str]
    settings: Settings
    own: Callable[[Settings], Nested]
    counted: bool
    as_json: bool

    def run(self, plan: Plan, listener: Listener, tell: Callable[[str], None]) -> int:
        """Observe the command of a plan, write what it showed, and say what rests on it; the exit code.

        ``tell`` takes what the command printed before it failed.
        """
        from torchlint.engine.run import EngineRun
        from torchlint.verify.failure import CannotVerifyError
        from torchlint.verify.observing import observe, resting

        file = self.settings.observations or self.settings.root / _NAME
        paths = tuple(map(Path, self.paths)) or (Path(),)

        def prepared(path: Path | None) -> EngineRun:
            settings = replace(self.settings, observations=path)
            return EngineRun.prepare(paths, settings, {}, self.own(settings))

        try:
            project = prepared(file if os.path.lexists(file) else None)
            found = observe(project, plan, listener, counted=self.counted)
            complain_of(project.result_.problems, found.remarks)
            if found.sights:
                self._write(file, found)
            fixes = resting(prepared(file).checked().findings) if found.sights else {}
        except UnusableError as error:
            raise Failure(str(error)) from error
        except CannotVerifyError as error:
            if error.output:
                tell(error.output)
            raise Failure(f"{error}; nothing was written") from error
        self._show(found, file, plan.words, fixes)
        return FAILED if project.result_.problems else OK

    @staticmethod
    def _write(file: Path, found: ObservedRun) -> None:
        from torchlint.sources.observations import to_text

        write_file(file, to_text(found.sights, __version__))

    def _show(self, found: ObservedRun, file: Path, words: Sequence[str], fixes: Mapping[str, int]) -> None:
        if self.as_json:
            told = {
                "schema": _SCHEMA,
                "command": words,
                "seconds": found.seconds,
                "limited": found.limited,
                "asked": found.asked,
                "seen": found.seen,
                "observations": file.as_posix() if found.sights else None,
                "accept": fixes,
                "remarks": found.remarks,
            }
            text = encodable(json.dumps(told, indent=2, ensure_ascii=False)) + "\n"
            write_bytes(sys.stdout, defused_json(text).encode())
        else:
            write(sys.stdout, defused("".join(f"{line}\n" for line in _lines(found, file, self.settings, fixes))))


def _lines(found: ObservedRun, file: Path, settings: Settings, fixes: Mapping[str, int]) -> list[str]:
    if not found.asked:
        return ["No fix lacks a fact that a run could show, so the command was not run."]
    ended = "ended at its time limit after" if found.limited else "ran once,"
    lines = [f"The command {ended} {found.seconds:.3g} s: {found.seen} of {found.asked} expressions in question seen."]
    if not found.sights:
        return [*lines, "Nothing was written."]
    shown = visible(os.path.relpath(file))
    ways = [f"{number} with --accept {changes}" for changes, number in sorted(fixes.items())]
    lines.append(f"Fixes that rest on what was seen: {', '.join(ways) if ways else 'none'}. Written: {shown}")
    if settings.observations is None:
        lines.append(f'To use it: torchlint check --observations {shown}, or observations = "{_NAME}" in the settings')
    return lines
