"""The page of findings: what it says, that it needs nothing from elsewhere, and that no name becomes markup."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import in_this_process
from reporting import COST, STEP, context_of, finding_of, fix_of, source_of

from torchlint.report import findings_page
from torchlint.report.formats import renderer
from torchlint.report.highlight import as_html, highlighted
from torchlint.rule import Change, Counted, Counts, Frequency, Hop, Hotness, Level, Position
from torchlint.sources.lines import LineTable

TEXT = (
    'import torch\n\n\ndef act(obs):\n    x = torch.FloatTensor(obs)  # "why"\n    return x\n' + "\n" * 30 + "y = 1\n"
)
CODE = "torch.FloatTensor(obs)"
VOID = {"meta", "input", "br"}
SAFE = fix_of(TEXT, CODE, "torch.as_tensor(\n        obs)")


class Page(HTMLParser):
    """The elements of a page, each closed in its turn; the texts by the elements around them."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.elements = []
        self.texts = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("td", "li", "p", "span", "summary", "del", "ins"):
            self.texts.append(((), " "))

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def all(self, tag, **wanted):
        return [
            attrs
            for name, attrs in self.elements
            if name == tag and all(attrs.get(key.rstrip("_")) == value for key, value in wanted.items())
        ]

    def inside(self, tag):
        return "".join(data for around, data in self.texts if tag in around)

    @property
    def plain(self):
        return " ".join("".join(data for around, data in self.texts if not {"script", "style"} & set(around)).split())


def page_of(*findings, **fields):
    return Page(findings_page.render(context_of(TEXT, *findings, **fields)))


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


def test_code_stands_with_its_frequency_and_cost_in_the_margin():
    events = Counted(Counts(waits=2, launches=10), Counts(), "obs 17")
    page = page_of(finding_of(TEXT, CODE, hot=STEP, cost=COST, events=events))
    assert '5 step 3.6 us 2 10 x = torch.FloatTensor(obs) # "why"' in page.plain
    assert page.inside("mark") == CODE
    assert " 1 import torch" not in page.plain
    assert "4 def act(obs):" in page.plain


def test_the_hot_path_is_a_chain_of_calls_that_can_be_opened():
    page = page_of(
        finding_of(TEXT, CODE, hot=Hotness(Frequency.STEP, (Hop("train.py", 9, "loop"), Hop("agent.py", 4, "act"))))
    )
    assert "once per environment step: call path" in page.plain
    assert "train.py:9 loop agent.py:4 act def act(obs):" in page.plain
    assert len(page.all("ol")) == 1


def test_the_fix_is_a_diff_whose_new_lines_can_be_copied():
    page = page_of(finding_of(TEXT, CODE, fix=SAFE))
    assert [attrs["data-copy"] for attrs in page.all("button")] == [
        "torchlint check --fix",
        'x = torch.as_tensor(\n    obs)  # "why"',
    ]
    assert page.inside("del") == '- x = torch.FloatTensor(obs)  # "why"'
    assert page.inside("ins") == '+ x = torch.as_tensor(+     obs)  # "why"'
    assert "safe: changes nothing but the time; --fix applies it" in page.plain


def test_every_finding_has_the_values_that_filters_ask_for():
    found = [
        finding_of(TEXT, CODE, fix=SAFE, hot=STEP),
        finding_of(TEXT, CODE, code="TL102", fix=replace(SAFE, may_change=(Change.RNG,)), level=Level.NOTE),
        finding_of(TEXT, CODE, code="TL103"),
    ]
    page = page_of(*found)
    rows = [attrs for attrs in page.all("tr") if "data-finding" in attrs and "id" in attrs]
    values = [tuple(row[f"data-{name}"] for name in ("code", "level", "often", "fix")) for row in rows]
    assert values == [
        ("TL101", "warning", "step", "--fix"),
        ("TL102", "note", "", "to accept"),
        ("TL103", "warning", "", "by hand"),
    ]
    boxes = [(attrs["name"], attrs["value"]) for attrs in page.all("input", type="checkbox")]
    assert boxes == [
        *(("level", each) for each in ("warning", "note")),
        *(("fix", each) for each in ("--fix", "to accept", "by hand")),
        *(("code", each) for each in ("TL101", "TL102", "TL103")),
    ]


def test_links_of_the_table_lead_to_the_places():
    page = page_of(*(finding_of(TEXT, CODE, start=Position(row, 1), end=Position(row, 2)) for row in (5, 36)))
    names = {attrs["id"] for attrs in page.all("tr") if "id" in attrs}
    assert [attrs["href"] for attrs in page.all("a")] == ["#f1", "#f2"]
    assert names == {"f1", "f2"}
    assert len(page.all("table", class_="code")) == 2


