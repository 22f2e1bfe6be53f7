"""Answers questions that depend on each other, also in circles, whatever the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Generic, TypeVar

from torchlint.facts.code.room import roomy
from torchlint.late import dataclass

Key = TypeVar("Key")
Answer = TypeVar("Answer")
# How often a circle of questions is answered again before what still changes counts as unknown.
_PASSES = 8
_NEVER = 1 << 60
# Every few open questions it is looked whether the stack has room for more.
_LOOKS = 6


class NotYetError(Exception):
    """There is no answer before that to another question; ``compute`` may raise it instead of giving ``None``."""


def _no_floor(_question: object) -> None:
    """Return no floor: nothing holds of a question before others are answered."""


@dataclass(eq=False, repr=False, slots=True)
class Solver(Generic[Key, Answer]):
    """Remembers answers, and finds the least one that fits where questions form a circle.

    Circles are found as Tarjan finds strongly connected components. Their questions are answered again and again,
    beginning with ``None`` (nothing is known yet), until nothing changes, and are then remembered all at once. What
    still changes after several passes is unknown (a *widening*), and the rest of the circle is answered again.

    Attributes:
        compute: answers one question by asking others. The more it learns, the less its answer may promise.
        unknown: the answer that promises nothing: for what comes to no end, and where nothing gets known.
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
        """Answer a question that no other one waits for."""
        try:
            self._inner(key)
            return self._memory[key]
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
        before = len(self._circle), len(self._changed)
        while True:
            self._lowest = _NEVER
            guess = self._compute(key)
            if self._lowest == _NEVER and key not in self._guesses:  # it rests on no guess: most questions do not
                self._memory[key] = self.unknown if guess is None else guess
                return number
            answers, changed = self._passes(key, number, guess, before)
            if not answers:
                return self._lowest
            fixed = dict.fromkeys(changed, self.unknown) or self._floors(answers)
            if not fixed:
                fixed = {part: self.unknown if answer is None else answer for part, answer in answers.items()}
            self._memory.update(fixed)
            self._settled_together(fixed)
            if key in fixed:
                return number

    def _passes(
        self, key: Key, number: int, guess: Answer | None, before: tuple[int, int]
    ) -> tuple[dict[Key, Answer | None], list[Key]]:
        """Answer a question, of which the first answer is known, until nothing in its circle changes, or often enough.

        ``before``: how many questions were in circles, and how many had changed, before it was asked. Gives the answers
        of the circle, none where they rest on an earlier question and stay guesses; and what still changes.
        """
        start, first_change = before
        for again in range(1, _PASSES + 1):
            if guess != self._guesses.get(key):
                self._changed.append(key)
            self._guesses[key] = guess
            if self._lowest < number:
                return {}, []
            circle, changed = [key, *self._circle[start:]], self._changed[first_change:]
            del self._circle[start:], self._changed[first_change:]
            for part in circle[1:]:
                del self._guessed[part]
            if self._lowest == _NEVER or not changed:
                changed = []
                break
            if again < _PASSES:
                self._lowest = _NEVER
                guess = self._compute(key)
        return {part: self._guesses.pop(part) for part in circle}, changed

    def _floors(self, answers: Mapping[Key, Answer | None]) -> dict[Key, Answer]:
        """The floors of the questions of which nothing gets known."""
        waiting = (part for part, answer in answers.items() if answer is None)
        return {part: least for part in waiting if (least := self.floor(part)) is not None}

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
