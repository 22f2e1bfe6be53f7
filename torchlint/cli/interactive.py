"""``torchlint check --fix --interactive``: decide group by group which fixes are applied."""

from __future__ import annotations

import dataclasses
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.cli.failure import Failure
from torchlint.cli.output import complain, write
from torchlint.cli.printing import named
from torchlint.cli.progress import waiting
from torchlint.cli.terminal import Look, look_of
from torchlint.engine.result import UnusableError
from torchlint.engine.stepwise import NotWrittenError, Stepwise
from torchlint.late import dataclass
from torchlint.report.change import effects
from torchlint.report.context import Context
from torchlint.report.diff import shown
from torchlint.report.entries import ReportEntry, entries
from torchlint.report.escape import visible
from torchlint.report.full import heading
from torchlint.report.here import seen_from_here
from torchlint.report.summary import count
from torchlint.settings.ruff import removes_code
from torchlint.sources.noqa import with_noqa
from torchlint.sources.write import ChangedMeanwhileError, UnencodableError, replace_together

if TYPE_CHECKING:
    from torchlint.engine.fixing import Round
    from torchlint.engine.result import Result
    from torchlint.rule import Finding, PlainFix
    from torchlint.settings.load import Nested
    from torchlint.settings.model import Settings

_HELP = """\
y - apply this fix at all places
n - skip it
a - apply it and every remaining fix that changes no more ({effects})
s - suppress it: write a comment with your reason
o - open the file in your editor ($VISUAL or $EDITOR), then go on
d - show the whole diff
q - quit and keep what was applied
? - show this help
"""
# Lines of a screen that a diff leaves free for what stands around it, and the fewest that it gets.
_AROUND = 12
_FEWEST = 10
# Editors that take the row as vi does; others get the name of the file alone.
_WITH_ROW = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "ne", "joe", "mg")
_WITH_PLACE = ("code", "codium", "cursor", "hx", "helix", "zed", "subl")


@dataclass(eq=False, slots=True)
class Decisions:
    """What the user decided so far: numbers of findings."""

    applied: int = 0
    skipped: int = 0
    suppressed: int = 0


