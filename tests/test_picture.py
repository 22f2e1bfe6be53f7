"""The picture of ``torchlint check`` shows what it prints."""

import importlib.util
import re
from html import unescape

import pytest


@pytest.mark.once
def test_the_picture_of_check_shows_what_is_printed(root):
    """Where it does not, ``make picture`` draws it again."""
    spec = importlib.util.spec_from_file_location("picture", root / "benchmarks" / "picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    picture = (root / "docs" / "assets" / "check.svg").read_text(encoding="utf-8")
    drawn = "".join(unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", picture))
    printed = re.sub(r"\x1b\[[0-9;]*m", "", module.printed("check"))
    assert "".join(drawn.split()) == "".join(f"${module.COMMANDS['check']}{printed}".split())
    assert "href" not in picture and "url(" not in picture
