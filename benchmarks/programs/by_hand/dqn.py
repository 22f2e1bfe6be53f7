"""Q-learning as in the folder above, with what its findings advise done by hand: the replay is kept in tensors."""

from __future__ import annotations

import argparse
import random

import torch
from pendulum import Pendulum
from torch import nn


def network(device: str) -> nn.Sequential:
    """Three actions of a pendulum, two hidden layers of 64."""
    return nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)).to(device)


def train(device: str, steps: int) -> float:
    """Train; the last loss."""
    random.seed(0)
    torch.manual_seed(0)
    env, net, target = Pendulum(0), network(device), network(device)
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    # A row holds an observation, what follows, an action, a reward, and whether it goes on.
    rows, count = torch.zeros(10_000, 9), 0
    obs, loss = env.reset(), torch.zeros((), device=device)
    for step in range(steps):
        if random.random() < 0.1:
            action = random.randrange(3)
        else:
            with torch.inference_mode():
                action = int(net(torch.tensor(obs, device=device)).argmax().item())
        following, reward, done = env.step(action - 1.0)
        rows[count % len(rows)] = torch.tensor([*obs, *following, action, reward, 1.0 - done])
        count += 1
        obs = env.reset() if done else following
        if count < 64:
            continue
        batch = rows[torch.randint(min(count, len(rows)), (64,))].to(device)
        states, nexts, actions, rewards, alive = batch.split([3, 3, 1, 1, 1], 1)
        q = net(states).gather(1, actions.long())
        with torch.no_grad():
            goal = rewards + 0.99 * alive * target(nexts).max(1, keepdim=True).values
        loss = nn.functional.smooth_l1_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 0:
            target.load_state_dict(net.state_dict())
    return loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    print(f"loss {train(options.device, options.steps):.9f}")
