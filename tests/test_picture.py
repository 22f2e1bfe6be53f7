"""The pictures in docs/assets show what torchlint prints and what was measured; ``make picture`` draws them again."""

import re
from html import unescape

import pytest
from conftest import ROOT
from programs import benchmark

pytestmark = pytest.mark.once
ASSETS = ROOT / "docs" / "assets"


PICTURES = benchmark("picture")


@pytest.mark.parametrize("name", [name for name in PICTURES.TERMINALS if name != "count"])
def test_a_picture_shows_what_is_printed(name):
    terminal = PICTURES.TERMINALS[name]
    picture = (ASSETS / f"{name}.svg").read_text(encoding="utf-8")
    drawn = "".join(unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", picture))
    colored = PICTURES.printed(terminal)
    assert ("\x1b[3" in colored) is terminal.color
    printed = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert "".join(drawn.split()) == "".join(f"${terminal.command}{printed}".split())
    assert max(map(len, printed.splitlines())) <= terminal.columns
    assert "href" not in picture and "url(" not in picture


def test_the_plot_shows_what_was_measured():
    assert (ASSETS / "gains.svg").read_text(encoding="utf-8") == PICTURES.gains()
