"""A double-DQN agent with an action mask and a bonus for new observations."""

import copy
import random

import numpy as np
import torch
from torch import nn

from config import Config
from networks import Novelty, QNetwork
from replay import ReplayBuffer


class Agent:
    """Acts on single observations and learns from batches."""

    def __init__(self, obs_dim: int, n_actions: int, config: Config) -> None:
        self.config = config
        self.device = torch.device(config.device)
        self.network = QNetwork(obs_dim, n_actions, config.hidden).to(
            self.device
        )
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self.curiosity = Novelty(obs_dim, config.hidden).to(self.device)
        self.trained = [
            *self.network.parameters(),
            *self.curiosity.parameters(),
        ]
        self.optimizer = torch.optim.Adam(
            self.trained, lr=config.learning_rate
        )
        self.q_network = self.network
        if config.compile:
            self.q_network = torch.compile(
                self.network, mode="reduce-overhead"
            )
        self.updates = 0

    @torch.no_grad()
    def act(self, obs: np.ndarray, mask: np.ndarray) -> int:
        """An epsilon-greedy action for one observation, an allowed move."""
        if random.random() < self.config.epsilon:
            return int(random.choice(np.flatnonzero(mask)))
        obs_t = torch.FloatTensor(obs).unsqueeze(0).to(self.device)
        mask_t = torch.as_tensor(mask, device=self.device).unsqueeze(0)
        return int(self.q_network(obs_t, mask_t).argmax(dim=1).item())

    @torch.no_grad()
    def bonus(self, obs: np.ndarray) -> float:
        """The reward for an observation that is unlike those before."""
        obs_t = torch.as_tensor(obs, device=self.device).unsqueeze(0)
        return self.curiosity(obs_t).item()

    def update(self, buffer: ReplayBuffer) -> float:
        """One gradient step on a batch; the loss."""
        batch = buffer.sample(self.config.batch_size)
        rows = torch.arange(self.config.batch_size).long().to(self.device)
        q = self.q_network(batch.obs, batch.mask)[rows, batch.action]
        with torch.no_grad():
            best = self.network(batch.next_obs, batch.next_mask).argmax(dim=1)
            next_q = torch.zeros(self.config.batch_size).to(self.device)
            alive = batch.terminated == 0
            next_q[alive] = self.target(batch.next_obs, batch.next_mask)[
                rows, best
            ][alive]
            bounds = torch.tensor([-2.0, 1.0], device=self.device)
            target = (batch.reward + self.config.gamma * next_q).clamp(
                bounds[0], bounds[1]
            )
        loss = nn.functional.smooth_l1_loss(q, target) + self.curiosity(
            batch.obs
        )
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.trained, 10.0)
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.config.target_interval == 0:
            self.target.load_state_dict(self.network.state_dict())
        return loss.item()
