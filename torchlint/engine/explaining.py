"""Why a line of a file is hot, or is not."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torchlint.engine.notebooks import by_cells, inner_name, row_of_cell
from torchlint.engine.result import NoCodeError
from torchlint.engine.run import EngineRun, name_in
from torchlint.engine.session_state import SessionState
from torchlint.engine.units import Unit
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.coldness import is_test
from torchlint.facts.hotness.hotness import Heat
from torchlint.rule.frequency import Why
from torchlint.settings.model import Settings
from torchlint.settings.root import located


def explain_hot(
    path: Path,
    row: int,
    settings: Settings,
    *,
    paths: Sequence[Path] = (),
    cell: int | None = None,
    most: int = 10,
) -> Why:
    """Explain how often the innermost statement on a row of a file runs, with at most ``most`` paths.

    ``paths`` is what is linted: calls are followed in there, and in the rest of the project where there is one.

    In a notebook it is a row of the cell with this number, and so are all rows in the answer.

    Raises:
        NoCodeError: no statement stands on that row, or the file cannot be read.
    """
    run = EngineRun.prepare([*paths, path], replace(settings, baseline=None, since=None), {})
    name = name_in(located(path), settings.root)
    _readable(run, path, name)
    units, broken = run.linting.units(run.sources)
    if name in broken:
        raise NoCodeError(f"{name}:{broken[name].row}: {broken[name].message}")
    unit = next((unit for unit in units if name in unit.targets), None)
    return _explained(unit, name, row, cell=cell, most=most)


def explain_open(session: SessionState, name: str, row: int, *, cell: int | None = None, most: int = 10) -> Why:
    """Explain a row of a document that was open in the last run of a session.

    Raises:
        NoCodeError: no statement stands on that row, or the text cannot be read.
    """
    return _explained(session.units.get(name), name, row, cell=cell, most=most)


def _explained(unit: Unit | None, name: str, row: int, *, cell: int | None, most: int) -> Why:
    """Why the innermost statement on a row of a file of a unit runs as often as it does."""
    from torchlint.facts.hotness.why import explain, shortened

    analyses = unit.analyses() if unit is not None else None
    facts = analyses[Project].files.get(inner_name(name)) if analyses is not None else None
    if analyses is None or facts is None:
        return Why(reasons=(_unread(name),))
    if cell is not None:
        row = row_of_cell(facts.source, name, cell, row)
    rows = facts.source.utf8.count(b"\n") + 1
    if row > rows:
        raise NoCodeError(f"{name} ends on line {rows}, before line {row}")
    nodes = [stmt for stmt in facts.places if stmt.lineno <= row <= (stmt.end_lineno or stmt.lineno)]
    own = [stmt for stmt in nodes if row in _rows(stmt)]
    if not own:
        raise NoCodeError(
            f"there is no statement on {f'that line of cell {cell}' if cell else f'line {row}'} of {name}"
        )
    innermost = max(own, key=lambda stmt: (stmt.lineno, -(stmt.end_lineno or 0)))
    why = shortened(explain(analyses[Heat], facts, innermost), most)
    return by_cells(why, {name: facts.source for name, facts in analyses[Project].files.items()})


def _readable(run: EngineRun, path: Path, name: str) -> None:
    """Raise if a file that is to be explained could not be read."""
    for problem in run.result_.problems:
        if problem.path in (name, str(path)):
            raise NoCodeError(f"{name}: {problem.message}")
    if name in run.unreadable:
        raise NoCodeError(f"{name}:{run.unreadable[name].row}: {run.unreadable[name].message}")


def _unread(name: str) -> str:
    """Why there are no facts of a file that can be read."""
    if is_test(name):
        return f"{name} belongs to a test suite, and nothing in tests is hot"
    return f"{name} neither uses torch nor imports a file of the project that does"


def _rows(stmt: ast.stmt) -> range:
    """The rows of a statement; of a compound one, those of its header alone."""
    body = getattr(stmt, "body", None)
    first = body[0] if isinstance(body, list) and body else None
    last = first.lineno - 1 if isinstance(first, ast.stmt) and first.lineno > stmt.lineno else stmt.end_lineno
    return range(stmt.lineno, (last or stmt.lineno) + 1)
