"""A small environment for the programs: a pendulum to be held upright by a torque, without any package."""

from __future__ import annotations

import math
import random


class Pendulum:
    """Angle and speed; an episode has 100 steps. ``torque`` lies between -1 and 1."""

    def __init__(self, seed: int) -> None:
        """Draw the angles to begin with from a seed."""
        self._random = random.Random(seed)
        self._angle = self._speed = 0.0
        self._time = 0

    def reset(self) -> list[float]:
        """Begin at a random angle."""
        self._angle, self._speed = self._random.uniform(-math.pi, math.pi), self._random.uniform(-1, 1)
        self._time = 0
        return self._observed()

    def step(self, torque: float) -> tuple[list[float], float, bool]:
        """Move on by a twentieth of a second."""
        self._time += 1
        self._speed += (7.5 * math.sin(self._angle) + 6 * torque) / 20
        self._speed = max(-8.0, min(8.0, self._speed))
        self._angle = (self._angle + self._speed / 20 + math.pi) % (2 * math.pi) - math.pi
        return self._observed(), -(self._angle**2) - 0.1 * self._speed**2, self._time >= 100

    def _observed(self) -> list[float]:
        return [math.cos(self._angle), math.sin(self._angle), self._speed / 8]
