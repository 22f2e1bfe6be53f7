import re
from dataclasses import dataclass

import pytest

from torchlint.rule import Option, Rule, RuleSet
from torchlint.settings.check import SettingsError
from torchlint.settings.select import matching, options_of, resolve


@dataclass(frozen=True)
class Info:
    code: str
    name: str
    set: RuleSet = RuleSet.DEFAULT


RULES = (
    Info("TL101", "legacy-tensor-constructor"),
    Info("TL102", "construct-then-move"),
    Info("TL110", "new-one", RuleSet.PREVIEW),
    Info("TL201", "sync-in-loop"),
    Info("TL903", "pedantic", RuleSet.OPT_IN),
)


def codes(**selectors):
    return " ".join(sorted(code.removeprefix("TL") for code in resolve(RULES, **selectors)))


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ({}, "101 102 201"),
        ({"preview": True}, "101 102 110 201"),
        ({"select": ["ALL"]}, "101 102 201"),
        ({"select": ["ALL"], "preview": True}, "101 102 110 201"),
        ({"select": ["TL"]}, "101 102 201"),
        ({"select": ["TL1"]}, "101 102"),
        ({"select": ["TL1"], "preview": True}, "101 102 110"),
        ({"select": ["TL11"]}, ""),
        ({"select": ["TL110"]}, "110"),
        ({"select": ["new-one"]}, "110"),
        ({"select": ["TL9"], "preview": True}, ""),
        ({"select": ["TL903"]}, "903"),
        ({"select": ["pedantic", "TL2"]}, "201 903"),
        ({"extend_select": ["TL903"]}, "101 102 201 903"),
        ({"select": ["TL2"], "extend_select": ["TL101"]}, "101 201"),
        ({"ignore": ["TL1"]}, "201"),
        ({"ignore": ["ALL"]}, ""),
        ({"ignore": ["ALL"], "extend_select": ["TL1"]}, "101 102"),
        ({"ignore": ["sync-in-loop"]}, "101 102"),
        ({"select": ["TL1"], "ignore": ["TL101"]}, "102"),
        ({"select": ["TL101"], "ignore": ["TL1"]}, "101"),
        ({"select": ["TL1"], "ignore": ["TL1"]}, ""),
        ({"select": ["TL10"], "ignore": ["TL1"]}, "101 102"),
        ({"select": ["TL101"], "ignore": ["legacy-tensor-constructor"]}, ""),
        ({"select": ["ALL"], "ignore": ["TL"]}, ""),
    ],
)
def test_the_more_specific_selector_wins(selectors, expected):
    assert codes(**selectors) == expected


@pytest.mark.parametrize(
    ("selectors", "message"),
    [
        ({"select": ["TL10", "TL12"]}, r"select: no rule matches 'TL12'; did you mean 'TL1"),
        ({"ignore": ["legacy-tensor-construct"]}, r"ignore: .* did you mean 'legacy-tensor-constructor'"),
        ({"extend_select": ["tl101"]}, r"extend-select: .*'tl101'; did you mean 'TL101'"),
        ({"select": ["all"]}, r"did you mean 'ALL'"),
        ({"select": ["TL9033"]}, r"did you mean 'TL903'"),
        ({"select": [""]}, r"no rule matches ''$"),
        ({"select": ["F401"]}, r"no rule matches 'F401'"),
    ],
)
def test_an_unknown_selector_is_an_error(selectors, message):
    with pytest.raises(SettingsError, match=message):
        resolve(RULES, **selectors)


def test_what_selectors_cover():
    assert matching(["TL1", "pedantic"], RULES, "per-file-ignores") == {"TL101", "TL102", "TL110", "TL903"}
    assert matching(["ALL"], RULES, "per-file-ignores") == {rule.code for rule in RULES}
    with pytest.raises(SettingsError, match="per-file-ignores: no rule matches 'TL7'"):
        matching(["TL7"], RULES, "per-file-ignores")


def test_a_rules_class_can_be_selected():
    class Legacy(Rule):
        code = "TL101"
        name = "legacy-tensor-constructor"

    assert resolve([Legacy], select=["TL1"]) == {"TL101"}


class Growing(Rule):
    code = "TL404"
    name = "unbounded-growth"
    options = (
        Option("allow", (), "names"),
        Option("limit", 10, "how many", 1),
        Option("share", 0.5, "how much", 0),
        Option("strict", False, "whether"),
    )


class Plain(Rule):
    code = "TL405"
    name = "plain"


@pytest.mark.parametrize(
    ("tables", "wrong"),
    [
        ({"TL405": {"least": 3}}, "rules: TL405 has no option 'least'; it has none"),
        ({"TL9x": {}}, "rules: no rule matches 'TL9x'"),
        ({"unbounded-grwth": {}}, "did you mean 'unbounded-growth'?"),
        ({"TL4": {"limit": 3}}, "rules: options belong to one rule, not to all of TL4"),
        ({"TL404": {"limt": 3}}, "rules: TL404 has no option 'limt'; did you mean 'limit'?; it has allow, limit"),
        ({"TL404": {"limit": "3"}}, "rules: TL404: limit takes a whole number, 1 or more, not '3'"),
        ({"TL404": {"limit": True}}, "limit takes a whole number"),
        ({"TL404": {"limit": 0}}, "limit takes a whole number, 1 or more, not 0"),
        ({"TL404": {"share": -1}}, "share takes a number, 0 or more"),
        ({"TL404": {"strict": 1}}, "strict takes true or false"),
        ({"TL404": {"allow": ["a", 1]}}, "allow takes a list of strings"),
    ],
)
def test_wrong_options_say_what_is_right(tables: dict[str, dict[str, object]], wrong: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(wrong)):
        options_of([Growing, Plain], tables)


def test_options_reach_the_rule_by_code_or_name_and_the_rest_keep_their_defaults() -> None:
    tables = {"TL404": {"share": 1}, "unbounded-growth": {"allow": ["a"]}, "plain": {}}
    given = options_of([Growing, Plain], tables)
    assert given == {"TL404": {"share": 1.0, "allow": ("a",)}}
    assert [option.of(given["TL404"]) for option in Growing.options] == [("a",), 10, 1.0, False]
