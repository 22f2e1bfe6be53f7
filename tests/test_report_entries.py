"""Findings with one cure are one entry; the costliest entry stands first, and a terminal shows as many as fit."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from reporting import COST, ROOT, STEP, UPDATE, context_of, finding_of, fix_of, source_of
from rich.cells import cell_len

from torchlint.report import full
from torchlint.report.entries import entries, group_of
from torchlint.report.gains import header
from torchlint.report.here import seen_from_here
from torchlint.report.links import url_of
from torchlint.report.summary import summary
from torchlint.report.words import title_and_cure
from torchlint.rule import Basis, Change, Cost, Counted, Counts, Frequency, Hop, Hotness, Level, Measured, Position

TEXT = "".join(f"x{row} = torch.FloatTensor(obs)\n" for row in range(1, 60))
CODE = "torch.FloatTensor(obs)"


def at(row, column=6, **fields):
    place = {"start": Position(row, column), "end": Position(row, column + len(CODE)), "rows": (row, row)}
    return finding_of(TEXT, CODE, **{**place, **fields})


def hot_in(path, row, frequency=Frequency.STEP):
    return Hotness(frequency, (Hop(path, row, "loop"), Hop("agent.py", 1, "Agent.act")))


def waits(number, **fields):
    return {"events": Counted(Counts(waits=number), Counts(), "obs 17"), **fields}


def shape(found):
    return [[(finding.code, finding.start.row) for finding in entry.findings] for entry in entries(found)]


# groups ---------------------------------------------------------------------------------------------------------------


def test_the_same_smell_of_other_code_is_one_entry():
    messages = [
        "`a.item()` waits: read `a` later; 3 such reads",
        "`b[0].item()` waits: read `b` later; 12 such reads",
        "torch.zeros(...) waits",
        "torch.nn.functional.relu(...) waits",
    ]
    assert shape([at(row, message=message) for row, message in enumerate(messages, 1)]) == [
        [("TL101", 1), ("TL101", 2)],
        [("TL101", 3), ("TL101", 4)],
    ]


DIFFERENT = {
    "rule": {"code": "TL102"},
    "message": {"message": "give device="},
    "frequency": {"hot": UPDATE},
    "fix": {"fix": fix_of(TEXT, CODE, "z")},
    "change": {"fix": fix_of(TEXT, CODE, "z", may_change=(Change.RNG,))},
    "assumption": {"fix": fix_of(TEXT, CODE, "z", assumes="it is an array")},
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_cured_otherwise_is_another_entry(name):
    assert len(entries([at(1, hot=STEP), at(2, **{"hot": STEP, **DIFFERENT[name]})])) == 2


def test_one_rule_in_one_statement_is_one_entry():
    found = [at(1, message="in two steps"), at(1, column=30, message="in three steps"), at(2, message="in three steps")]
    assert shape(found) == [[("TL101", 1), ("TL101", 1), ("TL101", 2)]]


def test_errors_are_never_one_entry():
    assert len(entries([at(row, level=Level.ERROR) for row in (1, 2)])) == 2


def test_a_group_has_an_id_that_does_not_move_with_lines():
    one, other = at(1, message="`a` waits"), at(40, message="`b` waits", path="other.py")
    assert group_of(one) == group_of(other) != group_of(at(1, message="`a` is slow"))


# order ----------------------------------------------------------------------------------------------------------------


def test_the_dearest_in_one_training_loop_comes_first():
    apart = [at(row, hot=hot_in(f"train_{row}.py", 1), cost=replace(COST, saves_us=6)) for row in (1, 2)]
    together = [at(row, code="TL102", hot=hot_in("train.py", 1), cost=replace(COST, saves_us=4)) for row in (3, 4)]
    assert shape([*apart, *together]) == [[("TL102", 3), ("TL102", 4)], [("TL101", 1), ("TL101", 2)]]


def test_waits_and_launches_count_beside_time_and_frequency_decides_between_equals():
    found = [
        at(1, code="TL101", hot=UPDATE),
        at(2, code="TL102", hot=STEP),
        at(3, code="TL103", hot=STEP, cost=replace(COST, saves_us=0.1)),
        at(4, code="TL104", hot=STEP, events=Counted(Counts(launches=1), Counts(), "obs 17")),
        at(5, code="TL105", hot=STEP, **waits(1)),
        at(6, code="TL106", hot=UPDATE, **waits(1)),
    ]
    assert [entry.lead.code for entry in entries(found)] == ["TL105", "TL104", "TL106", "TL103", "TL102", "TL101"]


def test_the_lead_is_the_dearest_and_the_others_follow_by_place():
    found = [at(1, hot=STEP), at(2, hot=STEP, cost=COST), at(3, hot=STEP)]
    assert shape(found) == [[("TL101", 2), ("TL101", 1), ("TL101", 3)]]


def test_what_a_profile_was_joined_to_keeps_its_order():
    seen = Measured(Basis.LINE, 0.1)
    found = [at(1, code="TL102", measured=seen), at(2, hot=STEP, cost=COST, measured=seen)]
    assert shape(found) == [[("TL102", 1)], [("TL101", 2)]]


# places ---------------------------------------------------------------------------------------------------------------


def places_of(*findings, **fields):
    lines = full.render(context_of(TEXT, *findings, **fields)).splitlines()
    first = next(index for index, line in enumerate(lines) if "-->" in line)
    return [line for line in lines[first:] if re.search(r"\d:\d|more place", line)]


def test_places_stand_on_one_line():
    assert places_of(at(1), at(2), at(30)) == ["  -->  agent.py:1:6, 2:6, 30:6"]


def test_on_a_terminal_those_that_fit_and_how_many_more():
    found = [at(row) for row in range(1, 41)] + [at(row, path="z.py") for row in range(1, 5)]
    (line,) = places_of(*found, width=80)
    assert line == "  -->  agent.py:1:6, 2:6, 3:6, 4:6, 5:6, 6:6, 7:6 and 37 more places in 2 files"
    assert places_of(*found, width=40) == ["  -->  agent.py:1:6", "       and 43 more places in 2 files"]


@pytest.mark.parametrize("fields", [{"cuts": False}, {"whole": True}])
def test_off_a_terminal_and_with_all_every_place_is_named(fields):
    found = [at(row) for row in range(1, 41)] + [at(row, path="z.py") for row in range(1, 5)]
    told = " ".join(" ".join(places_of(*found, width=80, **fields)).split())
    rows = ", ".join(f"{row}:6" for row in range(1, 41))
    assert told == f"--> agent.py:{rows} z.py:1:6, 2:6, 3:6, 4:6"


def test_other_loops_are_counted():
    found = [at(row, hot=hot_in(f"train_{row}.py", 1)) for row in (1, 2, 3)]
    text = full.render(context_of(TEXT, *found, width=100))
    assert " hot:  once per environment step (train_1.py:1 loop → Agent.act) and 2 other loops\n" in text


# how many -------------------------------------------------------------------------------------------------------------

MANY = [at(row, code=f"TL1{row:02}", hot=STEP if row % 2 else UPDATE) for row in range(1, 60)]


def test_two_screens_are_filled_and_the_rest_is_counted():
    lines = full.render(context_of(TEXT, *MANY, room=100, terminal=True)).splitlines()
    shown = sum(line.startswith("warning") for line in lines)
    assert 80 < len(lines) <= 100
    assert f"{59 - shown} more: --all" in lines


@pytest.mark.parametrize(("room", "whole"), [(62, True), (57, True), (56, False), (40, False)])
def test_a_few_lines_more_are_shown_rather_than_left_out(room, whole):
    text = full.render(context_of(TEXT, *MANY[:9], room=room, terminal=True))
    assert ("more: --all" not in text) is whole


def test_warnings_among_the_rest_are_counted():
    found = [at(1, hot=STEP, cost=COST), at(2, code="TL102"), at(3, code="TL103", level=Level.NOTE)]
    assert "2 more, 1 warning among them: --all" in full.render(context_of(TEXT, *found, top=1))


def test_one_entry_is_shown_however_small_the_terminal():
    assert "warning TL101" in full.render(context_of(TEXT, *MANY, room=4))


@pytest.mark.parametrize("top", [1, 7, 59, 100])
def test_so_many_entries_as_wanted(top):
    text = full.render(context_of(TEXT, *MANY, top=top))
    assert text.count("warning TL1") == min(top, 59)
    assert ("more: --all" in text) is (top < 59)


# what is gained -------------------------------------------------------------------------------------------------------


def test_the_header_says_what_each_command_gains():
    safe = at(1, fix=fix_of(TEXT, CODE, "z"), hot=STEP, cost=COST)
    named = at(2, fix=fix_of(TEXT, CODE, "z", may_change=(Change.VALIDATION,)), hot=STEP, cost=COST, **waits(2))
    unsafe = at(3, fix=fix_of(TEXT, CODE, "z", assumes="it is an array"), hot=STEP, cost=replace(COST, saves_us=900))
    context = context_of(TEXT, safe, named, unsafe)
    assert header(context, 120) == [
        "--fix                      1 finding [*] gains 3.6 us per step on CPU (train.py:88)",
        "--fix --accept validation  1 more [validation] gain 3.6 us per step on CPU, 2 syncs per step on a GPU "
        "(train.py:88)",
    ]
    assert header(context, 80)[1] == "--fix --accept validation  1 more [validation] gain 3.6 us per step on CPU"
    assert header(context, 50)[1] == "--fix --accept validation  1 more [validation]"
    assert header(replace(context, accept=frozenset({Change.VALIDATION})), 120)[0].startswith("--fix ")
    assert len(header(replace(context, accept=frozenset({Change.VALIDATION})), 120)) == 2


def test_without_a_fix_there_is_no_header():
    assert header(context_of(TEXT, at(1)), 80) == []
    assert full.render(context_of(TEXT, at(1))).startswith("warning TL101")


def test_several_loops_are_not_added_up():
    found = [
        at(row, fix=fix_of(TEXT, CODE, "z"), hot=hot_in(f"train_{row}.py", 1), cost=Cost(row, 2, 2, 2, "obs"))
        for row in (1, 2, 3)
    ]
    assert header(context_of(TEXT, *found), 80) == ["--fix  3 findings [*] gain 3.0 us per step on CPU (train_3.py:1)"]


# links ----------------------------------------------------------------------------------------------------------------


def test_places_lead_to_their_files_and_the_text_stays_the_same():
    found = [at(1), at(2), at(3, path="other.py", code="TL102")]
    context = context_of(TEXT, *found, color=True, terminal=True)
    linked = full.render(replace(context, links="file://host"))
    assert "\x1b]8;;file://host/home/me/project/agent.py\x1b\\" in linked
    assert re.sub(r"\x1b\]8;;[^\x1b]*\x1b\\", "", linked) == full.render(context)
    assert linked.count("\x1b]8;;file") == linked.count("\x1b]8;;\x1b\\") == 3


def test_an_address_holds_no_character_that_could_end_it():
    name = "a b\x1b\\#?ä.py"
    context = context_of(TEXT, at(1, path=name), name=name, links="file://host")
    assert re.fullmatch(r"file://host/home/me/project/[\w%.]+", url_of(context, name))
    assert url_of(context, "-") == ""
    assert url_of(replace(context, links=""), name) == ""


def test_names_that_are_seen_from_here_are_not_moved_twice():
    context = context_of(TEXT, at(1, hot=STEP, cost=COST), here=ROOT.parent)
    seen = seen_from_here(context)
    assert seen.findings[0].path == "project/agent.py"
    assert seen_from_here(seen) == seen
    several = [at(row, hot=hot_in(f"train_{row}.py", 1), cost=COST) for row in (1, 2)]
    context = context_of(TEXT, *several, here=ROOT.parent)
    assert "project/train_1.py:1" in summary(context)
    assert summary(seen_from_here(context)) == summary(context)


# words ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("it waits", ("it waits", "")),
        ("it waits; read it later; or never", ("it waits", "read it later; or never")),
        ("it waits: read it later", ("it waits", "read it later")),
        ("`a; b: c` waits; read it", ("`a; b: c` waits", "read it")),
        ("f(a; b) waits: read it", ("f(a; b) waits", "read it")),
        ("in the loop at train.py:88; leave it", ("in the loop at train.py:88", "leave it")),
    ],
)
def test_a_message_is_a_smell_and_a_cure(message, parts):
    assert title_and_cure(message) == parts


# widths ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_on_a_terminal_no_line_is_wider(width, color):
    long = "the host waits for the device " * 5
    found = [
        at(row, message=f"{long}; {long}", code=f"TL1{row:02}", hot=STEP, cost=COST, path=f"{'folder/' * row}agent.py")
        for row in range(1, 20)
    ]
    fixed = [replace(finding, fix=fix_of(TEXT, CODE, long, assumes=long)) for finding in found]
    sources = {finding.path: source_of(TEXT, finding.path) for finding in found}
    text = full.render(context_of(TEXT, *fixed, width=width, color=color, terminal=True, sources=sources))
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert all(cell_len(line) <= width for line in bare.splitlines())
    assert Path(found[0].path).name in bare
