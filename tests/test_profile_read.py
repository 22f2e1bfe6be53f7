"""Files that are no profiles, or broken ones: one clear sentence each."""

from __future__ import annotations

import gzip
import json
import marshal
import os
import pickle
import stat
from pathlib import Path

import pytest

from torchlint.profile.errors import ProfileError
from torchlint.profile.read import read

UNKNOWN = "is not a profile of the torch profiler, cProfile, py-spy or speedscope"
EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.0, "args": {}}
EVENTS = [EVENT | {"ts": 10 * at} for at in range(3)]
TRACE = json.dumps({"schemaVersion": 1, "traceEvents": EVENTS, "traceName": "x"}).encode()
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (PNG, UNKNOWN),
        (pickle.dumps({"traceEvents": []}), UNKNOWN),
        (b"print('hello')\n", UNKNOWN),
        (b"just words 42\n", UNKNOWN),
        (b"42\n", UNKNOWN),
        (b"main (a.py:1) 1\nwords\n", UNKNOWN),
        (b"\xff\xfe{\0}\0", UNKNOWN),
        (b"{}", f"{UNKNOWN}: its JSON has no traceEvents"),
        (b'{"a": [1, {"b": 2}]}', f"{UNKNOWN}: its JSON has no traceEvents"),
        (b'{"traceEvents": []}', "is a trace without a single event"),
        (b"[]", "is a trace without a single event"),
        (b'{"traceEvents": [1, "a", null, {}]}', "is a trace without torch operators"),
        (b'{"traceEvents": 5}', "is not a profile: a list is missing at '5}'"),
        (TRACE[: len(TRACE) // 2], "is cut short: it ends in the middle"),
        (TRACE[:-1], "is cut short: it ends in the middle"),
        (gzip.compress(TRACE, mtime=0)[:-9], "is cut short: its gzip data ends in the middle"),
        (gzip.compress(TRACE, mtime=0)[:-4], "is cut short: its gzip data ends in the middle"),
        (TRACE + b" {}", "is not valid JSON at '{}'"),
        (b'{"traceEvents": [{"name": oops}]}', "is not valid JSON at '{\"name\": oops}]}'"),
        (b"main (a.py:1);f (a.py:2) 3\nmain (a.py:1) 4", "is cut short: it ends in the middle"),
        (b"main (a.py:1);f (a.py:2) 3\n" * 30 + b"nonsense\n", "holds no stack in line 31"),
        (b"main (a.py:1) 0\n", "holds no samples"),
        (b'{"profiles": [], "shared": {"frames": []}}', "holds no samples"),
        (b'{"profiles": {}, "shared": {"frames": []}}', "is not a profile: a list is missing at"),
        (b'{"profiles": [{"unit": "bytes"}]}', "is a speedscope file that measures bytes, not time"),
        (marshal.dumps({}), "is a cProfile file without a single call"),
        (marshal.dumps({("a.py", 1, "f"): (1, 1, 0.5, 0.5, {})})[:-9], "is not a readable cProfile file: cut short"),
        (marshal.dumps({("a.py", 1): 5}), "is not a readable cProfile file: an entry that is not a function"),
    ],
)
def test_what_is_no_profile_is_told_in_one_sentence(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(data)
    with pytest.raises(ProfileError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path} {message}")
    assert str(raised.value).endswith(".") and "\n" not in str(raised.value)


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="is a folder, not a profile"):
        read(tmp_path)
    with pytest.raises(ProfileError, match=r"cannot be read: No such file or directory\."):
        read(tmp_path / "none")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everybody may read the file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(TRACE)
    path.chmod(stat.S_IWUSR)
    with pytest.raises(ProfileError, match=r"cannot be read: Permission denied\."):
        read(path)


def test_content_counts_and_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "profile.prof"
    path.write_bytes(b"\xef\xbb\xbf" + TRACE)
    assert [(one.name, one.calls) for one in read(path).operators] == [("aten::add", 3)]
    path.write_bytes(gzip.compress(TRACE, mtime=0))
    assert [(one.name, one.calls) for one in read(path).operators] == [("aten::add", 3)]


def test_every_cut_of_a_trace_is_told(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    for end in range(1, len(TRACE), 7):
        path.write_bytes(TRACE[:end])
        with pytest.raises(ProfileError):
            read(path)
