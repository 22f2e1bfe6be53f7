"""Questions that depend on each other: the same answers in any order, for circles and for chains of any length."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from torchlint.facts.code.solver import NotYetError, Solver, _TooDeepError

TOP = frozenset({"anything"})
Equations = Mapping[str, tuple[str, ...]]


def union(equations: Equations) -> Solver[str, frozenset[str]]:
    """Each question's answer is the union of the letters and of the answers to the questions it names."""

    def compute(key: str) -> frozenset[str] | None:
        found: frozenset[str] = frozenset()
        for part in equations[key]:
            found |= (solver.ask(part) or frozenset()) if part in equations else {part}
        return found or None

    solver = Solver(compute, TOP)
    return solver


SYSTEMS: dict[str, tuple[Equations, dict[str, str]]] = {
    "no circle": ({"x": ("a", "y"), "y": ("b",)}, {"x": "ab", "y": "b"}),
    "itself": ({"x": ("x", "a")}, {"x": "a"}),
    "two": ({"x": ("a", "y"), "y": ("b", "x")}, {"x": "ab", "y": "ab"}),
    "two circles that share a question": (
        {"x": ("y", "a"), "y": ("x", "z"), "z": ("y", "b")},
        {"x": "ab", "y": "ab", "z": "ab"},
    ),
    "a circle inside another": (
        {"x": ("y",), "y": ("z", "a"), "z": ("y", "w"), "w": ("x", "z", "b")},
        dict.fromkeys("xyzw", "ab"),
    ),
    "a circle that another rests on": (
        {"x": ("y", "u"), "y": ("x", "a"), "u": ("v", "b"), "v": ("u",)},
        {"x": "ab", "y": "ab", "u": "b", "v": "b"},
    ),
}


@pytest.mark.parametrize(("equations", "expected"), SYSTEMS.values(), ids=SYSTEMS)
def test_answers_do_not_depend_on_the_order_of_questions(equations: Equations, expected: dict[str, str]) -> None:
    for order in itertools.permutations(equations):
        solver = union(equations)
        answers = {key: solver.ask(key) for key in order}
        assert answers == {key: frozenset(letters) for key, letters in expected.items()}, order


def test_a_circle_in_which_nothing_gets_known() -> None:
    assert union({"x": ("y",), "y": ("x",)}).ask("x") == TOP


def test_a_question_that_waits_for_itself_falls_to_its_floor_and_the_rest_is_answered_again() -> None:
    """A list that is filled with what is computed from its elements is a list, whatever the elements are."""
    equations = {"list": "element", "element": "computed", "computed": "list", "beside": "list"}

    def waiting(key: str) -> str:
        found = solver.ask(equations[key])
        if found is None:
            raise NotYetError
        return f"{key} of {found}"

    for order in itertools.permutations(equations):
        solver: Solver[str, str] = Solver(waiting, "unknown", lambda key: "a list" if key == "list" else None)
        assert {key: solver.ask(key) for key in order} == {
            "list": "a list",
            "computed": "computed of a list",
            "element": "element of computed of a list",
            "beside": "beside of a list",
        }


def test_a_circle_that_grows_for_ever() -> None:
    def compute(key: str) -> str:
        return (solver.ask("x") or "") + "a"

    solver = Solver(compute, "unknown")
    assert solver.ask("x") == "unknown"


def test_an_answer_that_waits_for_another() -> None:
    def known(key: str) -> int:
        found = solver.ask(key)
        if found is None:
            raise NotYetError
        return found

    def compute(key: str) -> int:
        return max(solver.ask("y") or 0, 1) if key == "x" else min(known("x") + 1, 5)

    solver = Solver(compute, -1)
    assert solver.ask("y") == 5
    assert solver.ask("x") == 5


@pytest.mark.parametrize("first", [0, 500, 999])
def test_long_chains(first: int) -> None:
    asked: list[int] = []

    def compute(key: int) -> int:
        asked.append(key)
        return (solver.ask(key - 1) or 0) + 1 if key else 0

    solver = Solver(compute, -1)
    solver.ask(first)
    assert solver.ask(999) == 999
    assert len(asked) < 3 * 1000


def test_a_chain_that_is_too_long_is_left_to_the_solver_that_met_it() -> None:
    asked: list[tuple[str, int]] = []

    def outer(key: int) -> int:
        asked.append(("outer", key))
        return (inner.ask(999) or 0) + key

    def deeper(key: int) -> int:
        asked.append(("inner", key))
        return (inner.ask(key - 1) or 0) + 1 if key else 0

    first, inner = Solver(outer, -1), Solver(deeper, -1)
    assert first.ask(1) == 1000
    # The chain of the inner solver is worked off by it alone: the outer question is answered once.
    assert [key for solver, key in asked if solver == "outer"] == [1]
    assert first.idle
    assert inner.idle


def test_an_error_of_a_chain_that_is_too_long_names_its_solver() -> None:
    def compute(key: int) -> int:
        return (solver.ask(key - 1) or 0) + 1 if key else 0

    def other_compute(key: int) -> int:
        raise _TooDeepError(solver)

    solver, other = Solver(compute, -1), Solver(other_compute, -1)
    with pytest.raises(_TooDeepError) as raised:
        other.ask(0)
    assert raised.value.solver is solver
    assert other.idle
    assert solver.ask(999) == 999


def test_a_circle_longer_than_any_chain_ends() -> None:
    def compute(key: int) -> int:
        return max(solver.ask((key + 1) % 500) or 0, key)

    solver = Solver(compute, 1000)
    assert solver.ask(7) in (499, 1000)


def test_nothing_of_a_failed_question_is_left() -> None:
    def compute(key: str) -> int:
        if key == "x" and broken:
            solver.ask("y")
            raise ValueError("broken")
        return (solver.ask("x") or 0) if key == "y" else 1

    broken = True
    solver = Solver(compute, -1)
    with pytest.raises(ValueError, match="broken"):
        solver.ask("x")
    broken = False
    assert solver.ask("y") == 1
