"""Trains with whatever Stable-Baselines3 is first on the path, from a fixed seed; prints what came of it as JSON."""

from __future__ import annotations

import hashlib
import json
import sys
import time
import warnings

import numpy as np
import stable_baselines3
import torch

RUNS = {
    "ppo": lambda: stable_baselines3.PPO("MlpPolicy", "CartPole-v1", n_steps=256, seed=1, device="cpu"),
    # Exploration that depends on the state, with a reduced matrix: code that the fixes touch.
    "ppo-sde": lambda: stable_baselines3.PPO(
        "MlpPolicy",
        "Pendulum-v1",
        n_steps=256,
        seed=1,
        use_sde=True,
        policy_kwargs={"full_std": False},
        device="cpu",
    ),
    "dqn": lambda: stable_baselines3.DQN("MlpPolicy", "CartPole-v1", learning_starts=100, seed=1, device="cpu"),
    "sac": lambda: stable_baselines3.SAC("MlpPolicy", "Pendulum-v1", learning_starts=100, seed=1, device="cpu"),
}


def main(name: str, steps: int) -> None:
    """Train one algorithm for so many steps of its environment."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    model = RUNS[name]()
    start = time.process_time()
    model.learn(steps)
    seconds = time.process_time() - start
    digest = hashlib.sha256()
    for tensor in model.policy.state_dict().values():
        digest.update(np.ascontiguousarray(tensor.numpy()).tobytes())
    library = stable_baselines3.__file__
    print(json.dumps({"digest": digest.hexdigest(), "steps_per_cpu_second": steps / seconds, "library": library}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
