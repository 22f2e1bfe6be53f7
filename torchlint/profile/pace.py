"""How many steps and updates a profile holds, and so how often the functions in it run."""

from __future__ import annotations

import re

from torchlint.late import dataclass, regex
from torchlint.profile.model import Attribution, Profile, ProfileSource
from torchlint.rule import Frequency
from torchlint.rule.observed import Observed, Ran

_TORCH = regex(r"(^|[/\\])torch[/\\]")
_OPTIMIZER = regex(r"(^|[/\\])torch[/\\]optim[/\\](?!lr_scheduler|swa_utils)")
_BACKWARD = regex(r"(^|[/\\])torch[/\\]_tensor\.py$")
# What runs where compiled code does, and what compiles it; to import these modules means nothing.
_COMPILED = frozenset(
    {
        ("eval_frame.py", "compile_wrapper"),
        ("convert_frame.py", "_compile"),
        ("output_code.py", "__call__"),
        ("runtime_wrappers.py", "runtime_wrapper"),
    }
)
_REGION = "Torch-Compiled Region"
_ANNOTATION = "Optimizer.step#"
# Below this a profile is too short to say how often anything runs.
ENOUGH = 8
# What runs in one step of four still counts as run per step: delayed updates, exploration by chance.
SHARE = 4


@dataclass(frozen=True, slots=True)
class ProfilePace:
    """How often a profile went round: ``steps`` of the environment (or announced ones) and gradient ``updates``.

    0 where that is not known. ``announced``: the steps are those that the program told the profiler of.
    """

    steps: int = 0
    updates: int = 0
    announced: bool = False

    @property
    def unit(self) -> str:
        """What counts are given for: ``step``, ``update``, or nothing."""
        return "step" if self.steps else "update" if self.updates else ""

    @property
    def units(self) -> int:
        """How many of these there are."""
        return self.steps or self.updates

    @property
    def tells(self) -> bool:
        """Whether it is enough to say how often functions run."""
        return self.units >= ENOUGH

    def frequency(self, calls: int) -> Frequency:
        """Return the frequency for a number of calls."""
        if calls <= 1:
            return Frequency.ONCE
        if self.steps and calls * SHARE >= self.steps:
            return Frequency.STEP
        if self.updates and calls * SHARE >= self.updates:
            return Frequency.UPDATE
        return Frequency.EPISODE


def pace_of(profile: Profile) -> ProfilePace:
    """Count the outermost calls of ``step`` of anything but optimizers, and the steps of the busiest optimizer."""
    if profile.source is ProfileSource.SAMPLES:
        return ProfilePace()
    updates = _updates(profile)
    steps = _environment_steps(profile)
    return ProfilePace(steps or profile.steps, updates, announced=not steps and profile.steps > 0)


def observed(profile: Profile, attribution: Attribution, *, lowering: bool) -> Observed:
    """Return how often the functions of a project ran, as far as the profile can say so.

    Without ``lowering`` only of those that ran often.
    """
    pace = pace_of(profile)
    if not pace.tells:
        return Observed()
    ran = [Ran(each.path, each.name, each.calls, pace.frequency(each.calls)) for each in attribution.functions]
    if not lowering:
        return Observed(tuple(each for each in ran if each.frequency >= Frequency.UPDATE))
    return Observed(tuple(ran), complete=pace.steps > 0 and pace.updates > 0 and counts_all(profile, attribution))


def counts_all(profile: Profile, attribution: Attribution) -> bool:
    """Return whether a function that is not in the profile surely did not run in the thread that was profiled.

    Samples miss what is short, and compiled code runs functions that leave no trace.
    """
    if not profile.stacks or profile.source is ProfileSource.SAMPLES or attribution.unmatched:
        return False
    compiled = any((re.split(r"[/\\]", frame.file)[-1], frame.name) in _COMPILED for frame in profile.frames)
    return not compiled and not any(each.name.startswith(_REGION) for each in profile.operators)


def _environment_steps(profile: Profile) -> int:
    """Calls of ``step`` that lie in no other: an environment's own, and not those of what it wraps.

    Contexts may be shares of calls (cProfile), so they only say which part of a function's calls are such.
    """
    outer: dict[int, int] = {}
    calls: dict[int, int] = {}
    inside = [False] * len(profile.nodes)
    for number, node in enumerate(profile.nodes):
        frame = profile.frames[node.frame]
        steps = frame.name == "step" and bool(frame.file) and not _TORCH.search(frame.file)
        above = node.parent >= 0 and inside[node.parent]
        inside[number] = above or steps
        if steps:
            calls[node.frame] = calls.get(node.frame, 0) + node.calls
            outer[node.frame] = outer.get(node.frame, 0) + (0 if above else node.calls)
    return max((round(profile.frames[frame].calls * outer[frame] / max(1, calls[frame])) for frame in calls), default=0)


def _updates(profile: Profile) -> int:
    annotated: dict[str, int] = {}
    for each in profile.operators:
        if each.name.startswith(_ANNOTATION):
            annotated[each.name] = annotated.get(each.name, 0) + each.calls
    stepped = [each.calls for each in profile.frames if each.name == "step" and _OPTIMIZER.search(each.file)]
    back = [each.calls for each in profile.frames if each.name == "backward" and _BACKWARD.search(each.file)]
    return max(annotated.values(), default=0) or max(stepped, default=0) or max(back, default=0)
