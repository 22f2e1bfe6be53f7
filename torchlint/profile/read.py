"""From a file to a profile, whichever tool wrote it: told by content, not by name."""

from __future__ import annotations

import codecs
from pathlib import Path

from torchlint.profile.collapsed import looks_collapsed, read_collapsed
from torchlint.profile.cprofile import looks_marshalled, read_stats
from torchlint.profile.errors import ProfileError
from torchlint.profile.model import Profile
from torchlint.profile.speedscope import Speedscope
from torchlint.profile.stream import ByteStream, JsonStream, Progress
from torchlint.profile.trace import read_trace

# A cProfile file is read whole; it has some hundred bytes for each function that ran.
_LARGEST_STATS = 1 << 28
_UNKNOWN = "is not a profile of the torch profiler, cProfile, py-spy or speedscope"


def read(path: Path, progress: Progress | None = None) -> Profile:
    """Read a profile of the torch profiler, cProfile, py-spy or speedscope; a large one as a stream.

    Args:
        path: of the file, which may be gzipped.
        progress: called now and then with the bytes that were read and the size of the file.

    Raises:
        ProfileError: it cannot be read, is cut, or is none of these; the message is one sentence that names the file.
    """
    try:
        if path.is_dir():
            raise ProfileError("is a folder, not a profile")
        with ByteStream(path, progress) as file:
            return _read(file)
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ProfileError as error:
        raise ProfileError(f"{path} {error}.") from error


def _read(file: ByteStream) -> Profile:
    head = file.peek()
    if not head.strip():
        raise ProfileError("is empty")
    if looks_marshalled(head):
        return read_stats(_whole(file))
    if head.removeprefix(codecs.BOM_UTF8).lstrip().startswith((b"{", b"[")):
        stream = JsonStream(file.read)
        profile = _read_json(stream)
        stream.end()
        return profile
    if looks_collapsed(head):
        return read_collapsed(file.read)
    raise ProfileError(_UNKNOWN)


def _whole(file: ByteStream) -> bytes:
    data = bytearray()
    while piece := file.read():
        data += piece
        if len(data) > _LARGEST_STATS:
            raise ProfileError("is not a profile: it starts like a cProfile file, but is too large for one")
    return bytes(data)


def _read_json(stream: JsonStream) -> Profile:
    if stream.peek() == "[":
        return read_trace(stream)
    trace: Profile | None = None
    speedscope: Speedscope | None = None
    for key in stream.members():
        if key == "traceEvents" and not trace:
            trace = read_trace(stream)
        elif key in ("profiles", "shared"):
            speedscope = speedscope or Speedscope()
            speedscope.read_profiles(stream) if key == "profiles" else speedscope.read_shared(stream)
        else:
            stream.skip()
    if trace is not None:
        return trace
    if speedscope is not None:
        return speedscope.profile()
    raise ProfileError(f"{_UNKNOWN}: its JSON has no traceEvents")
