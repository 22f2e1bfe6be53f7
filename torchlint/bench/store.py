"""The user's own results: kept for later runs of torchlint, one file for each device. Needs neither torch nor numpy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from torchlint.bench.host import processor
from torchlint.bench.result import BrokenResultsError, ExampleStatus, ResultRow, Results, from_json, to_json
from torchlint.cache.key import data_folder
from torchlint.late import dataclass
from torchlint.rule import Cost

DEVICES = ("cpu", "cuda")
LOCAL = "local"


def folder() -> Path:
    """Return the folder of results: ``$TORCHLINT_DATA_DIR``, else where programs of this system keep a user's data.

    Raises:
        OSError: it is not known of a home folder of this user.
    """
    return Path(data_folder())


def path_of(device: str) -> Path:
    """Return the file of a device's results."""
    return folder() / f"bench-{device}.json"


def merged(old: Results | None, new: Results) -> Results:
    """Merge new results into old ones of the same machine: a measured row replaces the one before it.

    Results of another machine, or of other versions of torch, count no more.
    """
    if old is None or old.machine != new.machine:
        return replace(new, rows=tuple(filter(_measured, new.rows)))
    rows = {(row.code, row.example): row for row in (*old.rows, *new.rows) if _measured(row)}
    return replace(new, rows=tuple(sorted(rows.values(), key=lambda row: row.code)))


def _measured(row: ResultRow) -> bool:
    return row.status is ExampleStatus.MEASURED


def keep(results: Results, device: str) -> Path:
    """Write what was measured, and return the file.

    Raises:
        OSError: it cannot be written.
    """
    path = path_of(device)
    try:
        old = load(path)
    except BrokenResultsError:
        old = None
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(to_json(merged(old, results)), encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def load(path: Path) -> Results | None:
    """Read results; ``None`` when there is no such file.

    Raises:
        BrokenResultsError: it cannot be read, or holds something else.
    """
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenResultsError(f"cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class Own:
    """The user's own figures by code, the rule's first example first; and the files that could not be read, and why."""

    costs: Mapping[str, tuple[Cost, ...]]
    broken: tuple[str, ...] = ()


def own() -> Own:
    """Read the user's own results of all devices; those of another machine (a shared home folder) do not count."""
    costs: dict[str, list[Cost]] = {}
    broken: list[str] = []
    try:
        paths = [path_of(device) for device in DEVICES]
    except OSError:  # where there is no home folder, nothing was measured
        return Own({})
    for path in paths:
        try:
            results = load(path)
        except BrokenResultsError as error:
            broken.append(f"{path}: {error}")
            continue
        if results is None or results.machine.processor != processor():
            continue
        for row in results.rows:
            cost = row.cost(LOCAL)
            if cost is not None:
                costs.setdefault(row.code, []).append(cost)
    return Own({code: tuple(found) for code, found in costs.items()}, tuple(broken))
