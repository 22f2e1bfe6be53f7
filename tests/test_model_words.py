"""The table of words: its schema, the names that each row recognises, and that the code uses each row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchlint.models import Word, word_rows

USED = re.compile(r'\bWord\("([^"]+)"\)')


def used(root: Path) -> set[str]:
    texts = [
        path.read_text(encoding="utf-8") for name in ("torchlint", "rules") for path in (root / name).rglob("*.py")
    ]
    return {row for text in texts for row in USED.findall(text)}


@pytest.mark.parametrize("row", word_rows())
def test_a_row_recognises_its_examples_and_nothing_like_its_counterexamples(row: str) -> None:
    given = word_rows()[row]
    assert set(given) - {"case"} == {"says", "pattern", "like", "unlike"}
    assert given.get("case", "any") == "any"
    assert given["like"] and given["unlike"]
    word = Word(row)
    assert [name for name in given["like"] if not word.fits(name)] == []
    assert [name for name in given["unlike"] if word.fits(name)] == []


def test_each_row_is_used_and_each_row_that_is_used_is_there(root: Path) -> None:
    assert used(root) == set(word_rows())
    assert list(word_rows()) == sorted(word_rows())


def test_no_two_rows_have_one_pattern() -> None:
    patterns = [(row["pattern"], row.get("case")) for row in word_rows().values()]
    assert len(set(patterns)) == len(patterns)
