"""A check of examples/agent for ``torchlint verify``: run it in that folder. It trains shortly, and prints the speed."""

import contextlib
import io
import time

import torch

from config import Config
from networks import QNetwork
from train import train

UPDATES = 60


def check_bad_observations() -> None:
    """The network must refuse observations that are no numbers."""
    network = QNetwork(4, 2, 8)
    obs = torch.full((1, 4), float("nan"))
    try:
        network(obs, torch.ones(1, 2, dtype=torch.bool))
    except ValueError:
        return
    raise AssertionError("the network takes NaN for an observation")


def check_training() -> None:
    """The loss must stay small; says how many updates are made in a second of the processor's time."""
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        losses = train(Config(updates=UPDATES))
    assert max(losses) < 10, max(losses)
    print(f"updates per second: {UPDATES / (time.process_time() - start):.1f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    check_bad_observations()
    check_training()
