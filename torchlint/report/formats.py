"""The output formats by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Protocol

from torchlint.report.context import Context

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "full": "full",
        "concise": "concise",
        "grouped": "grouped",
        "json": "as_json",
        "json-lines": "json_lines",
        "github": "github",
        "gitlab": "gitlab",
        "sarif": "sarif",
        "junit": "junit",
        "rdjson": "rdjson",
        "azure": "azure",
        "pylint": "as_pylint",
        "lintrunner": "lintrunner",
        "markdown": "markdown",
        "diff": "diff",
        "statistics": "statistics",
        "statistics-json": "statistics",
    }
)
# For people, in the encoding of their terminal; the others are for programs, which read UTF-8 whatever the locale says.
FOR_PEOPLE = frozenset({"full", "concise", "grouped", "pylint", "statistics"})
IN_PLACE_OF_FINDINGS = frozenset({"diff", "statistics", "statistics-json"})


class Renderer(Protocol):
    """What each format is."""

    def __call__(self, context: Context) -> str:
        """The whole text that stands for a run."""


def renderer(name: str) -> Renderer:
    """The function of a format; only its module is imported, because that of ``full`` brings rich."""
    module = import_module(f"torchlint.report.{FORMATS[name]}")
    render: Renderer = module.render_json if name == "statistics-json" else module.render
    return render
