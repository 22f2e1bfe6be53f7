"""Train the agent: train.py [--updates N] [--device cuda] [--compile]."""

import argparse
import random

import numpy as np
import torch

from agent import Agent
from config import Config
from gridworld import GridWorld
from replay import ReplayBuffer, Transition


def train(config: Config) -> list[float]:
    """Run the training loop; the loss of every update."""
    random.seed(config.seed)
    np.random.seed(config.seed)
    torch.manual_seed(config.seed)
    env = GridWorld(config.size)
    agent = Agent(env.obs_dim, env.n_actions, config)
    buffer = ReplayBuffer(config.capacity, agent.device)
    losses: list[float] = []
    episode_return = 0.0

    obs, info = env.reset(seed=config.seed)
    while len(losses) < config.updates:
        action = agent.act(obs, info["action_mask"])
        next_obs, reward, terminated, truncated, next_info = env.step(action)
        reward += config.bonus_weight * agent.bonus(next_obs)
        buffer.add(
            Transition(
                obs,
                info["action_mask"],
                action,
                reward,
                next_obs,
                next_info["action_mask"],
                terminated,
            )
        )
        obs, info = next_obs, next_info
        episode_return += reward

        if len(buffer) >= config.warm_up:
            losses.append(agent.update(buffer))
            if len(losses) % 20 == 0:
                print(f"update {len(losses):4d}  loss {losses[-1]:.9f}")
        if terminated or truncated:
            print(f"episode return {episode_return:+.2f}")
            episode_return = 0.0
            obs, info = env.reset()
    return losses


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    train(
        Config(
            updates=options.updates,
            device=options.device,
            compile=options.compile,
        )
    )


if __name__ == "__main__":
    main()
