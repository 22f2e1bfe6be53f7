"""Results of the suite as data: JSON, the user's own store, what is shown to people; needs no torch."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from types import MappingProxyType

import pytest
from benching import FIGURE, MACHINE, NOISE, WILD, results, row
from rich.cells import cell_len

from torchlint.bench import store
from torchlint.bench.host import processor
from torchlint.bench.page import as_html
from torchlint.bench.plots import Bar, intervals, savings
from torchlint.bench.result import BeforeAfter, BrokenResultsError, ExampleStatus, from_json, to_json
from torchlint.bench.table import as_text, summary
from torchlint.engine.rules import load_rules
from torchlint.rule import Cost, Rule

FAILED = row(
    "TL104", "second", status=ExampleStatus.FAILED, figure=None, inputs=0, detail="Traceback\n<ValueError>: & no"
)
DIFFERENT = row("TL105", status=ExampleStatus.DIFFERENT, figure=None, detail="x: empty: other results")
UNSTEADY = row("TL106", status=ExampleStatus.UNSTEADY, figure=WILD)
COUNTED = row("TL203", status=ExampleStatus.COUNTED, figure=None, inputs=0)
MEMORY = row("TL303", bytes=BeforeAfter(135_792, 512), figure=NOISE)
WAITS = row("TL204", syncs=BeforeAfter(3, 1), exceptions=("obs: objects",), changes=("rounding",))
EVERYTHING = results(row(), FAILED, DIFFERENT, UNSTEADY, COUNTED, MEMORY, WAITS)
SHIPPED = {("TL101", "first"): Cost(15.0, 2.4, 2.3, 2.5, "first, x 4")}


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHLINT_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


# JSON ---------------------------------------------------------------------------------------------------------------


def test_json_holds_everything():
    assert from_json(to_json(EVERYTHING)) == EVERYTHING


def test_the_shape_of_the_json():
    data = json.loads(to_json(EVERYTHING))
    assert list(data) == ["machine", "rows", "complete", "version", "schema"]
    assert set(data["machine"]) == {"device", "processor", "threads", "python", "torch", "numpy"}
    first = data["rows"][0]
    assert first["status"] == "measured"
    assert first["figure"]["ratio"] == FIGURE.ratio
    assert set(first) == {
        *("code", "name", "example", "size", "device", "by_hand", "status", "inputs", "changes"),
        *("exceptions", "detail", "figure", "rounds", "syncs", "bytes", "events", "held", "runs", "unit"),
    }


def test_numbers_have_four_digits():
    long = replace(FIGURE, ratio=1.23456789)
    assert from_json(to_json(results(row(figure=long)))).rows[0].figure.ratio == 1.235


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"schema": 99}', '{"schema": 1}', "\x00"),
        to_json(EVERYTHING).replace('"code"', '"c"'),
        to_json(EVERYTHING).replace('"measured"', '"guessed"'),
        to_json(EVERYTHING).replace('"TL101"', "null"),
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(BrokenResultsError):
        from_json(text)


# the user's own results ----------------------------------------------------------------------------------------------


def test_what_was_measured_is_kept_and_read_again(data):
    here = replace(MACHINE, processor=processor())
    store.keep(results(row(), row(example="second", figure=NOISE), FAILED, UNSTEADY, machine=here), "cpu")
    found = store.own()
    assert found.broken == ()
    assert [cost.ratio for cost in found.costs["TL101"]] == [2.5, 1.02]
    assert set(found.costs) == {"TL101"}
    assert {cost.source for cost in found.costs["TL101"]} == {"local"}


def test_a_part_that_is_measured_again_takes_the_place_of_the_old(data):
    store.keep(results(row("TL205"), row("TL101"), row("TL101", "second")), "cpu")
    path = store.keep(results(row("TL101", figure=NOISE), row("TL205", status=ExampleStatus.FAILED)), "cpu")
    kept = store.load(path).rows
    assert [(each.code, each.example, each.figure.ratio) for each in kept] == [
        ("TL101", "first", 1.02),
        ("TL101", "second", 2.5),
        ("TL205", "first", 2.5),
    ]


def test_results_of_another_machine_or_torch_count_no_more(data):
    store.keep(results(row("TL205")), "cpu")
    path = store.keep(results(row("TL101"), machine=replace(MACHINE, torch="3.0")), "cpu")
    assert [each.code for each in store.load(path).rows] == ["TL101"]
    assert store.own().costs == {}  # measured by another processor than this one


def test_a_broken_store_is_told_and_written_anew(data):
    data.mkdir()
    (data / "bench-cuda.json").write_text("{")
    (data / "bench-cpu.json").write_bytes(b"\xff\xfe")
    assert len(store.own().broken) == 2
    assert store.load(store.keep(results(row()), "cpu")).rows == (row(),)
    assert [path.name for path in sorted(data.iterdir())] == ["bench-cpu.json", "bench-cuda.json"]


def test_nothing_was_kept_yet(data):
    assert store.own() == store.Own({})


def test_the_folder_follows_the_system(monkeypatch, tmp_path):
    monkeypatch.delenv("TORCHLINT_DATA_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert store.folder() == tmp_path / "torchlint"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert store.folder() == tmp_path / "local" / "torchlint"


def test_reading_results_needs_no_torch():
    code = (
        "import sys; sys.modules['torch'] = None; sys.modules['numpy'] = None;"
        "import torchlint.bench.store, torchlint.bench.table, torchlint.bench.page, torchlint.cli.app"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


# the table -----------------------------------------------------------------------------------------------------------


def table(width=80, unicode=True, rules=(), given=EVERYTHING):
    return as_text(given, SHIPPED, rules, color=False, unicode=unicode, width=width)


def test_a_row_tells_inputs_ratio_spread_saving_and_the_shipped_ratio():
    line = next(line for line in table().splitlines() if line.startswith("  first"))
    assert line.split() == ["first", "16", "same", "2.5x", "2.2-3.0x", "15", "us", "2.4x"]


def test_notes_say_what_went_wrong():
    text = table()
    assert "TL104 second failed:\nTraceback\n<ValueError>: & no\n" in text
    assert "TL105 first: the fix changes what it does not declare:\nx: empty: other results\n" in text
    assert "TL106 first: no conclusion: a program timed against itself gave 1.21x" in text
    assert "TL303 first: 136 kB before, 512 B after" in text
    assert "3 > 1" in text
    assert "Counted and not timed, for the gain is on an accelerator: TL203." in text


def test_an_unsteady_figure_is_not_shown():
    assert "1.50x" not in table()
    assert "unsteady" in table()


def test_known_exceptions_are_told():
    class Strict(Rule):
        code = "TL204"
        exceptions = MappingProxyType({"objects": "arrays of objects are refused"})

    assert "TL204: arrays of objects are refused" in table(rules=[Strict])


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    lines = table(width, rules=load_rules()).splitlines()
    assert max(map(cell_len, lines)) <= width


def test_a_narrow_terminal_gets_fewer_columns():
    lines = [line.split() for line in table(50).splitlines()]
    assert ["Rule,", "example", "Ratio", "Saves", "Syncs"] in lines
    assert ["first", "2.5x", "15", "us"] in lines


def test_plain_ascii_without_colours():
    assert table(unicode=False).isascii()


def test_the_sum():
    assert summary(EVERYTHING) == (
        "3 of 7 examples measured on cpu (Some Processor, 1 thread, torch 2.13.0+cpu): 2 faster, 1 with no gain beyond "
        "noise, 1 without conclusion, 1 whose fix changes what it does not declare, 1 failed, 1 counted only."
    )
    assert summary(results(complete=False)).startswith("Interrupted: 0 of 0 examples")


# the page ------------------------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Checks that tags are closed in order, and collects text and attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.attributes, self.tags, self.elements = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, attrs))
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_is_whole_and_needs_nothing_from_elsewhere():
    reader = read(as_html(EVERYTHING, SHIPPED))
    text = "".join(reader.text)
    assert reader.tags.count("svg") == 2
    assert "script" not in reader.tags and "link" not in reader.tags
    assert not any(name in ("src", "href") for name, _ in reader.attributes)
    for words in ("TL101 first", "2.5x", "<ValueError>: & no", "136 kB before", "3 GPU syncs before", "1.210"):
        assert words in text, words


def test_names_cannot_break_the_page():
    nasty = row("TL101", "</svg><script>", size='"&', detail="</pre>", status=ExampleStatus.MEASURED)
    reader = read(as_html(results(nasty), {}))
    assert "script" not in reader.tags
    assert "TL101 </svg><script>" in "".join(reader.text)


def test_a_page_of_nothing():
    assert "svg" not in read(as_html(results(), {})).tags


def test_plots_place_values_in_order():
    bars = [Bar("a", 0.5, 0.4, 0.6, -3.0, "bad"), Bar("b", 2.0, 1.5, 3.0, 5.0, "good", shipped=2.5)]
    drawing = read(intervals(bars))
    places = [float(value) for name, value in drawing.attributes if name == "cx"]
    slower, faster, shipped = places
    ends = [dict(attributes) for tag, attributes in drawing.elements if tag == "line"]
    one = next(float(line["x1"]) for line in ends if line["class"] == "one")
    assert slower < one < faster < shipped
    widths = [value for name, value in read(savings(bars)).attributes if name == "width"]
    assert len(widths) == 1
    assert "nothing" in savings(bars)
