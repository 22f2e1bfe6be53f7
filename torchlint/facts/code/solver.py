"""Answers questions that depend on each other, also in circles, whatever the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Generic, TypeVar

from torchlint.facts.code.room import roomy
from torchlint.late import dataclass

Key = TypeVar("Key")
Answer = TypeVar("Answer")
_DEEPEST = 40
_PASSES = 8
# Questions that one question may lead to before circles get no second pass, and chains that are too long no second
# attempt: where half of a large project forms one circle, both start over again and again.
_MOST = 5000
_NEVER = 1 << 60
# Every few open questions it is looked whether the stack has room for more.
_LOOKS = 6


class _TooDeepError(Exception):
    """A question was met at the end of too long a chain of others that its solver, and no other, is to answer first."""

    def __init__(self, solver: object) -> None:
        super().__init__()
        self.solver = solver


class NotYetError(Exception):
    """There is no answer before that to another question; ``compute`` may raise it instead of giving ``None``."""


def _no_floor(_question: object) -> None:
    """Return no floor: nothing holds of a question before others are answered."""


@dataclass(eq=False, repr=False, slots=True)
class Solver(Generic[Key, Answer]):
    """Remembers answers, and finds the least one that fits where questions form a circle.

    Circles are found as Tarjan finds strongly connected components. Their questions are answered again and again,
    beginning with ``None`` (nothing is known yet), until nothing changes, and are then remembered all at once.

    Attributes:
        compute: answers one question by asking others. The more it learns, the less its answer may promise.
        unknown: the answer that promises nothing: where a circle comes to no end, and where nothing gets known.
        floor: what holds of a question whatever the answers to others are, ``None`` where nothing does. Where nothing
            gets known of a question in a circle, because it waits for itself, this is its answer, and the rest of the
            circle is answered again.
    """

    compute: Callable[[Key], Answer | None]
    unknown: Answer
    floor: Callable[[Key], Answer | None] = _no_floor
    _memory: dict[Key, Answer] = field(default_factory=dict)
    _guesses: dict[Key, Answer | None] = field(default_factory=dict)
    _open: dict[Key, int] = field(default_factory=dict)
    _guessed: dict[Key, int] = field(default_factory=dict)
    _circle: list[Key] = field(default_factory=list)
    _changed: list[Key] = field(default_factory=list)
    _lowest: int = _NEVER
    _count: int = 0
    _last: int = 0
    _deepest: Key = field(init=False)

    def ask(self, key: Key) -> Answer | None:
        """Return the answer to a question.

        While it is being computed, the answer is provisional, or ``None`` if there is none yet.
        """
        found = self._memory.get(key)
        if found is not None:
            return found
        return self._inner(key) if self._open else self._first(key)

    def learn(self, answers: Mapping[Key, Answer]) -> None:
        """Copy the answers of another solver to the same questions."""
        self._memory.update(answers)

    def about(self, wanted: Callable[[Key], bool]) -> dict[Key, Answer]:
        """Return the current answers to some of the questions."""
        return {key: answer for key, answer in self._memory.items() if wanted(key)}

    @property
    def idle(self) -> bool:
        """Whether no question is open, so that all answers are final."""
        return not self._open

    def _first(self, key: Key) -> Answer:
        """Answer a question that no other one waits for; chains that are too long are worked off from their ends."""
        waiting = [key]
        self._last = self._count + _MOST
        while waiting:
            deeper = self._attempt(waiting[-1])
            if not deeper:
                waiting.pop()
            elif deeper[0] in waiting:  # a circle longer than any chain may be
                self._memory[deeper[0]] = self.unknown
                self._settled_together(deeper[:1])
            else:
                waiting.append(deeper[0])
        return self._memory[key]

    def _attempt(self, key: Key) -> list[Key]:
        """Answer a question, or give the one that must be answered before."""
        try:
            if key not in self._memory:
                self._inner(key)
            return []
        except _TooDeepError as error:
            if error.solver is not self:
                raise
            return [self._deepest]
        finally:
            self._forget()

    def _forget(self) -> None:
        """Drop what belongs to questions that are answered or given up."""
        for unsettled in (self._guesses, self._open, self._guessed, self._circle, self._changed):
            if unsettled:
                unsettled.clear()

    def _inner(self, key: Key) -> Answer | None:
        number = self._open.get(key, self._guessed.get(key))
        if number is not None:  # it is being answered, or was answered in this pass by guesses
            self._lowest = min(self._lowest, number)
            return self._guesses.get(key)
        if len(self._open) >= _DEEPEST:
            if self._count > self._last:
                self._memory[key] = self.unknown
                return self.unknown
            self._deepest = key
            raise _TooDeepError(self)
        outer = self._lowest
        self._count += 1
        number = self._open[key] = self._count
        # Solvers that ask each other go deeper than any of them alone.
        lowest = self._settle(key, number) if len(self._open) % _LOOKS else self._settle_with_room(key, number)
        del self._open[key]
        if lowest >= number:
            self._lowest = outer
            return self._memory[key]
        self._guessed[key] = lowest
        self._circle.append(key)
        self._lowest = min(outer, lowest)
        return self._guesses[key]

    def _settle(self, key: Key, number: int) -> int:
        """Answer a question, again and again if it begins a circle.

        Gives the number of the earliest open question that the answer rests on; if that is its own or none, the answers
        of the circle are remembered.
        """
        start = len(self._circle)
        for _ in range(_PASSES):
            first_change = len(self._changed)
            self._lowest = _NEVER
            guess = self._compute(key)
            if self._lowest == _NEVER and key not in self._guesses:  # it rests on no guess: most questions do not
                self._memory[key] = self.unknown if guess is None else guess
                return number
            if guess != self._guesses.get(key):
                self._changed.append(key)
            self._guesses[key] = guess
            if self._lowest < number:
                return self._lowest
            circle, changed = [key, *self._circle[start:]], self._changed[first_change:]
            del self._circle[start:], self._changed[first_change:]
            for part in circle[1:]:
                del self._guessed[part]
            if self._lowest == _NEVER or not changed:
                changed = []
                break
            if self._count > self._last:
                break
        found = {part: self._guesses.pop(part) for part in circle}
        floors = {part: least for part in circle if found[part] is None and (least := self.floor(part)) is not None}
        if floors:
            self._memory.update(floors)
            self._settled_together(floors)
            return number if key in floors else self._settle(key, number)
        for part, answer in found.items():
            self._memory[part] = self.unknown if answer is None or part in changed else answer
        self._settled_together(circle)
        return number

    @roomy
    def _settle_with_room(self, key: Key, number: int) -> int:
        return self._settle(key, number)

    def _compute(self, key: Key) -> Answer | None:
        try:
            return self.compute(key)
        except NotYetError:
            return None

    def passing(self) -> None:
        """Mark the answer being computed as resting on what may change; only ``Provisional`` remembers that."""

    def _settled_together(self, keys: Iterable[Key]) -> None:
        """Questions were answered that depend on each other."""


@dataclass(eq=False, repr=False, slots=True)
class Provisional(Solver[Key, Answer]):
    """A solver that also tells which of its answers hold whatever changes."""

    _passing: set[Key] = field(default_factory=set)
    _rests: bool = False

    def lasting(self) -> dict[Key, Answer]:
        """Return the answers that depend on nothing provisional.

        Those of a circle of questions always count as provisional.
        """
        return {key: answer for key, answer in self._memory.items() if key not in self._passing}

    def ask(self, key: Key) -> Answer | None:
        """Return the answer to a question (see ``Solver.ask``)."""
        found = self._memory.get(key)
        if found is None:
            return self._inner(key) if self._open else self._first(key)
        self._rests = self._rests or key in self._passing
        return found

    def passing(self) -> None:
        """Mark the answer being computed as resting on what may change."""
        self._rests = True

    def _compute(self, key: Key) -> Answer | None:
        outer, self._rests = self._rests, False
        try:
            return Solver._compute(self, key)
        finally:
            if self._rests:
                self._passing.add(key)
            self._rests = self._rests or outer

    def _settled_together(self, keys: Iterable[Key]) -> None:
        self._passing.update(keys)
