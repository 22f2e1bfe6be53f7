from dataclasses import replace

from reporting import COST, STEP, UPDATE, context_of, finding_of, fix_of, source_of

from torchlint.engine.result import FixedFile, Problem
from torchlint.report.cost import cost_of, duration, figure
from torchlint.report.rank import worst_first
from torchlint.report.summary import summary
from torchlint.rule import Change, Cost, Frequency, Hotness, Level

TEXT = "x = torch.FloatTensor(obs)\n"
CODE = "torch.FloatTensor(obs)"
SAFE = fix_of(TEXT, CODE, "z")
ROUNDS = fix_of(TEXT, CODE, "z", may_change=(Change.ROUNDING,))


def finding(**fields):
    return finding_of(TEXT, CODE, **fields)


def costing(saves, frequency, device="cpu"):
    return finding(hot=Hotness(frequency), cost=Cost(saves, 2, 2, 2, "batch 256", device))


def test_counts_fixes_and_the_cost_of_a_step():
    found = [finding(fix=SAFE, hot=STEP, cost=COST), finding(fix=ROUNDS, hot=STEP, cost=COST), finding()]
    assert summary(context_of(TEXT, *found)) == (
        "3 findings, 1 fixable safely with --fix, 1 more with --fix --accept rounding; "
        "about 7.2 us per environment step at the sizes measured (CPU)"
    )


def test_accepted_fixes_are_counted_apart():
    context = context_of(TEXT, finding(fix=SAFE), finding(fix=ROUNDS), accept=frozenset({Change.ROUNDING}))
    assert summary(context) == "2 findings, 1 fixable safely and 1 as accepted with --fix"
    only = context_of(TEXT, finding(fix=ROUNDS), unsafe_fixes=True)
    assert summary(only) == "1 finding, 1 fixable as accepted with --fix"


def test_steps_updates_and_devices_are_not_mixed():
    found = [
        costing(3, Frequency.STEP),
        costing(7, Frequency.INNER),
        costing(1500, Frequency.UPDATE),
        costing(20, Frequency.UPDATE, "cuda"),
        costing(900, Frequency.EPISODE),
        costing(900, Frequency.ONCE),
        costing(-5, Frequency.STEP),
    ]
    assert summary(context_of(TEXT, *found)) == (
        "7 findings; "
        "about 10 us per environment step and 1.5 ms per gradient update at the sizes measured (CPU); "
        "about 20 us per gradient update at the sizes measured (CUDA)"
    )


def fixed_file(*applied):
    return {"agent.py": FixedFile(source_of(TEXT), source_of("x = z\n"), applied)}


def test_after_fixes_the_gain_of_those_that_wait_is_told_apart_from_what_all_findings_cost():
    waiting = finding(fix=ROUNDS, hot=STEP, cost=COST)
    context = context_of(TEXT, waiting, finding(hot=STEP, cost=COST), fixed=fixed_file(finding(fix=SAFE)))
    assert summary(context).split("; ")[1:] == [
        "2 findings remain, 1 fixable with --fix --accept rounding (about 3.6 us per environment step)",
        "about 7.2 us per environment step at the sizes measured (CPU)",
    ]


def test_what_was_fixed_comes_first():
    context = context_of(TEXT, finding(), fixed=fixed_file(finding(), finding()))
    assert summary(context) == "Fixed 2 findings in 1 file; 1 finding remains"
    assert summary(replace(context, findings=())) == "Fixed 2 findings in 1 file; nothing slow is left in 1 file"


def test_a_diff_fixes_nothing_yet():
    context = context_of(TEXT, diff=True, fixed=fixed_file(finding()))
    assert summary(context).startswith("Would fix 1 finding in 1 file")
    assert summary(context_of(TEXT, diff=True)) == "Nothing to fix"


def test_nothing_found():
    assert summary(context_of(TEXT, files=12)) == "Nothing slow found in 12 files"
    assert summary(context_of(TEXT, files=12, partial=True)) == "Nothing new found in 12 files"
    assert summary(context_of(TEXT, files=0)) == ""
    assert summary(context_of(TEXT, files=0, problems=(Problem("a.py", "gone"),))) == "1 file could not be checked"


def test_unread_files_are_not_called_clean():
    problems = (Problem("a.py", "gone"), Problem("a.py", "gone again"), Problem("b.py", "gone"))
    assert summary(context_of(TEXT, problems=problems)) == (
        "Nothing slow found in 1 file; 2 files could not be checked"
    )


def test_durations():
    assert [duration(us) for us in (0.04, 3.64, 9.94, 31.4, 999, 1004, 12345)] == [
        "0.0 us", "3.6 us", "9.9 us", "31 us", "999 us", "1.0 ms", "12 ms"
    ]  # fmt: skip


def test_figures_in_words():
    assert figure(COST) == "about 3.6 us a call, 3.1x (2.3-3.1x), measured at 17-dim observations on CPU"
    local = Cost(529, 17.7, 17.5, 127, "", "cuda", "local")
    assert figure(local) == "about 529 us a call, 17.7x (17.5-127x), measured on CUDA of this machine"
    assert cost_of(finding(cuda_only=True)) == ""
    assert cost_of(finding()) == ""


def test_worst_first_by_level_then_time_lost_then_place():
    note = finding(level=Level.NOTE, hot=STEP, cost=replace(COST, saves_us=900), name="note")
    rare = finding(hot=UPDATE, cost=replace(COST, saves_us=35), name="rare")
    often = finding(hot=STEP, cost=COST, name="often")
    later = finding(path="z.py", name="later")
    sooner = finding(path="b.py", name="sooner")
    error = finding(level=Level.ERROR, name="error")
    ranked = worst_first([note, later, sooner, rare, often, error])
    assert [each.name for each in ranked] == ["error", "often", "rare", "sooner", "later", "note"]
