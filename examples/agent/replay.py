"""Replay memory of single transitions."""

import random
from dataclasses import dataclass

import numpy as np
import torch


@dataclass
class Transition:
    """One step of the environment."""

    obs: np.ndarray
    mask: np.ndarray
    action: int
    reward: float
    next_obs: np.ndarray
    next_mask: np.ndarray
    terminated: bool


@dataclass
class Batch:
    """A batch of transitions as tensors; the first dimension is the batch."""

    obs: torch.Tensor
    mask: torch.Tensor
    action: torch.Tensor
    reward: torch.Tensor
    next_obs: torch.Tensor
    next_mask: torch.Tensor
    terminated: torch.Tensor


class ReplayBuffer:
    """Keeps the newest transitions and hands out random batches as tensors."""

    def __init__(self, capacity: int, device: torch.device) -> None:
        self.capacity = capacity
        self.device = device
        self.memory: list[Transition] = []
        self.position = 0

    def __len__(self) -> int:
        return len(self.memory)

    def add(self, transition: Transition) -> None:
        """Store a transition in place of the oldest one."""
        if len(self.memory) < self.capacity:
            self.memory.append(transition)
        else:
            self.memory[self.position] = transition
        self.position = (self.position + 1) % self.capacity

    def sample(self, batch_size: int) -> Batch:
        """Random transitions, on the device."""
        batch: list[Transition] = random.sample(self.memory, batch_size)
        obs = [step.obs for step in batch]
        next_obs = [step.next_obs for step in batch]
        return Batch(
            obs=torch.FloatTensor(obs).to(self.device),
            mask=self._stack([step.mask for step in batch]),
            action=torch.tensor(
                [step.action for step in batch], device=self.device
            ),
            reward=torch.tensor(
                [step.reward for step in batch], device=self.device
            ),
            next_obs=torch.tensor(
                next_obs, dtype=torch.float32, device=self.device
            ),
            next_mask=self._stack([step.next_mask for step in batch]),
            terminated=torch.tensor(
                [float(step.terminated) for step in batch], device=self.device
            ),
        )

    def _stack(self, masks: list[np.ndarray]) -> torch.Tensor:
        """Masks of single steps as one tensor."""
        return torch.as_tensor(np.stack(masks), device=self.device)
