import re
from dataclasses import dataclass, replace

import pytest
from reporting import COST, ROOT, STEP, context_of, finding_of

from torchlint.report import github
from torchlint.report.escape import defused
from torchlint.rule import Change, Cost, Edit, Frequency, Hop, Hotness, Level, PlainFix, Position

TEXT = "x = torch.FloatTensor(obs)\ny = torch.zeros(\n    3,\n)\n"
CODE = "torch.FloatTensor(obs)"


@dataclass(frozen=True)
class Command:
    name: str
    properties: dict[str, str]
    message: str


def unescaped(text: str, pairs: dict[str, str]) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: pairs.get(match[0], match[0]), text)


def parsed(line: str) -> Command:
    """A workflow command, read as a runner does: split first, unescape then."""
    assert line.startswith("::")
    head, message = line[2:].split("::", 1)
    name, _, listed = head.partition(" ")
    data = {"%25": "%", "%0D": "\r", "%0A": "\n"}
    properties = {}
    for part in listed.split(","):
        key, value = part.split("=", 1)
        properties[key] = unescaped(value, {**data, "%3A": ":", "%2C": ","})
    return Command(name, properties, unescaped(message, data))


def commands(*findings, **fields):
    text = github.render(context_of(TEXT, *findings, **fields))
    return [parsed(line) for line in text.splitlines()]


def test_the_exact_line():
    text = github.render(context_of(TEXT, finding_of(TEXT, CODE)))
    assert text == ("::warning title=TL101,file=agent.py,line=1,col=5,endLine=1,endColumn=27::use torch.as_tensor\n")


def test_columns_are_left_out_where_the_rows_differ():
    (command,) = commands(finding_of(TEXT, "torch.zeros(\n    3,\n)"))
    assert command.properties == {"title": "TL101", "file": "agent.py", "line": "2", "endLine": "4"}


@pytest.mark.parametrize(
    ("level", "name"), [(Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.NOTE, "notice")]
)
def test_the_level_is_the_command(level, name):
    assert commands(finding_of(TEXT, CODE, level=level))[0].name == name


@pytest.mark.parametrize(
    "hostile", ["a,b=c.py", "100%.py", "a%0Ab::c:d.py", "::error::x", "a\nb\r\n::error::c", "%25,"]
)
def test_names_and_messages_come_back_as_they_were(hostile):
    (command,) = commands(finding_of(TEXT, CODE, path=hostile, message=hostile))
    assert command.properties["file"] == hostile
    assert command.message == defused(hostile)
    assert set(command.properties) == {"title", "file", "line", "col", "endLine", "endColumn"}


def test_controls_without_an_escape_become_visible():
    (command,) = commands(finding_of(TEXT, CODE, path="a\x1b[2J\x0b\x85\u2028b.py", message="\x1b]0;x\x07"))
    assert command.properties["file"] == r"a\x1b[2J\x0b\x85\u2028b.py"
    assert command.message == r"\x1b]0;x\x07"


def many(number, level, **fields):
    finding = finding_of(TEXT, CODE, level=level, **fields)
    return [replace(finding, start=Position(1, 1 + column)) for column in range(number)]


def test_the_worst_ten_of_each_level_and_a_count_of_the_others():
    cheap, dear = many(12, Level.WARNING), many(3, Level.WARNING, path="z.py", cost=COST, hot=STEP)
    found = commands(*cheap, *dear, *many(11, Level.NOTE), *many(2, Level.ERROR))
    assert [command.name for command in found] == ["error"] * 2 + ["warning"] * 10 + ["notice"] * 10
    assert [command.properties["file"] for command in found[2:6]] == ["z.py", "z.py", "z.py", "agent.py"]
    assert found[-1] == Command("notice", {"title": "torchlint"}, "7 more")


def test_the_count_is_no_eleventh_notice():
    found = commands(*many(10, Level.NOTE), *many(11, Level.WARNING))
    assert [command.name for command in found].count("notice") == 10
    assert found[-1].message == "2 more"


def test_the_file_is_named_as_the_repository_knows_it():
    (command,) = commands(finding_of(TEXT, CODE), repository=ROOT.parent)
    assert command.properties["file"] == "project/agent.py"


def test_ten_are_not_cut():
    assert len(commands(*many(10, Level.WARNING))) == 10


def test_nothing_found_is_no_command():
    assert github.render(context_of(TEXT)) == ""


def test_an_annotation_tells_why_the_line_is_hot_what_it_costs_and_what_a_fix_may_change() -> None:
    hot = Hotness(Frequency.STEP, (Hop("train.py", 88, "loop"), Hop("agent.py", 1, "Agent.act")))
    fix = PlainFix("use a flag", (Edit(0, 1, "y"),), may_change=(Change.VALIDATION,))
    cost = Cost(saves_us=3.6, ratio=3.1, low=2.3, high=3.2, size="observation 17")
    finding = replace(finding_of(TEXT, CODE), hot=hot, fix=fix, cost=cost)
    message = github.render(context_of(TEXT, finding)).partition("::")[2].partition("::")[2]
    assert message.rstrip("\n").split("%0A") == [
        "use torch.as_tensor",
        "hot: once per environment step (train.py:88 loop → Agent.act)",
        "cost: about 3.6 us a call, 3.1x (2.3-3.2x), measured at observation 17 on CPU",
        "fix: use a flag; may change validation; --fix --accept validation applies it",
    ]
