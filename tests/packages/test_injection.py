"""Inverted fixes are found again where the code is hot, and ``--fix`` takes them all out."""

from __future__ import annotations

from collections import Counter

import pytest
from libraries import PACKAGES, injected, left, note, smells

pytestmark = [pytest.mark.ninth, pytest.mark.packages, pytest.mark.torch]

# The package that also every run of the tests takes.
SHORT = "sb3_contrib"
# The least number of safe fixes in all packages together.
ENOUGH = 50


@pytest.fixture(params=[pytest.param(name, marks=() if name == SHORT else pytest.mark.long) for name in PACKAGES])
def package(request: pytest.FixtureRequest) -> str:
    """A package with its smells."""
    return request.param


def test_what_was_put_in_is_found(package: str) -> None:
    """Not everything is hot; but more than half must be, and of every kind something."""
    put, found = injected(package), Counter(smell.code for smell in smells(package))
    note(f"smells-{package}", {"injected": put, "found": found, "safe": sum(smell.safe for smell in smells(package))})
    print(f"{package}: injected {put}, found {dict(found)}")
    assert sum(found[code] for code in put) > sum(put.values()) / 2


def test_no_fix_is_left(package: str) -> None:
    assert [smell for smell in left(package, "safe") if smell["safe"]] == []
    assert left(package, "unsafe") == []


@pytest.mark.long
def test_there_are_enough_fixes() -> None:
    assert sum(smell.safe for package in PACKAGES for smell in smells(package)) >= ENOUGH
