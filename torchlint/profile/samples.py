"""What readers of sampled profiles share: their contexts, the stacks of their threads, and the profile in the end."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.profile.errors import ProfileError
from torchlint.profile.model import Profile, ProfileSource, Slice
from torchlint.profile.tree import FrameKey, Timeline, Tree, frames_of

# py-spy takes 100 samples a second if nothing says otherwise; some files do not tell how many were taken.
SAMPLE_US = 10_000.0


class Samples:
    """A sampled profile that is being read: frames are told by numbers.

    ``timed``: samples have a duration, and are not only counted; ``ordered``: they come in the order of time.
    """

    def __init__(self, timed: bool = True, ordered: bool = True) -> None:
        """Start with nothing."""
        self.timed = timed
        self.ordered = ordered
        self.tree = Tree()
        self.timeline = Timeline()
        self.threads: list[Stack] = []

    def thread(self, name: str, start_us: float) -> Stack:
        """Return a further thread."""
        stack = Stack(self, len(self.threads), name, start_us)
        self.threads.append(stack)
        return stack

    def profile(self, keys: Sequence[FrameKey]) -> Profile:
        """Return what was read, with the frames of all numbers.

        Raises:
            ProfileError: there are no samples.
        """
        nodes = self.tree.nodes()
        total = max((stack.total_us for stack in self.threads), default=0.0)
        if not total:
            raise ProfileError("holds no samples")
        return Profile(
            source=ProfileSource.SAMPLES,
            total_us=total,
            steps=0,
            exact_lines=any(line for _, line, _ in keys),
            stacks=True,
            device=False,
            assumed_rate=not self.timed,
            frames=frames_of(nodes, keys),
            nodes=nodes,
            operators=(),
            order=(),
            threads=tuple(stack.name for stack in self.threads),
            slices=self.timeline.slices(min(stack.start_us for stack in self.threads)) if self.ordered else (),
        )


class Stack:
    """What runs in one thread: moves through time, and gives it to contexts and slices."""

    def __init__(self, samples: Samples, number: int, name: str, start_us: float) -> None:
        """Start with an empty stack."""
        self.name = name
        self.start_us = start_us
        self.total_us = 0.0
        self._samples = samples
        self._number = number
        self._now_us = start_us
        # Frame, context and start of each frame that runs, the outermost first.
        self._running: list[tuple[int, int, float]] = []

    def advance(self, now_us: float) -> None:
        """Add the time since the last call to the innermost context; time that runs backwards counts as none."""
        passed = now_us - self._now_us
        if passed > 0:
            self._now_us = now_us
            if self._running:
                self.total_us += passed
                self._samples.tree.add(self._running[-1][1], 0, passed)

    def push(self, frame: int) -> None:
        """Begin a frame."""
        node = self._samples.tree.child(self._running[-1][1] if self._running else -1, frame)
        self._running.append((frame, node, self._now_us))

    def pop(self) -> None:
        """End the innermost frame; do nothing if none is running."""
        if not self._running:
            return
        _, node, start = self._running.pop()
        duration = self._now_us - start
        if duration > self._samples.timeline.least_us:
            self._samples.timeline.add(Slice(self._number, len(self._running), start, duration, node, ""))

    def become(self, frames: Sequence[int]) -> None:
        """Make these the running frames, outermost first; the ones shared with the last stack go on."""
        shared = 0
        for (running, *_), frame in zip(self._running, frames, strict=False):
            if running != frame:
                break
            shared += 1
        while len(self._running) > shared:
            self.pop()
        for frame in frames[shared:]:
            self.push(frame)
