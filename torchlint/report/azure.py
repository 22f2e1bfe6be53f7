"""The format ``azure``: logging commands that Azure Pipelines shows as issues of the run."""

from __future__ import annotations

from torchlint.report.context import Context
from torchlint.report.escape import defused, visible
from torchlint.report.words import with_reasons
from torchlint.rule import Finding, Level

# There is no kind of issue below a warning.
_TYPES = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "warning"}


def render(context: Context) -> str:
    """Return one command for each finding, in order."""
    return "".join(f"{_command(context, finding)}\n" for finding in context.findings)


def _command(context: Context, finding: Finding) -> str:
    properties = {
        "type": _TYPES[finding.level],
        "sourcepath": context.in_repository(finding.path),
        "linenumber": str(finding.start.row),
        "columnnumber": str(finding.start.column),
        "code": finding.code,
    }
    listed = "".join(f"{key}={_property(value)};" for key, value in properties.items())
    return f"##vso[task.logissue {listed}]{_data(defused(with_reasons(finding)))}"


def _data(text: str) -> str:
    """The escapes of a command's message; controls that have none are made visible."""
    escaped = visible(text, keep="\r\n").replace("%", "%AZP25")
    return escaped.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(";", "%3B").replace("]", "%5D")
