"""What a profile says of how often functions ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.rule.frequency import Frequency


@dataclass(frozen=True, slots=True)
class Ran:
    """How often a function ran in a profile: how many times in all, and the frequency that this comes to.

    ``path`` is relative to the project root, with ``/``; ``name`` is a qualified name such as ``Agent.act``.
    """

    path: str
    name: str
    calls: int
    frequency: Frequency


@dataclass(frozen=True, slots=True)
class Observed:
    """The functions of a project that ran in a profile; ``complete``: no other ran that has one of them for company.

    That is another method of its class, or of a function another function of its file.
    """

    functions: tuple[Ran, ...] = ()
    complete: bool = False
