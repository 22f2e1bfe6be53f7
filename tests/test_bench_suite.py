"""The machinery of the suite on stand-ins: what is refused, what fails, what is counted. No time is asserted."""

import dataclasses
import types
import warnings
from contextlib import nullcontext

import pytest
import torch

from torchlint.bench import suite
from torchlint.bench.device import Cpu, Cuda, NoDeviceError, device_of, peak_of
from torchlint.bench.fixed import Fixed, fixed
from torchlint.bench.result import BeforeAfter, ExampleStatus, Machine
from torchlint.bench.suite import QUICK, Thoroughness, examples_of, row_of, running
from torchlint.engine.rules import load_rules
from torchlint.rule import Example, Input, Kind, Rule

SAME = "def work(x):\n    return x * 2\n"


class Sums(Rule):
    code = "TL999"
    name = "sums"
    summary = "sums"


def example(source=SAME, after=SAME, **more):
    given = (Input("x", Kind.TENSOR, (4,)),)
    return Example(
        "twice", source, after, **{"setup": "", "workload": "work(x)", "inputs": given, "by_hand": True, **more}
    )


class Stand:
    """A device whose clock says what it is told, and that counts nothing."""

    name = "cpu"

    def __init__(self, control=1.0, faster=2.0):
        self.control, self.faster, self.blocks = control, faster, 0
        self.clocked = []

    def clock(self, program, calls):
        self.clocked.append(program)
        if len(self.clocked) <= 6:  # finding the number of calls and warming up: three blocks for each program
            return 0.02
        kind = self.blocks % 3
        order = (2, 1, 0) if (self.blocks // 3) % 2 == 0 else (0, 1, 2)
        self.blocks += 1
        return 0.02 * {0: self.control, 1: 1 / self.faster, 2: 1.0}[order[kind]]

    def syncs(self, program):
        return None

    def peak(self, program):
        return 7

    def machine(self):
        return Machine("cpu", "stand-in", 1, "", "", "")


def test_a_steady_example_is_measured():
    found = row_of(Sums, example(), Stand(), Thoroughness(rounds=4))
    assert found.status is ExampleStatus.MEASURED
    assert found.figure.ratio == pytest.approx(2.0)
    assert (found.inputs, found.rounds, found.by_hand, found.syncs, found.bytes) == (1, 4, True, None, None)
    assert found.size == "twice, x 4"


@pytest.mark.parametrize(("control", "status"), [(1.04, ExampleStatus.MEASURED), (1.06, ExampleStatus.UNSTEADY)])
def test_a_control_that_strays_is_no_conclusion(control, status):
    found = row_of(Sums, example(), Stand(control), Thoroughness(rounds=4, tries=1))
    assert found.status is status
    assert found.figure.control == pytest.approx(control)
    assert (found.cost("local") is None) == (status is ExampleStatus.UNSTEADY)


def test_an_unsteady_example_is_tried_again():
    class Calming(Stand):
        def clock(self, program, calls):
            if len(self.clocked) == 18:  # the second measurement begins
                self.control, self.blocks, self.clocked = 1.0, 0, []
            return super().clock(program, calls)

    assert row_of(Sums, example(), Calming(1.2), Thoroughness(rounds=4, tries=1)).status is ExampleStatus.UNSTEADY
    assert row_of(Sums, example(), Calming(1.2), Thoroughness(rounds=4, tries=2)).status is ExampleStatus.MEASURED


def test_a_rule_whose_fix_lies_is_caught_and_not_timed(monkeypatch):
    rule = next(rule for rule in load_rules() if rule.code == "TL101")
    honest = fixed(rule, rule.examples[0])
    lying = dataclasses.replace(honest, text=honest.text.replace("torch.float32", "torch.float64"))
    assert lying.text != honest.text
    monkeypatch.setattr(suite, "fixed", lambda *_: lying)
    stand = Stand()
    found = row_of(rule, rule.examples[0], stand, QUICK)
    assert found.status is ExampleStatus.DIFFERENT
    assert "ordinary: other results" in found.detail
    assert stand.clocked == [] and found.figure is None


def test_the_program_after_is_what_the_fixer_makes(monkeypatch):
    rule = next(rule for rule in load_rules() if rule.code == "TL101")
    untrue = dataclasses.replace(rule.examples[0], fixed="raise SystemExit  # never run\n")
    assert row_of(rule, untrue, Stand(), Thoroughness(rounds=4)).status is ExampleStatus.MEASURED


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("def work(x):\n    return x.nonsense()\n", SAME, "AttributeError"),
        ("def work(x:\n", SAME, "SyntaxError"),
    ],
)
def test_a_failing_example_is_a_row_with_its_traceback(before, after, words):
    found = row_of(Sums, example(before, after, setup="work(x)"), Stand(), QUICK)
    assert found.status is ExampleStatus.FAILED
    assert found.detail.startswith("Traceback") and words in found.detail


def test_an_example_that_the_fixer_leaves_alone_has_failed():
    rule = next(rule for rule in load_rules() if rule.code == "TL101")
    clean = dataclasses.replace(rule.examples[0], source="import torch\n")
    found = row_of(rule, clean, Stand(), QUICK)
    assert (found.status, found.detail) == (ExampleStatus.FAILED, "TL101 observation-17: the fixer changes nothing")


def test_what_a_program_traces_slows_no_other_down():
    import tracemalloc

    tracing = "import tracemalloc\ntracemalloc.start()\n"
    for each in (example(setup=tracing), example("def work(x):\n    return x.nonsense()\n", setup=tracing)):
        row_of(Sums, each, Stand(), Thoroughness(rounds=4))
        assert not tracemalloc.is_tracing()


