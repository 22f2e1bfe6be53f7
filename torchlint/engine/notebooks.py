"""Notebooks among the files of a run: their code, and the names they go by among the facts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torchlint.rule import Finding
from torchlint.sources.decode import UndecodableError, read_any

_SUFFIX = ".ipynb"


def notebook_code(raw: bytes, path: Path, name: str) -> bytes:
    """The code of a file: of a notebook that of its cells, for in its JSON no import stands at the start of a line."""
    if not name.endswith(_SUFFIX) or b"import" not in raw:
        return raw
    try:
        return read_any(raw, path, name).utf8
    except UndecodableError:
        return raw  # told when it is read for good


def inner_name(name: str) -> str:
    """The name of a file among the facts: nothing imports a notebook, so none may be taken for a module of its name."""
    return f"{name}{_SUFFIX}" if name.endswith(_SUFFIX) else name


def outside(finding: Finding) -> Finding:
    """A finding with the files' own names."""
    path = tuple(replace(hop, path=_own(hop.path)) for hop in finding.hot.path)
    if path == finding.hot.path and not finding.path.endswith(_SUFFIX):
        return finding
    return replace(finding, path=_own(finding.path), hot=replace(finding.hot, path=path))


def _own(name: str) -> str:
    return name.removesuffix(_SUFFIX) if name.endswith(2 * _SUFFIX) else name
