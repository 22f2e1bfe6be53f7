"""Profiles made by hand, and what they say of a project of a few texts."""

from pathlib import Path

from torchlint.engine.run import check
from torchlint.engine.survey import survey
from torchlint.profile.attribute import attribute
from torchlint.profile.model import Effect, Frame, Node, Operator, Profile, ProfileSource
from torchlint.profile.report import report
from torchlint.settings.model import Settings


def frame(file, name, calls, total_us, line=1, self_us=0.0):
    return Frame(file, line, name, calls, self_us, total_us)


def node(of, parent, calls, total_us, self_us=0.0):
    return Node(of, parent, calls, self_us, total_us)


def operator(name, at, calls, total_us, within="", effect=Effect.NONE):
    return Operator(name, at, within, effect, calls, total_us, total_us, 0.0)


def profile_of(
    frames=(), nodes=(), operators=(), source=ProfileSource.TORCH, steps=0, order=(), total_us=100.0, exact=False
):
    return Profile(
        source=source,
        total_us=total_us,
        steps=steps,
        exact_lines=exact,
        stacks=bool(frames),
        device=False,
        assumed_rate=False,
        frames=tuple(frames),
        nodes=tuple(nodes),
        operators=tuple(operators),
        order=tuple(order),
        threads=(),
        slices=(),
    )


def joined(profile, texts, folder: Path, trace="trace.json", **settings):
    """A profile joined to what is found in some files, which are written into a folder."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    chosen = Settings(root=folder, isolated=True, **settings)
    attribution = attribute(profile, folder, [folder / name for name in texts])
    result = check([folder], chosen)
    functions = survey([folder], chosen)
    return report(trace, profile, attribution, functions, result.findings, result.sources, result.files)
