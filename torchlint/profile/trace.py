"""Chrome's trace format: the torch profiler writes it, and py-spy with ``--format chrometrace``."""

from __future__ import annotations

from torchlint.profile.errors import ProfileError
from torchlint.profile.events import TraceEvents
from torchlint.profile.model import Profile, ProfileSource
from torchlint.profile.nesting import Nesting
from torchlint.profile.samples import Samples, Stack
from torchlint.profile.stream import Json, JsonStream
from torchlint.profile.tree import Numbers, frames_of


def read_trace(stream: JsonStream) -> Profile:
    """Return a profile of the list of events that comes next.

    Raises:
        ProfileError: it is cut or broken, or has no events of the torch profiler or of py-spy.
    """
    events, begun = TraceEvents(), _Begun()
    empty = True
    for event in stream.values():
        empty = False
        if isinstance(event, dict):
            if event.get("ph") in ("B", "E"):
                begun.add(event)
            else:
                events.add(event)
    if empty:
        raise ProfileError("is a trace without a single event")
    if events.threads:
        return _profile(events)
    if begun.samples.threads:
        return begun.samples.profile(begun.numbers.keys())
    raise ProfileError("is a trace without torch operators and without Python functions")


def _profile(events: TraceEvents) -> Profile:
    nesting = Nesting(events)
    nodes = nesting.tree.nodes()
    spans = [thread.span() for thread in events.threads]
    return Profile(
        source=ProfileSource.TORCH,
        total_us=max(end - start for start, end in spans),
        steps=len(events.steps),
        exact_lines=bool(nodes) and not nesting.has_python,
        stacks=bool(nodes),
        device=nesting.device,
        assumed_rate=False,
        frames=frames_of(nodes, nesting.numbers.keys()),
        nodes=nodes,
        operators=nesting.operators(),
        order=tuple(nesting.order),
        threads=tuple(map(events.label, events.threads)),
        slices=nesting.timeline.slices(min(start for start, _ in spans)),
    )


class _Begun:
    """Frames that begin and end, as py-spy writes them."""

    def __init__(self) -> None:
        self.samples = Samples()
        self.numbers = Numbers()
        self._stacks: dict[str, Stack] = {}

    def add(self, event: dict[str, Json]) -> None:
        """Add the begin or end of a frame; skip incomplete ones."""
        now, name, about = event.get("ts"), event.get("name"), event.get("args")
        if not isinstance(now, (int, float)) or not isinstance(name, str) or not isinstance(about, dict):
            return
        file, line = about.get("filename"), about.get("line")
        if not isinstance(file, str) or not isinstance(line, int):
            return
        lane = f"thread {event.get('tid')}"
        if lane not in self._stacks:
            self._stacks[lane] = self.samples.thread(lane, now)
        stack = self._stacks[lane]
        stack.advance(now)
        if event.get("ph") == "B":
            stack.push(self.numbers.number((file, line, name)))
        else:
            stack.pop()
