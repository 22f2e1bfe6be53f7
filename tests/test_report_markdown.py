import re
from dataclasses import replace

from reporting import COST, STEP, UPDATE, context_of, finding_of

from torchlint.report import markdown
from torchlint.rule import Cost, Level, Position

TEXT = "x = torch.FloatTensor(obs)\n"
CODE = "torch.FloatTensor(obs)"


def cells_of(row):
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_the_summary_is_a_table_worst_first():
    seldom = finding_of(TEXT, CODE, message="b", hot=UPDATE, cost=Cost(9, 2, 2, 2, "batch 256"))
    often = finding_of(TEXT, CODE, message="a", path="z.py", hot=STEP, cost=COST)
    lines = markdown.render(context_of(TEXT, seldom, often)).splitlines()
    header = lines.index("| Level | Rule | Where | What | How often | Cost |")
    first, second = (cells_of(row) for row in lines[header + 2 : header + 4])
    assert first[:4] == ["warning", "TL101 legacy-tensor-constructor", "z.py:1", "a"]
    assert first[4] == "once per environment step (train.py:88 loop → Agent.act)"
    assert first[5].startswith("about 3.6 us a call, 3.1x")
    assert second[3] == "b"
    assert "2 findings" in lines[2]


def test_nothing_in_the_summary_is_markup():
    hostile = "a|b\n<img src=x>`[l](u)*_\\~#@.py"
    text = markdown.render(context_of(TEXT, finding_of(TEXT, CODE, path=hostile, message=hostile)))
    row = next(line for line in text.splitlines() if line.startswith("| warning"))
    assert len(cells_of(row)) == 6
    for cell in cells_of(row):
        bare = re.sub(r"&#\d+;", "", cell)
        assert not set("<>&`[]*_\\~#@|") & set(bare)


def test_the_summary_counts_the_rows_it_leaves_out():
    finding = finding_of(TEXT, CODE, level=Level.WARNING)
    many = [replace(finding, start=Position(1, 1 + column)) for column in range(450)]
    text = markdown.render(context_of(TEXT, *many))
    assert text.count("| warning |") == 400
    assert "50 findings more." in text
