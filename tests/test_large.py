"""What keeps a large project cheap: questions that lead too far get the answer that promises nothing."""

from __future__ import annotations

import ast

from projects import Code

from torchlint.facts.code.solver import Solver
from torchlint.facts.loops.loops import Loops
from torchlint.facts.state.effects import EVERYTHING


def test_a_large_circle_is_given_up_and_not_gone_through_again_and_again() -> None:
    size, asked = 3000, []

    def compute(key: int) -> int:
        asked.append(key)
        return max([key, *(solver.ask((key + step) % size) or 0 for step in (1, 7, 31))])

    solver = Solver(compute, size)
    assert solver.ask(0) in (size - 1, size)
    assert all(solver.ask(key) in (size - 1, size) for key in range(size))
    assert len(asked) < 10 * size


def effects(count: int):
    """What a call of a function touches that sets so many attributes, and what answers about it."""
    sets = "".join(f"        self.a{number} = 0\n" for number in range(count))
    code = Code(f"class Thing:\n    def reset(self):\n{sets}\nthing = Thing()\nfor i in range(9):\n    thing.reset()\n")
    facts = code.file()
    call = next(c for c in facts.top.calls if isinstance(c.func, ast.Attribute) and c.func.attr == "reset")
    sides = code.analyses[Loops].sides
    return sides, sides.call(facts, call)


def test_a_function_that_touches_few_things_touches_these() -> None:
    sides, found = effects(3)
    assert found.known
    assert found.writes == {"thing.a0", "thing.a1", "thing.a2"}
    assert sides.overlaps("thing", found.writes)
    assert not sides.overlaps("other", found.writes)


def test_a_function_that_touches_very_many_things_may_touch_anything() -> None:
    sides, found = effects(300)
    assert not found.known
    assert found.writes == {EVERYTHING}
    assert sides.overlaps("other", found.writes)
    assert sides.overlaps(EVERYTHING, frozenset({"other"}))
    assert not sides.overlaps(EVERYTHING, frozenset())
