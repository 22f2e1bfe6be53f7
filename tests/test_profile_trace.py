"""Traces of the torch profiler: contexts by time, operators, the device, steps, and what is odd."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from torchlint.profile import nesting, tree
from torchlint.profile.effects import effect_of_runtime
from torchlint.profile.errors import ProfileError
from torchlint.profile.model import Effect, Profile, ProfileSource
from torchlint.profile.read import read

Event = dict[str, object]


def event(category: str, name: str, start: float, duration: float, tid: int = 1, **arguments: object) -> Event:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 7,
        "tid": tid,
        "ts": start,
        "dur": duration,
        "args": arguments,
    }


def python(name: str, start: float, duration: float, tid: int = 1) -> Event:
    return event("python_function", name, start, duration, tid)


def operator(name: str, start: float, duration: float, tid: int = 1, **arguments: object) -> Event:
    return event("cpu_op", name, start, duration, tid, **arguments)


def profile_of(tmp_path: Path, events: Iterable[object]) -> Profile:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": list(events)}))
    return read(path)


def contexts(profile: Profile) -> dict[str, tuple[int, float, float]]:
    """Calls, self and total time by the names from the outermost frame to the innermost."""
    names: list[str] = []
    for node in profile.nodes:
        name = profile.frames[node.frame].name
        names.append(f"{names[node.parent]}/{name}" if node.parent >= 0 else name)
    return {name: (node.calls, node.self_us, node.total_us) for name, node in zip(names, profile.nodes, strict=True)}


def operators(profile: Profile) -> dict[tuple[str, str], tuple[str, Effect, int, float, float, float]]:
    """By name and outermost operator: the frame, effect, calls, self, total and device time."""
    frames = [profile.frames[node.frame].name for node in profile.nodes] + ["-"]
    return {
        (one.name, one.within): (
            frames[one.node],
            one.effect,
            one.calls,
            one.self_us,
            one.total_us,
            one.device_us,
        )
        for one in profile.operators
    }


STACKED = [
    event("user_annotation", "ProfilerStep#3", 0, 100),
    operator("aten::to", 20, 10),
    operator("aten::_to_copy", 22, 6),
    operator("aten::copy_", 24, 2),
    operator("aten::linear", 50, 20),
    operator("aten::copy_", 52, 5),
    python("train.py(9): <module>", 0, 100),
    python("src/agent.py(4): act", 10, 30),
    python("<built-in method to of Tensor object at 0x7f01>", 19, 12),
    python("src/agent.py(4): act", 45, 30),
    python("<built-in method to of Tensor object at 0x7f02>", 46, 1),
]


def test_contexts_are_found_by_time(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, STACKED)
    assert profile.source is ProfileSource.TORCH and profile.stacks and not profile.exact_lines
    assert (profile.total_us, profile.steps, profile.device) == (100, 1, False)
    to = "<built-in method to of Tensor object>"
    assert contexts(profile) == {
        "<module>": (1, 40, 100),
        "<module>/act": (2, 47, 60),
        f"<module>/act/{to}": (2, 13, 13),
    }
    assert [(one.file, one.line, one.name) for one in profile.frames] == [
        ("train.py", 9, "<module>"),
        ("src/agent.py", 4, "act"),
        ("", 0, to),
    ]
    assert operators(profile) == {
        ("aten::to", ""): (to, Effect.NONE, 1, 4, 10, 0),
        ("aten::_to_copy", "aten::to"): (to, Effect.COPY, 1, 4, 6, 0),
        ("aten::copy_", "aten::to"): (to, Effect.NONE, 1, 2, 2, 0),
        ("aten::linear", ""): ("act", Effect.NONE, 1, 15, 20, 0),
        ("aten::copy_", "aten::linear"): ("act", Effect.NONE, 1, 5, 5, 0),
    }
    assert profile.order == ("aten::to", "aten::linear")
    assert [(one.depth, one.start_us, one.duration_us, one.operator) for one in profile.slices][:3] == [
        (0, 0, 100, ""),
        (1, 10, 30, ""),
        (2, 19, 12, ""),
    ]


def test_the_order_of_events_in_the_file_does_not_matter(tmp_path: Path) -> None:
    sorted_once = profile_of(tmp_path, STACKED)
    shuffled = profile_of(tmp_path, STACKED[::-1])
    assert contexts(shuffled) == contexts(sorted_once)
    assert operators(shuffled) == operators(sorted_once)
    assert shuffled.slices == sorted_once.slices


def test_without_stacks_there_are_operators_in_order(tmp_path: Path) -> None:
    steps = [event("user_annotation", f"ProfilerStep#{number}", 100 * number, 50 + number) for number in range(3)]
    work = [
        operator(f"aten::{name}", 100 * number + at, 5) for number in range(3) for at, name in ((1, "mul"), (9, "sum"))
    ]
    profile = profile_of(tmp_path, [*steps, *work, operator("aten::item", 120, 2), operator("aten::item", 120, 1)])
    assert not profile.stacks and profile.nodes == () and profile.steps == 3
    assert profile.order == ("aten::mul", "aten::sum", "aten::item")
    assert operators(profile)["aten::item", ""] == ("-", Effect.SYNC, 1, 1, 2, 0)
    assert operators(profile)["aten::item", "aten::item"] == ("-", Effect.NONE, 1, 1, 1, 0)


def test_work_of_the_device_belongs_to_the_operators_that_started_it(tmp_path: Path) -> None:
    profile = profile_of(
        tmp_path,
        [
            python("a.py(1): f", 0, 100),
            operator("aten::mul", 10, 10),
            event("cuda_runtime", "cudaLaunchKernel", 12, 4, correlation=5),
            operator("aten::item", 30, 40),
            operator("aten::_local_scalar_dense", 31, 38),
            event("cuda_runtime", "cudaMemcpyAsync", 32, 3, correlation=6),
            event("cuda_runtime", "cudaStreamSynchronize", 40, 25, correlation=7),
            operator("aten::item", 80, 1),
            event("kernel", "vectorized", 15, 50, 9, correlation=5),
            event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 66, 2, 9, correlation=6),
        ],
    )
    assert profile.device
    assert operators(profile) == {
        ("aten::mul", ""): ("f", Effect.NONE, 1, 6, 10, 50),
        ("cudaLaunchKernel", "aten::mul"): ("f", Effect.LAUNCH, 1, 4, 4, 50),
        # The second ``item`` is one of a tensor on the host: it waits for nothing.
        ("aten::item", ""): ("f", Effect.NONE, 2, 3, 41, 2),
        ("aten::_local_scalar_dense", "aten::item"): ("f", Effect.NONE, 1, 10, 38, 2),
        ("cudaMemcpyAsync", "aten::item"): ("f", Effect.NONE, 1, 3, 3, 2),
        ("Memcpy DtoH (Device -> Pageable)", "aten::item"): ("f", Effect.COPY, 1, 0, 0, 2),
        ("cudaStreamSynchronize", "aten::item"): ("f", Effect.SYNC, 1, 25, 25, 0),
    }


def test_threads_of_autograd_work_for_the_code_that_waits(tmp_path: Path) -> None:
    profile = profile_of(
        tmp_path,
        [
            python("a.py(1): update", 0, 100),
            python("<built-in method run_backward of torch._C._EngineBase object at 0x1>", 20, 50),
            operator("MulBackward0", 30, 10, tid=2),
            operator("aten::mul", 31, 4, tid=2),
            operator("aten::add", 80, 4, tid=2),
            {"ph": "M", "name": "thread_name", "pid": 7, "tid": 2, "args": {"name": "pt_autograd_0"}},
        ],
    )
    assert profile.threads == ("thread 1", "pt_autograd_0") and profile.total_us == 100
    waiting = "<built-in method run_backward of torch._C._EngineBase object>"
    assert contexts(profile) == {"update": (1, 50, 100), f"update/{waiting}": (1, 50, 50)}
    assert operators(profile) == {
        ("MulBackward0", ""): (waiting, Effect.NONE, 1, 6, 10, 0),
        ("aten::mul", "MulBackward0"): (waiting, Effect.NONE, 1, 4, 4, 0),
        ("aten::add", ""): ("-", Effect.NONE, 1, 4, 4, 0),
    }


def test_call_stacks_of_operators_stand_in_for_python_events(tmp_path: Path) -> None:
    stack = "src/agent.py(12): act;train.py(30): main;"
    profile = profile_of(
        tmp_path,
        [
            operator("aten::mul", 0, 10, **{"Call stack": stack}),
            operator("aten::copy_", 2, 3, **{"Call stack": stack}),
            operator("aten::sum", 20, 5, **{"Call stack": "train.py(31): main"}),
            operator("aten::add", 30, 1),
        ],
    )
    assert profile.stacks and profile.exact_lines
    assert [(one.line, one.name, one.self_us, one.total_us) for one in profile.frames] == [
        (30, "main", 0, 10),
        (12, "act", 10, 10),
        (31, "main", 5, 5),
    ]
    assert operators(profile)["aten::add", ""] == ("-", Effect.NONE, 1, 1, 1, 0)


def test_python_inside_an_operator(tmp_path: Path) -> None:
    """An ``autograd.Function`` runs Python code inside an operator; its time is counted once."""
    profile = profile_of(
        tmp_path,
        [
            python("a.py(1): f", 0, 100),
            operator("MyFunction", 10, 50),
            python("a.py(9): forward", 20, 30),
            operator("aten::mul", 25, 5),
        ],
    )
    assert contexts(profile) == {"f": (1, 70, 100), "f/forward": (1, 30, 30)}
    assert operators(profile)["MyFunction", ""][3:5] == (20, 50)
    assert operators(profile)["aten::mul", "MyFunction"][:1] == ("forward",)


def test_times_may_count_from_1970(tmp_path: Path) -> None:
    """As in traces of torch before 2.4, in whole microseconds."""
    epoch = 1_695_835_542_515_301
    profile = profile_of(tmp_path, [operator("aten::mul", epoch, 104), operator("aten::empty", epoch, 4)])
    assert operators(profile)["aten::empty", "aten::mul"][3:5] == (4, 4)
    assert profile.total_us == 104 and [one.start_us for one in profile.slices] == [0, 0]


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("cudaLaunchKernel", Effect.LAUNCH),
        ("cudaLaunchKernelExC", Effect.LAUNCH),
        ("cudaLaunchCooperativeKernel", Effect.LAUNCH),
        ("cudaGraphLaunch", Effect.LAUNCH),
        ("cuLaunchKernelEx", Effect.LAUNCH),
        ("hipLaunchKernel", Effect.LAUNCH),
        ("hipExtModuleLaunchKernel", Effect.LAUNCH),
        ("cudaStreamSynchronize", Effect.SYNC),
        ("cudaDeviceSynchronize", Effect.SYNC),
        ("hipEventSynchronize", Effect.SYNC),
        ("cuCtxSynchronize", Effect.SYNC),
        ("cudaMemcpy", Effect.SYNC),
        ("hipMemcpy2D", Effect.SYNC),
        ("hipMemcpyWithStream", Effect.SYNC),
        ("cuMemcpyDtoH_v2", Effect.SYNC),
        ("cudaMemcpyAsync", Effect.NONE),
        ("cuMemcpyDtoHAsync_v2", Effect.NONE),
        ("cudaEventQuery", Effect.NONE),
        ("cudaPeekAtLastError", Effect.NONE),
        ("cudaMemsetAsync", Effect.NONE),
    ],
)
def test_calls_of_the_runtime(name: str, effect: Effect) -> None:
    assert effect_of_runtime(name) is effect


def test_recursion_counts_once_in_totals(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, [python("a.py(1): f", at, 100 - 2 * at) for at in range(0, 40, 10)])
    assert len(profile.nodes) == 4
    assert [(one.calls, one.self_us, one.total_us) for one in profile.frames] == [(4, 100, 100)]


def test_clocks_that_differ_lose_no_time(tmp_path: Path) -> None:
    """An operator that seems to end after the code that called it."""
    profile = profile_of(
        tmp_path, [python("a.py(1): f", 0, 10), operator("aten::mul", 5, 5.4), python("a.py(9): g", 10, 5)]
    )
    assert contexts(profile) == {"f": (1, 10, 10), "g": (1, 5, 5)}
    assert operators(profile)["aten::mul", ""] == ("f", Effect.NONE, 1, 5, 5, 0)


@pytest.mark.parametrize(
    "odd",
    [
        {"ts": float("nan")},
        {"ts": "1"},
        {"ts": 10**400},
        {"dur": -1},
        {"dur": None},
        {"pid": [1]},
        {"tid": {"a": 1}},
        {"name": 5},
        {"cat": ["cpu_op"]},
        {"cat": "fwdbwd"},
        {"args": [1], "ph": "M"},
    ],
)
def test_odd_events_are_passed_over(tmp_path: Path, odd: Event) -> None:
    profile = profile_of(tmp_path, [operator("aten::mul", 0, 1), operator("aten::bad", 5, 1) | odd, 5, "x", [1], None])
    assert {name for name, _ in operators(profile)} == {"aten::mul"}


def test_odd_arguments_do_no_harm(tmp_path: Path) -> None:
    odd: list[object] = [
        event("cuda_runtime", "cudaLaunchKernel", 0, 1, correlation=-1),
        event("cuda_runtime", "cudaLaunchKernel", 2, 1, correlation=10**30),
        event("cuda_runtime", "cudaLaunchKernel", 4, 1, correlation="x"),
        event("kernel", "k", 4, 1),
        operator("aten::mul", 6, 1, **{"Call stack": 5}),
        operator("aten::mul", 8, 1, **{"Call stack": ";;"}),
        python("(((: \n", 10, 1),
        python("a.py(99999999999999): f", 12, 1),
    ]
    profile = profile_of(tmp_path, odd)
    assert sum(one.calls for one in profile.operators if one.effect is Effect.LAUNCH) == 3


def test_what_grows_without_end_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_NODES", 10)
    monkeypatch.setattr(tree, "MOST_SLICES", 5)
    monkeypatch.setattr(nesting, "MOST_ORDER", 3)
    monkeypatch.setattr(nesting, "_MOST_ROWS", 4)
    deep = [python(f"a.py({at}): f{at}", at, 200 - 2 * at) for at in range(50)]
    profile = profile_of(tmp_path, [*deep, *(operator(f"aten::op{at}", 60 + at / 10, 0.05) for at in range(20))])
    assert len(profile.nodes) == 10 and len(profile.slices) == 5 and len(profile.order) == 3
    assert sum(node.self_us for node in profile.nodes) == pytest.approx(200)
    assert profile.slices[0].duration_us == 200
    assert [one.node for one in profile.operators][-1] == -1


def test_other_traces_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="is a trace without torch operators"):
        profile_of(tmp_path, [event("blink", "Paint", 0, 1), event("cuda_sync", "x", 0, 1)])


@pytest.mark.torch
@pytest.mark.parametrize("stacks", [True, False])
@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_the_profiler_of_torch(tmp_path: Path, stacks: bool, suffix: str) -> None:
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    def act(x: torch.Tensor) -> float:
        return x.sum().item()

    path = tmp_path / f"trace.{suffix}"
    with profile(
        activities=[ProfilerActivity.CPU],
        with_stack=stacks,
        schedule=schedule(wait=0, warmup=1, active=2),
        on_trace_ready=lambda done: done.export_chrome_trace(str(path)),
    ) as running:
        for _ in range(3):
            for _ in range(4):
                act(torch.ones(3))
            running.step()
    found = read(path)
    assert found.source is ProfileSource.TORCH and found.steps == 2 and found.stacks == stacks and not found.device
    assert sum(one.calls for one in found.operators if one.effect is Effect.SYNC) == 8
    assert found.order[:3] == ("aten::ones", "aten::sum", "aten::item")
    if stacks:
        frame = next(one for one in found.frames if one.name == "act")
        assert frame.file.endswith("test_profile_trace.py") and frame.calls == 8
        assert frame.line == act.__code__.co_firstlineno
        assert 0 < frame.self_us < frame.total_us < found.total_us
