"""Figures in pages."""

from __future__ import annotations

from pathlib import Path


def between(page: Path, begin: str, end: str, text: str) -> None:
    """Put a text between two marks of a page, in place of what is there."""
    head, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no {begin.strip()} ... {end.strip()}")
    page.write_text(f"{head}{begin}{text}{end}{tail}", encoding="utf-8")
