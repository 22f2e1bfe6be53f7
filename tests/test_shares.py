"""Which tests of a mark run in one state of the code: cases of a test in turn, and each in some state."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from conftest import SHARES, left_out

STATES = [f"state {number}" for number in range(200)]


@dataclass(frozen=True)
class Marked:
    """A test as far as its share is concerned."""

    nodeid: str
    mark: str = ""

    def get_closest_marker(self, name: str) -> str | None:
        return name if name == self.mark else None


def ran(tests: list[Marked], state: str) -> list[str]:
    left = {test.nodeid for test in left_out(tests, state)}
    return [test.nodeid for test in tests if test.nodeid not in left]


@pytest.mark.parametrize(("mark", "count"), SHARES.items())
def test_of_the_cases_of_a_test_an_equal_share_runs_in_each_state(mark: str, count: int) -> None:
    tests = [Marked(f"test_x.py::test_y[{number}]", mark) for number in range(2 * count)]
    found = [ran(tests, state) for state in STATES]
    assert {len(each) for each in found} == {2}
    assert {name for each in found for name in each} == {test.nodeid for test in tests}


def test_a_test_of_its_own_runs_in_some_states_and_one_without_a_mark_in_all() -> None:
    tests = [Marked("test_x.py::test_a", "third"), Marked("test_x.py::test_b", "third"), Marked("test_x.py::test_c")]
    found = {tuple(ran(tests, state)) for state in STATES}
    assert found == {
        ("test_x.py::test_c",),
        ("test_x.py::test_a", "test_x.py::test_c"),
        ("test_x.py::test_b", "test_x.py::test_c"),
        ("test_x.py::test_a", "test_x.py::test_b", "test_x.py::test_c"),
    }
