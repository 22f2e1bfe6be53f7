"""How often each rule found something, in place of the findings."""

from __future__ import annotations

import json
from collections import Counter

from torchlint.report.context import Context


def render(context: Context) -> str:
    """Return a line for each rule, the most frequent first: how many findings, of which ``--fix`` would fix ``[n]``."""
    rows = _rows(context)
    if not rows:
        return ""
    found = max(len(str(row[0])) for row in rows)
    marks = [f"[{fixable}]" if fixable else "" for _, fixable, _, _ in rows]
    wide = max(map(len, marks))
    lines = [
        f"{number:>{found}}  {code}  {mark:<{wide}}{'  ' if wide else ''}{name}\n"
        for (number, _, code, name), mark in zip(rows, marks, strict=True)
    ]
    if any(marks):
        lines.append("[n]: fixable with --fix\n")
    return "".join(lines)


def render_json(context: Context) -> str:
    """Return the same as a JSON array of objects with ``code``, ``name``, ``count`` and ``fixable``."""
    rows = [
        {"code": code, "name": name, "count": number, "fixable": fixable}
        for number, fixable, code, name in _rows(context)
    ]
    return json.dumps(rows, indent=2) + "\n"


def _rows(context: Context) -> list[tuple[int, int, str, str]]:
    found = Counter((finding.code, finding.name) for finding in context.findings)
    fixable = Counter(finding.code for finding in context.findings if context.takes(finding))
    rows = [(number, fixable[code], code, name) for (code, name), number in found.items()]
    return sorted(rows, key=lambda row: (-row[0], row[2]))
