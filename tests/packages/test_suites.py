"""Tests that packages ship pass with smells and after their fixes as before, and run lines that are fixed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from libraries import note, ran, run, smells

pytestmark = [pytest.mark.ninth, pytest.mark.packages, pytest.mark.torch]

OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR) (\S+)", re.MULTILINE)
# Test files of each package: those that run what the fixes touch, without the ones that take long for little.
LONG = {
    "stable_baselines3": ("distributions", "gae", "n_step_replay", "predict", "run", "sde"),
    "sb3_contrib": ("distributions", "invalid_actions", "lstm", "run"),
}
# It trains until an agent is good.
SLOW = "tests/test_lstm.py::test_ppo_lstm_performance"
OPTIONS = ("-q", "-rA", "-p", "no:cacheprovider", "--deselect", SLOW)


def outcomes(package: str, name: str, files: tuple[str, ...], *more: str, **variables: str) -> dict[str, str]:
    """The outcome of every test of some files in a version of a package."""
    paths = [f"tests/test_{file}.py" for file in files]
    done = run(name, package, "-m", "pytest", *paths, *OPTIONS, *more, **variables)
    found = {test: outcome for outcome, test in OUTCOME.findall(done.stdout)}
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    return found


@pytest.mark.parametrize("name", ["injected", "safe"])
def test_some_tests_pass(name: str) -> None:
    assert set(outcomes("sb3_contrib", name, ("distributions",)).values()) == {"PASSED"}


@pytest.mark.long
@pytest.mark.parametrize("package", LONG)
def test_no_new_failure(package: str, tmp_path: Path) -> None:
    """With smells, after safe fixes, and after all fixes every test ends as it did."""
    place = tmp_path / "lines.json"
    place.write_text(json.dumps(sorted({smell.file for smell in smells(package)})), encoding="utf-8")
    before = outcomes(package, "original", LONG[package])
    told = {"tests": len(before), "passed": sum(outcome == "PASSED" for outcome in before.values())}
    plugin = ("-p", "executed")
    changed = {"injected": outcomes(package, "injected", LONG[package], *plugin, EXECUTED_LINES=str(place))}
    executed = ran(package, place)
    changed |= {name: outcomes(package, name, LONG[package]) for name in ("safe", "unsafe")}
    other = {
        name: sorted(test for test in before.keys() | after.keys() if before.get(test) != after.get(test))
        for name, after in changed.items()
    }
    note(f"suite-{package}", {"files": LONG[package], **told, "other": other})
    note(f"ran-{package}", sorted([smell.code, smell.file, smell.row, smell.safe] for smell in executed))
    print(f"{package}: {told['tests']} tests, {len(executed)} of {len(smells(package))} fixes on lines that they run")
    assert told["passed"] > 70  # the files of SB3-Contrib hold 79 tests
    assert other == {"injected": [], "safe": [], "unsafe": []}
    assert sum(smell.safe for smell in executed) >= 10
