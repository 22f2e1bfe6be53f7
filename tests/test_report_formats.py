"""What all output formats have in common: names and messages that try to break out of them."""

import importlib
import json
import os
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from junitparser import JUnitXml
from reporting import COST, ROOT, STEP, context_of, finding_of, fix_of
from sarif_pydantic import Sarif

from torchlint.engine.result import Problem
from torchlint.report.escape import defused, encodable, visible
from torchlint.report.formats import FOR_PEOPLE, FORMATS, IN_PLACE_OF_FINDINGS, OF_FINDINGS, renderer
from torchlint.rule import Frequency, Hop, Hotness, Level
from torchlint.settings.options import OUTPUT_FORMATS

TEXT = "x = torch.FloatTensor(obs)\n"
CODE = "torch.FloatTensor(obs)"
HOSTILE = [
    "a,b=c;d].py",
    "100%.py",
    "%0A::error::x",
    "::error file=x::y",
    "##vso[task.complete result=Failed;]done",
    "a\nb\r\n::error::c",
    "\x1b[2J\x1b]0;title\x07",
    "\x00\x08\x0b\x85\u2028\u2029\ufffe\uffff",
    "\u202egnp.py",
    "]]><script>alert(1)</script>&amp;\"'",
    'a"b\\c`$(x)`',
    "ä ß 漢字 😀.py",
    "bytes\udcff\udc80.py",
]


def hostile_context(hostile, **fields):
    finding = finding_of(TEXT, CODE, path=hostile, message=hostile, hot=STEP, cost=COST)
    return context_of(TEXT, finding, name=hostile, **fields)


def test_the_settings_know_the_formats():
    assert set(OUTPUT_FORMATS) == set(FORMATS) - IN_PLACE_OF_FINDINGS
    assert set(FORMATS) >= FOR_PEOPLE | IN_PLACE_OF_FINDINGS


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("name", sorted(OF_FINDINGS))
def test_formats_that_are_made_of_findings_alone_say_nothing_without_any(name, terminal):
    module = importlib.import_module(f"torchlint.report.{FORMATS[name]}")
    context = context_of(
        TEXT, terminal=terminal, color=terminal, problems=(Problem("a.py", "cannot be read"),), files=3
    )
    assert module.render(context) == renderer(name)(context) == ""
    assert renderer(name)(context_of(TEXT, finding_of(TEXT, CODE)))


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_no_format_writes_controls_or_ends_a_line_early(name, hostile):
    plain = renderer(name)(hostile_context("plain.py"))
    text = renderer(name)(hostile_context(hostile))
    assert [char for char in text if char != "\n" and visible(char) != char] == []
    # The format for people breaks long lines, all others have a fixed number of them.
    assert name == "full" or text.count("\n") == plain.count("\n")


@pytest.mark.parametrize("name", sorted(set(OUTPUT_FORMATS) - FOR_PEOPLE))
@pytest.mark.parametrize("hostile", HOSTILE)
def test_formats_for_programs_are_utf_8(name, hostile):
    text = renderer(name)(hostile_context(hostile))
    assert text.encode("utf-8").decode("utf-8") == text


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_a_file_without_a_known_text_is_shown(name):
    finding = finding_of(TEXT, CODE, level=Level.ERROR, code="TL000", name="syntax-error", path="broken.py")
    assert "TL000" in renderer(name)(context_of(TEXT, finding, sources={}))


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_the_same_findings_make_the_same_text(name):
    other = finding_of(TEXT, CODE, code="TL102", fingerprint="beef")
    context = context_of(TEXT, other, finding_of(TEXT, CODE, hot=STEP, cost=COST))
    assert renderer(name)(context) == renderer(name)(context)


# json-lines, gitlab, rdjson, lintrunner -------------------------------------------------------------------------------


@pytest.mark.parametrize("hostile", HOSTILE)
def test_json_formats_carry_names_and_messages_whole(hostile):
    context = hostile_context(hostile)
    (line,) = map(json.loads, renderer("json-lines")(context).splitlines())
    assert (line["filename"], line["message"]) == ((ROOT / hostile).as_posix(), hostile)
    (issue,) = json.loads(renderer("gitlab")(context))
    assert issue["location"]["path"] == encodable(hostile)
    assert issue["description"].startswith(encodable(f"TL101: {hostile}; hot: "))
    (diagnostic,) = json.loads(renderer("rdjson")(context))["diagnostics"]
    assert diagnostic["location"]["path"] == encodable(hostile)
    (message,) = map(json.loads, renderer("lintrunner")(context).splitlines())
    assert message["path"] == encodable(hostile)


