"""Trains with the packages that are first on the path, from a fixed seed; prints what came of it as JSON.

    python train.py PACKAGE ALGORITHM STEPS [FILE]

Parameters are compared by their digest. With ``FILE`` the lines that ran are noted, see ``executed.py``. The variable
``TRAIN_DEVICE`` names the device, by default the CPU.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path

import gymnasium
import numpy as np
import torch
from executed import Executed
from torch import nn

DEVICE = os.environ.get("TRAIN_DEVICE", "cpu")
Trainer = Callable[[int], Iterable[nn.Module]]
"""Trains for a number of steps of the environment; the trained modules."""


def stable(package: str, algorithm: str, policy: str, env: str, **settings: object) -> Trainer:
    """A learner of Stable-Baselines3 or SB3-Contrib."""
    model = getattr(import_module(package), algorithm)(policy, env, seed=1, device=DEVICE, **settings)

    def train(steps: int) -> list[nn.Module]:
        model.learn(steps)
        return [model.policy]

    return train


def mlp(inputs: int, outputs: int, *more: nn.Module) -> nn.Sequential:
    """A network with one hidden layer."""
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs), *more)


def adam(module: nn.Module) -> torch.optim.Optimizer:
    """An optimizer of a module."""
    return torch.optim.Adam(module.parameters(), lr=1e-3)


def gpu() -> int | None:
    """The device as PFRL takes it."""
    return None if DEVICE == "cpu" else 0


def value_based(kind: str) -> tuple[object, str]:
    """An agent of PFRL that learns values of actions, with its environment."""
    import pfrl

    explorer = pfrl.explorers.ConstantEpsilonGreedy(0.2, lambda: random.randrange(2))
    settings = {"gamma": 0.99, "replay_start_size": 64, "target_update_interval": 50, "minibatch_size": 32}
    buffer: object = pfrl.replay_buffers.ReplayBuffer(10_000, num_steps=3)
    if kind == "DQN":
        network = pfrl.q_functions.FCStateQFunctionWithDiscreteAction(4, 2, 32, 1)
        buffer = pfrl.replay_buffers.PrioritizedReplayBuffer(10_000)
        explorer = pfrl.explorers.Boltzmann()
    elif kind == "CategoricalDQN":
        network = pfrl.q_functions.DistributionalFCStateQFunctionWithDiscreteAction(4, 2, 21, 0.0, 50.0, 32, 1)
    else:
        psi, phi = nn.Sequential(nn.Linear(4, 32), nn.ReLU()), pfrl.agents.iqn.CosineBasisLinear(16, 32)
        network = pfrl.agents.iqn.ImplicitQuantileQFunction(psi, nn.Sequential(phi, nn.ReLU()), nn.Linear(32, 2))
    agent = getattr(pfrl.agents, kind)
    return agent(network, adam(network), buffer, explorer=explorer, gpu=gpu(), **settings), "CartPole-v1"


def continuous(kind: str) -> tuple[object, str]:
    """An actor and two critics of PFRL, with their environment."""
    import pfrl

    critics = [nn.Sequential(pfrl.nn.ConcatObsAndAction(), mlp(4, 1)) for _ in range(2)]
    buffer = pfrl.replay_buffers.ReplayBuffer(10_000)
    settings: dict[str, object] = {"gamma": 0.99, "replay_start_size": 64, "minibatch_size": 32}
    if kind == "TD3":
        actor = mlp(3, 1, nn.Tanh(), pfrl.policies.DeterministicHead())
        settings["explorer"] = pfrl.explorers.AdditiveGaussian(0.1, low=-2, high=2)
    else:
        squashed = pfrl.policies.GaussianHeadWithStateIndependentCovariance(1, var_func=nn.functional.softplus)
        actor = mlp(3, 1, squashed)
        settings.update(entropy_target=-1.0, temperature_optimizer_lr=1e-3)
    optimizers = map(adam, (actor, *critics))
    agent = getattr(pfrl.agents, kind)
    return agent(actor, *critics, *optimizers, buffer, gpu=gpu(), **settings), "Pendulum-v1"


def on_policy(kind: str) -> tuple[object, str]:
    """An actor and a critic of PFRL that learn from what they just did, with their environment."""
    import pfrl

    actor, critic = mlp(4, 2, pfrl.policies.SoftmaxCategoricalHead()), mlp(4, 1)
    both = pfrl.nn.Branched(actor, critic)
    if kind == "TRPO":
        return pfrl.agents.TRPO(actor, critic, adam(critic), update_interval=128, gpu=gpu()), "CartPole-v1"
    if kind == "PPO":
        settings = {"update_interval": 128, "epochs": 4, "clip_eps_vf": 0.2, "gpu": gpu()}
        return pfrl.agents.PPO(both, adam(both), **settings), "CartPole-v1"
    return pfrl.agents.A2C(both, adam(both), gamma=0.99, num_processes=1, use_gae=True, gpu=gpu()), "CartPole-v1"


def driven(make: Callable[[str], tuple[object, str]], kind: str) -> Trainer:
    """An agent of PFRL in its environment."""
    agent, name = make(kind)
    env = gymnasium.make(name)

    def train(steps: int) -> Iterator[nn.Module]:
        obs, _ = env.reset(seed=1)
        for _ in range(steps):
            action = agent.batch_act([obs])[0]
            obs, reward, terminated, truncated, _ = env.step(action)
            agent.batch_observe([obs], [float(reward)], [terminated], [truncated])
            if terminated or truncated:
                obs, _ = env.reset()
        parts = (getattr(agent, name, None) for name in agent.saved_attributes)
        return (part for part in parts if isinstance(part, nn.Module))

    return train


def pfrl(make: Callable[[str], tuple[object, str]], kind: str) -> Callable[[], Trainer]:
    """How to make a learner of PFRL."""
    return lambda: driven(make, kind)


def skrl_model(mixin: type, outputs: int, *, with_action: bool = False) -> Callable[..., nn.Module]:
    """A model of skrl on a network with one hidden layer; ``with_action``: of observations with actions."""
    from skrl.models.torch import GaussianMixin, Model

    gaussian = issubclass(mixin, GaussianMixin)

    class Made(mixin, Model):
        def __init__(self, observations: gymnasium.Space, actions: gymnasium.Space, device: str) -> None:
            Model.__init__(self, observation_space=observations, action_space=actions, device=device)
            mixin.__init__(self)
            self.net = mlp(self.num_observations + (self.num_actions if with_action else 0), outputs)
            self.log_std = nn.Parameter(torch.zeros(outputs)) if gaussian else None

        def compute(self, inputs: dict, role: str = "") -> tuple:
            given = [inputs["observations"], *([inputs["taken_actions"]] if with_action else [])]
            found = self.net(torch.cat(given, dim=1))
            return found, {"log_std": self.log_std} if gaussian else {}

    return Made


def of_skrl(kind: str, name: str, **settings: object) -> Trainer:
    """An agent of skrl, trained by skrl's own loop."""
    from skrl.envs.wrappers.torch import wrap_env
    from skrl.memories.torch import RandomMemory
    from skrl.models.torch import CategoricalMixin, DeterministicMixin, GaussianMixin
    from skrl.trainers.torch import SequentialTrainer

    env = wrap_env(gymnasium.make(name), verbose=False)
    env.reset()
    discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
    actions = env.action_space.n if discrete else env.action_space.shape[0]
    values = skrl_model(DeterministicMixin, 1, with_action=kind in ("SAC", "TD3"))
    if kind == "DQN":
        made = dict.fromkeys(("q_network", "target_q_network"), skrl_model(DeterministicMixin, actions))
    elif kind == "PPO":
        made = {"policy": skrl_model(CategoricalMixin if discrete else GaussianMixin, actions), "value": values}
    else:
        policy = skrl_model(GaussianMixin if kind == "SAC" else DeterministicMixin, actions)
        made = {"policy": policy} | ({"target_policy": policy} if kind == "TD3" else {})
        made |= dict.fromkeys(("critic_1", "critic_2", "target_critic_1", "target_critic_2"), values)
    models = {role: make(env.observation_space, env.action_space, env.device) for role, make in made.items()}
    memory = RandomMemory(memory_size=settings.get("rollouts", 1000), num_envs=1, device=env.device)
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    agent = getattr(import_module(f"skrl.agents.torch.{kind.lower()}"), kind)(
        models=models, memory=memory, device=env.device, cfg=settings, **spaces
    )

    def train(steps: int) -> list[nn.Module]:
        SequentialTrainer(env=env, agents=agent, cfg={"timesteps": steps, "disable_progressbar": True}).train()
        return list(models.values())

    return train


