"""Fixes have names that stay: whatever else is fixed before them, and where another fix made what they change."""

from __future__ import annotations

import random

import pytest
from test_fixing import finding, source

from torchlint.engine.fixing import fix
from torchlint.engine.lineage import ByteOrigin, Lineage
from torchlint.rule import Edit
from torchlint.sources.edits import apply_edits
from torchlint.sources.lines import LineTable

TEXT = "import os\nä = one(1)\nb = two(os)\nc = three()\n"
SWAPS = (
    ("one(1)", "len('')", "TL1"),
    ("two(os)", "abs(0)", "TL2"),
    ("abs(0)", "zero()", "TL3"),
    ("three()", "3", "TL4"),
)


def lint(sources):
    return {name: [finding(text, *swap) for swap in SWAPS if swap[0] in text.text] for name, text in sources.items()}


def outcome(allowed=None):
    return fix({"a.py": source("def zero(): ...\n" + TEXT)}, lint, lambda name, plain: True, allowed=allowed)


def keys(made):
    return [origin.key for origin in made.origins.get("a.py", ())]


def test_each_fix_is_applied_by_its_name_alone():
    everything = outcome()
    assert [found.code for found in everything.applied["a.py"]] == ["TL1", "TL2", "TL4", "TL3"]
    one, two, four, three = keys(everything)
    assert everything.origins["a.py"][3].makers == {two}
    for key in (one, two, four):
        assert keys(outcome(lambda origin, key=key: origin.key == key)) == [key]
    assert keys(outcome(lambda origin: origin.key == three)) == []
    assert keys(outcome(lambda origin: origin.key in (two, three))) == [two, three]


def test_an_import_that_a_fix_leaves_without_use_shifts_no_name():
    everything = outcome()
    assert "import os" not in everything.sources["a.py"].text
    four = keys(everything)[2]
    without = outcome(lambda origin: origin.code != "TL2")
    assert "import os" in without.sources["a.py"].text
    assert keys(without)[1] == four


@pytest.mark.parametrize("seed", range(30))
def test_every_byte_is_followed_through_edits(seed):
    """Against a list with the origin of each byte."""
    choice = random.Random(seed)
    text = source("".join(choice.choice("ab\nä") for _ in range(60)))
    lineage, bytes_ = Lineage.of(text), [(offset, "") for offset in range(len(text.utf8))]
    for step in range(4):
        bounds = sorted(choice.sample([i for i in range(len(text.utf8)) if text.utf8[i] < 0x80], 6))
        edits = [
            Edit(start, end, choice.choice(["", "x", "yy\nz"]))
            for start, end in zip(bounds[::2], bounds[1::2], strict=True)
        ]
        lineage = lineage.after(text, [(edit, f"{step}{edit.start}") for edit in edits])
        for edit in reversed(edits):
            made = [(offset, f"{step}{edit.start}") for offset in range(len(edit.text.encode()))]
            bytes_[edit.start : edit.end] = made
        text = apply_edits(text, edits)
    found = []
    for piece in lineage.pieces:
        found += [(piece.place.offset + offset, piece.place.maker) for offset in range(piece.length)]
    assert found == bytes_


def test_rows_that_end_in_crlf_are_counted_as_they_are_written():
    text = source("a = 1\r\nb = 2\r\n")
    lineage = Lineage.of(text).after(text, [(Edit(0, 0, "import os\n"), "fix")])
    after = apply_edits(text, [Edit(0, 0, "import os\n")])
    origin = lineage.origin(finding(after, "b", "c"), LineTable(after.utf8))
    assert origin.first == origin.last == ByteOrigin(7)