@pytest.mark.parametrize("name", sorted(set(OUTPUT_FORMATS) - IN_PLACE_OF_FINDINGS))
def test_a_hot_line_without_a_path_says_that_its_callers_are_not_proven(name):
    finding = finding_of(TEXT, CODE, hot=Hotness(Frequency.STEP))
    text = " ".join(renderer(name)(context_of(TEXT, finding)).split())
    doubt = "once per environment step (not proven which code calls it)"
    told = '"proven": false' if name.startswith("json") else doubt
    assert told in text
    shown = " ".join(renderer(name)(context_of(TEXT, finding_of(TEXT, CODE, hot=STEP))).split())
    assert told not in shown


def test_json_lines_say_what_json_says():
    context = context_of(TEXT, finding_of(TEXT, CODE), finding_of(TEXT, "x", code="TL102"))
    lines = renderer("json-lines")(context).splitlines()
    assert list(map(json.loads, lines)) == json.loads(renderer("json")(context))
    assert renderer("json-lines")(context_of(TEXT)) == ""


# junit ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hostile", HOSTILE)
def test_junit_is_xml_whatever_a_name_holds(hostile):
    (suite,) = JUnitXml.fromstring(renderer("junit")(hostile_context(hostile)).encode())
    (case,) = suite
    shown = re.sub("[\ufffe\uffff]", lambda match: f"\\u{ord(match[0]):04x}", visible(hostile))
    assert suite.name == shown
    assert case.result[0].message == shown


def test_junit_has_a_suite_for_each_file_and_a_test_for_each_finding():
    findings = [
        finding_of(TEXT, CODE),
        finding_of(TEXT, CODE, level=Level.NOTE, code="TL301"),
        finding_of(TEXT, CODE, level=Level.ERROR, code="TL000", path="broken.py"),
    ]
    report = JUnitXml.fromstring(renderer("junit")(context_of(TEXT, *findings)).encode())
    assert (report.tests, report.failures, report.errors) == (3, 1, 1)
    agent, broken = report
    assert [(agent.name, agent.tests, agent.failures), (broken.name, broken.errors)] == [
        ("agent.py", 2, 1),
        ("broken.py", 1),
    ]
    failed, passed = agent
    assert (failed.name, failed.classname, failed.is_failure) == ("TL101 legacy-tensor-constructor 1:5", "agent", True)
    assert (passed.is_passed, passed.system_out[:22]) == (True, "agent.py:1:5: TL301 us")
    note_fails = renderer("junit")(context_of(TEXT, findings[1], fail_level="note"))
    assert JUnitXml.fromstring(note_fails.encode()).failures == 1


def test_junit_without_findings_is_a_passed_test():
    report = JUnitXml.fromstring(renderer("junit")(context_of(TEXT)).encode())
    assert (report.tests, report.failures, report.errors) == (1, 0, 0)


# sarif ----------------------------------------------------------------------------------------------------------------


def sarif_of(*findings, text=TEXT, **fields):
    return Sarif.model_validate_json(renderer("sarif")(context_of(text, *findings, **fields))).runs[0]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_sarif_holds_every_name_as_a_relative_uri(hostile):
    run = Sarif.model_validate_json(renderer("sarif")(hostile_context(hostile))).runs[0]
    (result,) = run.results
    place = result.locations[0].physical_location.artifact_location
    assert os.fsdecode(unquote(place.uri, errors="surrogateescape").encode("utf-8", "surrogateescape")) == hostile
    assert re.fullmatch(r"[\w%./~-]*", place.uri, re.ASCII)
    assert place.uri_base_id == "%SRCROOT%"
    assert result.message.text.startswith(encodable(hostile))


def test_sarif_columns_count_utf_16():
    text = 'x = f("😀é", torch.zeros(3))\n'
    run = sarif_of(finding_of(text, "torch.zeros(3)", fix=fix_of(text, "zeros(3)", "ones(3)")), text=text)
    region = run.results[0].locations[0].physical_location.region
    start = len(text[: text.index("torch")].encode("utf-16-le")) // 2 + 1
    assert (region.start_line, region.start_column, region.end_column) == (1, start, start + 14)
    assert start == text.index("torch") + 2
    (replacement,) = run.results[0].fixes[0].artifact_changes[0].replacements
    assert replacement.deleted_region.start_column == start + 6
    assert replacement.inserted_content.text == "ones(3)"


