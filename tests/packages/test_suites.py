"""The tests that Stable-Baselines3 ships pass after fixes as they did before, and run lines that were fixed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from libraries import Copy, copies, run

pytestmark = [pytest.mark.packages, pytest.mark.torch, pytest.mark.long]

SUBSET = ("tests/test_distributions.py", "tests/test_sde.py", "tests/test_predict.py")
OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR) (\S+)", re.MULTILINE)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Copy, dict[str, str], list[str]]]:
    """For each kind of fix: the copy, the outcome of every test, and the changed lines that ran."""
    folder = tmp_path_factory.mktemp("suite")
    return {name: (copy, *_outcomes_of(copy, folder / f"{name}.json")) for name, copy in copies(folder).items()}


def _outcomes_of(copy: Copy, place: Path) -> tuple[dict[str, str], list[str]]:
    """Run the subset of the library's tests in a copy."""
    place.write_text(json.dumps(copy.changed), encoding="utf-8")
    options = ("-q", "-rA", "-p", "no:cacheprovider", "-p", "executed")
    done = run(copy, "-m", "pytest", *SUBSET, *options, EXECUTED_LINES=str(place))
    found = {test: outcome for outcome, test in OUTCOME.findall(done.stdout)}
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    return found, json.loads(place.read_text(encoding="utf-8"))


def test_the_tests_pass_before(outcomes: dict[str, tuple[Copy, dict[str, str], list[str]]]) -> None:
    _, before, _ = outcomes["before"]
    assert set(before.values()) == {"PASSED"}


@pytest.mark.parametrize("name", ["safe", "validation", "unsafe"])
def test_no_new_failure_after_fixes(outcomes: dict[str, tuple[Copy, dict[str, str], list[str]]], name: str) -> None:
    assert outcomes[name][1] == outcomes["before"][1]


def test_the_tests_run_lines_that_were_fixed(outcomes: dict[str, tuple[Copy, dict[str, str], list[str]]]) -> None:
    for name in ("safe", "validation", "unsafe"):
        copy, _, executed = outcomes[name]
        print(f"{name}: {len(executed)} of {len(copy.changed)} changed lines ran")
    assert outcomes["unsafe"][2]
