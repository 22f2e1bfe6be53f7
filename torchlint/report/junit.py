"""The format ``junit``: a test suite for each file, a failed test for each finding."""

from __future__ import annotations

from itertools import groupby
from xml.etree import ElementTree

from torchlint.late import regex
from torchlint.report.context import Context
from torchlint.report.escape import visible
from torchlint.report.words import with_reasons
from torchlint.rule import Finding, Level

# Beyond the controls, which become visible anyway: what no XML document may hold.
_NOT_XML = regex("[\ufffe\uffff]")


def render(context: Context) -> str:
    """Return an XML document.

    A finding below the level that fails a run is a test that passed and has something to say.

    A run without findings holds one passed test, because readers take an empty report for a broken one.
    """
    suites = ElementTree.Element("testsuites", name="torchlint")
    for path, findings in groupby(context.findings, key=lambda finding: finding.path):
        _add_suite(suites, path, [_case(context, finding) for finding in findings])
    if not context.findings:
        _add_suite(suites, "torchlint", [ElementTree.Element("testcase", name="nothing slow", classname="torchlint")])
    _count(suites, suites)
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _add_suite(suites: ElementTree.Element, name: str, cases: list[ElementTree.Element]) -> None:
    suite = ElementTree.SubElement(suites, "testsuite", name=_text(name))
    suite.extend(cases)
    _count(suite, suite)


def _count(target: ElementTree.Element, cases: ElementTree.Element) -> None:
    """Set the totals, which readers show without counting themselves."""
    for key, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        target.set(key, str(sum(1 for _ in cases.iter(tag))))
    target.set("skipped", "0")


def _case(context: Context, finding: Finding) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        name=f"{finding.code} {finding.name} {finding.start.row}:{finding.start.column}",
        classname=_text(finding.path.removesuffix(".py")),
        file=_text(finding.path),
        line=str(finding.start.row),
    )
    told = _text(with_reasons(finding))
    if context.fails(finding):
        kind = "error" if finding.level is Level.ERROR else "failure"
        outcome = ElementTree.SubElement(case, kind, type=finding.level.value, message=_text(finding.message))
    else:
        outcome = ElementTree.SubElement(case, "system-out")
    outcome.text = f"{_text(finding.path)}:{finding.start.row}:{finding.start.column}: {finding.code} {told}"
    return case


def _text(text: str) -> str:
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", visible(text))
