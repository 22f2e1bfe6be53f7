import re
from dataclasses import replace
from itertools import pairwise

import pytest
from reporting import COST, STEP, context_of, finding_of, fix_of
from rich.cells import cell_len

from torchlint.report import full
from torchlint.report.cells import fit
from torchlint.rule import Change, Counted, Counts, Edit, Frequency, Hop, Hotness, Level, PlainFix, Position

TEXT = """\
import torch


class Agent:
    def act(self, obs):
        obs = torch.FloatTensor(obs).to(self.device)
        return self.net(obs)
"""
CODE = "torch.FloatTensor(obs).to(self.device)"
BETTER = "torch.as_tensor(obs, dtype=torch.float32, device=self.device)"


def lines_of(text, *findings, **fields):
    return full.render(context_of(text, *findings, **fields)).splitlines()


def underlined(lines, under="━"):
    """The code above each underline, cut out of its line by cells, as an eye would."""
    found = []
    for above, line in pairwise(lines):
        if under in line and "│" in line:
            cells = [char for char in above for _ in range(cell_len(char))]
            found.append("".join(cells[line.index(under) : line.rindex(under) + 1]))
    return found


def wide(code):
    """Text with every character as often as it has cells, to compare with what ``underlined`` cuts out."""
    return "".join(char * cell_len(char) for char in code)


def test_the_whole_picture():
    finding = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, BETTER), cost=COST, hot=STEP)
    assert (
        full.render(context_of(TEXT, finding))
        == """\
--fix  1 finding [*] gains 3.6 us per step on CPU (train.py:88)

warning TL101 [*] use torch.as_tensor
  -->  agent.py:6:15
   6 - obs = torch.FloatTensor(obs).to(self.device)
     + obs = torch.as_tensor(obs, dtype=torch.float32, device=self.device)
 hot:  once per environment step (train.py:88 loop → Agent.act)
cost:  3.6 us a call, 3.1x on CPU

1 finding, 1 fixable safely with --fix; about 3.6 us per environment step at the sizes measured (CPU)
"""
    )


def test_off_a_terminal_nothing_is_left_out():
    finding = finding_of(
        TEXT, CODE, message="it is slow; make it fast", fix=fix_of(TEXT, CODE, BETTER), cost=COST, hot=STEP
    )
    assert full.render(context_of(TEXT, finding, cuts=False)).splitlines()[2:] == [
        "warning TL101 [*] it is slow",
        "  -->  agent.py:6:15",
        "   6 - obs = torch.FloatTensor(obs).to(self.device)",
        "     + obs = torch.as_tensor(obs, dtype=torch.float32, device=self.device)",
        " hot:  once per environment step (train.py:88 loop → Agent.act)",
        "cost:  about 3.6 us a call, 3.1x (2.3-3.1x), measured at 17-dim observations on",
        "       CPU",
        "help:  make it fast",
        " fix:  rewrite it",
        "       safe: changes nothing but the time; --fix applies it",
        "",
        "1 finding, 1 fixable safely with --fix; about 3.6 us per environment step at the sizes measured (CPU)",
    ]


def test_without_a_fix_the_code_is_underlined_and_the_cure_said():
    finding = finding_of(TEXT, CODE, message="it is slow: make it fast")
    assert lines_of(TEXT, finding)[:-2] == [
        "warning TL101 it is slow",
        "  -->  agent.py:6:15",
        "   6 │ obs = torch.FloatTensor(obs).to(self.device)",
        "     │       ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━",
        "help:  make it fast",
    ]


def test_a_span_that_is_the_whole_line_has_no_underline():
    lines = lines_of(TEXT, finding_of(TEXT, "return self.net(obs)"))
    assert lines[2:-2] == ["   7 │ return self.net(obs)"]


def test_in_ascii_there_is_no_other_character():
    finding = finding_of(TEXT, CODE, cost=COST, hot=STEP)
    text = full.render(context_of(TEXT, finding, unicode=False))
    assert text.isascii()
    assert "     |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n" in text


