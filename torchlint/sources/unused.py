"""Suppression comments that silence nothing, and how they are taken away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from torchlint.late import dataclass, regex
from torchlint.rule import Edit, Finding
from torchlint.sources.lines import LineTable
from torchlint.sources.suppress import Mark, Suppressions

_WORDS = regex(r"#\s*(?:torchlint:\s*)?(?:noqa|ignore(?:-file)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Unused:
    """A mark that silences nothing, or names what it does not silence.

    Attributes:
        mark: the mark.
        dead: its selectors that silence nothing; of a mark without selectors none.
        unknown: those of them that name nothing at all.
    """

    mark: Mark
    dead: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether nothing is left of the mark without them."""
        return len(self.dead) == len(self.mark.selectors or ())


def unused_marks(
    marks: Suppressions, findings: Iterable[Finding], ours: Callable[[str], bool], own: Iterable[str]
) -> Iterator[Unused]:
    """Yield the unused marks of a file among those that are about rules of ours.

    Args:
        marks: all marks of the file.
        findings: everything that any rule finds in the file, whether it is selected or not.
        ours: whether a selector names a rule. In a ``noqa``, which other tools read too, any other code is theirs.
        own: the selectors of the rule that reports unused marks; no one can tell whether those are used.
    """
    used: set[tuple[int, str]] = set()
    for finding in findings:
        for mark in marks.covering(finding):
            named = [selector for selector in mark.selectors or () if mark.means(selector, finding)]
            used.update((id(mark), selector) for selector in named or [""])
    own = frozenset(own)
    for mark in marks.marks:
        if mark.selectors is None:
            if not mark.exact and (id(mark), "") not in used:
                yield Unused(mark, (), ())
            continue
        idle = [
            word
            for word in dict.fromkeys(mark.selectors)
            if (id(mark), word) not in used and not own & {word, word.upper()}
        ]
        dead = tuple(word for word in idle if not mark.exact or ours(word.upper()))
        if dead:
            yield Unused(mark, dead, tuple(word for word in dead if not mark.exact and not ours(word)))


def removal(unused: Unused, table: LineTable) -> tuple[Edit, str]:
    """Return the edit that takes an unused mark away, or what is unused of it, and the comment that it changes."""
    mark = unused.mark
    line = table.line(mark.row)
    first = table.offset(mark.row, 0)

    def place(column: int) -> int:
        return first + len(line[:column].encode())

    comment = line[mark.comment :].rstrip()
    if not unused.whole:
        start, end = _listed(line[mark.start : mark.end], mark)
        kept = ", ".join(word for word in dict.fromkeys(mark.selectors or ()) if word not in unused.dead)
        return Edit(place(mark.start + start), place(mark.start + end), kept), comment
    behind = line[mark.end :]
    if behind.strip():  # another comment
        return Edit(place(mark.start), place(len(line) - len(behind.lstrip())), ""), comment
    before = line[: mark.start].rstrip()
    if before:
        return Edit(place(len(before)), place(len(line)), ""), comment
    end = table.offset(mark.row + 1, 0) if mark.row < table.rows else place(len(line))
    return Edit(first, end, ""), comment


def _listed(text: str, mark: Mark) -> tuple[int, int]:
    """Where the selectors of a mark begin and end in its text."""
    words = _WORDS.match(text)
    begin = end = words.end() if words else 0
    for index, selector in enumerate(mark.selectors or ()):
        at = text.index(selector, end)
        begin = at if index == 0 else begin
        end = at + len(selector)
    return begin, end
