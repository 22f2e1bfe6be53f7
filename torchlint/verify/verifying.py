"""From fixes and a command to the fixes with which it passes, and what they are worth."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from torchlint.engine.fixing import FixOutcome
from torchlint.engine.lineage import Origin
from torchlint.engine.run import EngineRun
from torchlint.late import dataclass
from torchlint.rule import Applicability, Finding, PlainFix, Position
from torchlint.settings.root import is_root
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source
from torchlint.verify.command import Command
from torchlint.verify.counting import Counting
from torchlint.verify.failure import CannotVerifyError
from torchlint.verify.metric import Fall, Gain, Metric, compare
from torchlint.verify.python import imports_from, module_names, python_of
from torchlint.verify.result import Status, Tried, Verified
from torchlint.verify.scratch import Scratch, scratch
from torchlint.verify.search import keepable, opponents
from torchlint.verify.trials import Failing, Listener, Trials, changed

# In a hook of git these name the real repository.
_OF_GIT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
_MANAGERS = frozenset({"hatch", "pdm", "pipenv", "pixi", "poetry", "rye", "tox", "nox", "uv"})


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run, and how.

    Attributes:
        words: the command. folder: where the user is, in the real project. environment: the user's variables.
        limit: seconds that a run may take. metric, repeats: what is measured, and how often on each side.
        whole, linked: paths that the copy holds, or links to, although git ignores them.
    """

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    limit: float | None = None
    metric: Metric | None = None
    repeats: int = 5
    whole: tuple[Path, ...] = ()
    linked: tuple[Path, ...] = ()


def verify(project: EngineRun, plan: Plan, listener: Listener) -> tuple[Verified, FixOutcome]:
    """Try the fixes of a project in a copy of it; the real one is only read.

    Returns:
        What was found out, and what the kept fixes make of the files.

    Raises:
        CannotVerifyError: the command fails before any fix, or there is another reason why nothing can be tried.
    """
    with listener.running("reading the project"):
        everything = project.fixes()
    base = base_of(project.settings.root, plan.folder)
    with copied(base, plan, listener) as place:
        check_copy(project, place, everything.applied)
        command, remarks = command_in(project, plan, place)
        trials = Trials(project, place, command, listener, sum(map(len, everything.applied.values())))
        return _Verification(plan, trials, remarks).result()


@contextmanager
def copied(base: Path, plan: Plan, listener: Listener) -> Iterator[Scratch]:
    """Yield a copy of a folder, and remove it at the end.

    Raises:
        CannotVerifyError: it cannot be made, or lacks what the user wants in it.
    """
    for path in (*plan.whole, *plan.linked):
        if base not in path.parents:
            raise CannotVerifyError(f"{path} is not in {base}, which is copied")
    with scratch(base) as place:
        with listener.running("copying the project"):
            place.fill(plan.whole, plan.linked)
        yield place


def base_of(root: Path, folder: Path) -> Path:
    """Return the folder to copy: the project, or a project around it where the user is in that one.

    Raises:
        CannotVerifyError: the user is elsewhere.
    """
    root, folder = Path(os.path.realpath(root)), Path(os.path.realpath(folder))
    base = Path(os.path.commonpath([root, folder]))
    if base != root and not is_root(base):
        raise CannotVerifyError(f"the command runs in a copy of {root}: change into that folder first")
    return base


def check_copy(project: EngineRun, place: Scratch, names: Iterable[str]) -> None:
    """Check that the copy holds the files of the project as they were read, and some by name.

    Raises:
        CannotVerifyError: it does not.
    """
    for name in names:
        if place.there(project.sources[name].path) is None:
            raise CannotVerifyError(f"{name} is not part of the copy of {place.base}{_left_out(place)}")
    for source in (*project.sources.values(), *project.context.values()):
        if place.there(source.path) is not None and not place.holds(source):
            raise CannotVerifyError(f"{source.name} changed while it was copied; run it again")


def _left_out(place: Scratch) -> str:
    if not place.left_out:
        return ""
    shown, more = place.left_out[:5], len(place.left_out) - 5
    names = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    return f"; the copy is without what git ignores: {names} (--copy or --link brings it)"


