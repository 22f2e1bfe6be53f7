"""TL902: every kernel launch is made to wait for its kernel."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Example, Frequency, Input, Kind, Report, Rule, Site
from torchlint.rule.environ import SETTING, WORKERS, settings_at, settings_of_workers

_OFF = frozenset({"0", ""})

_SOURCE = """\
import os

os.environ["CUDA_LAUNCH_BLOCKING"] = "1"

import torch


class Learner:
    def __init__(self, device):
        self.net = torch.nn.Linear(17, 6).to(device)

    def update(self, obs):
        return self.net(obs).square().mean()
"""


class LaunchBlocking(Rule):
    """`CUDA_LAUNCH_BLOCKING` is set for every run.

    ## What it does
    Finds code that sets `CUDA_LAUNCH_BLOCKING` to `1` with no flag in front of it, also for the workers of Ray
    (`ray.init(runtime_env={"env_vars": ...})`).

    ## Why is this slow
    Python normally prepares the next kernels while the device still computes. With this variable every launch waits
    until its kernel is done, so that host and device take turns. It is meant for finding the line of a failing kernel.

    ## Example
    ```python
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    ```

    ## Use instead
    ```console
    $ CUDA_LAUNCH_BLOCKING=1 python train.py  # when a kernel fails
    ```

    ## What the fix may change
    There is no automatic fix. Without the variable an error of a kernel is raised at a later line.

    ## When to ignore it
    While a kernel is being debugged.

    ## Measured
    On CUDA the host then waits after each launch, so each launch that is counted is a wait. The rule is a warning for
    another reason: the variable is a switch for debugging that was left on.

    ## References
    - PyTorch documentation, "CUDA semantics: asynchronous execution".
    """

    code = "TL902"
    name = "launch-blocking"
    summary = "CUDA_LAUNCH_BLOCKING is set for every run"
    trigger = SETTING | WORKERS
    least = Frequency.ONCE
    cuda_only = True
    kept = "a switch for debugging that was left on"
    examples = (
        Example(
            name="set-in-code",
            source=_SOURCE,
            fixed=_SOURCE.replace('import os\n\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"\n\n', ""),
            setup="torch.manual_seed(0)\nlearner = Learner(device)\nobs = obs.to(device)",
            workload="learner.update(obs)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the variable where it is set to something else than ``0`` in every run."""
        for setting in (*settings_at(site), *settings_of_workers(site)):
            texts = site.names.texts(setting.value)
            if "CUDA_LAUNCH_BLOCKING" in setting.names and texts and not texts & _OFF and site.hot.runs_anyway():
                yield Report(
                    setting.node,
                    "every kernel launch waits until its kernel is done; set CUDA_LAUNCH_BLOCKING in the shell when a "
                    "kernel fails, not in code",
                )