def test_colours_only_colour():
    finding = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, BETTER), cost=COST, hot=STEP)
    context = context_of(TEXT, finding)
    colored = full.render(replace(context, color=True))
    assert "\x1b[1;33mwarning\x1b[0m" in colored
    bare = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in bare.splitlines()] == full.render(context).splitlines()


def test_nothing_found_is_one_friendly_line():
    assert full.render(context_of(TEXT, files=12)) == "✓ Nothing slow found in 12 files\n"
    assert full.render(context_of(TEXT, files=12, unicode=False)) == "Nothing slow found in 12 files\n"
    assert full.render(context_of(TEXT, files=12, quiet=True)) == ""
    assert full.render(context_of(TEXT, files=0)) == ""


def test_quiet_leaves_the_last_line_out():
    lines = lines_of(TEXT, finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, BETTER)), quiet=True)
    assert (lines[0], lines[-1][:7]) == ("warning TL101 [*] use torch.as_tensor", "     + ")


def codes_of(lines):
    return [line.split()[1] for line in lines if re.match("(error|warning|note) TL", line)]


def test_the_dearest_first_and_summed_up():
    dear = finding_of(TEXT, CODE, level=Level.NOTE, code="TL301", hot=STEP, cost=COST)
    frequent = finding_of(TEXT, CODE, level=Level.NOTE, code="TL302", hot=STEP)
    warning = finding_of(TEXT, CODE, code="TL102", path="z.py")
    broken = finding_of(TEXT, CODE, level=Level.ERROR, code="TL000", path="z.py")
    lines = lines_of(TEXT, warning, frequent, dear, broken)
    assert codes_of(lines) == ["TL000", "TL301", "TL302", "TL102"]
    assert lines[-1].startswith("4 findings; ")


SPANS = {
    "tabs": ("\tif x:\n\t\ty =\t{}\n", "torch.zeros(3)"),
    "wide": ('    x = {{"名前": "日本語"}}; y = {}\n', 'torch.zeros(3, "日本")'),
    "emoji": ('s = "😀👍"; {}  # 🚀\n', 'torch.tensor("😀")'),
    "joined emoji": ('s = "👩\u200d💻"; {}\n', "torch.zeros(3)"),
    "combining": ('s = "e\u0301"; {}\n', "torch.zeros(3)"),
    "controls": ('s = "\x1b[31m\x07"; {}\n', "torch.zeros(3)"),
    "long before": ("a = " + "b" * 3000 + " + {}\n", "torch.zeros(3)"),
    "long after": ("a = {} + " + "b" * 3000 + "\n", "torch.zeros(3)"),
    "long wide before": ('a = "' + "日" * 500 + '" + {} + "' + "本" * 500 + '"\n', "torch.zeros(3)"),
    "at the end without a newline": ("x = {}", "torch.zeros(3)"),
}


@pytest.mark.parametrize("case", SPANS)
@pytest.mark.parametrize("width", [80, 61, 40])
def test_the_underline_is_exact_and_no_line_too_wide(case, width):
    template, code = SPANS[case]
    text = template.format(code)
    lines = lines_of(text, finding_of(text, code), width=width)
    assert underlined(lines) == [wide(code)]
    assert all(cell_len(line) <= width for line in lines[:-1])


@pytest.mark.parametrize("width", range(30, 60))
def test_the_rest_of_a_title_stands_below_its_text(width):
    message = "a title of several words that no narrow terminal has room for; and a cure"
    lines = lines_of(TEXT, finding_of(TEXT, CODE, message=message), width=width)
    end = next(number for number, line in enumerate(lines) if "-->" in line)
    assert end > 1
    assert all(line.startswith("       ") and line[7] != " " for line in lines[1:end])


def test_a_span_over_two_rows_is_underlined_in_each():
    code = "torch.tensor([a],\n        dtype=d)"
    text = f"def f():\n    x = {code}.to(d)\n"
    assert underlined(lines_of(text, finding_of(text, code))) == ["torch.tensor([a],", "dtype=d)"]


