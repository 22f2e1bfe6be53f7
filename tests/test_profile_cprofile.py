"""cProfile's files: read without ``marshal``, as ``pstats`` reads them, and their contexts."""

from __future__ import annotations

import contextlib
import cProfile
import marshal
import pstats
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchlint.profile.cprofile import read_stats
from torchlint.profile.errors import ProfileError
from torchlint.profile.marshalled import MarshalError, loads
from torchlint.profile.model import Effect, Profile, ProfileSource
from torchlint.profile.read import read

pytestmark = pytest.mark.versions

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8"))
KEYS = st.recursive(PLAIN, lambda one: st.lists(one, max_size=4).map(tuple), max_leaves=8)
VALUES = st.recursive(KEYS, lambda one: st.dictionaries(KEYS, one, max_size=4), max_leaves=20)

Stats = dict[tuple[str, int, str], tuple[object, ...]]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100)
@given(VALUES, st.sampled_from(range(2, 5)))
def test_values_are_read_as_marshal_reads_them(value: object, version: int) -> None:
    assert repr(loads(marshal.dumps(value, version))) == repr(value)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=200)
@given(st.binary(max_size=60))
def test_no_bytes_do_harm(data: bytes) -> None:
    with contextlib.suppress(MarshalError):
        assert isinstance(loads(b"{" + data), dict)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"(\xff\xff\xff\x7f",
        b"u\xff\xff\xff\xff",
        b"l\0\0\0\x80",
        marshal.dumps(1 << 10_000),
        b"r\5\0\0\0",
        b"{{00",
        b")\1" * 100 + b"N",
        b"{)\1)\1)\1",
        marshal.dumps(compile("1", "x", "eval")),
        marshal.dumps({1, 2}),
    ],
)
def test_hostile_values_are_refused(data: bytes) -> None:
    with pytest.raises(MarshalError):
        loads(data)


def test_references_cannot_grow_without_end() -> None:
    """Each tuple holds the one before twice: 2 to the power of 60 elements in a few hundred bytes."""
    first = bytes([ord(")") | 0x80, 1]) + b"N"
    nested = [
        bytes([ord(")") | 0x80, 2]) + b"r" + bytes([at, 0, 0, 0]) + b"r" + bytes([at, 0, 0, 0]) for at in range(60)
    ]
    with pytest.raises(MarshalError, match="a reference to"):
        loads(bytes([ord(")"), 62]) + first + b"".join(nested) + b"{r\x3c\0\0\0N0")


def measured(tmp_path: Path, run: Callable[[], object]) -> tuple[Profile, Stats]:
    profiler = cProfile.Profile()
    profiler.runcall(run)
    path = tmp_path / "stats.prof"
    profiler.dump_stats(path)
    return read(path), pstats.Stats(str(path)).stats  # type: ignore[attr-defined]


def leaf(count: int) -> int:
    return sum(range(count))


def branch() -> None:
    for _ in range(3):
        leaf(20_000)


def other() -> None:
    leaf(20_000)


def run() -> None:
    branch()
    other()


def test_frames_are_those_of_pstats(tmp_path: Path) -> None:
    profile, stats = measured(tmp_path, run)
    assert profile.source is ProfileSource.CPROFILE and not profile.exact_lines and not profile.slices
    found = {(one.file or "~", one.line, one.name): one for one in profile.frames}
    for (file, line, name), (_, calls, own, total, _) in stats.items():
        frame = found[file, line, name]
        assert (frame.calls, frame.self_us, frame.total_us) == (calls, own * 1e6, total * 1e6)
    assert profile.total_us == pytest.approx(sum(entry[2] for entry in stats.values()) * 1e6)


def test_contexts_share_a_callee_by_its_callers(tmp_path: Path) -> None:
    profile, _ = measured(tmp_path, run)
    contexts = {
        (profile.frames[profile.nodes[node.parent].frame].name, profile.frames[node.frame].name): node
        for node in profile.nodes
        if node.parent >= 0
    }
    assert contexts["branch", "leaf"].calls == 3 and contexts["other", "leaf"].calls == 1
    assert contexts["run", "branch"].calls == 1
    assert sum(node.self_us for node in profile.nodes) == pytest.approx(profile.total_us)
    assert all(node.parent < place for place, node in enumerate(profile.nodes))


