"""Many random programs around each rule with a safe fix, and what came of them."""

from __future__ import annotations

import random
import re
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

import golden

from fuzz.fixes.generators import GENERATORS
from fuzz.fixes.program import Program
from fuzz.fixes.running import SPEAKING, Difference, fixed, tried

_SAFE = re.compile(r"^\d+:\d+-\d+:\d+ (TL\d{3}) .*\| fix safe[ ,]", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """One program of a campaign, and how many inputs it is run on."""

    seed: str
    code: str
    number: int
    inputs: int

    @property
    def again(self) -> str:
        """The command that shows it again."""
        return f"make fuzz-fixes ARGS='--seed {self.seed} --show {self.code}:{self.number} --inputs {self.inputs}'"


@dataclass
class Row:
    """What came of the programs of a rule."""

    programs: int = 0
    fixes: int = 0
    safe: int = 0
    inputs: int = 0
    differences: int = 0
    exceptions: int = 0
    refused: int = 0

    def add(self, other: Row) -> None:
        """Add the figures of other programs."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Told:
    """The figures of some programs by rule, and what was different."""

    rows: dict[str, Row] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    def row(self, code: str) -> Row:
        """The figures of a rule."""
        return self.rows.setdefault(code, Row())

    def add(self, other: Told) -> None:
        """Add what came of other programs."""
        for code, row in other.rows.items():
            self.row(code).add(row)
        self.differences += other.differences


def program(task: Task) -> tuple[Program, random.Random]:
    """The program of a task, and the source of its random inputs."""
    choice = random.Random(f"{task.seed}:{task.code}:{task.number}")
    written = GENERATORS[task.code](task.code, choice)
    if choice.random() < 0.3:
        written = replace(written, text=f"{written.text}\n\n{SPEAKING}\n")
    return written, choice


def tasks(seed: str, programs: int, inputs: int, codes: Iterable[str] = ()) -> Iterator[Task]:
    """The programs of a campaign, the rules in turn."""
    wanted = sorted(codes) or sorted(GENERATORS)
    for index in range(programs):
        number, place = divmod(index, len(wanted))
        yield Task(seed, wanted[place], number, inputs)


def further(seed: str, told: Told, least: int, inputs: int) -> list[Task]:
    """As many programs again around each rule whose safe fix was seen, and less often than wanted."""
    rare = sorted(code for code in safe_rules() & set(GENERATORS) if 0 < told.row(code).safe < least)
    return [
        Task(seed, code, number, inputs)
        for code in rare
        for number in range(told.row(code).programs, 2 * told.row(code).programs)
    ]


def campaign(batch: Iterable[Task]) -> Told:
    """Try the programs of some tasks."""
    told = Told()
    for task in batch:
        written, choice = program(task)
        told.row(task.code).programs += 1
        try:
            outcome = tried(written, task.inputs, choice)
        except Exception:  # noqa: BLE001  whatever it is, it is looked for, and the others are tried
            told.row(task.code).differences += 1
            told.differences.append(f"{task.code}: {traceback.format_exc(limit=-3)}\n    {task.again}")
            continue
        for code in outcome.applied:
            told.row(code).fixes += 1
            told.row(code).safe += 1
        for code in outcome.accepted:
            told.row(code).safe -= 1
        for code in set(outcome.applied):
            told.row(code).inputs += outcome.inputs
        for code in outcome.exceptions:
            told.row(code).exceptions += 1
        told.row(task.code).refused += outcome.refused
        for difference in outcome.differences:
            for code in difference.codes or (task.code,):
                told.row(code).differences += 1
        told.differences += [_words(task, difference) for difference in outcome.differences[:2]]
    return told


def _words(task: Task, difference: Difference) -> str:
    by = ", ".join(difference.codes) or "several fixes together"
    return f"{by}: {difference.told}\n    with {difference.input}\n    {task.again}"


@cache
def safe_rules() -> frozenset[str]:
    """The rules with a safe fix: those that offer one in a fixture or an example, as the golden findings say."""
    texts = (golden.kept("fixtures") | golden.kept("examples")).values()
    return frozenset(code for text in texts for code in _SAFE.findall(text))


def missing(told: Told, least: int = 1) -> list[str]:
    """What the rules with a safe fix lack: a generator, or programs in which the fix is applied."""
    wrong = [f"{code}: no generator writes programs around it" for code in sorted(safe_rules() - set(GENERATORS))]
    rare = sorted(code for code in safe_rules() & set(GENERATORS) if told.row(code).safe < least)
    return [
        *wrong,
        *(f"{code}: a safe fix of it applied {told.row(code).safe} times, {least} are wanted" for code in rare),
    ]


def show(task: Task) -> tuple[str, str, list[str]]:
    """The program of a task before and after its fixes, and what is different."""
    written, choice = program(task)
    after = fixed(written)
    outcome = tried(written, task.inputs, choice)
    return written.text, after.text, [_words(task, difference) for difference in outcome.differences]
