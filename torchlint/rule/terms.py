"""The words that rules, settings and reports share: sets of rules, levels, what a fix may change and who applies it.

They stand apart from findings and rules, because a run that finds nothing needs neither.
"""

from __future__ import annotations

import enum


class RuleSet(enum.Enum):
    """When a rule runs: always, with ``--preview``, or only when selected by its code."""

    DEFAULT = "default"
    PREVIEW = "preview"
    OPT_IN = "opt-in"


class Level(enum.Enum):
    """How bad a finding is. Syntax errors are errors; rules are warnings or notes."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    def at_least(self, other: Level) -> bool:
        """Return whether this level is as bad as another or worse."""
        order = list(Level)
        return order.index(self) >= order.index(other)


class Change(enum.Enum):
    """What a fix may change besides the time. A fix that may change nothing is safe."""

    ROUNDING = "rounding"
    NONFINITE = "nonfinite"
    RNG = "rng"
    VALIDATION = "validation"
    ALIASING = "aliasing"
    ORDER = "order"
    UPDATES = "updates"
    MEMORY = "memory"
    OBSERVED = "observed"
    """Nothing, if what a run of the user's program showed holds in every run."""


class Applicability(enum.Enum):
    """Whether a fix is applied by ``--fix`` alone, only when the user accepts what it may change, or never."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"