def test_sarif_describes_rules_levels_paths_of_calls_and_fingerprints():
    from torchlint.engine.rules import load_rules

    rules = {rule.code: rule for rule in load_rules()}
    found = [
        finding_of(TEXT, CODE, hot=STEP, fingerprint="f1"),
        finding_of(TEXT, CODE, code="TL301", level=Level.NOTE, fingerprint="f2"),
        finding_of(TEXT, CODE, code="TL000", level=Level.ERROR, fingerprint="f3"),
    ]
    run = sarif_of(*found, rules=rules)
    assert [rule.id for rule in run.tool.driver.rules] == ["TL000", "TL101", "TL301"]
    described = run.tool.driver.rules[1]
    assert described.short_description.text == rules["TL101"].summary
    assert "## Why is this slow" in described.help.markdown
    assert [(result.rule_id, result.rule_index, result.level.value) for result in run.results] == [
        ("TL000", 0, "error"),
        ("TL101", 1, "warning"),
        ("TL301", 2, "note"),
    ]
    assert [result.partial_fingerprints["primaryLocationLineHash"] for result in run.results] == ["f3", "f1", "f2"]
    log = json.loads(renderer("sarif")(context_of(TEXT, *found, rules=rules)))
    flow = log["runs"][0]["results"][1]["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [hop["location"]["message"]["text"] for hop in flow] == ["loop", "Agent.act", "legacy-tensor-constructor"]


def test_sarif_shows_where_a_value_goes_as_a_flow_of_its_own():
    found = finding_of(TEXT, CODE, hot=STEP, flow=(Hop("agent.py", 7, "return x"), Hop("train.py", 9, "log(x)")))
    (result,) = json.loads(renderer("sarif")(context_of(TEXT, found)))["runs"][0]["results"]
    _, flow = [each["threadFlows"][0]["locations"] for each in result["codeFlows"]]
    assert [step["location"]["message"]["text"] for step in flow] == ["return x", "log(x)"]
    assert flow[1]["location"]["physicalLocation"]["region"] == {"startLine": 9}


def test_sarif_reports_what_could_not_be_read():
    from torchlint.engine.result import Problem

    run = json.loads(renderer("sarif")(context_of(TEXT, problems=(Problem("a.py", "gone"),))))["runs"][0]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "a.py: gone"
    assert json.loads(renderer("sarif")(context_of(TEXT)))["runs"][0]["invocations"][0]["executionSuccessful"] is True


# gitlab ---------------------------------------------------------------------------------------------------------------

SEVERITIES = {"info", "minor", "major", "critical", "blocker"}


def test_gitlab_has_the_fields_that_its_report_needs():
    findings = [finding_of(TEXT, CODE, level=level, code=f"TL10{index}") for index, level in enumerate(Level)]
    issues = json.loads(renderer("gitlab")(context_of(TEXT, *findings, repository=ROOT.parent)))
    for issue in issues:
        assert {key: type(value) for key, value in issue.items()} == {
            "description": str,
            "check_name": str,
            "fingerprint": str,
            "severity": str,
            "location": dict,
        }
        assert issue["severity"] in SEVERITIES
        assert issue["location"]["path"] == "project/agent.py"
        assert issue["location"]["positions"]["begin"] == {"line": 1, "column": 5}
        assert issue["description"].startswith(f"{issue['check_name']}: ")
    assert [issue["severity"] for issue in issues] == ["minor", "major", "critical"]


def test_gitlab_fingerprints_are_unique():
    twice = [finding_of(TEXT, CODE), finding_of(TEXT, "x")]
    prints = [issue["fingerprint"] for issue in json.loads(renderer("gitlab")(context_of(TEXT, *twice)))]
    assert prints == ["f00d", "f00d-2"]


# rdjson ---------------------------------------------------------------------------------------------------------------


def test_rdjson_columns_count_bytes_and_suggestions_hold_a_whole_fix():
    from torchlint.rule import Edit, PlainFix

    text = 'import numpy\nx = f("😀é", torch.zeros(3))\n'
    edits = (Edit(7, 12, "torch"), Edit(text.encode().index(b"zeros"), text.encode().index(b"zeros") + 5, "ones"))
    context = context_of(text, finding_of(text, "torch.zeros(3)", fix=PlainFix("rewrite it", edits)))
    report = json.loads(renderer("rdjson")(context))
    (diagnostic,) = report["diagnostics"]
    column = len('x = f("😀é", '.encode()) + 1
    assert diagnostic["location"]["range"] == {
        "start": {"line": 2, "column": column},
        "end": {"line": 2, "column": column + 14},
    }
    (suggestion,) = diagnostic["suggestions"]
    assert suggestion["range"] == {"start": {"line": 1, "column": 8}, "end": {"line": 2, "column": column + 11}}
    assert suggestion["text"] == 'torch\nx = f("😀é", torch.ones'
    assert (report["source"]["name"], diagnostic["severity"], diagnostic["code"]) == (
        "torchlint",
        "WARNING",
        {"value": "TL101"},
    )


def test_rdjson_suggests_only_what_fix_would_do():
    from torchlint.rule import Change, Edit, PlainFix

    unsafe = finding_of(TEXT, CODE, fix=fix_of(TEXT, "FloatTensor", "tensor", may_change=(Change.ORDER,)))
    assert "suggestions" not in json.loads(renderer("rdjson")(context_of(TEXT, unsafe)))["diagnostics"][0]
    taken = json.loads(renderer("rdjson")(context_of(TEXT, unsafe, unsafe_fixes=True)))
    assert taken["diagnostics"][0]["suggestions"][0]["text"] == "tensor"
    long = TEXT + "\n" * 40 + "y = 1\n"
    apart = PlainFix("rewrite it", (Edit(0, 1, "z"), Edit(len(long) - 6, len(long) - 5, "z")))
    far = json.loads(renderer("rdjson")(context_of(long, finding_of(long, CODE, fix=apart))))
    assert "suggestions" not in far["diagnostics"][0]


# azure, pylint, grouped ----------------------------------------------------------------------------------------------


def read_command(line):
    """A logging command as the agent of Azure Pipelines reads it."""
    match = re.fullmatch(r"##vso\[task\.logissue ([^]]*)\](.*)", line)
    assert match
    pairs = {"%3B": ";", "%0D": "\r", "%0A": "\n", "%5D": "]", "%AZP25": "%"}

    def unescaped(text):
        return re.sub("%3B|%0D|%0A|%5D|%AZP25", lambda found: pairs[found[0]], text)

    properties = dict(part.split("=", 1) for part in match[1].split(";") if part)
    return {key: unescaped(value) for key, value in properties.items()}, unescaped(match[2])


@pytest.mark.parametrize("hostile", HOSTILE)
def test_azure_commands_come_back_as_they_were(hostile):
    properties, message = read_command(renderer("azure")(hostile_context(hostile)).rstrip("\n"))
    assert properties == {
        "type": "warning",
        "sourcepath": visible(hostile, keep="\r\n"),
        "linenumber": "1",
        "columnnumber": "5",
        "code": "TL101",
    }
    assert message.startswith(visible(defused(hostile), keep="\r\n") + "; hot: ")


def test_pylint_lines():
    text = renderer("pylint")(context_of(TEXT, finding_of(TEXT, CODE, hot=STEP)))
    assert text == (
        "agent.py:1: [TL101] use torch.as_tensor; hot: once per environment step (train.py:88 loop → Agent.act)\n"
    )


def test_grouped_puts_findings_under_their_file():
    text = "\n" * 9 + TEXT
    findings = [
        finding_of(text, CODE, fix=fix_of(text, "x", "y")),
        finding_of(text, "x", path="b.py", code="TL102", hot=STEP),
    ]
    assert renderer("grouped")(context_of(text, *findings)) == (
        "agent.py:\n  10:5 TL101 [*] use torch.as_tensor\n\n"
        "b.py:\n  10:1 TL102 use torch.as_tensor; hot: once per environment step (train.py:88 loop → Agent.act)\n\n"
    )
    colored = renderer("grouped")(context_of(text, findings[0], color=True))
    assert colored.startswith("\x1b[1magent.py\x1b[0m:\n  10:5 \x1b[1;33mTL101\x1b[0m \x1b[36m[*]\x1b[0m ")


# lintrunner -----------------------------------------------------------------------------------------------------------


def test_lintrunner_has_a_message_for_each_finding_and_one_for_the_fixes_of_a_file():
    findings = [
        finding_of(TEXT, CODE, fix=fix_of(TEXT, "FloatTensor", "as_tensor")),
        finding_of(TEXT, "x", code="TL301", level=Level.NOTE, fix=fix_of(TEXT, "x", "y")),
        finding_of(TEXT, "obs", code="TL000", level=Level.ERROR),
    ]
    *messages, fixes = map(json.loads, renderer("lintrunner")(context_of(TEXT, *findings)).splitlines())
    keys = {"path", "line", "char", "code", "severity", "name", "original", "replacement", "description"}
    assert {frozenset(message) for message in (*messages, fixes)} == {frozenset(keys)}
    assert [(m["code"], m["severity"], m["line"], m["char"]) for m in messages] == [
        ("TL301", "advice", 1, 1),
        ("TL101", "warning", 1, 5),
        ("TL000", "error", 1, 23),
    ]
    assert (fixes["original"], fixes["replacement"]) == (TEXT, "y = torch.as_tensor(obs)\n")


def test_a_project_inside_a_repository_is_named_from_there():
    context = context_of(TEXT, finding_of(TEXT, CODE), repository=Path("/home"))
    assert json.loads(renderer("lintrunner")(context))["path"] == "me/project/agent.py"
    assert "sourcepath=me/project/agent.py;" in renderer("azure")(context)
    uri = json.loads(renderer("sarif")(context))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert uri["artifactLocation"]["uri"] == "me/project/agent.py"
    assert ElementTree.fromstring(renderer("junit")(context)).find("testsuite").get("name") == "agent.py"