@dataclass(eq=False, slots=True)
class Dialogue:
    """One run of questions and answers on a terminal.

    Attributes:
        session: the files. settings: as the user gave them. look: what the terminal can show.
        effects: the changes that the user said yes to for all that is left.
    """

    session: Stepwise
    settings: Settings
    look: Look
    counts: Decisions = field(default_factory=Decisions)
    asked: int = 0

    def hold(self) -> None:
        """Ask about group after group until none is left or the user quits."""
        while found := entries(self.session.open()):
            self.asked += 1
            if not self._decided(found[0], len(found)):
                return

    def _decided(self, entry: ReportEntry, left: int) -> bool:
        """Ask about one group; false: the user quits."""
        rounds = self.session.preview(entry.findings)
        for problem in (problem for each in rounds.values() for problem in each.problems):
            complain(f"{named(problem.path, self.settings.root)}: {problem.message}")
        if not any(each.applied for each in rounds.values()):
            self._skip(entry)
            return True
        self._tell(entry, rounds)
        while True:
            question = f"({self.asked}/{self.asked + left - 1}) Apply this fix [y,n,a,s,o,d,q,?]? "
            answer = self._ask(question)
            if answer is None or answer == "q":
                return False
            if answer == "y":
                return self._apply(entry, rounds)
            if answer == "a":
                return self._apply_all(entry)
            if answer == "n":
                return self._skip(entry)
            if answer == "s":
                if self._suppressed(entry):
                    return True
            elif answer == "o":
                if self._opened(entry.lead):
                    return True
            elif answer == "d":
                write(sys.stdout, "".join(f"{line}\n" for line in self._diff(rounds)))
            else:
                told = effects(entry.lead.fix) if entry.lead.fix is not None else ""
                write(sys.stdout, _HELP.format(effects=told))

    def _ask(self, question: str) -> str | None:
        """The answer without blanks around it; ``None`` at the end of the input."""
        write(sys.stdout, f"\x1b[1;34m{question}\x1b[0m" if self.look.color else question)
        line = sys.stdin.readline()
        if not line:
            write(sys.stdout, "\n")
            return None
        return line.strip()

    def _context(self, findings: Iterable[Finding]) -> Context:
        return seen_from_here(
            Context(
                self.settings.root,
                findings=tuple(findings),
                sources=self.session.sources,
                unsafe_fixes=self.settings.unsafe_fixes,
                accept=self.settings.accept,
                color=self.look.color,
                terminal=True,
                unicode=self.look.unicode,
                width=self.look.width,
                here=Path.cwd(),
            )
        )

    def _tell(self, entry: ReportEntry, rounds: dict[str, Round]) -> None:
        context = self._context(entry.findings)
        write(sys.stdout, f"\n{heading(ReportEntry(context.findings), context)}")
        lines = self._diff(rounds)
        room = max(self.look.height - _AROUND, _FEWEST)
        if len(lines) > room + 1:
            left = len(lines) - room
            lines = [*lines[:room], f"{'…' if self.look.unicode else '...'} {left} more lines: d shows them"]
        write(sys.stdout, "".join(f"{line}\n" for line in lines))

    def _diff(self, rounds: dict[str, Round]) -> list[str]:
        return [
            line
            for name, each in rounds.items()
            if each.changed
            for line in shown(
                named(name, self.settings.root),
                self.session.files[name].source,
                each.file.source,
                color=self.look.color,
            )
        ]

    def _apply(self, entry: ReportEntry, rounds: dict[str, Round]) -> bool:
        try:
            with waiting("torchlint: reading the project"):
                self.counts.applied += self.session.apply(rounds)
        except NotWrittenError as error:
            complain(f"error: this fix was not applied: {error}")
            self._skip(entry)
        return True

    def _apply_all(self, entry: ReportEntry) -> bool:
        """Apply a group and every other one that may change no more, until no such fix is left."""
        wanted = _no_more_than(entry.lead.fix)
        while group := [finding for finding in self.session.open() if finding.fix and wanted(finding.fix)]:
            with waiting("torchlint: reading the project"):
                rounds = self.session.preview(group)
            if not any(each.applied for each in rounds.values()):
                self.session.decline(group)
                self.counts.skipped += len(group)
            else:
                before = self.counts.applied
                self._apply(ReportEntry(tuple(group)), rounds)
                write(sys.stdout, f"Applied {count(self.counts.applied - before, 'fix').replace('fixs', 'fixes')}\n")
        return True

    def _skip(self, entry: ReportEntry) -> bool:
        self.session.decline(entry.findings)
        self.counts.skipped += len(entry.findings)
        return True

    def _suppressed(self, entry: ReportEntry) -> bool:
        """Write comments behind all places of a group, in all files or none; false: the user went back."""
        reason = self._ask("Reason (empty: none, q: back): ")
        if reason is None or reason == "q":
            return False
        if not reason.isprintable() or "#" in reason:
            complain("the reason must be one line without #")
            return False
        by_name: dict[str, list[Finding]] = {}
        for finding in entry.findings:
            by_name.setdefault(finding.path, []).append(finding)
        texts, kept = [], 0
        for name, findings in by_name.items():
            before = self.session.files[name].source
            ours = any(removes_code(before.path, finding.code) for finding in findings)
            after, unable = with_noqa(before, findings, reason, ours=ours)
            texts.append((before, after))
            kept += len(unable)
        if kept:
            complain(f"no comment was written, because none can silence {count(kept, 'place')} of it")
            return False
        try:
            replace_together(texts)
        except (ChangedMeanwhileError, UnencodableError, OSError) as error:
            complain(f"error: no comment was written: {error}")
            return False
        self.counts.suppressed += len(entry.findings)
        self._reread(by_name)
        return True

    def _opened(self, finding: Finding) -> bool:
        """Open the place of a finding in the editor of the user; whether the file may have changed."""
        path, row = self.session.files[finding.path].source.path, finding.start.row
        words = editor(path, row)
        if not words:
            write(sys.stdout, f"{visible(named(finding.path, self.settings.root))}:{row}\n")
            complain("to open the file from here, set VISUAL or EDITOR to your editor")
            return False
        try:
            subprocess.run(words, check=False)
        except OSError as error:
            complain(f"error: cannot run {words[0]}: {error.strerror or error}")
            return False
        self._reread([finding.path])
        return True

    def _reread(self, names: Iterable[str]) -> None:
        try:
            with waiting("torchlint: reading the project"):
                self.session.reread(names)
        except NotWrittenError as error:
            raise Failure(f"{error}; the applied fixes stay") from error

    def outcome(self) -> str:
        """Return one line on what became of everything."""
        files = count(len(self.session.fixed), "file")
        applied = count(self.counts.applied, "fix").replace("fixs", "fixes")
        told = [f"Applied {applied} in {files}" if self.counts.applied else "Nothing applied"]
        told += [f"{self.counts.suppressed} suppressed"] if self.counts.suppressed else []
        told += [f"{self.counts.skipped} skipped"] if self.counts.skipped else []
        left = len(self.session.open())
        told += [f"{left} not asked about"] if left else []
        return ", ".join(told)


