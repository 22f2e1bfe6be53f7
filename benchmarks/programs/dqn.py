"""Q-learning with a replay buffer: dqn.py --device cpu --steps 300. One update for each environment step."""

from __future__ import annotations

import argparse
import random
from collections import deque

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
    replay: deque[tuple[list[float], int, float, list[float], bool]] = deque(maxlen=10_000)
    obs, loss = env.reset(), torch.zeros((), device=device)
    for step in range(steps):
        if random.random() < 0.1:
            action = random.randrange(3)
        else:
            with torch.no_grad():
                action = int(net(torch.tensor(obs, device=device)).argmax().item())
        following, reward, done = env.step(action - 1.0)
        replay.append((obs, action, reward, following, done))
        obs = env.reset() if done else following
        if len(replay) < 64:
            continue
        states, actions, rewards, nexts, ends = zip(*random.sample(replay, 64), strict=True)
        picked = torch.tensor(actions, device=device).unsqueeze(1)
        q = net(torch.tensor(states, device=device)).gather(1, picked).squeeze(1)
        with torch.no_grad():
            best = target(torch.tensor(nexts, device=device)).max(1).values
            alive = 1 - torch.tensor(ends, dtype=torch.float32, device=device)
            goal = torch.tensor(rewards, device=device) + 0.99 * alive * best
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
