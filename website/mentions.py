"""Codes of rules in running text become links to their pages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection

# What is left as it is: code between fences or backticks, links, HTML, comments.
_KEPT = re.compile(r"(```.*?```|~~~.*?~~~|<svg.*?</svg>|`[^`\n]*`|\[[^\]]*\]\([^)]*\)|<[^>\n]*>)", re.DOTALL)
_CODE = re.compile(r"(?<![\w/#.-])(TL\d{3})(?![\w.-]*\w|\])")


def linked(text: str, page: str, codes: Collection[str]) -> str:
    """Return a page's text with links on all known codes but in headings, code and the page of that rule itself."""
    folder = posixpath.dirname(page) or "."

    def link(match: re.Match[str]) -> str:
        address = f"rules/{match[1]}.md"
        if match[1] not in codes or address == page:
            return match[0]
        return f"[{match[1]}]({posixpath.relpath(address, folder)})"

    front = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    start = front.end() if front else 0
    parts = _KEPT.split(text[start:])
    for index in range(0, len(parts), 2):
        lines = parts[index].split("\n")
        parts[index] = "\n".join(line if line.startswith("#") else _CODE.sub(link, line) for line in lines)
    return text[:start] + "".join(parts)