def converse(paths: Sequence[Path], settings: Settings, own: Nested) -> Result:
    """Run a dialogue about the fixes of files and folders, and return what is left at its end.

    Raises:
        Failure: there is no terminal to ask on, or something cannot be read.
        KeyboardInterrupt: the user interrupts; the applied fixes stay, and is told.
    """
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        raise Failure("--interactive needs a terminal for input and output; without one, use --fix")
    everything = not settings.accept and not settings.unsafe_fixes
    wide = _Widened(own)
    try:
        with waiting("torchlint: reading the project"):
            session = Stepwise.start(paths, wide.of(settings) if everything else settings, wide if everything else own)
    except UnusableError as error:
        raise Failure(str(error)) from error
    dialogue = Dialogue(session, settings, look_of(sys.stdout, settings.color))
    try:
        dialogue.hold()
    except KeyboardInterrupt:
        write(sys.stdout, f"\n{dialogue.outcome()}; the applied fixes stay\n")
        raise
    write(sys.stdout, f"\n{dialogue.outcome()}\n")
    return session.result()


class _Widened:
    """Settings of files that take every fix: who is asked about each decides himself. One value for each of theirs."""

    def __init__(self, own: Nested) -> None:
        self._own = own
        self._known: dict[int, tuple[Settings, Settings]] = {}

    def of(self, settings: Settings) -> Settings:
        narrow_and_wide = settings, dataclasses.replace(settings, unsafe_fixes=True)
        return self._known.setdefault(id(settings), narrow_and_wide)[1]

    def __call__(self, path: Path) -> Settings:
        return self.of(self._own(path))


def _no_more_than(fix: PlainFix | None) -> Callable[[PlainFix], bool]:
    """Whether a fix may change no more than another one, and assumes nothing that the other one does not."""
    changes = frozenset(fix.may_change) if fix is not None else frozenset()
    assumes = fix.assumes if fix is not None else ""

    def wanted(other: PlainFix) -> bool:
        return changes.issuperset(other.may_change) and other.assumes in ("", assumes)

    return wanted


def editor(path: Path, row: int) -> list[str]:
    """Return the command line that opens a file in the user's editor, at a row if it supports that.

    The result is empty without an editor.
    """
    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    if not words:
        return []
    program = Path(words[0]).name
    if program in _WITH_ROW:
        return [*words, f"+{row}", str(path)]
    if program in _WITH_PLACE:
        return [*words, *(["--goto"] if program in ("code", "codium", "cursor") else []), f"{path}:{row}"]
    return [*words, str(path)]