def command_in(project: EngineRun, plan: Plan, place: Scratch) -> tuple[Command, list[str]]:
    """Return the command for the copy, and what the user must know of it.

    Raises:
        CannotVerifyError: the folder of the user is not copied, or the command would run the real project.
    """
    folder = place.there(Path(os.path.realpath(plan.folder)))
    if folder is None:
        raise CannotVerifyError(f"{plan.folder} is not part of the copy{_left_out(place)}")
    words = (_program(plan.words[0], plan.folder, folder), *plan.words[1:])
    remarks = [
        f"the command names {word}, which is in the real project, not in the copy: use a path relative to this folder"
        for word in plan.words
        if os.path.isabs(word) and place.there(Path(word)) is not None
    ]
    environment = {name: value for name, value in plan.environment.items() if name not in _OF_GIT}
    environment |= {"TORCHLINT_VERIFY": "1", "PWD": str(folder)}
    sources = (*project.sources.values(), *project.context.values())
    names = module_names([Path(os.path.realpath(source.path)) for source in sources], place.base)
    python = python_of(words, environment)
    imports = imports_from(place, python, folder, names, environment)
    for name, where in sorted(imports.real.items())[:1]:
        told = f"{name} is imported from {where} in the real project, not from the copy: install it without -e"
        if python is not None and python.certain:
            raise CannotVerifyError(told)
        remarks.append(told)
    return Command(words, folder, imports.environment, plan.limit, place.output, place.lock), remarks


def _program(word: str, folder: Path, there: Path) -> str:
    """The program to start: one that is not copied, as in a virtual environment, is the real one."""
    real = folder / word
    if os.path.dirname(word) and not os.path.isabs(word) and real.exists() and not (there / word).exists():
        return os.path.abspath(real)
    return word


