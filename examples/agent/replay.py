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
        obs = [transition.obs for transition in batch]
        next_obs = [transition.next_obs for transition in batch]
        return Batch(
            obs=torch.FloatTensor(obs).to(self.device),
            mask=torch.tensor(np.array([transition.mask for transition in batch]), device=self.device),
            action=torch.tensor([transition.action for transition in batch], device=self.device),
            reward=torch.tensor([transition.reward for transition in batch], device=self.device),
            next_obs=torch.tensor(next_obs, dtype=torch.float32, device=self.device),
            next_mask=torch.tensor(np.array([transition.next_mask for transition in batch]), device=self.device),
            terminated=torch.tensor([float(transition.terminated) for transition in batch], device=self.device),
        )
