"""Checks of the finished Markdown that need no MkDocs: do links lead somewhere, and to headings that are there?"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?P<target>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)")
_HEADING = re.compile(r"^#{1,6} (?P<text>.+?)(?: \{ ?#(?P<name>[\w-]+) ?\})?$", re.MULTILINE)


def broken_links(pages: Mapping[str, str], files: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield every link of a page that leads to no page, file or heading, as ``page: link``.

    ``files`` are addresses of what the site holds besides pages.
    """
    anchors = {page: frozenset(_anchors(_prose(text))) for page, text in pages.items()}
    for page, text in pages.items():
        for match in _LINK.finditer(_without_code(text)):
            target, anchor = match["target"], match["anchor"]
            if re.match(r"[a-z]+:", target):
                continue
            address = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
            if address not in pages and address not in files:
                yield f"{page}: {target}"
            elif anchor and address in pages and anchor not in anchors[address]:
                yield f"{page}: {target}#{anchor}"


def headings(text: str) -> list[str]:
    """Return the headings of a page, without their signs."""
    return [match["text"] for match in _HEADING.finditer(_prose(text))]


def _anchors(text: str) -> Iterator[str]:
    seen: dict[str, int] = {}
    for match in _HEADING.finditer(text):
        name = match["name"] or _slug(match["text"])
        count = seen.get(name, 0)
        seen[name] = count + 1
        yield f"{name}_{count}" if count else name


def _slug(heading: str) -> str:
    """What Markdown's table of contents makes of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def _prose(text: str) -> str:
    front = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    return _FENCE.sub("", text[front.end() :] if front else text)


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", _prose(text))
