"""What is in the index of the built-in rules is what the rules themselves say."""

import re
from pathlib import Path

import pytest
from rule_index import FILE, table
from torchlint.rules.index import RULES

from torchlint.engine.rules import BUILT_IN, listed_rules, load_rules
from torchlint.rule import Rule, Trigger

# What nothing asks of a rule before it has a site.
LATER = {"summary", "about_memory", "fixable", "may_change", "exceptions", "examples", "kept"}
# What is known of a rule before its class is made.
LISTED = {"code", "name", "set", "gate", "options"}
ASKED = sorted({name for name in Rule.__annotations__ if name not in LATER})


def test_the_index_is_current():
    assert FILE.read_text(encoding="utf-8") == table(), "run make index"


@pytest.mark.parametrize("name", ASKED)
def test_listed_rules_are_like_the_real_ones(name):
    listed = {listed.code: getattr(listed.rule, name) for listed in listed_rules()}
    if name in LISTED:
        assert {rule.code: getattr(rule, name) for rule in listed_rules()} == listed
    assert listed == {rule.code: getattr(rule, name) for rule in load_rules()}


def test_every_trigger_is_read_from_its_rows():
    rows = RULES
    triggers = {rule.code: rule.trigger for rule in load_rules()}
    assert {row["code"]: Trigger.of_rows(row["trigger"]) for row in rows} == triggers
    assert {part["part"] for row in rows for part in row["trigger"]} > {"Call", "Found", "NetworkCall"}
    assert all(row["module"].startswith(f"{BUILT_IN}.") for row in rows)


def test_a_listed_rule_looks_at_a_site_as_the_real_one_does(tmp_path, monkeypatch):
    (rule,) = (each for each in listed_rules() if each.code == "TL102")
    (real,) = (each for each in load_rules() if each.code == "TL102")
    monkeypatch.setattr(real, "check", lambda self, site: iter([type(self), site]))
    assert list(rule.rule().check("a site")) == [real, "a site"]


def test_the_list_of_rules_says_what_the_fix_of_each_rule_may_change():
    text = (Path(__file__).parent.parent / "docs" / "all-rules.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (TL\d{3}) [a-z0-9-]+ \|.*\| ([^|]*) \|$", text, re.MULTILINE))
    assert rows == {rule.code: _changes(rule) for rule in load_rules()}


def _changes(rule: type[Rule]) -> str:
    return ", ".join(f"`{change.value}`" for change in rule.may_change) or "nothing" if rule.fixable else "no fix"
