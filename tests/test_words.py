"""What rules say is short and plain: over all fixtures and examples, by the golden texts of what is found in them."""

import re
from functools import cache
from pathlib import Path

import pytest

from torchlint.engine.rules import load_rules
from torchlint.report.words import TITLE, title_and_cure

pytestmark = pytest.mark.once
GOLDEN = Path(__file__).parent / "golden"
LINE = re.compile(r"\d+:\d+-\d+:\d+ (?P<code>[A-Z]+\d+) .* \| (?P<message>.*) #[0-9a-f]{8}")
CODE = re.compile(r"`[^`]*`")
# Words that take the place of a plainer one.
UNWANTED = re.compile(r"\banew\b|\bnobody\b|\bin vain\b|\bis no [a-z]|\bso often\b|\(on CUDA\)|the host waits")


@cache
def messages():
    found = {}
    for path in sorted(GOLDEN.glob("fixtures/*.txt")) + sorted(GOLDEN.glob("examples/*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := LINE.fullmatch(line):
                found.setdefault((match["code"], match["message"]), path.name)
    assert len({code for code, _ in found}) > 90
    return found


def test_titles_are_short():
    """What stands before the cure has at most 100 characters, with the code that it quotes as long as it is."""
    titles = {message.removesuffix(title_and_cure(message)[1]).rstrip(";: ") for _, message in messages()}
    assert {title for title in titles if len(title) > TITLE} == set()


def test_titles_name_no_place_that_would_make_them_long():
    named = {(code, title_and_cure(message)[0]) for code, message in messages() if re.search(r"\w\.py:\d", message)}
    assert {title for _, title in named if re.search(r"\w\.py:\d", title)} == set()


def test_messages_are_plain():
    assert {message for _, message in messages() if UNWANTED.search(CODE.sub("", message))} == set()


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.code) for rule in load_rules()])
def test_the_title_of_a_rule_is_short_and_plain(rule):
    assert len(rule.summary) <= TITLE
    assert not UNWANTED.search(CODE.sub("", rule.summary))


@pytest.mark.parametrize("length", [30, 39, 60, 300])
def test_long_code_in_a_title_is_shortened(length):
    title, cure = title_and_cure(f"`{'x' * length}` forces a GPU sync; keep `{'y' * length}`")
    assert len(title) <= TITLE
    assert title.endswith("` forces a GPU sync")
    assert cure == f"keep `{'y' * length}`"
    assert len(title_and_cure("word " * 90)[0]) <= TITLE
