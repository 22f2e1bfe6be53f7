"""A grid with walls and a goal: the interface of Gymnasium, in NumPy alone."""

import numpy as np

MOVES = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])


class GridWorld:
    """Walk to the goal; moves into walls are masked."""

    def __init__(self, size: int = 6, walls: int = 6, limit: int = 50) -> None:
        self.size = size
        self.walls = walls
        self.limit = limit
        self.obs_dim = 4 + len(MOVES)
        self.n_actions = len(MOVES)
        self.rng = np.random.default_rng(0)

    def reset(self, seed: int | None = None) -> tuple[np.ndarray, dict]:
        """Start an episode with new walls, agent and goal."""
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        while True:
            cells = self.rng.permutation(self.size * self.size)[
                : self.walls + 2
            ]
            places = np.stack([cells // self.size, cells % self.size], axis=1)
            self.agent, self.goal, self.blocked = (
                places[0],
                places[1],
                places[2:],
            )
            self.steps = 0
            if self.action_mask().any():
                return self.observe(), {"action_mask": self.action_mask()}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Move: observation, reward, terminated, truncated, info."""
        self.agent = self.agent + MOVES[action]
        self.steps += 1
        terminated = bool((self.agent == self.goal).all())
        reward = 1.0 if terminated else -0.02
        return (
            self.observe(),
            reward,
            terminated,
            self.steps >= self.limit,
            {"action_mask": self.action_mask()},
        )

    def action_mask(self) -> np.ndarray:
        """Which moves stay on the grid and off the walls, shape (4,), bool."""
        after = self.agent + MOVES
        inside = ((after >= 0) & (after < self.size)).all(axis=1)
        blocked = (
            (after[:, None] == self.blocked[None]).all(axis=2).any(axis=1)
        )
        return inside & ~blocked

    def observe(self) -> np.ndarray:
        """Positions of agent and goal, and the mask, shape (8,), float32."""
        places = np.concatenate([self.agent, self.goal]) / self.size
        return np.concatenate([places, self.action_mask()]).astype(np.float32)
