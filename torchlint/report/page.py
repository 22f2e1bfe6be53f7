"""The frame of an HTML page that needs nothing from elsewhere.

Nothing in a name or a line of code can become markup or code: text is escaped, data for a script is JSON in which no
``<`` stands, and the policy of the page lets no other script run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from importlib.resources import files

from torchlint.report.escape import visible

_NONE = object()


def document(title: str, body: Iterable[str], style: str, script: str = "", data: object = _NONE) -> str:
    """Return a page; ``data`` is what the script reads from the element with the id ``data``."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{text(title)}</title><style>{style}</style></head><body>",
        f"<h1>{text(title)}</h1>",
        *body,
    ]
    if data is not _NONE:
        parts.append(f'<script type="application/json" id="data">{_harmless(data)}</script>')
    if script:
        parts.append(f"<script>{script}</script>")
    return "\n".join([*parts, "</body></html>", ""])


def text(told: str, keep: str = "") -> str:
    """Return text for a page: no character of it is markup, and controls but those in ``keep`` are visible."""
    return escape(visible(told, keep=keep))


def resource(package: str, name: str) -> str:
    """Return the text of a file beside the modules of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if not script:
        return policy
    import base64
    import hashlib

    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"{policy}; script-src 'sha256-{digest}'"


def _harmless(data: object) -> str:
    told = json.dumps(data, separators=(",", ":"))
    return told.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
