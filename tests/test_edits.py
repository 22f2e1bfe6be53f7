from pathlib import Path
from random import Random

import pytest

from torchlint.rule import Edit
from torchlint.sources.decode import decode
from torchlint.sources.edits import apply_edits, choose_edits, dominant_newline


def source(text):
    return decode(text.encode(), Path("/project/a.py"), "a.py")


def applied(text, *edits):
    return apply_edits(source(text), edits).text


def test_edits_count_in_bytes():
    assert applied("é = '🚀'; x\n", Edit(13, 14, "ü")) == "é = '🚀'; ü\n"


def test_edits_are_made_in_order_of_place():
    assert applied("abcdef", Edit(4, 5, "5"), Edit(0, 1, "1"), Edit(2, 2, "-")) == "1b-cd5f"


def test_equal_edits_count_once():
    assert applied("x\n", Edit(0, 0, "import os\n"), Edit(0, 0, "import os\n")) == "import os\nx\n"


def test_neighbours_do_not_overlap():
    assert applied("abcd", Edit(0, 2, "1"), Edit(2, 4, "2"), Edit(2, 2, "-"), Edit(0, 0, "+")) == "+1-2"


@pytest.mark.parametrize(
    "edits",
    [
        (Edit(0, 2, "x"), Edit(1, 3, "y")),
        (Edit(0, 4, "x"), Edit(2, 2, "y")),
        (Edit(2, 2, "x"), Edit(2, 2, "y")),
        (Edit(0, 2, "x"), Edit(0, 2, "y")),
        (Edit(0, 9, "x"),),
        (Edit(3, 2, "x"),),
        (Edit(-1, 2, "x"),),
    ],
)
def test_overlapping_or_outlying_edits_are_an_error(edits):
    with pytest.raises(ValueError, match=r"overlap|outside"):
        applied("abcd", *edits)


def test_an_edit_inside_a_character_is_an_error():
    with pytest.raises(ValueError, match="utf-8"):
        applied("é", Edit(1, 2, "x"))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_inserted_lines_end_as_the_file_does(newline):
    text = f"x = 1{newline}y = 2{newline}"
    assert applied(text, Edit(0, 0, "import os\nimport sys\r\n")) == (
        f"import os{newline}import sys\r\nx = 1{newline}y = 2{newline}"
    )


@pytest.mark.parametrize(
    ("text", "at", "put", "after"),
    [
        ("a\rb\nc\nd\n", 2, "\nx = 1\n", "a\r\rx = 1\nb\nc\nd\n"),
        ("a\rb\rc\n\nd\r", 6, "x = 1\n", "a\rb\rc\nx = 1\n\nd\r"),
    ],
)
def test_ends_of_two_rows_do_not_become_one(text, at, put, after):
    assert applied(text, Edit(at, at, put)) == after


@pytest.mark.parametrize(
    ("text", "newline"), [("", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\nb\r\nc\n", "\n"), ("a\rb\rc\n", "\r")]
)
def test_the_dominant_newline(text, newline):
    assert dominant_newline(text) == newline


def test_the_bytes_on_disk_stay_known():
    before = source("x = 1\n")
    after = apply_edits(before, [Edit(0, 1, "y")])
    assert after.raw == before.raw == b"x = 1\n"
    assert after.utf8 == b"y = 1\n"


def test_groups_are_whole_or_not_at_all():
    groups = [(Edit(0, 2, "a"), Edit(8, 9, "b")), (Edit(1, 3, "c"), Edit(20, 21, "d")), (Edit(20, 22, "e"),)]
    assert choose_edits(groups) == [0, 2]


def test_the_first_place_wins_whatever_the_order_of_groups():
    assert choose_edits([(Edit(5, 9, "a"),), (Edit(2, 6, "b"),), (Edit(9, 10, "c"),)]) == [1, 2]


def test_a_shared_insertion_is_no_conflict_but_another_text_there_is():
    shared = Edit(0, 0, "import numpy as np\n")
    groups = [
        (shared, Edit(30, 40, "np.a")),
        (shared, Edit(50, 60, "np.b")),
        (Edit(0, 0, "import os\n"), Edit(70, 80, "os.c")),
    ]
    assert choose_edits(groups) == [0, 1]


def test_equal_groups_are_one_fix_of_several_findings():
    assert choose_edits([(Edit(0, 3, "x"), Edit(9, 9, "y")), (Edit(9, 9, "y"), Edit(0, 3, "x"))]) == [0, 1]


def test_an_equal_replacement_in_groups_that_differ_waits():
    assert choose_edits([(Edit(0, 3, "x"),), (Edit(0, 3, "x"), Edit(9, 9, "y"))]) == [0]


def test_a_group_that_contradicts_itself_or_is_empty_is_left_out():
    assert choose_edits([(Edit(0, 3, "x"), Edit(2, 5, "y")), (), (Edit(0, 2, "z"),)]) == [2]


def random_group(random):
    starts = [random.randint(0, 12) for _ in range(random.randint(0, 3))]
    return tuple(Edit(start, min(start + random.randint(0, 4), 12), random.choice(["", "x", "yy"])) for start in starts)


@pytest.mark.parametrize("seed", range(200))
def test_what_is_chosen_can_be_applied_and_what_is_not_is_in_the_way(seed):
    random = Random(seed)
    groups = [random_group(random) for _ in range(random.randint(1, 8))]
    chosen = choose_edits(groups)
    apply_edits(source("abcdefghijkl"), [edit for index in chosen for edit in groups[index]])
    for index, group in enumerate(groups):
        if group and index not in chosen:
            together = [edit for other in {*chosen, index} for edit in groups[other]]
            assert any(
                one is not other and max(one.start, other.start) <= min(one.end, other.end)
                for one in together
                for other in group
            )
