"""The phases of a training in which code runs, beside how often it does.

A function is entered in a set of phases, the union of those of all that enter it. A new phase (micro-batches, tokens,
evaluations) is a name here, a seed or a root that begins in it, and what rules ask of it; the spreading stays as it is.
"""

from __future__ import annotations

STEP = "step"
"""A loop steps an environment: a rollout."""
UPDATE = "update"
"""A loop runs gradient updates."""
ITERATION = "iteration"
"""The rounds of a loop around steps or updates: what makes a loop over tokens in it hot."""
GENERATION = "generation"
"""The rounds of a loop in which a model generates, of which one rollout has several."""
SAMPLE = "sample"
"""The rounds of a loop over what a language model generated: an answer is what a step is in an environment."""
