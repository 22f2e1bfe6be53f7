"""The Q-network, and a measure of novelty."""

import torch
from torch import nn


class QNetwork(nn.Module):
    """Action values; moves that are not allowed have minus infinity."""

    def __init__(self, obs_dim: int, n_actions: int, hidden: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(obs_dim, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
        )
        self.value = nn.Linear(hidden, 1)
        self.advantage = nn.Linear(hidden, n_actions)

    def forward(self, obs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(batch, obs_dim) and (batch, n_actions) to (batch, n_actions)."""
        if torch.isnan(obs).any():
            raise ValueError("NaN in the observations")
        features = self.trunk(obs)
        if torch.isnan(features).any() or torch.isinf(features).any():
            raise ValueError("the features are not finite")
        advantage = self.advantage(features)
        values = (
            self.value(features)
            + advantage
            - advantage.mean(dim=1, keepdim=True)
        )
        if torch.isnan(values).any():
            raise ValueError("NaN in the action values")
        return torch.where(mask, values, torch.tensor(-float("inf")))


class Novelty(nn.Module):
    """How new observations are: the error in predicting a random embedding."""

    def __init__(self, obs_dim: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Linear(obs_dim, hidden)
        self.embedding.requires_grad_(False)
        self.predictor = nn.Linear(obs_dim, hidden)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Observations (batch, obs_dim) to their mean error, a scalar."""
        return (self.predictor(obs) - self.embedding(obs)).square().mean()
