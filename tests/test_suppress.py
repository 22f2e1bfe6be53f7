import ast
from pathlib import Path

import pytest

from torchlint.rule import Finding, Level, Position
from torchlint.sources import suppress
from torchlint.sources.decode import decode
from torchlint.sources.suppress import marks, silencing, suppressions

pytestmark = pytest.mark.versions


def finding(row, code="TL101", name="legacy-tensor-constructor", rows=None):
    place = Position(row, 1)
    return Finding(code, name, "message", Level.WARNING, "a.py", place, place, rows or (row, row))


def covered(text, *args, **kwargs):
    source = decode(text.encode(), Path("/project/a.py"), "a.py")
    found = finding(*args, **kwargs)
    silenced = suppressions(source).covers(found)
    assert silencing(source)(found) == silenced
    return silenced


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA",
        "# NoQA",
        "# noqa  ",
        "# noqa because of this",
        "# noqa: TL101",
        "# noqa:TL101",
        "# noqa : TL101",
        "# noqa: E501, TL101",
        "# noqa: E501 TL101",
        "# noqa: E501,TL101 for a reason",
        "# noqa: E501TL101",
        "# type: ignore # noqa",
        "# noqa # type: ignore",
        "# noqa:tl101",
        "# NoQA: Tl101",
        "# noqa: e501, tl101 for a reason",
        "# noqa: E501 tl101",
        "# noqa: TL101  # noqa: E501",
        "# torchlint: ignore",
        "# torchlint: ignore it is a test",
        "# torchlint:ignore[TL101]",
        "# torchlint: ignore[TL101] the batch is always one",
        "# torchlint: ignore[TL202, TL101]",
        "# torchlint: ignore[TL1]",
        "# torchlint: ignore[TL]",
        "# torchlint: ignore[ALL]",
        "# torchlint: ignore[legacy-tensor-constructor]",
        "# noqa: E501  # torchlint: ignore[TL101]",
        "# torchlint: ignore-file[TL101]",
        "# torchlint: ignore-file",
    ],
)
def test_what_silences_a_line(comment):
    assert covered(f"x = 1\nx = f(x)  {comment}\n", 2)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: TL1",
        "# noqa: TL1010",
        "# noqa: tl1010",
        "# noqa: tl101because",
        "# noqa: e501 because tl101",
        "# noqa: E501  # noqa: TL101",
        "# noqa: E501  # noqa",
        "# noqa: because  # noqa: TL101",
        "# noqa: TL101: for a reason",
        "# noqa: TL101abc",
        "# noqa: junk",
        "# noqa:",
        "# noqa: legacy-tensor-constructor",
        "# noqa: E501 because TL101",
        "# noqas",
        "# noqa-ish",
        "# see noqa",
        "# ruff: noqa",
        "# flake8: noqa",
        "# torchlint: noqa",
        "# torchlint: ignore[TL202]",
        "# torchlint: ignore[TL1010]",
        "# torchlint: ignore[]",
        "# torchlint: ignore[TL101",
        "# torchlint: ignore: TL101",
        "# torchlint: ignored",
        "# torchlint: ignore-files",
        "# torchlint: ignore[legacy]",
        "# torchlint: hot",
    ],
)
def test_what_silences_nothing(comment):
    assert not covered(f"x = 1\nx = f(x)  {comment}\n", 2)


def test_a_mark_is_about_its_row_only():
    text = "x = f(x)\nx = f(x)  # noqa\nx = f(x)  # torchlint: ignore\n"
    assert [covered(text, row) for row in (1, 2, 3)] == [False, True, True]


@pytest.mark.parametrize("mark", ["# torchlint: noqa", "# torchlint: noqa: TL101", "# Torchlint: NOQA:E501,TL101"])
def test_a_file_level_mark_counts_on_a_row_of_its_own(mark):
    assert covered(f"import os\n\n    {mark}\nx = 1\n", 1)
    assert not covered(f"import os  {mark}\nx = 1\n", 2)
    assert not covered("# torchlint: noqa: TL202\nx = 1\n", 2)


def test_words_in_strings_are_no_marks():
    text = 'x = "# noqa"\ny = """\n# torchlint: noqa\n# torchlint: ignore\n"""\nz = f(x)\n'
    assert not any(covered(text, row) for row in (1, 2, 3, 4, 5, 6))


def test_the_first_and_last_row_of_the_statement_count():
    text = "x = f(\n    g(1),\n    2,\n)  # noqa: TL101\ny = f(  # noqa: TL101\n    g(1),\n)\n"
    assert covered(text, 2, rows=(1, 4))
    assert not covered(text, 3, rows=(3, 3))
    assert covered(text, 6, rows=(5, 7))


def test_a_mark_after_a_long_string_is_about_the_row_where_it_begins():
    text = 'x = f(a, """\n  text\n""",  # noqa: TL101\n  b,\n)\n'
    assert covered(text, 1, rows=(1, 5))
    assert not covered(text, 4, rows=(4, 5))