def test_of_a_long_span_the_first_row_is_shown():
    code = "torch.tensor([\n" + "".join(f"    {n},\n" for n in range(50)) + "])"
    text = f"x = {code}\n"
    assert lines_of(text, finding_of(text, code))[2:-2] == ["   1 │ x = torch.tensor([", "     │     ━━━━━━━━━━━━━…"]


def test_a_span_wider_than_the_line_is_cut():
    code = "torch.tensor([" + ", ".join(map(str, range(400))) + "])"
    text = f"x = {code}\n"
    lines = lines_of(text, finding_of(text, code))
    assert underlined(lines)[0].startswith("torch.tensor([0, 1, 2")
    assert all(cell_len(line) <= 80 for line in lines[:-1])


def test_an_empty_span_is_still_seen():
    finding = replace(finding_of(TEXT, CODE), end=finding_of(TEXT, CODE).start)
    assert underlined(lines_of(TEXT, finding)) == ["t"]


@pytest.mark.parametrize("row", [8, 9, 500])
def test_a_place_outside_of_the_text_breaks_nothing(row):
    finding = replace(finding_of(TEXT, CODE), start=Position(row, 40), end=Position(row, 41))
    assert "warning TL101 use torch.as_tensor" in lines_of(TEXT, finding)


def test_an_unknown_text_has_no_frame():
    lines = lines_of(TEXT, finding_of(TEXT, CODE, path="gone.py", fix=fix_of(TEXT, CODE, "z")))
    assert not any("│" in line for line in lines)
    assert " fix:  rewrite it" in lines


def test_hostile_names_and_messages_stay_on_their_lines():
    hostile = "a\n\x1b[2J\u202e" + "名" * 90 + ".py"
    hop = Hop(hostile, 3, hostile)
    finding = finding_of(
        TEXT,
        CODE,
        path=hostile,
        message=hostile,
        hot=Hotness(Frequency.STEP, (hop, hop)),
        cost=replace(COST, size=hostile),
    )
    text = full.render(context_of(TEXT, finding, name=hostile))
    assert not set("\x1b\u202e\r\x07") & set(text)
    assert all(cell_len(line) <= 80 for line in text.splitlines()[:-1])


HOPS = tuple(Hop(f"package/module_{n}.py", n, f"Trainer{n}.collect_rollouts") for n in range(1, 7))


@pytest.mark.parametrize(
    ("width", "path"),
    [
        (240, f"package/module_1.py:1 {' → '.join(hop.name for hop in HOPS)}"),
        (160, f"package/module_1.py:1 Trainer1.collect_rollouts → … → {' → '.join(hop.name for hop in HOPS[4:])}"),
        (120, "package/module_1.py:1 Trainer1.collect_rollouts → … → Trainer6.collect_rollouts"),
        (90, "package/module_1.py:1 Trainer1.collect_rollouts → …"),
        (84, "package/module_1.py:1 Trainer1.collect_rollouts"),
        (60, "package/module_1.py:1"),
    ],
)
def test_on_a_terminal_a_long_path_of_calls_is_shortened_to_one_line(width, path):
    lines = lines_of(TEXT, finding_of(TEXT, CODE, hot=Hotness(Frequency.STEP, HOPS)), width=width)
    assert f" hot:  once per environment step ({path})" in lines


def test_a_long_path_of_calls_breaks_between_its_links():
    lines = lines_of(TEXT, finding_of(TEXT, CODE, hot=Hotness(Frequency.STEP, HOPS)), cuts=False)
    first = next(index for index, line in enumerate(lines) if line.startswith(" hot:"))
    shown = " ".join(line[7:] for line in lines[first:-2])
    names = " → ".join(f"Trainer{n}.collect_rollouts" for n in range(2, 7))
    assert shown == f"once per environment step (package/module_1.py:1 Trainer1.collect_rollouts → {names})"


FLOW = (Hop("agent.py", 52, "return losses"), Hop("train.py", 90, "writer.add_scalar('loss', losses['critic'], step)"))


