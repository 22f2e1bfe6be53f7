"""The format ``json-lines``: what ``json`` says, one finding a line."""

from __future__ import annotations

import json

from torchlint.report.as_json import as_object
from torchlint.report.context import Context


def render(context: Context) -> str:
    """Return one JSON object a line, in order; no line is longer than its finding needs."""
    return "".join(f"{json.dumps(as_object(context, finding))}\n" for finding in context.findings)
