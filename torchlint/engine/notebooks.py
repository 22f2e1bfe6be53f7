"""Notebooks among the files of a run: their code, and the names they go by among the facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from torchlint.rule import Finding
from torchlint.sources.decode import UndecodableError, read_any

_SUFFIX = ".ipynb"


def notebook_codes(texts: Mapping[str, bytes], paths: Mapping[str, Path]) -> dict[str, bytes]:
    """The code of all notebooks that may matter, by name: in their JSON no import stands at the start of a line."""
    found = {}
    for name, raw in texts.items():
        if name in paths and name.endswith(_SUFFIX) and b"import" in raw:
            try:
                found[name] = read_any(raw, paths[name], name).utf8
            except UndecodableError:
                continue  # told when it is read for good
    return found


def inner_name(name: str) -> str:
    """The name of a file among the facts: nothing imports a notebook, so none may be taken for a module of its name."""
    return f"{name}{_SUFFIX}" if name.endswith(_SUFFIX) else name


def outside(finding: Finding) -> Finding:
    """A finding with the files' own names."""
    path = tuple(replace(hop, path=outer_name(hop.path)) for hop in finding.hot.path)
    if path == finding.hot.path and not finding.path.endswith(_SUFFIX):
        return finding
    return replace(finding, path=outer_name(finding.path), hot=replace(finding.hot, path=path))


def outer_name(name: str) -> str:
    """The name of a file by its name among the facts."""
    return name.removesuffix(_SUFFIX) if name.endswith(2 * _SUFFIX) else name
