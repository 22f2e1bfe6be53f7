"""The mistakes of ``hand_mutants.py`` are ones that can be made in the code as it is, and their tests are there."""

from __future__ import annotations

import pytest
from conftest import ROOT
from hand_mutants import HAND_MUTANTS, HandMutant


@pytest.mark.parametrize("mutant", HAND_MUTANTS, ids=lambda mutant: mutant.mistake)
def test_a_mistake_changes_a_function_and_has_a_test(mutant: HandMutant) -> None:
    assert mutant.text.count(mutant.old) == 1, f"{mutant.path} was changed: put the mistake into the new code"
    assert list(mutant.codes())
    file, _, name = mutant.test.partition("::")
    assert f"\ndef {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")


def test_mistakes_have_words_of_their_own() -> None:
    assert len({mutant.mistake for mutant in HAND_MUTANTS}) == len(HAND_MUTANTS) >= 30
