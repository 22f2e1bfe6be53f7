"""The output formats by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Protocol

from torchlint.report.context import Context
from torchlint.report.escape import defused_json, defused_xml

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
        "html": "findings_page",
        "agent": "agent",
        "diff": "diff",
        "statistics": "statistics",
        "statistics-json": "statistics",
    }
)
# For people, in the encoding of their terminal; the others are for programs, which read UTF-8 whatever the locale says.
FOR_PEOPLE = frozenset({"full", "concise", "grouped", "pylint", "statistics", "agent"})
JSON = frozenset({"json", "json-lines", "gitlab", "sarif", "rdjson", "lintrunner", "statistics-json"})
XML = frozenset({"junit", "html"})
# These say what each rule is about, which only its own module knows.
DESCRIBE_RULES = frozenset({"sarif"})
_BY_CELL = frozenset({"full", "concise", "grouped", "pylint", "json", "json-lines", "markdown", "html", "agent"})
_SEEN_FROM_HERE = frozenset({"full", "concise", "grouped", "diff", "agent"})
# These show what was measured on this machine.
WITH_OWN_COSTS = frozenset({"full", "html"})
# Of these a text is made of its findings alone, so where nothing is found it is empty.
OF_FINDINGS = frozenset({"concise", "grouped", "pylint", "json-lines", "github", "azure"})
IN_PLACE_OF_FINDINGS = frozenset({"diff", "statistics", "statistics-json"})


class Renderer(Protocol):
    """What each format is."""

    def __call__(self, context: Context) -> str:
        """The whole text that stands for a run."""


def renderer(name: str) -> Renderer:
    """Return the function of a format. Its module is imported when there is something to render."""

    def render(context: Context) -> str:
        return "" if name in OF_FINDINGS and not context.findings else _rendered(name, context)

    return render


def _rendered(name: str, context: Context) -> str:
    module = import_module(f"torchlint.report.{FORMATS[name]}")
    render: Renderer = module.render_json if name == "statistics-json" else module.render
    text: str = render(_seen(name, _placed(name, context)))
    defuse = defused_json if name in JSON else defused_xml if name in XML else None
    return defuse(text) if defuse is not None else text


def _seen(name: str, context: Context) -> Context:
    """The context with the names of files that the user can open from where he is."""
    if name not in _SEEN_FROM_HERE:
        return context
    from torchlint.report.here import seen_from_here

    return seen_from_here(context)


def _placed(name: str, context: Context) -> Context:
    """The context with findings in notebooks where a reader of the format looks for them."""
    if all(source.notebook is None for source in context.sources.values()):
        return context
    from torchlint.report.notebooks import in_cells, on_disk

    return in_cells(context) if name in _BY_CELL else on_disk(context)
