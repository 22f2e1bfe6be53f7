"""Many random programs one after the other."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fuzz.mutants import mutant
from fuzz.programs import Writer
from fuzz.properties import complaints


@dataclass(frozen=True)
class Failure:
    """A program of which something does not hold, and how to see it again."""

    seed: str
    kind: str
    number: int
    wrong: str

    def __str__(self) -> str:
        return f"{self.wrong}\n    make fuzz ARGS='--seed {self.seed} --kind {self.kind} --number {self.number}'"


def _loop(seed: str) -> str:
    return Writer(seed).loop()


def _agent(seed: str) -> str:
    return Writer(seed).program()


KINDS: dict[str, Callable[[str], str]] = {"loop": _loop, "mutant": mutant, "agent": _agent}


def program(seed: str, kind: str, number: int) -> str:
    """One of the programs that belong to a seed."""
    return KINDS[kind](f"{seed}:{number}")


def failures(seed: str, kind: str, numbers: Iterable[int]) -> Iterator[Failure]:
    """The programs that something is wrong with; every second one gets all fixes, the others the safe ones."""
    for number in numbers:
        text = program(seed, kind, number)
        try:
            wrong = "; ".join(complaints(text, unsafe=number % 2 == 1))
        except Exception:  # noqa: BLE001  whatever it is, it is what is looked for
            wrong = traceback.format_exc(limit=-4)
        if wrong:
            yield Failure(seed, kind, number, wrong)
