import json
import re

import pytest
from reporting import COST
from rich.cells import cell_len

from torchlint.engine.rules import load_rules
from torchlint.report.explain import as_json, as_markdown, as_text, explain
from torchlint.rule import Change, Counted, Counts, Level, Rule, RuleSet, Trigger


class Sample(Rule):
    """A tensor made in `vain`.

    ## What it does
    Finds `torch.zeros` in a very long sentence that has to be wrapped somewhere because it is wider than eighty cells.

    ## Example
    ```python
    ## no heading
    x = torch.zeros(3)
    ```
    and then some text.

    ## Measured
    On a machine.

    ## References
    - One.
    - Two.
    """

    code = "TL999"
    name = "sample-smell"
    summary = "a tensor that is never used"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Trigger()
    fixable = True
    may_change = (Change.ROUNDING, Change.RNG)


EXPLAINED = explain(Sample, [COST])


def test_counts_stand_below_the_times():
    events = Counted(Counts(waits=3, launches=9), Counts(waits=1, launches=9), "17-dim observations")
    explained = explain(Sample, [COST], [events])
    text = as_text([explained], color=False, unicode=True, width=80)
    rows = [line.split() for line in text.splitlines()]
    assert ["17-dim", "observations", *"3 > 1".split(), *"9 > 9".split(), *"0 > 0".split(), "0"] in rows
    assert "| 17-dim observations | 3 > 1 | 9 > 9 | 0 > 0 | 0 |" in as_markdown([explained])
    assert json.loads(as_json([explained], single=True))["counts"][0]["before"]["waits"] == 3


def test_sections_are_read_from_the_docstring():
    assert EXPLAINED.introduction == "A tensor made in `vain`."
    assert [heading for heading, _ in EXPLAINED.sections] == ["What it does", "Example", "Measured", "References"]
    assert dict(EXPLAINED.sections)["Example"] == (
        "```python\n## no heading\nx = torch.zeros(3)\n```\nand then some text."
    )


def test_text_fits_and_reads_well():
    text = as_text([EXPLAINED], color=False, unicode=True, width=80)
    lines = text.splitlines()
    assert lines[0] == "TL999 sample-smell " + "─" * 61
    assert lines[1] == "note; set: with --preview; fix may change rounding, rng"
    assert "    x = torch.zeros(3)" in lines
    assert "  17-dim observations  3.6 us a call   3.1x                 2.3-3.1x  CPU" in lines
    assert all(cell_len(line) <= 80 and line == line.rstrip() for line in lines)
    assert "\n\n\n" not in text


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.code)
def test_no_word_of_a_rule_is_lost_where_lines_are_narrow(rule):
    text = "".join(as_text([explain(rule, ())], color=False, unicode=True, width=60).split())
    for _, body in explain(rule, ()).sections:
        for code in re.findall(r"```python\n(.*?)```", body, re.DOTALL):
            assert "".join(code.split()) in text
    assert as_text([EXPLAINED], color=False, unicode=False, width=80).isascii()


def test_colours_are_added_on_request():
    assert "\x1b[" not in as_text([EXPLAINED], color=False, unicode=True, width=80)
    assert "\x1b[1;36mTL999" in as_text([EXPLAINED], color=True, unicode=True, width=80)


def test_markdown_keeps_the_docstring_and_adds_the_figures():
    text = as_markdown([EXPLAINED])
    assert text.startswith("# sample-smell (TL999)\n\nA tensor made in `vain`.\n\n*note; set: with --preview;")
    assert "## Example\n\n```python\n## no heading\nx = torch.zeros(3)\n```\nand then some text.\n" in text
    assert "| 17-dim observations | 3.6 us a call | 3.1x | 2.3-3.1x | CPU |\n\n## References" in text


def test_json_holds_everything():
    read = json.loads(as_json([EXPLAINED], single=True))
    assert read["code"] == "TL999"
    assert read["may_change"] == ["rounding", "rng"]
    assert (read["severity"], read["set"], read["fixable"], read["cuda_only"]) == ("note", "preview", True, False)
    assert read["sections"]["Measured"] == "On a machine."
    assert read["figures"][0]["size"] == "17-dim observations"
    assert json.loads(as_json([EXPLAINED], single=False)) == [read]
