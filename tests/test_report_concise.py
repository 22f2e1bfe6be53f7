import re
from dataclasses import replace

import pytest
from reporting import context_of, finding_of, fix_of

from torchlint.report import concise
from torchlint.report.escape import visible
from torchlint.rule import Change, Frequency, Hop, Hotness, Level, Position

TEXT = 'x = "é"; y = torch.FloatTensor(obs)\n'
CODE = "torch.FloatTensor(obs)"


def test_a_line_has_path_row_column_code_mark_and_message():
    finding = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "z"))
    assert concise.render(context_of(TEXT, finding)) == "agent.py:1:14: TL101 [*] use torch.as_tensor\n"


def test_without_a_fix_there_is_no_mark():
    assert concise.render(context_of(TEXT, finding_of(TEXT, CODE))) == "agent.py:1:14: TL101 use torch.as_tensor\n"


def test_the_mark_says_what_fix_would_apply_with_these_settings():
    unsafe = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "z", may_change=(Change.ROUNDING,)))
    assumed = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "z", assumes="d is a device"))
    display = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "z", loses_comment=True))

    def marked(finding, **settings):
        return "[*]" in concise.render(context_of(TEXT, finding, **settings))

    accepted = {"accept": frozenset({Change.ROUNDING})}
    assert [marked(unsafe), marked(assumed), marked(display)] == [False, False, False]
    assert [marked(f, **accepted) for f in (unsafe, assumed, display)] == [True, False, False]
    assert [marked(f, unsafe_fixes=True) for f in (unsafe, assumed, display)] == [True, True, False]
    both = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "z", may_change=(Change.ROUNDING, Change.RNG)))
    assert not marked(both, **accepted)


def test_nothing_found_is_no_line():
    assert concise.render(context_of(TEXT)) == ""


def test_names_and_messages_cannot_end_the_line_or_reach_the_terminal():
    hostile = "a\nb\r\x1b[31mred\x9b\u2028\u202e\x07\udcff.py"
    text = concise.render(context_of(TEXT, finding_of(TEXT, CODE, path=hostile, message=hostile)))
    assert text == (
        r"a\nb\r\x1b[31mred\x9b\u2028\u202e\x07\udcff.py:1:14: TL101 a\nb\r\x1b[31mred\x9b\u2028\u202e\x07\udcff.py"
        "\n"
    )
    assert text.isascii()


def test_colours_only_colour():
    finding = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "z"), level=Level.NOTE)
    plain = concise.render(context_of(TEXT, finding))
    colored = concise.render(context_of(TEXT, finding, color=True))
    assert colored != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_visible_leaves_letters_of_all_scripts_alone():
    assert visible("Größe 日本語 😀 ñ") == "Größe 日本語 😀 ñ"
    assert visible("a\tb\x7f\u200d") == r"a\tb\x7f\u200d"


def test_the_path_that_makes_a_line_hot_is_told() -> None:
    hot = Hotness(Frequency.STEP, (Hop("train.py", 88, "loop"), Hop("agent.py", 1, "Agent.act")))
    finding = replace(finding_of(TEXT, CODE), hot=hot)
    line = concise.render(context_of(TEXT, finding))
    assert line.endswith("use torch.as_tensor; once per step (train.py:88)\n")


def test_the_mark_names_what_must_be_accepted():
    def mark(**fields):
        finding = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "z", **fields))
        return concise.render(context_of(TEXT, finding)).split()[2]

    assert mark(may_change=(Change.VALIDATION,)) == "[validation]"
    assert mark(may_change=(Change.ROUNDING, Change.RNG)) == "[rounding,rng]"
    assert mark(may_change=(Change.RNG,), assumes="d is a device") == "[unsafe]"
    assert mark(loses_comment=True) == "use"


LONG = "the host waits for the device " * 8
HOT = Hotness(Frequency.STEP, (Hop("train.py", 88, "loop"), Hop("agent.py", 1, "Agent.act")))


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize(
    "message",
    [
        f"{LONG}; {LONG}",
        f"it waits; {LONG}",
        f"it waits; wait less; {LONG}",
        f"`{LONG}` is long: {LONG}",
        "日本語 " * 60,
        "x" * 400,
    ],
)
def test_a_line_has_at_most_160_characters_and_says_where_and_how_often(message, unicode):
    finding = finding_of(TEXT, CODE, message=message, hot=HOT)
    (line,) = concise.render(context_of(TEXT, finding, unicode=unicode)).splitlines()
    assert len(line) <= 160
    assert line.startswith("agent.py:1:14: TL101 ")
    assert line.endswith("; once per step (train.py:88)")
    assert unicode or line.isascii() or not message.isascii()


def test_the_cure_is_cut_between_its_clauses_before_the_smell_is():
    finding = finding_of(TEXT, CODE, message=f"it waits; wait less; {LONG}", hot=HOT)
    assert "TL101 it waits; wait less; once per step" in concise.render(context_of(TEXT, finding))


def test_a_cure_without_clauses_is_cut_between_words():
    finding = finding_of(TEXT, CODE, message=f"it waits: read it {'once more ' * 30}", hot=HOT)
    (line,) = concise.render(context_of(TEXT, finding)).splitlines()
    assert 150 < len(line) <= 160
    assert "TL101 it waits: read it once more once" in line
    assert line.endswith(("more…; once per step (train.py:88)", "once…; once per step (train.py:88)"))


def test_a_long_name_of_a_file_is_never_cut():
    path = f"{'folder/' * 30}agent.py"
    line = concise.render(context_of(TEXT, finding_of(TEXT, CODE, path=path)))
    assert line.startswith(f"{path}:1:14: TL101 ")


def test_on_a_terminal_findings_with_one_cure_are_one_line_the_dearest_first():
    cheap = [finding_of(TEXT, CODE, start=Position(row, 1)) for row in (1, 2, 3)]
    dear = finding_of(TEXT, CODE, code="TL301", path="z.py", hot=HOT)
    context = context_of(TEXT, *cheap, dear, terminal=True)
    assert concise.render(context).splitlines() == [
        "z.py:1:14: TL301 use torch.as_tensor; once per step (train.py:88)",
        "agent.py:1:1: TL101 use torch.as_tensor; and 2 more places",
    ]
    assert concise.render(replace(context, top=1)).splitlines()[1:] == ["1 more: --all"]
    assert len(concise.render(replace(context, terminal=False)).splitlines()) == 4


def test_a_long_path_takes_the_root_off_the_line_and_not_the_smell():
    path = f"{'folder/' * 12}agent.py"
    hot = replace(HOT, path=(Hop(f"{'folder/' * 12}train.py", 88, "loop"), *HOT.path[1:]))
    finding = finding_of(TEXT, CODE, path=path, message="a tensor is copied from the host; keep it", hot=hot)
    line = concise.render(context_of(TEXT, finding))
    assert line == f"{path}:1:14: TL101 a tensor is copied from the host; once per step\n"


def test_no_path_is_so_long_that_nothing_is_said_of_the_smell():
    path = f"{'folder/' * 30}agent.py"
    finding = finding_of(TEXT, CODE, path=path, message=f"it waits for {LONG}", hot=HOT)
    said = concise.render(context_of(TEXT, finding)).partition("TL101 ")[2]
    assert said == "it waits for the host waits for the…; once per step\n"
