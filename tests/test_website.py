"""The pages of the documentation site, without MkDocs: every rule has one, and links lead somewhere."""

import shutil
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from torchlint.cli.app import application
from torchlint.engine.rules import load_rules
from torchlint.settings.describe import KEYS
from torchlint.testing import HEADINGS
from website.links import broken_links, headings
from website.mentions import linked
from website.pages import Site
from website.sources import Links
from website.terminal import shown

SITE = Site.of(ROOT)
RULES = load_rules()
PAGES = {page: SITE.text(page, run=False) for page in SITE.addresses}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_page_of_a_rule_has_all_headings_and_its_figures(rule):
    text = PAGES[f"rules/{rule.code}.md"]
    told = [heading for heading in headings(text) if heading in HEADINGS]
    assert told == list(HEADINGS)
    assert f"# {rule.code} {rule.name}\n" in text
    assert f"rules/{rule.code}.md" in str(SITE.navigation())
    measured = [row for row in SITE.measured if row.code == rule.code]
    assert text.count("<circle") == len(measured)
    assert text.count("```diff") == len(rule.examples)


def test_no_link_leads_nowhere():
    files = frozenset(
        path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*") if path.suffix != ".md"
    )
    assert list(broken_links(PAGES, files)) == []


def test_a_broken_link_is_seen():
    pages = {
        "index.md": "# A\n[gone](gone.md) [here](sub/b.md#b-c) [not there](sub/b.md#d) [out](https://a.b) `[x](y.md)`",
        "sub/b.md": "## B, c\n[up](../index.md#a)\n```\n[code](none.md)\n```\n[itself](#b-c) [file](data.json)",
    }
    assert list(broken_links(pages, frozenset({"sub/data.json"}))) == ["index.md: gone.md", "index.md: sub/b.md#d"]


def test_every_setting_and_every_command_has_a_heading():
    assert set(KEYS) <= set(headings(PAGES["settings.md"]))
    commands = [name for name in application.lazy if name != "dev"]
    assert {f"torchlint {name}" for name in (*commands, "check")} <= set(headings(PAGES["cli.md"]))
    assert "`--select SELECTORS`" in PAGES["cli.md"]
    assert "| `TORCHLINT_OUTPUT_FORMAT` | stands for `--output-format` of `torchlint check` |" in PAGES["cli.md"]


def test_all_pages_are_in_the_menu_or_meant_not_to_be():
    text = (ROOT / "mkdocs.yml").read_text()
    named = {target for target in SITE.addresses if f": {target}\n" in text}
    rules = {f"rules/{rule.code}.md" for rule in RULES} | {"rules/index.md"}
    hidden = {page for page in SITE.addresses if page.startswith("source/")} | {"readme.md"}
    assert named | rules | hidden == SITE.addresses
    assert yaml.safe_load(text)["strict"] is True


def test_the_proof_of_a_claim_can_be_read_on_the_site():
    page = PAGES["comparison.md"]
    assert "[test_watch_lints_again_when_a_file_changes](source/tests/test_cli_flags.py.md#test_watch_lints" in page
    assert "## test_watch_lints_again_when_a_file_changes {" in PAGES["source/tests/test_cli_flags.py.md"]


def test_codes_in_running_text_become_links():
    text = "---\ntitle: TL101\n---\n# TL101\nTL101, `TL101` [TL101](x.md) TL1 TL999 TL101.\n```\nTL101\n```\n"
    assert linked(text, "guide/a.md", {"TL101"}) == text.replace("\nTL101,", "\n[TL101](../rules/TL101.md),").replace(
        "TL999 TL101.", "TL999 [TL101](../rules/TL101.md)."
    )
    assert linked("TL101", "rules/TL101.md", {"TL101"}) == "TL101"


def test_links_out_of_the_documents_lead_to_pages_of_files(tmp_path: Path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.py").write_text("import os\n\n\n@cache\ndef test_d():\n    pass\n")
    links = Links(tmp_path, frozenset({"b.md"}))
    text = "[a](../tests/a.py) [b](b.md) [c](../tests/none.py) [test_d](../tests/a.py)"
    assert links.outside(text, "x.md") == {"tests/a.py"}
    lines = "[1](../tests/a.py#L1) [2](../tests/a.py#L4) [3](../tests/a.py#L6-L7)"
    assert links.rewritten(lines, "x.md") == (
        "[1](source/tests/a.py.md) [2](source/tests/a.py.md#test_d) [3](source/tests/a.py.md#test_d)"
    )
    assert links.rewritten(text, "x.md") == (
        "[a](source/tests/a.py.md) [b](b.md) [c](../tests/none.py) [test_d](source/tests/a.py.md#test_d)"
    )


def test_what_commands_print_is_shown_as_they_print_it(tmp_path):
    """In a copy of the example: where it lies, the whole repository is its project."""
    agent = shutil.copytree(ROOT / "examples" / "agent", tmp_path / "agent", ignore=shutil.ignore_patterns("__py*"))
    text = shown("before\n\n<!-- run: check --isolated --select TL101 agent.py (first 2 lines) -->\n", agent)
    assert "$ torchlint check --isolated --select TL101 agent.py" in text
    assert "TL101" in text
    assert "\n\n" not in text.split('<div class="tl-terminal">')[1].split("$ torchlint")[0]
    with pytest.raises(RuntimeError, match="no rule matches"):
        shown("<!-- run: check --isolated --select TL9999 agent.py -->", agent)


@pytest.mark.parametrize("page", sorted(SITE.written))
def test_written_pages_have_a_title(page):
    assert headings(PAGES[page])