def test_modules_inside_modules_keep_their_time() -> None:
    """``call`` runs ``forward`` of the outer module, which calls ``call`` again for the inner one."""
    call, outer, inner, work, main = (("m.py", line, name) for line, name in enumerate(("call", "o", "i", "w", "main")))
    stats = {
        main: (1, 1, 0.0, 10.0, {}),
        call: (1, 2, 0.0, 10.0, {main: (1, 1, 0.0, 10.0), outer: (1, 1, 0.0, 8.0)}),
        outer: (1, 1, 2.0, 10.0, {call: (1, 1, 2.0, 10.0)}),
        inner: (1, 1, 1.0, 8.0, {call: (1, 1, 1.0, 8.0)}),
        work: (1, 1, 7.0, 7.0, {inner: (1, 1, 7.0, 7.0)}),
    }
    profile = read_stats(marshal.dumps(stats))
    chain = []
    node = next(place for place, one in enumerate(profile.nodes) if profile.frames[one.frame].name == "w")
    assert profile.nodes[node].total_us == pytest.approx(7e6)
    while node >= 0:
        chain.append(profile.frames[profile.nodes[node].frame].name)
        node = profile.nodes[node].parent
    assert chain == ["w", "i", "call", "o", "call", "main"]
    assert sum(one.self_us for one in profile.nodes) == pytest.approx(10e6)


def test_recursion_ends() -> None:
    one, two = ("m.py", 1, "one"), ("m.py", 2, "two")
    stats = {
        one: (1, 50, 1.0, 2.0, {two: (50, 1, 1.0, 2.0)}),
        two: (1, 50, 1.0, 2.0, {one: (50, 1, 1.0, 2.0), two: (2, 1, 0.1, 0.1)}),
    }
    profile = read_stats(marshal.dumps(stats))
    assert 2 <= len(profile.nodes) < 100
    assert sum(node.self_us for node in profile.nodes) == pytest.approx(2e6)


def test_files_of_the_older_profiler_count_pairs_only() -> None:
    f, g = ("m.py", 1, "f"), ("m.py", 2, "g")
    profile = read_stats(marshal.dumps({f: (1, 1, 1.0, 4.0, {}), g: (4, 4, 3.0, 3.0, {f: 4})}))
    assert [(node.calls, node.total_us) for node in profile.nodes] == [(1, 4e6), (4, 3e6)]


def test_methods_of_tensors_are_operators() -> None:
    f, item = ("m.py", 1, "f"), ("~", 0, "<method 'item' of 'torch._C.TensorBase' objects>")
    to, sort = ("~", 0, "<method 'to' of 'torch._C.TensorBase' objects>"), ("~", 0, "<method 'sort' of 'list' objects>")
    called = {one: (3, 3, 0.5, 0.5, {f: (3, 3, 0.5, 0.5)}) for one in (item, to, sort)}
    found = read_stats(marshal.dumps({f: (1, 1, 1.0, 2.5, {})} | called)).operators
    assert {(one.name, one.effect, one.calls, one.node) for one in found} == {
        ("item", Effect.SYNC, 3, 0),
        ("to", Effect.COPY, 3, 0),
    }


@pytest.mark.parametrize(
    "stats",
    [
        [1, 2],
        {("m.py", 1, "f"): (1, 1, 1.0, 1.0, 5)},
        {("m.py", 1, "f"): (1, 1, float("nan"), 1.0, {})},
        {("m.py", 1, "f"): (1, 1, -1.0, 1.0, {})},
        {("m.py", 1, "f"): (1, 1, 1.0, 1.0, {("m.py", 1, "f"): "x"})},
        {(1, 1, "f"): (1, 1, 1.0, 1.0, {})},
        {5: 6},
    ],
)
def test_other_marshalled_data_is_no_profile(stats: object) -> None:
    with pytest.raises(ProfileError, match="is not a readable cProfile file"):
        read_stats(marshal.dumps(stats))