@pytest.mark.parametrize("row", [5, 38, 39, 500])
def test_a_place_at_the_end_of_the_text_or_outside_of_it_breaks_nothing(row):
    page = page_of(finding_of(TEXT, CODE, start=Position(row, 40), end=Position(row, 41)))
    assert "use torch.as_tensor" in page.plain


def test_an_unknown_text_is_a_finding_without_code():
    assert "use torch.as_tensor" in page_of(finding_of(TEXT, CODE, path="gone.py", fix=SAFE)).plain


HOSTILE = "</script><img src=x onerror=alert(1)>&\"'\u2028\x1b[31m.py"


def test_no_name_becomes_markup():
    text = f"x = {CODE}  # {HOSTILE}\n"
    hop = Hop(HOSTILE, 1, HOSTILE)
    finding = finding_of(
        text,
        CODE,
        path=HOSTILE,
        message=f"{HOSTILE}; {HOSTILE}",
        hot=Hotness(Frequency.STEP, (hop, hop)),
        cost=replace(COST, size=HOSTILE),
        fix=fix_of(text, CODE, f"y  # {HOSTILE}", assumes=HOSTILE),
    )
    context = context_of(text, finding, name=HOSTILE)
    shown = findings_page.render(replace(context, root=Path("/a") / HOSTILE))
    page = Page(shown)
    assert not page.all("img")
    assert len(page.all("script")) == 1
    assert "\x1b" not in shown
    assert page.plain.count("onerror=alert(1)") > 8


def test_nothing_comes_from_elsewhere():
    shown = findings_page.render(context_of(TEXT, finding_of(TEXT, CODE, fix=SAFE)))
    assert not [attrs for _, attrs in Page(shown).elements if {"src", "srcset"} & attrs.keys()]
    assert not re.search(r"url\(|@import|https?://", shown)
    (policy,) = [attrs["content"] for attrs in Page(shown).all("meta") if "http-equiv" in attrs]
    assert policy.startswith("default-src 'none'")


def test_code_in_a_message_is_code():
    page = page_of(
        finding_of(TEXT, CODE, message="`x.item()` waits: use `<x>`"), finding_of(TEXT, CODE, message="a ` b")
    )
    assert page.inside("code").count("x.item()") == 2
    assert "use <x>" in page.plain
    assert "a ` b" in page.plain


def test_nothing_found_is_a_page_without_a_table():
    page = page_of(files=3)
    assert page.plain.endswith("Nothing slow found in 3 files")
    assert not page.all("table")


def test_a_cell_of_a_notebook_and_a_file_with_other_newlines_have_code():
    shown = Page(renderer("html")(context_of(TEXT.replace("\n", "\r\n"), finding_of(TEXT, CODE))))
    assert shown.inside("mark") == CODE


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "a = '''\nb\n'''\n",
        "x = (\n",
        "\tif x:\r\n\t\ty = 1\r\n",
        "a\x0cb = '\u2028'\n",
        "",
        "'\ud83d'",
        "\ufeffx = 1\n",
    ],
)
def test_colours_change_no_character(text):
    table = LineTable(text.encode("utf-8", "surrogatepass"))
    lines = highlighted(table) if "\ud83d" not in text else []
    assert ["".join(part for _, part in line) for line in lines] == [
        table.line(row) for row in range(1, len(lines) + 1)
    ]
    assert len(lines) in (table.rows, 0)


@pytest.mark.parametrize(("start", "end"), [(0, 0), (0, 3), (2, 9), (4, 100), (9, 9)])
def test_the_mark_covers_exactly_the_span(start, end):
    tokens = [("k", "for"), ("", " x in "), ("s", '"<a>"')]
    code = "".join(part for _, part in tokens)
    html = as_html(tokens, start, end)
    page = Page(html)
    assert page.inside("mark") == code[start:end]
    assert "".join(data for _, data in page.texts) == code


def test_the_command_line_writes_the_page_beside_its_output(torchlint, tmp_path):
    (tmp_path / "agent.py").write_text(source_of(TEXT).text)
    done = torchlint("check", "--html", "page.html", cwd=tmp_path)
    assert "<h1>torchlint check: " in (tmp_path / "page.html").read_text(encoding="utf-8")
    again = torchlint("check", "--output-format", "html", cwd=tmp_path)
    assert again.stdout == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert done.stderr.startswith("Nothing slow found in 1 file")
    (tmp_path / "page.html").unlink()
    assert torchlint("check", "--html", "page.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "page.html").exists()
    failed = torchlint("check", "--html", "no/such/folder.html", cwd=tmp_path)
    assert (failed.returncode, failed.stderr.count("cannot write")) == (2, 1)
