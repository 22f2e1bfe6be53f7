"""Runs the user's command once on a copy whose text tells what the expressions are that safe fixes need to know."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from torchlint.count.run import PREFIX, booting, counting
from torchlint.device.seeing import NAME, ORDER, SUFFIX
from torchlint.engine.missing import MissingFact, missing
from torchlint.engine.run import EngineRun
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Change, Finding, Kind, Value
from torchlint.rule.sight import ExpressionKey, Sight
from torchlint.sources.observations import MOST_VALUES, value_of
from torchlint.sources.text import Source
from torchlint.verify.failure import CannotVerifyError
from torchlint.verify.trials import Listener, Trials
from torchlint.verify.verifying import Plan, base_of, check_copy, command_in, copied

_MOST_QUESTIONS = 20_000


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """What came of one run.

    Attributes:
        sights: what was seen, in this run and in those whose observations the project already had.
        asked: how many expressions were looked at, and seen: how many of these the run came to.
        seconds: how long it ran. limited: whether it was ended at its time limit.
        remarks: what else the user must know, a sentence each.
    """

    sights: tuple[Sight, ...]
    asked: int
    seen: int
    seconds: float
    limited: bool
    remarks: tuple[str, ...]


def observe(project: EngineRun, plan: Plan, listener: Listener, *, counted: bool) -> ObservedRun:
    """Run a command once in a copy of the project and note what expressions are; the real project is only read.

    ``counted``: with the counted device in place of CUDA, so that the program has an accelerator to choose.

    Raises:
        CannotVerifyError: the command fails, or there is another reason why nothing can be seen.
    """
    with listener.running("reading the project"):
        units, _ = project.linting.units(project.sources)
        questions = missing(units)[:_MOST_QUESTIONS]
    if not questions:
        return ObservedRun((), 0, 0, 0.0, False, ())
    base = base_of(project.settings.root, plan.folder)
    with copied(base, plan, listener) as place:
        check_copy(project, place, {question.key.path for question in questions})
        command, remarks = command_in(project, plan, place)
        trials = Trials(project, place, command, listener)
        with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, tempfile.TemporaryDirectory(prefix=PREFIX) as counts:
            top = place.there(project.settings.root)
            environment = booting(command.environment, ORDER, {"reports": folder, "root": str(top or place.work)})
            if counted:
                environment = counting(environment, counts, [place.work], None, None)
            texts = instrumented({**project.context, **project.sources}, questions)
            ended = trials.run(texts, "observing", replace(command, environment=environment))
            limited = ended.code is None
            if not (ended.passed or limited):
                raise CannotVerifyError(
                    f"the command failed while it was observed ({ended.reason})", trials.tail(ended)
                )
            saw = _read(Path(folder))
    seen = {questions[number].key: values for number, values in saw.items() if number < len(questions)}
    known = (sight for sight in project.sights if sight.key not in project.outdated)
    # A method says what it is by its name already.
    new = (
        Sight(key, saw)
        for key, saw in seen.items()
        if any(value.kind is not Kind.FUNCTION for value in saw or (UNKNOWN,))
    )
    sights = merged([*known, *new])
    return ObservedRun(sights, len(questions), len(seen), ended.seconds, limited, tuple(remarks))


def instrumented(texts: Mapping[str, Source], questions: Sequence[MissingFact]) -> dict[str, Source]:
    """Return the texts in which questions are asked, with a call around each expression; rows stay where they are."""
    inserted: dict[str, list[tuple[int, int, int, bytes]]] = {}
    for number, question in enumerate(questions):
        rows = inserted.setdefault(question.key.path, [])
        size = question.end - question.start
        # Where several begin or end at one place, the outer one begins first and ends last.
        rows.append((question.start, 1, -size, f"{NAME}({number}, ".encode()))
        rows.append((question.end, 0, size, b")"))
    woven = {path: _woven(texts[path].utf8, rows) for path, rows in inserted.items()}
    return {path: replace(texts[path], text=utf8.decode(), utf8=utf8) for path, utf8 in woven.items()}


def _woven(utf8: bytes, rows: Iterable[tuple[int, int, int, bytes]]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for offset, _, _, text in sorted(rows):
        parts += [utf8[at:offset], text]
        at = offset
    return b"".join([*parts, utf8[at:]])


def _read(folder: Path) -> dict[int, tuple[Value, ...]]:
    """What all processes saw of each expression, by its number; of one with too many different values nothing."""
    found: dict[int, dict[str, Value]] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):  # the last line of a process that was killed
                number, told = json.loads(line)
                found.setdefault(number, {})[json.dumps(told)] = value_of(told)
    return {number: _few(values[told] for told in sorted(values)) for number, values in sorted(found.items())}


def _few(values: Iterable[Value]) -> tuple[Value, ...]:
    different = tuple(dict.fromkeys(values))
    return different if len(different) <= MOST_VALUES else ()


def merged(sights: Iterable[Sight]) -> tuple[Sight, ...]:
    """Merge the observations of several runs: an expression was all that it was in any of them."""
    found: dict[ExpressionKey, tuple[Value, ...]] = {}
    for sight in sights:
        known = found.get(sight.key)
        found[sight.key] = sight.saw if known is None else _few((*known, *sight.saw)) if known and sight.saw else ()
    return tuple(Sight(key, found[key]) for key in sorted(found))


def resting(findings: Iterable[Finding]) -> Mapping[str, int]:
    """Return how many fixes rest on observations, by what ``--accept`` has to name for them."""
    fixes = (finding.fix for finding in findings if finding.fix is not None)
    ways = (fix.may_change for fix in fixes if Change.OBSERVED in fix.may_change and not fix.assumes)
    return Counter(",".join(sorted(change.value for change in way)) for way in ways)