@pytest.mark.parametrize(
    ("width", "flow"),
    [
        (90, ":52 return losses → train.py:90 writer.add_scalar('loss', losses['critic'], step)"),
        (80, "… → train.py:90 writer.add_scalar('loss', losses['critic'], step)"),
        (50, "… → train.py:90 writer.add_scalar('loss',…"),
    ],
)
def test_on_a_terminal_the_flow_of_a_value_ends_with_its_use(width, flow):
    lines = lines_of(TEXT, finding_of(TEXT, CODE, flow=FLOW), width=width)
    assert f"flow:  {flow}" in lines


def test_off_a_terminal_the_flow_of_a_value_is_whole():
    lines = lines_of(TEXT, finding_of(TEXT, CODE, flow=FLOW), cuts=False)
    first = lines.index("flow:  :52 return losses →")
    assert lines[first + 1] == "       train.py:90 writer.add_scalar('loss', losses['critic'], step)"


def test_a_link_with_blanks_in_its_path_stays_together():
    hops = (Hop("2.3 Prioritized Experience/some long file name.py", 97, "loop"), Hop("a.py", 1, "Agent.act"))
    lines = lines_of(TEXT, finding_of(TEXT, CODE, hot=Hotness(Frequency.STEP, hops)), cuts=False)
    first = lines.index(" hot:  once per environment step")
    assert lines[first + 1] == "       (2.3 Prioritized Experience/some long file name.py:97 loop → Agent.act)"


def test_the_beginning_of_a_line_is_kept_where_the_span_leaves_room():
    text = "masks = torch.tensor(1, dtype=torch.int64, device=self.bitset.device) << shifts_of_words\n"
    code = "torch.tensor(1, dtype=torch.int64, device=self.bitset.device)"
    lines = lines_of(text, finding_of(text, code))
    assert f"   1 │ masks = {code} <…" in lines


def fix_lines(fix, text=TEXT, code=CODE, **fields):
    """The lines of the change."""
    lines = lines_of(text, finding_of(text, code, fix=fix), **fields)
    first = next(index for index, line in enumerate(lines) if line.startswith("  -->"))
    return lines[first + 1 : -2]


def test_how_a_fix_is_accepted():
    def last(fix, **fields):
        lines = lines_of(TEXT, finding_of(TEXT, CODE, fix=fix), cuts=False, **fields)
        told = lines.index(" fix:  rewrite it")
        return " ".join(line.strip() for line in lines[told + 1 : -2])

    change = {"may_change": (Change.ROUNDING, Change.VALIDATION)}
    both = fix_of(TEXT, CODE, "z", **change)
    assert last(both) == "may change rounding, validation; --fix --accept rounding,validation applies it"
    assert last(both, unsafe_fixes=True) == "may change rounding, validation; accepted, --fix applies it"
    assumed = fix_of(TEXT, CODE, "z", assumes="d is a device", **change)
    assert last(assumed) == (
        "may change rounding, validation, right only if d is a device; --fix --unsafe-fixes applies it"
    )
    assert last(fix_of(TEXT, CODE, "z", loses_comment=True)) == "would lose a comment, so it is left to you"


def test_on_a_terminal_only_what_the_mark_does_not_say_is_said_of_a_fix():
    def told(**fields):
        lines = lines_of(TEXT, finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "z", **fields)))
        title = next(line for line in lines if line.startswith("warning"))
        return title, " ".join(" ".join(lines).partition(" fix:")[2].split()).partition(" 1 finding")[0]

    assert told() == ("warning TL101 [*] use torch.as_tensor", "")
    rounding = told(may_change=(Change.ROUNDING, Change.RNG))
    assert rounding == ("warning TL101 [rounding,rng] use torch.as_tensor", "")
    title, why = told(assumes="d is a device")
    assert (title, why) == (
        "warning TL101 [unsafe] use torch.as_tensor",
        "right only if d is a device; --fix --unsafe-fixes applies it",
    )
    assert told(loses_comment=True) == (
        "warning TL101 use torch.as_tensor",
        "would lose a comment, so it is left to you",
    )


