"""Findings as they are seen from the working folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from torchlint.late import regex
from torchlint.report.context import Context
from torchlint.rule import Finding, Hop, PlainFix
from torchlint.rule.frequency import Why

_Item = TypeVar("_Item")
# A place in a text: the name of a file and a row.
_PLACE = regex(r"([^\s:()]+\.(?:py|pyi|ipynb))(?=:\d)")


def seen_from_here(context: Context) -> Context:
    """Return the context with file names relative to the working folder, absolute where a file is outside of it.

    What it gives back is seen from there already: to ask a second time changes nothing.
    """
    if context.here in (None, context.root):
        return context

    def named(by_name: Mapping[str, _Item]) -> dict[str, _Item]:
        return {context.shown(name): item for name, item in by_name.items()}

    return replace(
        context,
        here=None,
        root=context.here or context.root,
        findings=tuple(_named(finding, context) for finding in context.findings),
        sources=named(context.sources),
        fixed=named(context.fixed),
        accepts=named(context.accepts),
        cells=named(context.cells),
    )


def _named(finding: Finding, context: Context) -> Finding:
    return replace(
        finding.with_hops(lambda hop: replace(hop, path=context.shown(hop.path))),
        path=context.shown(finding.path),
        message=_renamed(finding.message, context.shown),
        fix=_in_named_files(finding.fix, context) if finding.fix is not None else None,
    )


def _in_named_files(fix: PlainFix, context: Context) -> PlainFix:
    if not fix.in_files and fix.instead is None:
        return fix
    instead = _in_named_files(fix.instead, context) if fix.instead is not None else None
    files = tuple((context.shown(name), edits) for name, edits in fix.in_files)
    return replace(fix, message=_renamed(fix.message, context.shown), in_files=files, instead=instead)


def _renamed(text: str, shown: Callable[[str], str]) -> str:
    """A text with the files of its places by the names that ``shown`` gives them."""

    def name(place: re.Match[str]) -> str:
        return shown(place[1])

    return _PLACE.sub(name, text)


def why_from_here(why: Why, shown: Callable[[str], str]) -> Why:
    """Return the same answer with files by the names that ``shown`` gives them."""

    def named(hop: Hop) -> Hop:
        return replace(hop, path=shown(hop.path))

    ways = [
        replace(
            way,
            hot=replace(way.hot, path=tuple(map(named, way.hot.path))),
            limits=tuple(replace(limit, place=named(limit.place)) for limit in way.limits),
        )
        for way in why.ways
    ]
    reasons = tuple(_renamed(reason, shown) for reason in why.reasons)
    return replace(why, ways=tuple(ways), reasons=reasons)
