"""What the counted device counts is held against what torch's profiler and its warnings say of CUDA.

No GPU recorded the traces: ``cuda_traces.py`` says how they are made.
"""

import json
import types
import warnings
from contextlib import contextmanager
from dataclasses import replace

import pytest
from benching import results, row
from cuda_traces import PROTOTYPE, WARNING, CudaTrace, forward, read_back, recording

from torchlint.bench.page import as_html
from torchlint.bench.result import ExampleStatus, Held, Recorded, disagreements, from_json, to_json
from torchlint.bench.table import against, as_text, held_of
from torchlint.profile.errors import ProfileError
from torchlint.profile.work import Work, read_work
from torchlint.rule import Counted, Counts

COUNTS = Counted(Counts(2, 4, 2, 24), Counts(0, 3, 0, 0), "first", "first")
SAME = Held(Recorded(2, 4, 2, 24, 6, 2), Recorded(0, 3, 0, 0, 3, 0))
OTHER = replace(SAME, after=Recorded(1, 3, 1, 4, 3, 1))


def work(trace, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(trace.text(), encoding="utf-8")
    return read_work(path)


def test_a_forward_pass_and_a_number_read_back(tmp_path):
    trace = CudaTrace()
    with recording(trace):
        forward(trace)
    assert work(trace, tmp_path) == Work(4, 6, 2, 1, 1, 24, device=True)


def test_what_happens_outside_of_the_step_counts_for_nothing(tmp_path):
    trace = CudaTrace()
    forward(trace)
    with recording(trace), trace.operator("aten::add"):
        trace.launch()
    forward(trace)
    assert work(trace, tmp_path) == Work(operators=1, kernels=1, device=True)


def test_an_operator_of_several_kernels_is_one_launch(tmp_path):
    trace = CudaTrace()
    with recording(trace):
        for _ in range(2):
            with trace.operator("aten::sort"):
                trace.fill(8)
                trace.launch()
                trace.launch()
    assert work(trace, tmp_path) == Work(operators=2, kernels=6, device=True)


def test_an_operator_inside_of_another_counts_for_itself(tmp_path):
    trace = CudaTrace()
    with recording(trace), trace.operator("aten::masked_select"):
        with trace.operator("aten::nonzero"):
            trace.launch()
            read_back(trace, 4)
        with trace.operator("aten::index"):
            trace.launch()
        trace.launch()  # one of its own
    assert work(trace, tmp_path) == Work(3, 3, 1, 0, 1, 4, device=True)


def test_copies_within_the_device_are_launches(tmp_path):
    trace = CudaTrace()
    with recording(trace), trace.operator("aten::copy_"):
        trace.copy("DtoD (Device -> Device)", 128)
    assert work(trace, tmp_path) == Work(operators=1, kernels=1, device=True)


def test_work_outside_of_operators_counts_by_its_calls(tmp_path):
    trace = CudaTrace()
    with recording(trace):
        trace.triton("triton_poi_fused_add_0")
        trace.triton("triton_poi_fused_mul_1")
        trace.launch(times=5)
    assert work(trace, tmp_path) == Work(operators=3, kernels=7, device=True)


def test_the_thread_of_autograd_belongs_to_the_step(tmp_path):
    trace = CudaTrace()
    with recording(trace), trace.autograd_thread(), trace.operator("autograd::engine::evaluate_function: MulBackward0"):
        for _ in range(2):
            with trace.operator("MulBackward0"), trace.operator("aten::mul"):
                trace.launch()
    assert work(trace, tmp_path) == Work(operators=2, kernels=2, device=True)


def test_waits_that_a_program_asks_for(tmp_path):
    trace = CudaTrace()
    with recording(trace):
        trace.wait("cudaDeviceSynchronize", "Context Sync")
        trace.wait("cudaEventSynchronize", "Event Sync")
        trace.other("cudaEventQuery")
        trace.other("cudaStreamIsCapturing")
    assert work(trace, tmp_path) == Work(waits=2, device=True)


def test_a_trace_of_a_cpu_says_nothing_of_a_device(tmp_path):
    trace = CudaTrace()
    with trace.step(), trace.operator("aten::add"):
        pass
    assert work(trace, tmp_path) == Work()


def test_a_trace_without_a_step_is_an_error(tmp_path):
    trace = CudaTrace()
    forward(trace)
    with pytest.raises(ProfileError, match="announces no step"):
        work(trace, tmp_path)


@pytest.mark.parametrize("text", ["", "[", '{"traceEvents": [', '{"traceEvents": []}', '{"other": 1}'])
def test_what_is_no_trace_is_an_error(text, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(ProfileError):
        read_work(path)


# counted beside measured --------------------------------------------------------------------------------------------


def held(of):
    return row(events=COUNTS, held=of, device="cuda")


def test_what_agrees_is_told_in_full():
    assert disagreements(held(SAME)) == []
    assert held_of(held(SAME)) == "as counted"
    assert against(held(SAME)) == [
        "before: counted 2 syncs, measured 2; counted 4 launches, measured 4; counted 2 copies, measured 2; "
        "counted 24 bytes, measured 24 (6 kernels)",
        "after: counted 3 launches, measured 3 (3 kernels)",
    ]


def test_each_count_that_differs_is_told():
    found = held(OTHER)
    assert disagreements(found) == [
        "after: counted 0 syncs, measured 1",
        "after: counted 0 copies, measured 1",
        "after: counted 0 bytes, measured 4",
    ]
    assert held_of(found) == "3 differ"
    assert held_of(row(events=COUNTS)) == held_of(row()) == ""
    assert against(row()) == disagreements(row()) == []


def test_a_program_that_does_nothing_on_the_device():
    nothing = row(events=Counted(Counts(), Counts(), "first"), held=Held(Recorded(), Recorded()))
    assert against(nothing)[0] == "before: nothing counted, nothing measured"


def test_the_table_shows_what_differs():
    text = as_text(results(held(SAME), held(OTHER)), {}, (), color=False, unicode=True, width=130)
    assert "as counted" in text and "3 differ" in text
    assert "TL101 first, after: counted 0 syncs, measured 1" in text
    assert "1 of 2 examples did on CUDA what was counted." in text
    narrow = as_text(results(held(SAME), held(OTHER)), {}, (), color=False, unicode=True, width=60)
    assert max(map(len, narrow.splitlines())) <= 60
    assert "3 differ" in narrow


def test_the_table_says_what_could_not_be_held():
    text = as_text(results(row(events=COUNTS, device="cuda")), {}, (), color=False, unicode=True, width=100)
    assert "profiler recorded nothing of the device: TL101." in " ".join(text.split())
    assert "On CUDA" not in as_text(results(row(events=COUNTS)), {}, (), color=False, unicode=True, width=130)


def test_the_page_and_json_show_what_differs():
    page = as_html(results(held(SAME), held(OTHER)), {})
    assert "counted 4 launches, measured 4" in page
    assert '<td class="bad">3 differ</td>' in page
    told = results(held(SAME), held(OTHER), row())
    text = to_json(told)
    assert from_json(text) == told
    rows = json.loads(text)["rows"]
    assert rows[0]["held"]["disagreements"] == []
    assert rows[0]["held"]["before"]["kernels"] == 6
    assert rows[1]["held"]["disagreements"] == disagreements(held(OTHER))
    assert rows[2]["held"] is None


# recording ----------------------------------------------------------------------------------------------------------

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402

from torchlint.bench import record as recorder  # noqa: E402
from torchlint.bench import suite  # noqa: E402
from torchlint.bench.device import Cuda  # noqa: E402
from torchlint.cli import main  # noqa: E402
from torchlint.device.ledger import Ledger  # noqa: E402
from torchlint.device.session import counted_device  # noqa: E402
from torchlint.engine import rules as engine_rules  # noqa: E402
from torchlint.rule import Example, Input, Kind, Rule  # noqa: E402


def accelerator():
    """A stand-in for ``torch.cuda`` that does nothing."""
    return types.SimpleNamespace(
        get_sync_debug_mode=lambda: 0,
        set_sync_debug_mode=lambda mode: warnings.warn(PROTOTYPE, stacklevel=1),
        synchronize=lambda: None,
    )


def test_only_warnings_of_waits_count():
    with recorder.warned(accelerator()) as messages:
        for text in (WARNING, "called a synchronizing CUDA operation", "an operator is deprecated"):
            warnings.warn(text, stacklevel=1)
    assert recorder.synchronising(messages) == 2
    assert len(messages) == 5


def test_a_wait_that_one_of_the_two_sees_is_a_wait():
    seen = Work(4, 6, 1, 1, 1, 24, device=True)
    assert recorder.recorded(seen, 0) == Recorded(1, 4, 2, 24, 6, 0)
    assert recorder.recorded(seen, 2) == Recorded(2, 4, 2, 24, 6, 2)
    assert recorder.recorded(Work(), 2) is None


def test_a_profiler_that_sees_no_device_records_nothing():
    ran = []
    assert Cuda(accelerator()).record(lambda: ran.append(torch.ones(3).sum().item())) is None
    assert ran == [3.0]


def test_the_traces_have_the_layout_of_the_installed_torch(tmp_path, monkeypatch):
    """Operators and the announced step have the same fields there as in what ``cuda_traces`` writes."""
    texts = []
    read = recorder.read_work
    monkeypatch.setattr(
        recorder, "read_work", lambda path: texts.append(path.read_text(encoding="utf-8")) or read(path)
    )
    Cuda(accelerator()).record(lambda: torch.ones(3).sum())
    trace = CudaTrace()
    with recording(trace):
        forward(trace)
    layouts = []
    for text in (*texts, trace.text()):
        told = json.loads(text)
        layouts.append(
            {
                event["cat"]: (sorted(event), {"External id", "Ev Idx"} <= event["args"].keys())
                for event in told["traceEvents"]
                if event["ph"] == "X" and event["cat"] in ("cpu_op", "user_annotation")
            }
        )
        assert {"schemaVersion", "deviceProperties", "traceEvents"} <= told.keys()
        assert any(event["name"] == "ProfilerStep#0" for event in told["traceEvents"])
    assert layouts[0] == layouts[1]
    assert len(layouts[0]) == 2


def test_the_counted_device_agrees_with_the_trace_of_a_forward_pass(tmp_path):
    trace = CudaTrace()
    with recording(trace):
        forward(trace)
    seen = recorder.recorded(work(trace, tmp_path), 2)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    with counted_device(Ledger()) as ledger:
        net = net.to("cuda")
        ledger.lines.clear()
        net(torch.from_numpy(np.ones(4, "float32")).to("cuda")).argmax().item()
    events = ledger.totals()
    assert (events.waits, events.launches, events.copies, events.bytes) == (
        *(seen.waits, seen.launches),
        *(seen.copies, seen.bytes),
    )


class Reading(Rule):
    code = "TL998"
    name = "reading"
    summary = "reading"
    examples = (
        Example(
            "one",
            "def work(x):\n    return (x * 2).sum().item()\n",
            "def work(x):\n    return (x * 2).sum()\n",
            "",
            "work(x)",
            inputs=(Input("x", Kind.TENSOR, (4,)),),
            by_hand=True,
        ),
    )


class Machine(Cuda):
    """An accelerator on which a trace is recorded for each program in turn."""

    def __init__(self, *found):
        self._found = list(found)

    def clock(self, program, calls):
        program()
        return calls * 0.01

    def syncs(self, program):
        return 0

    def record(self, program):
        program()
        return self._found.pop(0)

    def machine(self):
        return replace(results().machine, device="Some Accelerator")


@contextmanager
def on_host(example, source):
    """There is no accelerator here to place the tensors on."""
    yield lambda: None


@pytest.mark.parametrize(
    ("before", "code", "words"),
    [
        (Recorded(1, 2, 1, 4, 3, 1), 0, "1 of 1 examples did on CUDA what was counted."),
        (Recorded(2, 2, 1, 4, 3, 2), 1, "TL998 one, before: counted 1 sync, measured 2"),
        (None, 0, "Not held against CUDA"),
    ],
)
def test_bench_on_cuda_holds_counts_against_what_was_recorded(before, code, words, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TORCHLINT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "130")
    monkeypatch.setattr(engine_rules, "load_rules", lambda *_: (Reading,))
    monkeypatch.setattr(suite, "on_accelerator", on_host)
    monkeypatch.setattr(suite, "build", lambda *_: lambda: None)
    monkeypatch.setattr(suite, "judge", lambda *_: types.SimpleNamespace(tried=1, wrong=(), exceptions=(), changes=()))
    found = Machine(before, Recorded(0, 2, 0, 0, 2, 0))
    monkeypatch.setattr("torchlint.bench.device.device_of", lambda _: found)
    assert main(["bench", "--device", "cuda", "--quick"]) == code
    assert words in " ".join(capsys.readouterr().out.split())


def test_a_program_that_fails_on_the_accelerator_alone_is_a_failed_row(monkeypatch):
    class Raising(Machine):
        def record(self, program):
            raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(suite, "on_accelerator", on_host)
    monkeypatch.setattr(suite, "judge", lambda *_: types.SimpleNamespace(tried=1, wrong=(), exceptions=(), changes=()))
    found = suite.row_of(Reading, Reading.examples[0], Raising(), suite.QUICK)
    assert found.status is ExampleStatus.FAILED
    assert "device-side assert" in found.detail
