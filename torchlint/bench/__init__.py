"""Runs the examples of rules before and after their fix: equal results first, then time. Needs torch and numpy."""

from torchlint.bench.agree import Difference, difference
from torchlint.bench.measure import Disagreement, Figure, Round, Unsteady, figure, measure, summarise
from torchlint.bench.program import Program, build

__all__ = [
    "Difference",
    "Disagreement",
    "Figure",
    "Program",
    "Round",
    "Unsteady",
    "build",
    "difference",
    "figure",
    "measure",
    "summarise",
]
