"""A profile as plain data: what every reader makes of its file, and what attribution makes of that.

All times are in microseconds. Two trees of words run through it: a *frame* is a function (or a line of one) as the
profile names it, a *node* is a frame in its calling context. Nothing here knows the project; ``Attribution`` does.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field

from torchlint.late import dataclass


class ProfileSource(enum.Enum):
    """Which tool measured, and so what is known."""

    TORCH = "torch profiler"
    """Every call and operator; a frame's line is that of its ``def``."""
    CPROFILE = "cProfile"
    """Every call; a frame's line is that of its ``def``; contexts are shares of who called whom, no operators."""
    SAMPLES = "sampling profiler"
    """py-spy, speedscope and others: executing lines, no calls are counted."""


class Effect(enum.Enum):
    """What an operator or runtime call does besides computing; of several inside each other the outermost has it."""

    NONE = "none"
    COPY = "copy"
    """Makes a copy of a tensor, with another dtype, device or layout or none of these."""
    SYNC = "sync"
    """The host waits for the device, or reads a value back."""
    LAUNCH = "launch"
    """A kernel is launched."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A function as the profile names it.

    Attributes:
        file: as recorded: absolute, relative or shortened; empty for code that is not Python.
        line: 1-based, 0 where unknown: the executing line where ``Profile.exact_lines``, else that of the ``def``
            (the torch profiler gives the executing line of functions that were running when it was started).
        name: the function's, without its class, ``<module>`` for a module; a built-in's or an operator's name.
        calls: 0 where only samples are known.
        self_us: in the function itself.
        total_us: with all it called; recursion counts once.
    """

    file: str
    line: int
    name: str
    calls: int
    self_us: float
    total_us: float


@dataclass(frozen=True, slots=True)
class Node:
    """A frame in its calling context.

    Attributes:
        frame: index into ``Profile.frames``.
        parent: index into ``Profile.nodes``, always smaller than the node's own; -1 for a root.
        calls: 0 where only samples are known.
        self_us, total_us: in this context, without and with what it called.
    """

    frame: int
    parent: int
    calls: int
    self_us: float
    total_us: float


@dataclass(frozen=True, slots=True)
class Operator:
    """All calls of one operator (``aten::item``), runtime call (``cudaLaunchKernel``) or device copy in one context.

    Attributes:
        name: as recorded.
        node: index into ``Profile.nodes`` of the innermost Python code it ran in; -1 where no stacks were recorded.
        within: the outermost operator it ran inside, empty for those that are outermost. Times of operators with an
            empty ``within`` never overlap in a thread.
        effect: what it does besides computing.
        calls: how often.
        self_us, total_us: on the host, without and with the operators inside.
        device_us: on the device, of the kernels it launched itself or through operators inside.
    """

    name: str
    node: int
    within: str
    effect: Effect
    calls: int
    self_us: float
    total_us: float
    device_us: float


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of time in one thread, for a picture: ``node`` ran, or ``operator`` inside of it where not empty.

    ``start_us`` counts from the start of the profile, ``depth`` from 0 at the outermost.
    """

    thread: int
    depth: int
    start_us: float
    duration_us: float
    node: int
    operator: str


@dataclass(frozen=True, slots=True)
class Pair:
    """All calls of one frame by another, in whatever context: ``caller`` and ``callee`` index ``Profile.frames``."""

    caller: int
    callee: int
    calls: int
    total_us: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What one file says.

    Attributes:
        source: which tool.
        total_us: the measured time that shares are of: from first to last event of the busiest thread, or the sum of
            its samples.
        steps: how many steps the program announced (``prof.step()``), 0 where it did not.
        exact_lines: whether frames name the executing line.
        stacks: whether it is known which Python code ran; without, ``frames`` and ``nodes`` are empty.
        device: whether work of an accelerator was recorded.
        assumed_rate: whether samples were counted but not timed, and taken as 10 ms each; only shares are known then.
        frames, nodes, operators: what ran.
        order: names of the outermost operators of one typical step, in order; at most ``MOST_ORDER`` of them.
        threads: their names; ``Slice.thread`` is an index into them.
        pairs: who called whom, where that is known better than from ``nodes``, whose contexts are shares (cProfile).
        slices: the largest of the timeline, by start; at most ``MOST_SLICES``. None where no order is known.
    """

    source: ProfileSource
    total_us: float
    steps: int
    exact_lines: bool
    stacks: bool
    device: bool
    assumed_rate: bool
    frames: tuple[Frame, ...]
    nodes: tuple[Node, ...]
    operators: tuple[Operator, ...]
    order: tuple[str, ...]
    threads: tuple[str, ...]
    slices: tuple[Slice, ...]
    pairs: tuple[Pair, ...] = ()


MOST_ORDER = 20_000
MOST_SLICES = 20_000


@dataclass(frozen=True, slots=True)
class Callee:
    """What a function of the project called directly: ``name`` as the profile has it; ``own``: it is in the project."""

    name: str
    file: str
    calls: int
    total_us: float
    own: bool = False


@dataclass(frozen=True, slots=True)
class LibraryEvents:
    """Copies and waits that installed code makes for a function of the project by itself, such as an optimizer.

    ``where`` is the module, e.g. ``torch.optim.adam``.
    """

    where: str
    copies: int
    syncs: int


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """All calls of one operator whose innermost function of the project is the one that holds this."""

    name: str
    within: str
    effect: Effect
    calls: int
    self_us: float
    total_us: float
    device_us: float


@dataclass(frozen=True, slots=True)
class LineCost:
    """What one line cost: its own work and that of code outside the project which it called."""

    line: int
    own_us: float
    total_us: float


@dataclass(frozen=True, slots=True)
class FunctionCost:
    """What one function of the project cost.

    Attributes:
        path: of the file, as the project names it: relative to its root, with ``/``.
        name: qualified, as ``Agent.act``; ``<module>`` for the file's own code.
        line, end: first (a decorator's, where there is one) and last row of the definition in the file of today.
        calls: 0 where only samples are known.
        own_us: in it and in code outside the project that it called.
        total_us: with the functions of the project that it called; recursion counts once.
        device_us: of the device, for ``operators``.
        copies, syncs, launches: how many of ``operators`` had such an effect.
        lines: by line; empty where no executing lines are known.
        operators: by total time, the largest first.
        callees: by total time, the largest first.
        inside: those of ``copies`` and ``syncs`` that the project's own code does not ask for, most first.
    """

    path: str
    name: str
    line: int
    end: int
    calls: int
    own_us: float
    total_us: float
    device_us: float
    copies: int
    syncs: int
    launches: int
    lines: tuple[LineCost, ...]
    operators: tuple[OperatorCost, ...]
    callees: tuple[Callee, ...]
    inside: tuple[LibraryEvents, ...] = ()


@dataclass(frozen=True, slots=True)
class Attribution:
    """A profile mapped onto a project.

    Attributes:
        functions: those that ran, by path and line.
        outside_us: self time with no function of the project above it.
        owners: for each of ``Profile.frames`` the index into ``functions``, -1 for code outside the project.
        unmatched: recorded files that look like the project's but whose function is in no file of today, at most ten.
        imports_us: what importing modules took; it is part of no function's time, but for what the functions of the
            project do that modules call when they are imported.
        mentions: for a profile without stacks, how many lines of the project name an operator that runs nowhere else.
    """

    functions: tuple[FunctionCost, ...]
    outside_us: float
    owners: tuple[int, ...]
    unmatched: tuple[str, ...]
    imports_us: float = 0.0
    mentions: Mapping[str, int] = field(default_factory=dict)