# Exploration that depends on the state, with a reduced matrix: code that fixes touch.
SDE = {"use_sde": True, "policy_kwargs": {"full_std": False}}
RUNS: dict[str, Callable[[], Trainer]] = {
    "ppo": lambda: stable("stable_baselines3", "PPO", "MlpPolicy", "CartPole-v1", n_steps=256),
    "ppo-sde": lambda: stable("stable_baselines3", "PPO", "MlpPolicy", "Pendulum-v1", n_steps=256, **SDE),
    "dqn": lambda: stable("stable_baselines3", "DQN", "MlpPolicy", "CartPole-v1", learning_starts=100),
    "sac": lambda: stable("stable_baselines3", "SAC", "MlpPolicy", "Pendulum-v1", learning_starts=100),
    "td3": lambda: stable("stable_baselines3", "TD3", "MlpPolicy", "Pendulum-v1", learning_starts=100),
    "a2c": lambda: stable("stable_baselines3", "A2C", "MlpPolicy", "CartPole-v1"),
    "recurrent-ppo": lambda: stable("sb3_contrib", "RecurrentPPO", "MlpLstmPolicy", "CartPole-v1", n_steps=128),
    "qrdqn": lambda: stable("sb3_contrib", "QRDQN", "MlpPolicy", "CartPole-v1", learning_starts=100),
    "tqc": lambda: stable("sb3_contrib", "TQC", "MlpPolicy", "Pendulum-v1", learning_starts=100),
    "trpo": lambda: stable("sb3_contrib", "TRPO", "MlpPolicy", "Pendulum-v1", n_steps=128),
    "pfrl-dqn": pfrl(value_based, "DQN"),
    "pfrl-categorical-dqn": pfrl(value_based, "CategoricalDQN"),
    "pfrl-iqn": pfrl(value_based, "IQN"),
    "pfrl-sac": pfrl(continuous, "SoftActorCritic"),
    "pfrl-td3": pfrl(continuous, "TD3"),
    "pfrl-ppo": pfrl(on_policy, "PPO"),
    "pfrl-trpo": pfrl(on_policy, "TRPO"),
    "pfrl-a2c": pfrl(on_policy, "A2C"),
    "skrl-ppo": lambda: of_skrl("PPO", "CartPole-v1", rollouts=64, learning_epochs=4),
    "skrl-dqn": lambda: of_skrl("DQN", "CartPole-v1", learning_starts=64),
    "skrl-sac": lambda: of_skrl("SAC", "Pendulum-v1", learning_starts=64),
    "skrl-td3": lambda: of_skrl("TD3", "Pendulum-v1", learning_starts=64),
}


def main(package: str, name: str, steps: int, lines: str = "") -> None:
    """Train one algorithm of a package for so many steps of its environment."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    train = RUNS[name]()
    followed = Executed(Path(lines)) if lines else None
    if followed is not None:
        followed.start()
    start = time.process_time()
    modules = list(train(steps))
    seconds = time.process_time() - start
    if followed is not None:
        followed.pytest_sessionfinish()
    digest = hashlib.sha256()
    for module in modules:
        for tensor in module.state_dict().values():
            digest.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    told = {"digest": digest.hexdigest(), "steps_per_cpu_second": steps / seconds}
    print(json.dumps({**told, "modules": len(modules), "library": sys.modules[package].__file__}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
