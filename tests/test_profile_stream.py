"""Large files piece by piece: JSON out of a sliding window, gzip, progress, and what is broken."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchlint.profile import stream as module
from torchlint.profile.errors import ProfileError
from torchlint.profile.stream import ByteStream, Json, JsonStream

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
DOCUMENTS = st.recursive(SCALARS, lambda one: st.lists(one) | st.dictionaries(st.text(), one), max_leaves=20)


def pieces(data: bytes, size: int) -> Callable[[], bytes]:
    parts = iter([data[at : at + size] for at in range(0, len(data), size)])
    return lambda: next(parts, b"")


def walked(stream: JsonStream) -> Json:
    """A document by opening every container, not by taking it whole."""
    following = stream.peek()
    if following == "[":
        return [walked(stream) for _ in stream.items()]
    if following == "{":
        return {key: walked(stream) for key in stream.members()}
    return stream.value()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
@given(DOCUMENTS, st.integers(1, 40), st.sampled_from([None, 1]))
def test_documents_are_read_as_json_reads_them(document: Json, size: int, indent: int | None) -> None:
    data = json.dumps(document, indent=indent).encode()
    assert JsonStream(pieces(data, size)).value() == document
    assert walked(JsonStream(pieces(data, size))) == document
    skipped = JsonStream(pieces(b"[" + data + b", 7]", size))
    items = skipped.items()
    next(items)
    skipped.skip()
    next(items)
    assert skipped.value() == 7
    assert list(items) == [] and skipped.peek() == ""


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
@given(st.lists(DOCUMENTS, max_size=5), st.integers(1, 40))
def test_lists_give_their_elements(documents: list[Json], size: int) -> None:
    data = json.dumps(documents, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert list(JsonStream(pieces(data, size)).values()) == json.loads(data.decode(errors="replace"))


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_cut_document_is_said_to_be_cut(cut: int) -> None:
    data = b'{"traceEvents": [{"a": 1}, 2]}'[:cut]
    with pytest.raises(ProfileError, match=r"cut short|no valid JSON"):
        walked(JsonStream(pieces(data, 7)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a" 1}', "is not valid JSON at '1}'"),
        ('{"a": nope}', "is not valid JSON at 'nope}'"),
        ("{1: 2}", "is not valid JSON at ': 2}'"),
        ("[1 2]", "is not valid JSON at '2]'"),
        ("[" * 200_000 + "]" * 200_000, "is not a profile: its JSON is nested too deeply"),
        ('{"a": 1', "is cut short: it ends in the middle"),
    ],
)
def test_broken_documents(text: str, message: str) -> None:
    for act in (JsonStream.skip, JsonStream.value):
        if act is JsonStream.value and "1:" in text:
            continue
        with pytest.raises(ProfileError) as raised:
            act(JsonStream(pieces(text.encode(), 1000)))
        assert act is JsonStream.value or str(raised.value) == message


def test_a_value_without_end_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LARGEST", 10_000)
    read = 0

    def endless() -> bytes:
        nonlocal read
        read += 1
        return b'["' + b"x" * 1000 if read == 1 else b"x" * 1000

    with pytest.raises(ProfileError, match="not valid JSON"):
        JsonStream(endless).skip()
    assert read < 20


def test_gzip_is_unpacked_and_progress_told(tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    path = tmp_path / "packed"
    # Two members, one after the other, as ``cat`` makes them.
    path.write_bytes(gzip.compress(content) + gzip.compress(b"end", mtime=0))
    told: list[tuple[int, int]] = []
    with ByteStream(path, lambda done, size: told.append((done, size))) as file:
        assert file.peek() and file.peek() == file.peek()
        assert b"".join(iter(file.read, b"")) == content + b"end"
    assert told[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_small_file_that_unpacks_to_a_large_one_comes_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(b"\0" * 50_000_000, mtime=0))
    with ByteStream(path) as file:
        assert max(map(len, iter(file.read, b""))) < 1_000_000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(b"x" * 1000, mtime=0)[:-6], "is cut short: its gzip data ends in the middle"),
        (gzip.compress(b"x" * 1000, mtime=0)[:12], "is cut short: its gzip data ends in the middle"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"\xff" * 50, "is gzipped and broken"),
        (gzip.compress(b"x", mtime=0) + b"rubbish", "is gzipped and broken"),
    ],
    ids=["cut in the sum", "cut in the data", "no data", "rubbish behind"],
)
def test_broken_gzip(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "packed"
    path.write_bytes(data)
    with ByteStream(path) as file, pytest.raises(ProfileError, match=message):
        list(iter(file.read, b""))
