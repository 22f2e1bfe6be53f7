"""How often each function of a project seems to run, for those who can compare that with what ran."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from torchlint.engine.run import EngineRun
from torchlint.engine.scope import SettingsOf
from torchlint.engine.units import Unit
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.hotness import Heat
from torchlint.late import dataclass
from torchlint.rule import Frequency
from torchlint.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Predicted:
    """A function of the project, the rows from its ``def`` to its end, and how often it seems to run."""

    path: str
    name: str
    row: int
    end: int
    frequency: Frequency


def survey(paths: Sequence[Path], settings: Settings, own: SettingsOf | None = None) -> list[Predicted]:
    """Return all functions of the files that would be linted, by path and row; files that cannot be read are left out.

    Raises:
        SettingsError: a selector fits no rule, or the settings of a file are wrong.
    """
    run = EngineRun.prepare(paths, replace(settings, baseline=None, since=None), {}, own)
    units, _ = run.linting.units(run.sources)
    found = [each for unit in units for each in _functions(unit)]
    return sorted(found, key=lambda each: (each.path, each.row))


def _functions(unit: Unit) -> Iterator[Predicted]:
    analyses = unit.analyses()
    for path, facts in analyses[Project].files.items():
        for scope in facts.scopes if path in unit.targets else ():
            node = scope.node
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                frequency = analyses[Heat].frequency(facts, node.body[0])
                yield Predicted(path, scope.qualname, scope.row, node.end_lineno or scope.row, frequency)
    unit.forget()
