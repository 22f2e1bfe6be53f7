import re
from dataclasses import replace

from reporting import COST, STEP, UPDATE, context_of, finding_of, fix_of

from torchlint.report import markdown
from torchlint.rule import Change, Cost, Frequency, Hop, Hotness, Position

TEXT = "x = torch.FloatTensor(obs)\n"
CODE = "torch.FloatTensor(obs)"


def cells_of(row):
    return [cell.strip() for cell in row.strip("|").split("|")]


HEADS = "|  | Rule | What | Where | How often | Cost | Fix |"


def rows_of(text):
    lines = text.splitlines()
    first = lines.index(HEADS) + 2
    return [cells_of(line) for line in lines[first : lines.index("", first)]]


def test_the_summary_is_a_table_of_entries_the_dearest_first():
    seldom = finding_of(TEXT, CODE, message="b", hot=UPDATE, cost=Cost(9, 2, 2, 2, "batch 256"))
    often = finding_of(TEXT, CODE, message="a: do it", path="z.py", hot=STEP, cost=COST, fix=fix_of(TEXT, CODE, "z"))
    again = replace(often, start=Position(1, 9))
    text = markdown.render(context_of(TEXT, seldom, often, again))
    first, second = rows_of(text)
    assert first == [
        "warning",
        "TL101 legacy-tensor-constructor",
        "a",
        "z.py:1 and 1 more place",
        "once per environment step",
        "3.6 us a call, 3.1x on CPU",
        "`--fix`",
    ]
    assert (second[2], second[6]) == ("b", "")
    assert "3 findings" in text.splitlines()[2]
    assert "- `torchlint check --fix` fixes 2 findings" in text


def test_the_details_are_folded_and_hold_all_places_the_whole_cost_and_the_fix_as_a_diff():
    fix = fix_of(TEXT, CODE, "torch.as_tensor(obs)", may_change=(Change.ROUNDING,))
    slow = finding_of(TEXT, CODE, message="it is slow: mend it", hot=STEP, cost=COST, fix=fix)
    found = [
        replace(slow, start=Position(row, 5), path=path)
        for row, path in ((1, "agent.py"), (9, "agent.py"), (3, "z.py"))
    ]
    lines = markdown.render(context_of(TEXT, *found)).splitlines()
    first = lines.index("<details><summary><b>TL101</b> it is slow: agent.py:1 and 2 more places</summary>")
    assert lines[first + 1 : lines.index("</details>")] == [
        "",
        "- agent.py: 1, 9",
        "- z.py: 3",
        "- hot: once per environment step (train.py:88 loop → Agent.act)",
        "- cost: about 3.6 us a call, 3.1x (2.3-3.1x), measured at 17-dim observations on CPU",
        "- help: mend it",
        "- fix: may change rounding; --fix --accept rounding applies it",
        "",
        "```diff",
        "- x = torch.FloatTensor(obs)",
        "+ x = torch.as_tensor(obs)",
        "```",
        "",
    ]


def test_code_in_a_message_is_shown_as_code_and_an_odd_backtick_as_itself():
    message = "`a|b` forces a <GPU> sync; read `x[0]`"
    text = markdown.render(context_of(TEXT, finding_of(TEXT, CODE, message=message)))
    assert "| <code>a&#124;b</code> forces a &#60;GPU&#62; sync |" in text
    assert "- help: read <code>x&#91;0&#93;</code>" in text
    assert "a &#96; b" in markdown.render(context_of(TEXT, finding_of(TEXT, CODE, message="a ` b")))


def test_a_fence_in_the_code_does_not_end_the_diff():
    text = 'x = "````"; y = torch.FloatTensor(obs)\n'
    shown = markdown.render(context_of(text, finding_of(text, CODE, fix=fix_of(text, CODE, "z")))).splitlines()
    assert shown[shown.index("`````diff") + 3] == "`````"


def test_nothing_in_the_summary_is_markup():
    hostile = "a|b\n<img src=x>`[l](u)*_\\~#@.py"
    hop = Hop(hostile, 1, hostile)
    finding = finding_of(
        TEXT,
        CODE,
        path=hostile,
        message=hostile,
        hot=Hotness(Frequency.STEP, (hop, hop)),
        cost=replace(COST, size=hostile),
        fix=fix_of(TEXT, CODE, "</details>", assumes=hostile),
    )
    text = markdown.render(context_of(TEXT, finding, name=hostile))
    (row,) = rows_of(text)
    assert len(row) == 7
    told = [*row[:6], *(line[2:] for line in text.splitlines() if line.startswith("- ") and not line.startswith("- `"))]
    assert len(told) == 11
    for cell in told:
        bare = re.sub(r"&#\d+;", "", cell.removeprefix("x = "))
        assert not set("<>&`[]*_\\~#@|") & set(bare) or cell.startswith("x = torch")
    # In a block of code nothing is markup, so no line may end it.
    assert text.count("\n```\n") == text.count("\n```diff\n") == 1


def test_it_fits_into_a_comment_and_says_what_is_left_out():
    many = [
        finding_of(TEXT, CODE, code=f"TL{row}", message="wait " * 90, path=f"{'f/' * 40}a.py", hot=STEP, cost=COST)
        for row in range(100, 500)
    ]
    text = markdown.render(context_of(TEXT, *many))
    shown = len(rows_of(text))
    assert 20 < shown < 400
    assert f"{400 - shown} more entries." in text
    assert len(text) < 65_536
    assert 0 < text.count("<details>") == text.count("</details>") <= shown


def test_nothing_found_is_one_line_below_the_heading():
    assert markdown.render(context_of(TEXT, files=3)) == "### torchlint\n\nNothing slow found in 3 files\n"
