"""A check of examples/agent for ``torchlint verify``, run in that folder: it trains shortly and prints the speed."""

import contextlib
import io
import time

import torch

from config import Config
from networks import QNetwork
from train import train

UPDATES = 200


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
    with contextlib.redirect_stdout(io.StringIO()):
        train(Config(updates=5))  # what torch does once is not timed
        start = time.process_time()
        losses = train(Config(updates=UPDATES))
    seconds = time.process_time() - start
    assert max(losses) < 10, max(losses)
    print(f"updates per second: {UPDATES / seconds:.1f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    check_bad_observations()
    check_training()
