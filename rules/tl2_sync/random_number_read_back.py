"""TL213: random numbers are drawn on a device only to be read on the host."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Device, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site, Use
from torchlint.rule.build import keyword_of

_CREATORS = function_names("torch", makes="random")

_MESSAGE = "random numbers drawn on the GPU and read on the host force a GPU sync; draw them on the host"

_SOURCE = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Learner:
    def __init__(self, heads: int):
        self.weights = [torch.ones(8, device=device, requires_grad=True) for _ in range(heads)]
        self.optimizer = torch.optim.SGD(self.weights, lr=0.0)

    def update(self, obs: torch.Tensor):
        first, second = torch.randperm(len(self.weights), device=device)[:2].tolist()
        loss = (obs * self.weights[first]).mean() + (obs * self.weights[second]).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach() * 0


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(replay.sample(256))
"""


class RandomNumberReadBack(Rule):
    """Random indices are drawn on a device and then read by Python.

    ## What it does
    Finds hot `torch.rand`, `randn`, `randint` and `randperm` with a `device=` whose numbers go nowhere but back to the
    host: `.item()`, `.tolist()`, `.cpu()`, `int(...)`.

    ## Why is this slow
    To know a number that a device drew, Python waits for all work queued there. A number that the host drew is there at
    once.

    ## Example
    ```python
    index = int(torch.randint(len(self.heads), (1,), device=device).item())
    ```

    ## Use instead
    ```python
    index = random.randrange(len(self.heads))
    ```

    ## What the fix may change
    There is no automatic fix: another generator draws other numbers.

    ## When to ignore it
    On the CPU, where both take about the same time.

    ## Measured
    The wait exists on an accelerator only. The events before and after are counted on the counted device;
    `torchlint rule TL213` prints them.

    ## References
    - PyTorch documentation, "CUDA semantics: asynchronous execution".
    """

    code = "TL213"
    name = "random-number-read-back"
    summary = "random numbers are drawn on a device only to be read on the host"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Call(*_CREATORS)
    least = Frequency.UPDATE
    cuda_only = True
    examples = (
        Example(
            name="two-of-five-heads",
            source=_SOURCE,
            fixed=_SOURCE.replace("len(self.weights), device=device)", "len(self.weights))"),
            setup="torch.manual_seed(0)\nlearner = Learner(5)\nobs = obs.to(device)",
            workload="learner.update(obs)",
            inputs=(Input("obs", Kind.TENSOR, (256, 8)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report numbers drawn on a device that only the host reads."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) not in _CREATORS or not site.device.may_be_cuda():
            return
        device = keyword_of(call, "device")
        if device is None or site.values.of(device).device is Device.CPU or site.values.of(device).literal == "cpu":
            return
        if site.flow.uses(call) == {Use.READ}:
            yield Report(call, _MESSAGE)