def test_a_fix_shows_only_the_lines_that_change():
    start = len(TEXT[: TEXT.index(CODE)].encode())
    edits = (Edit(0, 0, "import numpy as np\n"), Edit(start, start + len(CODE), "np.array(obs)"))
    assert fix_lines(PlainFix("stack", edits)) == [
        "   1 + import numpy as np",
        "   6 - obs = torch.FloatTensor(obs).to(self.device)",
        "     + obs = np.array(obs)",
    ]


def test_edits_in_one_row_are_one_change():
    edits = (Edit(0, 6, "from"), Edit(7, 12, "torch import nn"))
    assert fix_lines(PlainFix("x", edits), code="import torch") == [
        "   1 - import torch",
        "     + from torch import nn",
    ]


def test_a_deleted_line_and_windows_newlines():
    text = "a = 1\r\nb = torch.zeros(3)\r\nc = 2\r\n"
    fix = PlainFix("drop it", (Edit(7, text.index("c ="), ""),))
    assert fix_lines(fix, text, "torch.zeros(3)") == ["   2 - b = torch.zeros(3)"]


def test_a_change_elsewhere_stands_beside_the_code_in_the_order_of_rows():
    after = TEXT.index("        return")
    above = PlainFix("x", (Edit(0, 0, "import numpy\n"),))
    below = PlainFix("x", (Edit(after, after, "        del state\n"),))
    code = [
        "   6 │ obs = torch.FloatTensor(obs).to(self.device)",
        "     │       ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━",
    ]
    assert fix_lines(above) == ["   1 + import numpy", *code]
    assert fix_lines(below) == [*code, "   7 + del state"]


def test_a_large_change_is_cut():
    fix = fix_of(TEXT, CODE, "f(\n" + "".join(f"            {n},\n" for n in range(20)) + "        )")
    lines = fix_lines(fix)
    assert "     + … 14 more" in lines
    assert len(lines) < 15


def test_the_change_in_a_long_line_is_in_sight_in_both():
    text = "x = " + "a + " * 200 + CODE + " + b" * 200 + "\n"
    removed, added = fix_lines(fix_of(text, CODE, BETTER), text)[:2]
    assert "FloatTensor(obs).to(" in removed
    assert "as_tensor(obs, dtype=torch.float32, device=" in added
    assert removed.index("torch.FloatTensor") == added.index("torch.as_tensor")


def test_a_fix_a_little_wider_than_the_terminal_is_shown_whole():
    lines = fix_lines(fix_of(TEXT, CODE, BETTER), width=60)
    assert lines[1:3] == [
        "     + obs = torch.as_tensor(obs, dtype=torch.float32,",
        "           device=self.device)",
    ]


def test_not_hot_and_not_measured_is_not_said():
    text = full.render(context_of(TEXT, finding_of(TEXT, CODE)))
    assert "hot:" not in text
    assert "cost:" not in text


def test_events_that_are_saved_are_said():
    events = Counted(Counts(waits=3, launches=7, copies=2, bytes=16_384), Counts(waits=1, launches=8), "obs 17")
    finding = finding_of(TEXT, CODE, cuda_only=True, events=events)
    text = full.render(context_of(TEXT, finding, cuts=False))
    told = "on a GPU 2 syncs and 2 copies (16.4 kB) fewer and 1 launch more a call, counted at obs 17"
    assert f"cost: {told}" in re.sub(r"\s+", " ", text)
    assert "cost:  on a GPU 2 syncs a call\n" in full.render(context_of(TEXT, finding, width=60))


@pytest.mark.parametrize("width", range(10, 30))
def test_cropped_lines_keep_the_marked_part(width):
    line = "あ" * 50 + "mark" + "い" * 50
    piece = fit(line, 50, 54, width, "…")
    assert piece.text[piece.start : piece.end] == "mark"
    assert cell_len(piece.text) <= width
    assert piece.text[0] == piece.text[-1] == "…"
