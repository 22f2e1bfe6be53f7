"""An actor-critic with reparameterised samples: sac.py --device cpu --steps 300. One update for each step."""

from __future__ import annotations

import argparse

import torch
from pendulum import Pendulum
from torch import nn
from torch.distributions import Normal


def network(inputs: int, outputs: int, device: str) -> nn.Sequential:
    """Two hidden layers of 64."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs)).to(
        device
    )


class Replay:
    """A buffer of rows on the device: observation, action, reward, what follows, whether it goes on."""

    def __init__(self, size: int, device: str) -> None:
        """Take the memory of a number of rows."""
        self._rows = torch.zeros(size, 9, device=device)
        self._count = 0

    def add(self, *row: object) -> None:
        """Put a row in the place of the oldest."""
        values = torch.tensor([value for part in row for value in (part if isinstance(part, list) else [part])])
        self._rows[self._count % len(self._rows)] = values.to(self._rows.device)
        self._count += 1

    def sample(self, size: int) -> tuple[torch.Tensor, ...]:
        """Draw rows."""
        filled = min(self._count, len(self._rows))
        rows = self._rows[torch.randint(filled, (size,), device=self._rows.device)]
        return rows.split([3, 1, 1, 3, 1], 1)


def act(actor: nn.Module, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A squashed sample with gradients through it, and its log-probability."""
    mean, log_std = actor(obs).chunk(2, -1)
    policy = Normal(mean, log_std.clamp(-5, 2).exp(), validate_args=False)
    raw = policy.rsample()
    action = raw.tanh()
    return action, policy.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)


def train(device: str, steps: int) -> float:
    """Train; the last loss of the critics."""
    torch.manual_seed(0)
    env, actor = Pendulum(0), network(3, 2, device)
    critics, targets = ([network(4, 1, device) for _ in range(2)] for _ in range(2))
    for target, critic in zip(targets, critics, strict=True):
        target.load_state_dict(critic.state_dict())
    temperature = torch.zeros(1, requires_grad=True, device=device)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
    critic_optimizer = torch.optim.Adam([p for critic in critics for p in critic.parameters()], lr=3e-4)
    temperature_optimizer = torch.optim.Adam([temperature], lr=3e-4)
    replay, obs, loss = Replay(10_000, device), env.reset(), torch.zeros((), device=device)
    for step in range(steps):
        with torch.no_grad():
            action = act(actor, torch.tensor(obs, device=device))[0].item()
        following, reward, done = env.step(action)
        replay.add(obs, action, reward, following, 1.0 - done)
        obs = env.reset() if done else following
        if step < 64:
            continue
        states, actions, rewards, nexts, alive = replay.sample(64)
        with torch.no_grad():
            then, log_then = act(actor, nexts)
            worst = torch.min(*(target(torch.cat([nexts, then], 1)) for target in targets))
            goal = rewards + 0.99 * alive * (worst - temperature.exp() * log_then)
        loss = sum(nn.functional.mse_loss(critic(torch.cat([states, actions], 1)), goal) for critic in critics)
        critic_optimizer.zero_grad()
        loss.backward()
        critic_optimizer.step()
        mine, log_mine = act(actor, states)
        worst = torch.min(*(critic(torch.cat([states, mine], 1)) for critic in critics))
        actor_loss = (temperature.exp().detach() * log_mine - worst).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        temperature_loss = -(temperature * (log_mine.detach() - 1)).mean()
        temperature_optimizer.zero_grad()
        temperature_loss.backward()
        temperature_optimizer.step()
        with torch.no_grad():
            for target, critic in zip(targets, critics, strict=True):
                for slow, fast in zip(target.parameters(), critic.parameters(), strict=True):
                    slow.lerp_(fast, 0.005)
    return loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    print(f"loss {train(options.device, options.steps):.9f}")
