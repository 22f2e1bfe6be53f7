"""Settings of a training run."""

from dataclasses import dataclass


@dataclass
class Config:
    """Sizes, learning rates and schedule."""

    size: int = 6
    hidden: int = 64
    capacity: int = 5_000
    batch_size: int = 32
    learning_rate: float = 1e-3
    gamma: float = 0.97
    updates: int = 200
    warm_up: int = 64
    target_interval: int = 25
    bonus_weight: float = 0.1
    epsilon: float = 0.2
    seed: int = 0
    device: str = "cpu"
    compile: bool = False