@pytest.mark.parametrize("stopping", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes(monkeypatch, stopping):
    def stop(*_):
        raise stopping

    monkeypatch.setattr(suite, "fixed", stop)
    with pytest.raises(stopping):
        row_of(Sums, example(), Stand(), QUICK)


def test_a_gain_on_an_accelerator_is_not_looked_for_here():
    class Far(Sums):
        cuda_only = True

    assert row_of(Far, example(), Stand(), QUICK).status is ExampleStatus.COUNTED


def test_memory_is_counted_for_rules_about_it():
    class Heavy(Sums):
        about_memory = True

    assert row_of(Heavy, example(), Stand(), Thoroughness(rounds=4)).bytes == BeforeAfter(7, 7)


def test_programs_run_on_one_thread_in_silence(capsys):
    before = torch.get_num_threads()
    with running(), warnings.catch_warnings(record=True):
        assert torch.get_num_threads() == 1
        print("a program's own words")
    assert torch.get_num_threads() == before
    assert capsys.readouterr().out == ""


def test_every_example_of_the_chosen_rules_is_run():
    rules = load_rules()[:3]
    assert [each for _, each in examples_of(rules)] == [each for rule in rules for each in rule.examples]


def test_a_version_by_hand_may_round():
    rule = next(rule for rule in load_rules() if any(each.by_hand for each in rule.examples))
    byhand = next(each for each in rule.examples if each.by_hand)
    assert fixed(rule, byhand) == Fixed(
        byhand.fixed, frozenset({*rule.may_change, *fixed(rule, byhand).may_change}), True
    )


# devices -------------------------------------------------------------------------------------------------------------


class Event:
    def __init__(self, log, enable_timing):
        assert enable_timing
        self.log = log

    def record(self):
        self.log.append("record")

    def elapsed_time(self, other):
        return 250.0  # milliseconds


def accelerator():
    """A stand-in for ``torch.cuda`` that writes down what is done to it."""
    log = []
    mode = ["default"]
    module = types.SimpleNamespace(
        log=log,
        mode=mode,
        Event=lambda enable_timing: Event(log, enable_timing),
        synchronize=lambda: log.append("wait"),
        get_sync_debug_mode=lambda: mode[-1],
        set_sync_debug_mode=mode.append,
        get_device_name=lambda: "Some Accelerator",
        memory_allocated=lambda: 100,
        max_memory_allocated=lambda: 164,
        reset_peak_memory_stats=lambda: log.append("reset"),
    )
    return module


def test_an_accelerator_is_timed_by_events_around_all_calls():
    cuda = accelerator()
    assert Cuda(cuda).clock(lambda: cuda.log.append("call"), 3) == 0.25
    assert cuda.log == ["wait", "record", "call", "call", "call", "record", "wait"]


def test_waits_of_the_host_are_counted_as_torch_warns_of_them():
    cuda = accelerator()

    def program():
        if cuda.mode[-1] == "warn":
            for _ in range(3):
                warnings.warn("called a synchronizing CUDA operation (Triggered internally)", stacklevel=1)
            warnings.warn("something else", stacklevel=1)

    assert Cuda(cuda).syncs(program) == 3
    assert cuda.mode == ["default", "warn", "default"]


def test_the_mode_is_put_back_when_a_program_raises():
    cuda = accelerator()

    def program():
        if cuda.mode[-1] == "warn":
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  the very one above
        Cuda(cuda).syncs(program)
    assert cuda.mode[-1] == "default"


def test_memory_of_an_accelerator_is_its_peak_beyond_the_start():
    cuda = accelerator()
    assert Cuda(cuda).peak(lambda: cuda.log.append("call")) == 64
    assert cuda.log == ["wait", "reset", "call", "wait"]


def test_the_accelerator_gives_the_machine_its_name():
    assert Cuda(accelerator()).machine().device == "Some Accelerator"


def test_a_rule_is_measured_on_an_accelerator(monkeypatch):
    cuda = Cuda(accelerator())
    monkeypatch.setattr(suite, "build", lambda *_: lambda: 0)
    monkeypatch.setattr(suite, "judge", lambda *_: suite_verdict())
    monkeypatch.setattr(suite, "on_accelerator", lambda *_: nullcontext(lambda: 0))

    class Far(Sums):
        cuda_only = True
        about_memory = True

    found = row_of(Far, example(), cuda, Thoroughness(rounds=2, tries=1))
    assert (found.status, found.device, found.syncs, found.bytes) == (
        ExampleStatus.MEASURED,
        "cuda",
        BeforeAfter(0, 0),
        BeforeAfter(64, 64),
    )


def suite_verdict():
    from torchlint.bench.equal import ExampleVerdict

    return ExampleVerdict(1, frozenset(), (), ())


def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NoDeviceError, match="sees no CUDA device"):
        device_of("cuda")
    assert isinstance(device_of("cpu"), Cpu)


def test_the_most_memory_of_a_trace():
    changes = [(3.0, -50), (1.0, 100), (2.0, 20), (4.0, 10)]
    events = [{"name": "[memory]", "ts": when, "args": {"Bytes": size}} for when, size in changes]
    assert peak_of([{"name": "aten::add", "ts": 0.0, "args": {}}, *events]) == 120
    assert peak_of([]) == 0


def test_memory_on_the_processor_is_that_of_tensors():
    assert Cpu().peak(lambda: torch.zeros(10_000)) == 40_000
