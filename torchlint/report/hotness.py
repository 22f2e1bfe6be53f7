"""The answer to ``--explain-hot``: how often a line runs, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchlint.report.escape import visible
from torchlint.rule import Hotness

_NEVER = "No training or rollout loop that torchlint can follow, and no entry point of a framework, reaches this line."


def render(place: str, paths: Sequence[Hotness], *, unicode: bool) -> str:
    """All ways that make a line hot, the most frequent first; a text that says so when there is none."""
    hot = [path for path in paths if path != Hotness()]
    if not hot:
        return f"{visible(place)} is not hot.\n{_NEVER}\n"
    ranked = sorted(hot, key=lambda each: -each.frequency)
    lines = [f"{visible(place)} runs {ranked[0].frequency.phrase}."]
    for each in ranked:
        lines += _path(each, "→" if unicode else "->")
    return "".join(f"{line}\n" for line in lines)


def _path(hot: Hotness, arrow: str) -> Iterator[str]:
    yield ""
    yield f"{hot.frequency.phrase}:"
    for index, hop in enumerate(hot.path):
        sign = arrow if index else " " * len(arrow)
        yield f"  {sign} {visible(hop.path)}:{hop.row} {visible(hop.name)}"
