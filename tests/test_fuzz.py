"""Ten thousand random programs, the same every time, of which a run takes one of 27: all keep what every program must.

``make fuzz`` tries others for as long as wanted.
"""

from __future__ import annotations

import pytest
from fuzz.programs import Writer
from fuzz.properties import comments, complaints, loose_names, tree_of
from fuzz.runs import KINDS, failures

PARTS = 10
PROGRAMS = {"loop": 9_400, "mutant": 500, "agent": 100}


@pytest.mark.rare
@pytest.mark.once
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_programs(kind: str, part: int) -> None:
    each = PROGRAMS[kind] // PARTS
    assert list(failures("test", kind, range(part * each, (part + 1) * each))) == []


def test_the_same_seed_writes_the_same_program() -> None:
    assert Writer("a").program() == Writer("a").program() != Writer("b").program()


def test_most_programs_are_programs() -> None:
    texts = [Writer(f"parse:{number}").loop() for number in range(200)]
    assert sum(tree_of(text) is not None for text in texts) > 180


def test_what_is_looked_for_is_seen() -> None:
    tree = tree_of("import a\nfor b in c:\n    d = e(b)\n")
    assert tree is not None and loose_names(tree) == {"c", "e"}
    assert comments("x = 1  # one\n# two\ny = '# three'\n").keys() == {"# one", "# two"}
    assert complaints("import torch\nx = (", unsafe=False) == []
