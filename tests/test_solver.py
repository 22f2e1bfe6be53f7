"""Questions that depend on each other: the same answers in any order, for circles and for chains of any length."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from torchlint.facts.code.solver import NotYetError, Solver

TOP = frozenset({"anything"})
TOP_NUMBERS = frozenset({-1})
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


def test_a_circle_of_any_length_is_solved() -> None:
    def compute(key: int) -> int:
        asked.append(key)
        return max(solver.ask((key + 1) % 500) or 0, key)

    asked: list[int] = []
    solver = Solver(compute, 1000)
    assert [solver.ask(key) for key in (7, 250, 499)] == [499, 499, 499]
    assert len(asked) < 4 * 500


def test_what_rests_on_what_grows_for_ever_is_not_left_from_a_pass_before() -> None:
    """The first question grows in each pass; the answer of the second must fit the one that is kept of the first."""

    def compute(key: str) -> frozenset[int]:
        if key == "grows":
            known = solver.ask("beside") or frozenset()
            return known if known == TOP_NUMBERS else known | {len(known)}
        return solver.ask("grows") or frozenset()

    for first in ("grows", "beside"):
        solver: Solver[str, frozenset[int]] = Solver(compute, TOP_NUMBERS)
        solver.ask(first)
        assert solver.ask("beside") == solver.ask("grows") == TOP_NUMBERS


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
