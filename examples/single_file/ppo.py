"""PPO in one file, for environments with discrete actions: ppo.py [--steps N] [--env NAME] [--device cuda]."""

import argparse
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


@dataclass
class Settings:
    """Sizes, rates and schedule; a rollout has ``rollout`` steps of each of ``envs`` environments."""

    env: str = "CartPole-v1"
    envs: int = 4
    steps: int = 2048
    rollout: int = 64
    epochs: int = 4
    minibatches: int = 4
    rate: float = 2.5e-4
    gamma: float = 0.99
    trace: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    max_norm: float = 0.5
    seed: int = 1
    device: str = "cpu"


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """A linear layer with orthogonal weights."""
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


class Agent(nn.Module):
    """A policy over discrete actions and a value function."""

    def __init__(self, obs_dim: int, n_actions: int) -> None:
        super().__init__()
        self.critic = nn.Sequential(
            layer(obs_dim, 64), nn.Tanh(), layer(64, 64), nn.Tanh()
        )
        self.value_head = layer(64, 1, 1.0)
        self.actor = nn.Sequential(
            layer(obs_dim, 64), nn.Tanh(), layer(64, 64), nn.Tanh()
        )
        self.action_head = layer(64, n_actions, 0.01)

    def value(self, obs: torch.Tensor) -> torch.Tensor:
        """The value of each observation."""
        return self.value_head(self.critic(obs)).squeeze(-1)

    def decide(
        self, obs: torch.Tensor, action: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        """Actions, new or given, with log-probability, entropy and value."""
        policy = Categorical(logits=self.action_head(self.actor(obs)))
        if action is None:
            action = policy.sample()
        return (
            action,
            policy.log_prob(action),
            policy.entropy(),
            self.value(obs),
        )


def maker(name: str) -> Callable[[], gym.Env]:
    """What makes one environment that keeps statistics of its episodes."""

    def make() -> gym.Env:
        return gym.wrappers.RecordEpisodeStatistics(gym.make(name))

    return make


def advantages(
    rewards: torch.Tensor,
    values: torch.Tensor,
    dones: torch.Tensor,
    last: torch.Tensor,
    settings: Settings,
) -> torch.Tensor:
    """Generalised advantage estimates, shape (steps, envs)."""
    found = torch.zeros_like(rewards)
    carried = torch.zeros_like(last)
    after = last
    for step in reversed(range(len(rewards))):
        alive = 1.0 - dones[step]
        delta = rewards[step] + settings.gamma * after * alive - values[step]
        carried = delta + settings.gamma * settings.trace * alive * carried
        found[step] = carried
        after = values[step]
    return found


def minibatches(size: int, settings: Settings) -> Iterator[np.ndarray]:
    """The indices of a batch in random order, part by part."""
    order = np.random.permutation(size)
    for part in np.array_split(order, settings.minibatches):
        yield part


def annealed(settings: Settings, done: int, all_rounds: int) -> float:
    """The learning rate of a round."""
    return settings.rate * (1.0 - done / all_rounds)


def report(step: int, returns: list[float]) -> None:
    """Print how the last episodes went."""
    if returns:
        print(f"step {step:6d}  return {np.mean(returns[-10:]):.1f}")


def clipped_loss(
    ratio: torch.Tensor, gains: torch.Tensor, clip: float
) -> torch.Tensor:
    """The loss of the policy."""
    gains = (gains - gains.mean()) / (gains.std() + 1e-8)
    bounded = torch.clamp(ratio, 1 - clip, 1 + clip)
    return torch.max(-gains * ratio, -gains * bounded).mean()


def train(settings: Settings) -> Agent:
    """Collect rollouts and learn from them."""
    random.seed(settings.seed)
    np.random.seed(settings.seed)
    torch.manual_seed(settings.seed)
    device = torch.device(settings.device)
    envs = gym.vector.SyncVectorEnv([maker(settings.env)] * settings.envs)
    obs_dim = int(np.prod(envs.single_observation_space.shape))
    agent = Agent(obs_dim, int(envs.single_action_space.n)).to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=settings.rate)

    shape = (settings.rollout, settings.envs)
    obs = torch.zeros((*shape, obs_dim)).to(device)
    actions = torch.zeros(shape).to(device)
    logprobs = torch.zeros(shape).to(device)
    rewards = torch.zeros(shape).to(device)
    dones = torch.zeros(shape).to(device)
    values = torch.zeros(shape).to(device)
    returns: list[float] = []

    size = settings.rollout * settings.envs
    rounds = settings.steps // size
    first, _ = envs.reset(seed=settings.seed)
    now = torch.Tensor(first).to(device)
    for done_rounds in range(rounds):
        rate = annealed(settings, done_rounds, rounds)
        optimizer.param_groups[0]["lr"] = rate

        for step in range(settings.rollout):
            obs[step] = now
            with torch.no_grad():
                action, logprob, _, value = agent.decide(now)
            actions[step], logprobs[step] = action, logprob
            values[step] = value
            after, reward, terminated, truncated, infos = envs.step(
                action.cpu().numpy()
            )
            ended = np.logical_or(terminated, truncated)
            rewards[step] = torch.tensor(reward).to(device)
            dones[step] = torch.Tensor(ended).to(device)
            now = torch.Tensor(after).to(device)
            if "episode" in infos:
                returns.extend(infos["episode"]["r"][infos["_episode"]])

        with torch.no_grad():
            last = agent.value(now)
            gains = advantages(rewards, values, dones, last, settings)
            targets = gains + values

        flat_obs = obs.reshape(size, obs_dim)
        flat_actions = actions.reshape(size)
        for _ in range(settings.epochs):
            for part in minibatches(size, settings):
                _, logprob, entropy, value = agent.decide(
                    flat_obs[part], flat_actions[part]
                )
                ratio = (logprob - logprobs.reshape(size)[part]).exp()
                loss = clipped_loss(
                    ratio, gains.reshape(size)[part], settings.clip
                )
                error = value - targets.reshape(size)[part]
                loss = loss + 0.5 * error.square().mean()
                loss = loss - settings.entropy * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), settings.max_norm)
                optimizer.step()
        report((done_rounds + 1) * size, returns)
    envs.close()
    return agent


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2048)
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    train(Settings(env=options.env, steps=options.steps, device=options.device))


if __name__ == "__main__":
    main()
