"""Which of many fixes can be kept, found with few runs: halves of halves, down to single fixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Passes = Callable[[frozenset[str]], bool]
"""Whether the command passes with these fixes. It is asked about the same set more than once."""


def keepable(fixes: Sequence[str], passes: Passes) -> list[str]:
    """Return a maximal set of fixes with which the command passes: none of the others can be added.

    ``passes`` must hold of no fixes at all. Of fixes that only fail together the first are kept.
    """
    kept: list[str] = []
    refused = _add(fixes, kept, passes)
    # What needs another fix fails before that one is kept, so each is tried until none can be added.
    while refused:
        left = [fix for fix in refused if _add([fix], kept, passes)]
        if len(left) == len(refused):
            break
        refused = left
    return [fix for fix in fixes if fix in kept]


def _add(group: Sequence[str], kept: list[str], passes: Passes) -> list[str]:
    """Add what can be added of a group to the kept; the rest."""
    if not group or passes(frozenset((*kept, *group))):
        kept += group
        return []
    if len(group) == 1:
        return list(group)
    middle = len(group) // 2
    return [*_add(group[:middle], kept, passes), *_add(group[middle:], kept, passes)]


def opponents(fix: str, needed: frozenset[str], kept: Sequence[str], passes: Passes) -> tuple[str, ...]:
    """Return a smallest set of kept fixes with which a refused one fails; empty if it fails by itself.

    ``needed`` are the fixes without which it does not come to be.
    """
    alone = needed | {fix}
    if not passes(alone):
        return ()
    others = [other for other in kept if other not in alone]
    return tuple(_fewest(others, alone, passes))


def _fewest(fixes: Sequence[str], given: frozenset[str], passes: Passes) -> list[str]:
    """The fewest of some fixes that fail together with the given ones, with which all of them fail."""
    if not fixes or not passes(given):
        return []
    if len(fixes) == 1:
        return list(fixes)
    middle = len(fixes) // 2
    first, second = fixes[:middle], fixes[middle:]
    late = _fewest(second, given.union(first), passes)
    return [*_fewest(first, given.union(late), passes), *late]
