"""One setting, from which every format takes the address of the page of a rule."""

import json

import pytest
from conftest import in_this_process
from reporting import context_of, finding_of

from torchlint.report import as_json, full, rdjson, sarif
from torchlint.report.context import page_of
from torchlint.rule import Level

TEXT = "x = torch.FloatTensor(obs)\n"
CODE = "torch.FloatTensor(obs)"
DOCS = "https://docs.example.org/torchlint"
PAGE = f"{DOCS}/rules/TL101/"


def context(**fields):
    return context_of(TEXT, finding_of(TEXT, CODE), **fields)


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


def test_formats_lead_to_the_page_of_the_rule():
    assert json.loads(as_json.render(context(docs=DOCS)))[0]["url"] == PAGE
    assert json.loads(sarif.render(context(docs=DOCS)))["runs"][0]["tool"]["driver"]["rules"][0]["helpUri"] == PAGE
    assert json.loads(rdjson.render(context(docs=DOCS)))["diagnostics"][0]["code"] == {"value": "TL101", "url": PAGE}
    assert PAGE in full.render(context(docs=DOCS, color=True, links="file://host"))
    assert PAGE not in full.render(context(docs=DOCS, color=True))


def test_without_an_address_there_is_no_link():
    for render in (as_json.render, sarif.render, rdjson.render):
        assert "/rules/TL101" not in render(context())


def test_rules_of_others_and_syntax_errors_have_no_page():
    assert page_of(DOCS, finding_of(TEXT, CODE, code="ACME101")) == ""
    assert page_of(DOCS, finding_of(TEXT, CODE, code="TL000", level=Level.ERROR)) == ""


@pytest.mark.parametrize("wrong", ['"ftp://x"', '"javascript:x"', "3", '"https://a b"'])
def test_what_is_no_address_is_an_error(torchlint, tmp_path, wrong):
    (tmp_path / "torchlint.toml").write_text(f"docs-url = {wrong}\n")
    done = torchlint("check", cwd=tmp_path)
    assert done.returncode == 2 and "torchlint.toml:1: docs-url: " in done.stderr