@dataclass(slots=True)
class _Verification:
    """One run: what is known of each fix so far, by the key of its origin."""

    plan: Plan
    trials: Trials
    remarks: list[str]
    findings: dict[str, tuple[Origin, Finding]] = field(default_factory=dict)
    rejected: dict[str, Failing] = field(default_factory=dict)
    against: dict[str, tuple[str, ...]] = field(default_factory=dict)
    idle: dict[str, Failing] = field(default_factory=dict)

    def result(self) -> tuple[Verified, FixOutcome]:
        seconds = self._baseline()
        kept = self._search()
        fall = self._fall(kept)
        kept = [key for key in kept if key not in self.idle]
        outcome = self.trials.fixed(frozenset(kept))
        if failing := self.trials.still_failing(frozenset(kept)):
            raise CannotVerifyError(
                f"the command passed and fails now ({failing.reason}), with the same files", failing.output
            )
        gain = self._gain(outcome)
        applied = {origin.key for origins in outcome.origins.values() for origin in origins}
        fixes = self._fixes(applied)
        remarks = (*self.remarks, *map("the command is not steady {}".format, self.trials.wavering), *self._changed())
        waiting = () if applied else _waiting(outcome, self.trials.project)
        verified = Verified(fixes, self.plan.words, self.trials.runs, seconds, gain, remarks, waiting, fall)
        return verified, outcome

    def _baseline(self) -> float:
        """Run the command without fixes; how long it takes."""
        ended = self.trials.run({}, "without fixes")
        if not ended.passed:
            reason = ended.reason
            ended = self.trials.run({}, "without fixes, once more")
            if not ended.passed:
                raise CannotVerifyError(
                    f"the command fails before any fix ({ended.reason}){self._hint()}", self.trials.tail(ended)
                )
            self.trials.wavering.append(f"without fixes: {reason}, then it passed")
        if self.plan.metric is not None and not self.plan.metric.counted:
            self.plan.metric.read(ended)
        self.trials.learn_passing()
        return ended.seconds

    def _hint(self) -> str:
        if self.plan.words[0] in _MANAGERS:
            return f"; {self.plan.words[0]} may make an environment for the copy: give the program in yours"
        return _left_out(self.trials.scratch)

    def _search(self) -> list[str]:
        """The keys of the fixes to keep. Where one is rejected there may be others that it kept from being offered."""
        kept: list[str] = []
        while new := self._new():
            fixes = [*kept, *new]
            kept = keepable(fixes, self.trials.passes)
            for key in fixes:
                if key not in kept:
                    self._blame(key, kept)
        return kept

    def _new(self) -> list[str]:
        """Fixes that were not seen before, among all but the rejected."""
        outcome = self.trials.without(frozenset(self.rejected))
        found = {
            origin.key: (origin, finding)
            for name, findings in sorted(outcome.applied.items())
            for origin, finding in zip(outcome.origins[name], findings, strict=True)
        }
        new = [key for key in found if key not in self.findings]
        self.findings.update(found)
        return new

    def _blame(self, key: str, kept: Sequence[str]) -> None:
        """Note how the command fails with a fix that cannot be kept, and with which others."""
        failing = self.trials.failing(frozenset((*kept, key)))
        if failing is not None:
            self.rejected[key] = failing
            self.against[key] = opponents(key, self._needed(key), kept, self.trials.passes)

    def _needed(self, key: str) -> frozenset[str]:
        """The fixes that made what a fix changes, and those that made what these change."""
        makers = self.findings[key][0].makers.intersection(self.findings)
        return makers.union(*map(self._needed, makers))

    def _fall(self, kept: Sequence[str]) -> Fall | None:
        """Count with the kept fixes and without, and note those that spare nothing."""
        metric = self.plan.metric
        if metric is None or not metric.counted:
            return None
        self.idle, fall = Counting(metric.counted, self.trials).spared(kept)
        return fall

    def _gain(self, outcome: FixOutcome) -> Gain | None:
        """Measure with the kept fixes and without, in turns, each going first in every second turn."""
        metric, fixed = self.plan.metric, changed(outcome)
        if metric is None or metric.counted or not fixed:
            return None
        numbers: tuple[list[float], list[float]] = ([], [])
        try:
            for turn in range(self.plan.repeats):
                for side in (0, 1) if turn % 2 == 0 else (1, 0):
                    doing = f"measuring {'with' if side else 'without'} fixes, {turn + 1} of {self.plan.repeats}"
                    ended = self.trials.run(fixed if side else {}, doing)
                    if not ended.passed:
                        raise CannotVerifyError(f"the command failed ({ended.reason}) {doing}")
                    numbers[side].append(metric.read(ended))
        except CannotVerifyError as error:
            self.remarks.append(f"the metric was not measured to the end: {error}")
            return None
        return compare(*numbers, lower=metric.lower)

    def _fixes(self, applied: set[str]) -> tuple[Tried, ...]:
        """The kept fixes and the rejected, by place. What only a rejected fix would have made is not a fix any more."""
        sources = self.trials.project.sources
        keys = [key for key in self.findings if key in applied or key in self.rejected or key in self.idle]
        tables = {name: LineTable(sources[name].utf8) for name in {self.findings[key][1].path for key in keys}}
        places = {key: _place(*self.findings[key], tables) for key in keys}
        keys.sort(key=lambda key: (self.findings[key][1].path, places[key]))
        tried: list[Tried] = []
        for key in keys:
            status = Status.REJECTED if key in self.rejected else Status.IDLE if key in self.idle else Status.KEPT
            failing = self.rejected.get(key) or self.idle.get(key, Failing("", ""))
            against = tuple(keys.index(other) + 1 for other in self.against.get(key, ()))
            tried.append(Tried(self.findings[key][1], places[key], status, failing.reason, failing.output, against))
        return tuple(tried)

    def _changed(self) -> list[str]:
        """What is no longer as it was read. Files that are to be written are looked at again then."""
        project = self.trials.project
        return [
            f"{source.name} changed during the run; what was tried was its text before"
            for source in (*project.sources.values(), *project.context.values())
            if not _is_unchanged(source)
        ]


def _waiting(outcome: FixOutcome, project: EngineRun) -> tuple[PlainFix, ...]:
    """Return the fixes that the options leave out."""
    fixes = [finding.fix for findings in outcome.remaining.values() for finding in findings if finding.fix is not None]
    unsafe = (fix for fix in fixes if fix.applicability is Applicability.UNSAFE)
    taken = project.settings
    return tuple(fix for fix in unsafe if not fix.accepted(taken.unsafe_fixes, taken.accept))


def _is_unchanged(source: Source) -> bool:
    try:
        return source.path.read_bytes() == source.raw
    except OSError:
        return False


def _place(origin: Origin, finding: Finding, tables: Mapping[str, LineTable]) -> Position:
    """Where a finding is in the text before all fixes; what a fix made is in the text of its round."""
    return finding.start if origin.first.maker else tables[finding.path].position(origin.first.offset)
