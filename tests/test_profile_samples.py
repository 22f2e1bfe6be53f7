"""Sampled profiles: collapsed stacks, speedscope, and py-spy's Chrome traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchlint.profile.errors import ProfileError
from torchlint.profile.model import Frame, Profile, ProfileSource
from torchlint.profile.read import read

SECOND = 1e6


def profile_of(tmp_path: Path, content: object) -> Profile:
    path = tmp_path / "profile"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read(path)


def slices(profile: Profile) -> list[tuple[int, int, float, float, str]]:
    """Thread, depth, start, duration and name of the frame."""
    names = [profile.frames[node.frame].name for node in profile.nodes]
    return [(one.thread, one.depth, one.start_us, one.duration_us, names[one.node]) for one in profile.slices]


def test_collapsed_stacks_of_py_spy(tmp_path: Path) -> None:
    profile = profile_of(
        tmp_path,
        " 5\n"
        "<module> (train.py:9);act (src/a b.py:4) 3\n"
        "\n"
        "<module> (train.py:9);act (src/a b.py:5);item (torch/_C.so) 1\r\n"
        "<module> (train.py:10) 6\n",
    )
    assert profile.source is ProfileSource.SAMPLES and profile.exact_lines and profile.assumed_rate and profile.stacks
    assert profile.total_us == 100_000 and profile.slices == () and profile.steps == 0
    assert profile.frames == (
        Frame("train.py", 9, "<module>", 0, 0, 40_000),
        Frame("src/a b.py", 4, "act", 0, 30_000, 30_000),
        Frame("src/a b.py", 5, "act", 0, 0, 10_000),
        Frame("torch/_C.so", 0, "item", 0, 10_000, 10_000),
        Frame("train.py", 10, "<module>", 0, 60_000, 60_000),
    )


def test_collapsed_stacks_of_functions_and_threads(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "process 5:python train.py;thread (0x7F);<module> (train.py);act (a.py) 2\n")
    assert not profile.exact_lines
    assert [(one.file, one.line, one.name) for one in profile.frames] == [
        ("", 0, "process 5:python train.py"),
        ("0x7F", 0, "thread"),
        ("train.py", 0, "<module>"),
        ("a.py", 0, "act"),
    ]


def test_collapsed_stacks_of_austin(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "P12;T13;/app/train.py:<module>:9;/app/a.py:act:4 25\n")
    assert [(one.file, one.line, one.name) for one in profile.frames][2:] == [
        ("/app/train.py", 9, "<module>"),
        ("/app/a.py", 4, "act"),
    ]


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="a line of more than a megabyte"):
        profile_of(tmp_path, "f (a.py:1) 1\n" + "f (a.py:1);" * 300_000)


FRAMES = [
    {"name": "<module>", "file": "train.py", "line": 9},
    {"name": "act", "file": "a.py", "line": 4, "col": None},
    {"name": "native"},
]


def sampled(unit: str = "seconds", **more: object) -> dict[str, object]:
    return {
        "type": "sampled",
        "name": "main",
        "unit": unit,
        "startValue": 5,
        "endValue": 8,
        "samples": [[0, 1], [0, 1, 2], [0], []],
        "weights": [1, 1, 0.5, 9],
    } | more


def test_speedscope_with_samples(tmp_path: Path) -> None:
    # py-spy puts the frames last.
    profile = profile_of(
        tmp_path, {"$schema": "x", "profiles": [sampled()], "shared": {"other": [1], "frames": FRAMES}}
    )
    assert profile.total_us == 2.5 * SECOND and profile.threads == ("main",)
    assert not profile.assumed_rate and profile.exact_lines
    assert profile.frames == (
        Frame("train.py", 9, "<module>", 0, 0.5 * SECOND, 2.5 * SECOND),
        Frame("a.py", 4, "act", 0, SECOND, 2 * SECOND),
        Frame("", 0, "native", 0, SECOND, SECOND),
    )
    assert slices(profile) == [
        (0, 0, 0, 2.5 * SECOND, "<module>"),
        (0, 1, 0, 2 * SECOND, "act"),
        (0, 2, SECOND, SECOND, "native"),
    ]


def test_speedscope_with_frames_that_open_and_close(tmp_path: Path) -> None:
    events = [
        {"type": "O", "at": 0, "frame": 0},
        {"type": "O", "at": 10, "frame": 1},
        {"type": "C", "at": 30, "frame": 1},
        {"type": "C", "at": 40, "frame": 0},
        {"type": "C", "at": 50, "frame": 0},
    ]
    evented = {"type": "evented", "name": "worker", "events": events, "unit": "milliseconds"}
    profile = profile_of(tmp_path, {"shared": {"frames": FRAMES}, "profiles": [sampled("none"), evented]})
    assert profile.threads == ("main", "worker")
    assert [one for one in slices(profile) if one[0] == 1] == [
        (1, 0, 0, 40_000, "<module>"),
        (1, 1, 10_000, 20_000, "act"),
    ]
    # Samples that are counted, not timed, make the whole file one of counts.
    assert profile.assumed_rate


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"samples": [[7]]}, "a sample names a frame that is not there"),
        ({"samples": [["a"]]}, "a frame is not a number"),
        ({"samples": [[-1]]}, "a frame is not a number"),
        ({"samples": [[10**30]]}, "a frame is not a number"),
        ({"weights": ["a"]}, "a time is not a number"),
        ({"weights": [1e300]}, "a time is not a number"),
        ({"events": [{"type": "X", "at": 1}]}, "an event neither opens nor closes a frame"),
        ({"events": [5]}, "an event neither opens nor closes a frame"),
        ({"events": [{"type": "O", "at": None, "frame": 0}]}, "a time is not a number"),
    ],
)
def test_broken_speedscope_files(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        profile_of(tmp_path, {"profiles": [sampled(**change)], "shared": {"frames": FRAMES}})


def test_a_broken_frame(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="a frame has no name"):
        profile_of(tmp_path, {"profiles": [sampled()], "shared": {"frames": [1, 2, 3]}})


def test_chrome_traces_of_py_spy(tmp_path: Path) -> None:
    def event(phase: str, name: str, line: int, at: float, thread: int = 1) -> dict[str, object]:
        about = {"filename": f"/app/{name}.py", "line": line}
        return {"ph": phase, "cat": "py-spy", "name": name, "pid": 1, "tid": thread, "ts": at, "args": about}

    profile = profile_of(
        tmp_path,
        [
            event("B", "main", 1, 1000),
            event("B", "act", 4, 1000),
            event("E", "act", 4, 1300),
            event("B", "act", 5, 1300),
            event("B", "idle", 1, 1310, 2),
            event("E", "idle", 1, 1360, 2),
            event("E", "act", 5, 1400),
            event("E", "main", 1, 1500),
            event("E", "main", 1, 1600),
            {"ph": "B", "name": "odd", "ts": "x"},
        ],
    )
    assert profile.total_us == 500 and profile.exact_lines
    assert [(one.file, one.line, one.self_us, one.total_us) for one in profile.frames] == [
        ("/app/main.py", 1, 100, 500),
        ("/app/act.py", 4, 300, 300),
        ("/app/act.py", 5, 100, 100),
        ("/app/idle.py", 1, 50, 50),
    ]
    assert slices(profile)[-1] == (1, 0, 310, 50, "idle")
