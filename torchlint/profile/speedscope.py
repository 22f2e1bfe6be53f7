"""Profiles in speedscope's JSON, sampled or with frames that open and close. py-spy and other tools write it."""

from __future__ import annotations

from array import array

from torchlint.profile.errors import ProfileError
from torchlint.profile.model import Profile
from torchlint.profile.samples import SAMPLE_US, Samples
from torchlint.profile.stream import Json, JsonStream
from torchlint.profile.tree import FrameKey

_UNITS = {"nanoseconds": 1e-3, "microseconds": 1.0, "milliseconds": 1e3, "seconds": 1e6, "none": SAMPLE_US}
_BROKEN = "is a broken speedscope file"
_MOST_FRAMES = 1 << 31
_LONGEST = 1e18


class Speedscope:
    """A speedscope file that is being read; its keys may come in any order, and py-spy puts the frames last."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._samples = Samples()
        self._keys: list[FrameKey] = []
        self._highest = -1

    def read_shared(self, stream: JsonStream) -> None:
        """Read the value of ``shared``: the frames."""
        for key in stream.members():
            if key == "frames":
                self._keys = [_key(frame) for frame in stream.values()]
            else:
                stream.skip()

    def read_profiles(self, stream: JsonStream) -> None:
        """Read the value of ``profiles``, one for each thread."""
        for _ in stream.items():
            thread = _Thread()
            thread.read(stream)
            self._highest = max(self._highest, thread.highest)
            thread.replay(self._samples)

    def profile(self) -> Profile:
        """Return what was read.

        Raises:
            ProfileError: there are no samples, or frames are missing.
        """
        if self._highest >= len(self._keys):
            raise ProfileError(f"{_BROKEN}: a sample names a frame that is not there")
        return self._samples.profile(self._keys)


class _Thread:
    """One of the profiles of a file, in columns until all of it is read."""

    def __init__(self) -> None:
        self.highest = -1
        self._name = ""
        self._unit = ""
        self._start = 0.0
        self._stacks: dict[tuple[int, ...], int] = {}
        self._samples = array("I")
        self._weights = array("d")
        # Of opened and closed frames: when, and the frame, or -1 where one closes.
        self._times = array("d")
        self._opened = array("q")

    def read(self, stream: JsonStream) -> None:
        for key in stream.members():
            if key == "samples":
                for sample in stream.values():
                    frames = tuple(map(self._frame, sample)) if isinstance(sample, list) else ()
                    self._samples.append(self._stacks.setdefault(frames, len(self._stacks)))
            elif key == "weights":
                self._weights.extend(map(_number, stream.values()))
            elif key == "events":
                for event in stream.values():
                    self._read_event(event)
            elif key in ("name", "unit", "startValue"):
                self._read_about(key, stream.value())
            else:
                stream.skip()

    def replay(self, samples: Samples) -> None:
        """Replay the thread, now that all its frames are known."""
        unit = _UNITS.get(self._unit)
        if unit is None:
            raise ProfileError(f"is a speedscope file that measures {self._unit or 'nothing'}, not time")
        samples.timed = samples.timed and self._unit != "none"
        now = self._start * unit
        stack = samples.thread(self._name, now)
        frames = list(self._stacks)
        for number, weight in zip(self._samples, self._weights, strict=False):
            stack.become(frames[number])
            now += weight * unit
            stack.advance(now)
        stack.become(())
        for at, frame in zip(self._times, self._opened, strict=True):
            stack.advance(at * unit)
            if frame >= 0:
                stack.push(frame)
            else:
                stack.pop()

    def _read_about(self, key: str, value: Json) -> None:
        if key == "startValue":
            self._start = _number(value)
        elif key == "name" and isinstance(value, str):
            self._name = value
        elif key == "unit" and isinstance(value, str):
            self._unit = value

    def _read_event(self, event: Json) -> None:
        kind = event.get("type") if isinstance(event, dict) else None
        if not isinstance(event, dict) or kind not in ("O", "C"):
            raise ProfileError(f"{_BROKEN}: an event neither opens nor closes a frame")
        self._times.append(_number(event.get("at")))
        self._opened.append(self._frame(event.get("frame")) if kind == "O" else -1)

    def _frame(self, value: Json) -> int:
        if not isinstance(value, int) or not 0 <= value <= _MOST_FRAMES:
            raise ProfileError(f"{_BROKEN}: a frame is not a number")
        self.highest = max(self.highest, value)
        return value


def _number(value: Json) -> float:
    if not isinstance(value, (int, float)) or not -_LONGEST < value < _LONGEST:
        raise ProfileError(f"{_BROKEN}: a time is not a number")
    return value


def _key(frame: Json) -> FrameKey:
    if not isinstance(frame, dict):
        raise ProfileError(f"{_BROKEN}: a frame has no name")
    name, file, line = frame.get("name"), frame.get("file"), frame.get("line")
    return (
        file if isinstance(file, str) else "",
        line if isinstance(line, int) and line > 0 else 0,
        name if isinstance(name, str) else "",
    )
