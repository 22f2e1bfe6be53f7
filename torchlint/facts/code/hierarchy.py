"""Orders classes, bases first, without the circles that no run of a program can build; knows modules of libraries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from torchlint.models import protocols

Bases = Mapping[str, Sequence[str]]


def hierarchy(bases: Bases) -> dict[str, Sequence[str]]:
    """Order classes so that each comes after its bases, and drop the bases that close a circle, in linear time.

    Python makes no class before its bases, so a base in a circle is not what its name seems to be.

    Args:
        bases: the bases of each class of the project; these may be classes of others.
    """
    ours = {name: [base for base in own if base in bases] for name, own in bases.items()}
    derived = _turned(ours)
    order = _peeled(bases, ours, derived)
    if len(order) == len(bases):
        return {name: bases[name] for name in order}
    left = bases.keys() - order
    left -= set(_peeled(left, derived, ours))  # these derive from a circle, and lie in none
    return hierarchy(
        {name: [base for base in own if base not in left] if name in left else own for name, own in bases.items()}
    )


def _turned(bases: Bases) -> dict[str, list[str]]:
    derived: dict[str, list[str]] = {name: [] for name in bases}
    for name, own in bases.items():
        for base in own:
            derived[base].append(name)
    return derived


def _peeled(names: Collection[str], needs: Bases, needed: Bases) -> list[str]:
    """The names that can be taken off one by one, each when it needs none of the rest."""
    missing = {name: sum(each in names for each in needs[name]) for name in names}
    ready = [name for name, count in missing.items() if not count]
    for name in ready:  # it grows
        for each in needed[name]:
            if each in missing:
                missing[each] -= 1
                if not missing[each]:
                    ready.append(each)
    return ready


@lru_cache(maxsize=4096)
def is_external_module(name: str) -> bool:
    """Return whether a class outside the project is known to be an ``nn.Module``."""
    if name.startswith(("torch.nn.modules.", "torch.nn.")):
        last = name.rpartition(".")[2].removeprefix("_")  # ``_Loss`` is the base of all losses
        return last[:1].isupper() and last not in ("Parameter", "ParameterList", "ParameterDict")
    return name.endswith(".Module") or protocols.is_module(name)
