"""Collapsed stacks, a line for each: ``outer;inner COUNT``. py-spy writes them with ``--format raw``, Austin too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchlint.late import regex
from torchlint.profile.errors import ProfileError
from torchlint.profile.model import Profile
from torchlint.profile.samples import SAMPLE_US, Samples
from torchlint.profile.stream import CUT
from torchlint.profile.tree import FrameKey, Numbers

# py-spy writes a line without a stack for samples in which no Python code ran.
_LINE = regex(r"(?:(?P<stack>\S.*) )?(?P<count>\d{1,15})")
_PYSPY = regex(r"(?P<name>.+) \((?P<file>[^()]+?)(?::(?P<line>\d{1,9}))?\)")
_AUSTIN = regex(r"(?P<file>.+\.py):(?P<name>[^:]*)(?::(?P<line>\d{1,9}))?")
_LONGEST = 1 << 20
_FIRST = 20


def looks_collapsed(head: bytes) -> bool:
    """Return whether the first lines are stacks, with a file in one of their frames."""
    lines = head.decode("utf-8", "replace").split("\n")
    whole = lines[: min(_FIRST, len(lines) - 1)] or lines
    stacks = [_stack(line.strip()) for line in whole if line.strip()]
    return None not in stacks and any(file for stack in stacks if stack for file, *_ in stack[0])


def read_collapsed(read: Callable[[], bytes]) -> Profile:
    """Return the profile in lines of collapsed stacks, which the given function reads piece by piece.

    Raises:
        ProfileError: a line is not a stack, or the last one is cut.
    """
    samples, numbers = Samples(timed=False, ordered=False), Numbers()
    stack = samples.thread("all threads", 0.0)
    now = 0.0
    for row, line in enumerate(_lines(read), 1):
        found = _stack(line)
        if found is None:
            raise ProfileError(f"holds no stack in line {row}")
        keys, count = found
        stack.become(list(map(numbers.number, keys)))
        now += count * SAMPLE_US
        stack.advance(now)
    stack.become([])
    return samples.profile(numbers.keys())


def _lines(read: Callable[[], bytes]) -> Iterator[str]:
    """The lines that are not empty; the last has to end."""
    rest = b""
    while piece := read():
        *whole, rest = (rest + piece).split(b"\n")
        if len(rest) > _LONGEST:
            raise ProfileError("is not a profile: it has a line of more than a megabyte")
        yield from filter(None, (line.decode("utf-8", "replace").strip() for line in whole))
    if rest.strip():
        raise ProfileError(CUT)


def _stack(line: str) -> tuple[list[FrameKey], int] | None:
    """The frames of a line and how often they were seen; ``None`` where it is not a stack."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    return [_key(part) for part in (match["stack"] or "").split(";") if part], int(match["count"])


def _key(part: str) -> FrameKey:
    match = _PYSPY.fullmatch(part) or _AUSTIN.fullmatch(part)
    return (match["file"], int(match["line"] or 0), match["name"]) if match else ("", 0, part)