def test_a_mark_after_a_continued_row_is_about_it():
    text = "x = (y and \\\n    f(y),  # noqa: TL101\n    3,\n)\n"
    assert covered(text, 1, rows=(1, 4))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_mark_above_covers_the_whole_logical_line(newline):
    text = newline.join(
        [
            "def f():",
            "    # torchlint: ignore[TL101] why",
            "    x = g(",
            "        a,",
            "        b,",
            "    )",
            "    y = 1",
            "",
        ]
    )
    assert [covered(text, row) for row in range(1, 8)] == [False, False, True, True, True, True, False]


def test_a_mark_above_a_compound_statement_covers_its_header_only():
    text = "# torchlint: ignore\nfor x in g(\n    y\n):\n    f(x)\n"
    assert [covered(text, row) for row in range(2, 6)] == [True, True, True, False]


def test_a_mark_above_decorators_covers_the_function_header():
    mark = "    # torchlint: ignore[TL301]\n"
    text = f"class A:\n{mark}    @a\n    @b(1,\n       2)\n    def act(self):\n        return f()\n"
    found = [covered(text, row, code="TL301") for row in range(3, 8)]
    assert found == [True, True, True, True, False]


def test_marks_above_add_up_and_comments_may_follow():
    text = "# torchlint: ignore[TL101]\n# torchlint: ignore[TL202]\n# and so on\nx = f(x)\n"
    assert covered(text, 4)
    assert covered(text, 4, code="TL202")
    assert not covered(text, 4, code="TL301")


def test_a_blank_row_ends_the_reach_of_a_mark():
    assert not covered("# torchlint: ignore\n\nx = f(x)\n", 3)


def test_a_noqa_on_a_row_of_its_own_reaches_nothing():
    assert not covered("# noqa\nx = f(x)\n", 2)


def test_a_mark_of_its_own_row_inside_brackets_covers_the_next_row():
    text = "x = f(\n    # torchlint: ignore[TL101]\n    g(1),\n    g(2),\n)\n"
    assert covered(text, 3, rows=(1, 5))
    assert not covered(text, 4, rows=(1, 5))


def test_a_mark_at_the_end_of_the_file_is_harmless():
    assert not covered("x = f(x)\n# torchlint: ignore", 1)
    assert not covered("@a\n# torchlint: ignore\n", 1)


@pytest.mark.parametrize("text", ["x = (  # noqa\n", "if x:\n  y  # noqa\n z\n", "x = '''  # noqa\n"])
def test_in_a_broken_text_nothing_is_silenced(text):
    assert not covered(text, 1)


def test_form_feeds_and_wide_characters_move_no_row():
    text = "x = 1\f\n\f\ny = '🚀\u2028'  # noqa\nz = f(z)\n"
    assert [covered(text, row) for row in (1, 2, 3, 4)] == [False, False, True, False]


def test_hot_and_cold_on_a_def():
    text = """\
def train():  # torchlint: cold
    pass

@property  # torchlint: hot
def a(self):
    pass

class A:
    async def act(
        self,
        x,  # torchlint: Hot, called per step
    ):
        y = 1  # torchlint: cold
    def b(self): return 1  # torchlint: cold
    def hotter(self):  # torchlint: hotter
        "# torchlint: hot"
    # torchlint: hot
    def c(self):
        pass
"""
    source = decode(text.encode(), Path("/project/a.py"), "a.py")
    assert marks(source) == {1: "cold", 9: "hot", 14: "cold"}
    assert marks(decode(b"def f(  # torchlint: hot\n", Path("/project/a.py"), "a.py")) == {}


GOING_ON = """x = f(
    1,  # noqa
    2,
)
y = 1; z = '''
'''  # noqa
a = 2; \\
    b = 3  # noqa: TL101
if x: c = '''
'''  # noqa
d = f('''
''')  # NOQA
# noqa
e = 4

f = 5  # no mark
"""


def test_comments_are_read_wherever_one_may_silence_a_finding():
    """The shorter way and the longer one agree on every run of rows of a text with all kinds of them."""
    source = decode(GOING_ON.encode(), Path("/project/a.py"), "a.py")
    rows = range(1, GOING_ON.count("\n") + 1)
    silenced, shorter = suppressions(source), silencing(source)
    agreed = set()
    for first in rows:
        for last in range(first, len(rows) + 1):
            for row in range(first, last + 1):
                found = finding(row, rows=(first, last))
                if ends_a_statement(last):
                    assert shorter(found) == silenced.covers(found), (first, last, row)
                    agreed.add(shorter(found))
    assert agreed == {True, False}


def ends_a_statement(row):
    """Whether a statement of ``GOING_ON`` ends on a row."""
    return any(node.end_lineno == row for node in ast.walk(ast.parse(GOING_ON)) if isinstance(node, ast.stmt))


def test_comments_are_not_read_for_findings_far_from_them(monkeypatch):
    source = decode(b"x = 1  # noqa\ny = 2\n", Path("/project/a.py"), "a.py")
    read = []
    monkeypatch.setattr(suppress, "read_tokens", read.append)
    assert not silencing(source)(finding(2)) and not read
    silencing(source)(finding(1))
    assert read == [source.text]
