"""The parts of pages that programs write: what stands between a comment that begins a part and one that ends it."""

from __future__ import annotations


def part(page: str, name: str) -> tuple[int, int]:
    """Find where the text of a part begins and ends, behind and before its markers; each stands on the page once."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the page has no part {name!r}, or several")
    return page.index(begin) + len(begin), page.index(end)


def written(page: str, name: str, text: str) -> str:
    """Give the page with a text in a part, and a blank line around it."""
    start, end = part(page, name)
    return f"{page[:start]}\n\n{text.strip()}\n\n{page[end:]}"
