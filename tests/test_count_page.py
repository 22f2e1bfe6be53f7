"""The page of ``torchlint count``: what it says without colours, and that nothing in a name or code becomes markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from torchlint.count.page import as_html
from torchlint.count.result import CountedLine, CountedRun, LineStatus
from torchlint.device.events import Events

CODE = "x = y.item()  # </td><script>alert(1)</script> &amp; \u202e\x1b[31m\n" + "z = 1\n" * 20 + "\tx.cpu()\n"
VOID = {"meta"}


class Page(HTMLParser):
    """The elements of a page; each is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def page(tmp_path: Path) -> Page:
    names = ("a<b>&.py", "quiet.py")
    for name in names:
        (tmp_path / name).write_text(CODE, encoding="utf-8")
    waiting = Events(waits=3, launches=1234, copies_out=3, bytes=12)
    lines = [
        CountedLine(names[0], 1, waiting, {"aten::_local_scalar_dense": 3}, LineStatus.UNCOVERED),
        CountedLine(names[0], 22, Events(waits=1), {"copy": 1}, LineStatus.NEEDED, why="it decides <a> branch"),
        CountedLine(names[1], 2, Events(launches=1), {}, LineStatus.UNCOVERED),
        CountedLine("gone.py", 7, Events(waits=1), {"copy": 1}, LineStatus.UNCOVERED),
    ]
    return Page(as_html(CountedRun(lines, steps=2), tmp_path, "python 'train.py' </title><script>"))


def test_nothing_becomes_markup(page: Page) -> None:
    assert not page.all("script") and not page.all("b")
    text = "".join(page.texts)
    assert "</td><script>alert(1)</script> &amp; " in text
    assert "\u202e" not in text and "\x1b" not in text
    assert "python 'train.py' </title><script>" in text


def test_words_say_what_colours_say(page: Page) -> None:
    text = "".join(page.texts)
    assert text.count("no rule covers this") == 2
    assert "needed: it decides <a> branch" in text
    assert "1,234" in text


def test_files_are_listed_and_reached_by_links(page: Page) -> None:
    links = [attributes["href"] for attributes in page.all("a")]
    assert links == ["#file-1", "#file-2", "#file-3"]
    assert [f"#{attributes['id']}" for attributes in page.all("h2")] == links
    assert page.texts[page.texts.index("a<b>&.py") :][:3] == ["a<b>&.py", " ", "4 GPU syncs"]


def test_wide_code_is_scrolled_with_the_keyboard(page: Page) -> None:
    regions = [attributes for attributes in page.all("div") if attributes.get("role") == "region"]
    assert [region["tabindex"] for region in regions] == ["0"] * 3
    named = {attributes["id"] for attributes in page.all("h2")}
    assert {region["aria-labelledby"] for region in regions} == named
    assert all(head["scope"] == "col" for head in page.all("th"))


def test_rows_far_from_events_are_left_out(page: Page) -> None:
    text = "".join(page.texts)
    assert text.count("z = 1") == 4 + 4 + 5  # around the lines of the first file, and below that of the second


def test_nothing_comes_from_elsewhere(page: Page) -> None:
    assert not any({"src", "action"} & attributes.keys() for _, attributes in page.elements)
    assert [each["content"] for each in page.all("meta") if "http-equiv" in each] == [
        "default-src 'none'; style-src 'unsafe-inline'"
    ]
    assert any("prefers-color-scheme: dark" in text for text in page.texts)
