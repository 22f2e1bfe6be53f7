"""The page of a profile: it needs nothing from elsewhere, and no name in a profile can break out of it."""

import json
import re
from html.parser import HTMLParser

import pytest
from profiles import frame, joined, node, operator, profile_of

from torchlint.profile.page import as_html

HOSTILE = "</script><img src=x onerror=alert(1)>&\u2028\x1b[31m"


class Page(HTMLParser):
    """All tags with their attributes, and the text of each script."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags = []
        self.scripts = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script" and not self.scripts[-1]:
            self.scripts[-1] = data


@pytest.fixture
def hostile(tmp_path):
    profile = profile_of(
        frames=[frame("train.py", "train", 1, 100.0), frame("lib.py", HOSTILE, 1, 90.0)],
        nodes=[node(0, -1, 1, 100.0), node(1, 0, 1, 90.0)],
        operators=[operator(HOSTILE, 0, 3, 50.0)],
    )
    return joined(profile, {"train.py": "def train():\n    pass\n"}, tmp_path, trace=HOSTILE)


def test_no_name_becomes_markup(hostile):
    page = Page(as_html(hostile))
    assert "img" not in {tag for tag, _ in page.tags}
    assert len(page.scripts) == 2
    data = json.loads(page.scripts[0])
    assert any("onerror" in cell["op"] for cell in data["cells"])
    assert "\x1b" not in as_html(hostile)


def test_nothing_comes_from_elsewhere(hostile):
    text = as_html(hostile)
    page = Page(text)
    assert not [attrs for _, attrs in page.tags if {"src", "href", "srcset"} & attrs.keys()]
    assert not re.search(r"url\(|@import|https?://", text)
    policy = next(attrs["content"] for tag, attrs in page.tags if tag == "meta" and "http-equiv" in attrs)
    assert policy.startswith("default-src 'none'")


def test_the_data_is_a_tree_of_the_functions(tmp_path):
    profile = profile_of(
        frames=[
            frame("train.py", "train", 1, 100.0),
            frame("/usr/lib/python3.11/other.py", "between", 7, 95.0),
            frame("train.py", "act", 10, 90.0),
        ],
        nodes=[node(0, -1, 1, 100.0), node(1, 0, 1, 95.0), node(2, 1, 10, 90.0)],
        operators=[operator("aten::linear", 2, 30, 60.0)],
    )
    text = "def train():\n    act()\n\n\ndef act():\n    pass\n"
    data = json.loads(Page(as_html(joined(profile, {"train.py": text}, tmp_path))).scripts[0])
    names = [data["functions"][cell["fn"]]["name"] if cell["fn"] >= 0 else cell["op"] for cell in data["cells"]]
    assert names == ["train", "act", "aten::linear"]
    assert [cell["parent"] for cell in data["cells"]] == [-1, 0, 1]
    assert [cell["calls"] for cell in data["cells"]] == [1, 10, 30]
