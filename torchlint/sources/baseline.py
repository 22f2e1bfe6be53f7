"""The baseline: findings that are known, one a line, so that only new ones are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from torchlint.cache.world import open_file
from torchlint.late import dataclass
from torchlint.rule import Finding

_KEYS = frozenset({"path", "code", "fingerprint"})


class BaselineError(Exception):
    """A baseline that cannot be read; the message says why, and in which line."""


@dataclass(frozen=True, slots=True, order=True)
class BaselineEntry:
    """One known finding: its file relative to the project root, its rule, and its fingerprint."""

    path: str
    code: str
    fingerprint: str

    @classmethod
    def of(cls, finding: Finding) -> BaselineEntry:
        """Return the entry that stands for a finding."""
        return cls(finding.path, finding.code, finding.fingerprint)


def to_text(entries: Iterable[BaselineEntry]) -> str:
    """Return the text of a baseline: sorted, an entry a line, so that git merges two of them line by line."""
    rows = (
        {"path": entry.path, "code": entry.code, "fingerprint": entry.fingerprint} for entry in sorted(set(entries))
    )
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def read_baseline(path: Path) -> frozenset[BaselineEntry]:
    """Return the entries of a baseline.

    Raises:
        BaselineError: it is missing, cannot be read, or holds something else.
    """
    try:
        with open_file(path) as stream:
            lines = stream.read().decode("utf-8").splitlines()
    except FileNotFoundError as error:
        raise BaselineError(f"{path}: no such baseline file; write one with torchlint baseline") from error
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BaselineError(f"{path}: not UTF-8") from error
    return frozenset(_entry(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def _entry(path: Path, number: int, line: str) -> BaselineEntry:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}:{number}: not a baseline entry: {line[:40]!r}") from error
    if not isinstance(row, dict) or row.keys() != _KEYS or not all(isinstance(value, str) for value in row.values()):
        raise BaselineError(f"{path}:{number}: an entry holds the strings path, code and fingerprint")
    return BaselineEntry(row["path"], row["code"], row["fingerprint"])
