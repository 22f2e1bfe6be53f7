"""What the rules that look at suppression comments report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from torchlint.engine.lint import Linter, fingerprinted
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.model import FileFacts
from torchlint.rule import Comment, Finding, PlainFix, Rule
from torchlint.settings.select import is_selector
from torchlint.sources.lines import LineTable
from torchlint.sources.suppress import Suppressions, suppressions
from torchlint.sources.text import Source
from torchlint.sources.unused import Unused, removal, unused_marks


def unused(
    source: Source,
    linter: Linter,
    every: Callable[[], Linter],
    analyses: Analyses,
    facts: FileFacts | None,
    *,
    heed: bool = True,
) -> list[Finding]:
    """Return the findings about suppression comments in a file, where a rule of ``linter`` looks at them.

    Args:
        source: the file.
        linter: the selected rules.
        every: gives all rules, selected or not: a comment for a rule that does not run today is not idle.
        analyses: facts of the project.
        facts: facts of the file; ``None``, as in tests and in files far from torch: no rule finds anything there.
        heed: whether these findings can be silenced by comments in turn.
    """
    rules = [rule for rule in linter.rules if any(isinstance(part, Comment) for part in rule.trigger.parts)]
    marks = suppressions(source) if rules else Suppressions()
    if not marks.marks:
        return []
    everything = every()
    all_found: list[Finding] = []

    def seen(finding: Finding) -> bool:
        all_found.append(finding)
        return False

    if facts is not None:
        everything.lint(analyses, facts, seen)
    silencing = marks if heed else Suppressions()
    known = [type(rule) for rule in everything.rules]
    return [found for rule in rules for found in _of_rule(source, marks, all_found, rule, known, silencing)]


def _of_rule(
    source: Source,
    marks: Suppressions,
    findings: Iterable[Finding],
    rule: Rule,
    known: Sequence[type[Rule]],
    silencing: Suppressions,
) -> list[Finding]:
    table = LineTable(source.utf8)
    own = frozenset({rule.code, rule.name})
    found = []
    for each in unused_marks(marks, findings, lambda word: is_selector(word, known), own):
        finding = _finding(source, table, each, rule)
        # What is said of a comment it does not silence itself, unless it names this rule.
        heeded = [
            mark
            for mark in silencing.covering(finding)
            if mark is not each.mark or own.intersection(mark.selectors or ())
        ]
        if not heeded:
            found.append(finding)
    return fingerprinted(found, source)


def _finding(source: Source, table: LineTable, each: Unused, rule: Rule) -> Finding:
    mark = each.mark
    line = table.line(mark.row)
    first = table.offset(mark.row, 0)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=_message(each),
        level=rule.level,
        path=source.name,
        start=table.position(first + len(line[: mark.start].encode())),
        end=table.position(first + len(line[: mark.end].encode())),
        rows=(mark.row, mark.row),
        fix=None if each.unknown else _fix(each, table),
    )


def _message(each: Unused) -> str:
    words = ", ".join(each.unknown or each.dead)
    if each.unknown:
        reason = f"no rule fits {words}"
    else:
        place = "in this file" if each.mark.whole_file else "here"
        reason = f"{words} {'is' if len(each.dead) == 1 else 'are'} not found {place}" if words else ""
    if not each.whole:
        return f"{words} in this comment suppresses nothing: {reason}"
    return f"this comment suppresses nothing: {reason}" if reason else "this comment suppresses nothing"


def _fix(each: Unused, table: LineTable) -> PlainFix:
    edit, comment = removal(each, table)
    message = "Remove the comment" if each.whole else f"Remove {', '.join(each.dead)} from the comment"
    return PlainFix(message, (edit,), removes=comment)
