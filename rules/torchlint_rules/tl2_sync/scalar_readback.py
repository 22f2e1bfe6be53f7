"""TL203: one number of a tensor read back to the host, where the host does not need it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Fix, Frequency, Input, Kind, Level, Method, Report, Rule, Site, Use
from torchlint.rule.build import module_for
from torchlint_rules.tl2_sync._reading_together import reads_together
from torchlint_rules.tl2_sync._scalar_readback import NUMBERS, read_at

_MESSAGE = "`{what}` waits for the device, {why} (on CUDA); {better}"
_SHARED = "; {count} such reads in this {where}, `torch.stack([...]).tolist()` would be one"

_SOURCE = """\
import torch
from torch import nn
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Critic:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-3)

    def update(self, batches):
        total = 0.0
        for obs, goal in batches:
            loss = F.mse_loss(self.net(obs).squeeze(-1), goal)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(batches)


def train(critic: Critic, replay, updates):
    for _ in range(updates):
        print(critic.update(replay.sample(8)))
"""
_BETTER = _SOURCE.replace("total = 0.0", "total = torch.zeros((), device=device, dtype=torch.float64)")
_BETTER = _BETTER.replace("total += loss.item()", "total += loss.detach()")
_BETTER = _BETTER.replace("return total / len(batches)", "return (total / len(batches)).item()")


class ScalarReadback(Rule):
    """Python reads a number back from the device in every update, and only a log, a sum or a tensor takes it.

    ## What it does
    Finds `.item()`, `float(t)` and `int(t)` of a tensor in code that runs at least once per gradient update, when the
    number is followed through names, containers, attributes, returns and calls, and all it comes to are loggers, sums,
    or further tensor operations.

    ## Why is this slow
    The number is not there before the device has finished all work queued so far. Python waits for it, queues nothing
    meanwhile, and the device idles afterwards. Several numbers read one by one wait several times.

    ## Example
    ```python
    loss.backward()
    optimizer.step()
    total += loss.item()
    ```

    ## Use instead
    ```python
    loss.backward()
    optimizer.step()
    total += loss.detach()
    ```

    Read the sum once, where it is logged; several numbers at once with `torch.stack([...]).tolist()`. A number that
    goes back into tensor operations can stay a tensor: `self.alpha = self.log_alpha.exp().detach()`.

    ## What the fix may change
    There is no automatic fix: a sum of float32 tensors is rounded otherwise than a sum of Python numbers, which have
    64 bits.

    ## When to ignore it
    On the CPU, where nothing waits and adding Python numbers is faster than adding small tensors. Where the host needs
    the number at once for something that torchlint does not see.

    ## Measured
    The wait exists on an accelerator only. The events before and after are counted on the counted device;
    `torchlint rule TL203` prints them.

    ## References
    - PyTorch documentation, "Performance Tuning Guide": avoid unnecessary CPU-GPU synchronization.
    """

    code = "TL203"
    name = "scalar-readback"
    summary = "a number is read back from the device in every update for a log, a sum or more tensor operations"
    level = Level.NOTE
    trigger = Call(*NUMBERS) | Method("item")
    least = Frequency.UPDATE
    yields_to = ("TL201", "TL206", "TL611")
    cuda_only = True
    fixable = True
    examples = (
        Example(
            name="loss-of-each-batch",
            source=_SOURCE,
            fixed=_BETTER,
            setup="critic = Critic()\nbatches = [(obs.to(device), goal.to(device))] * 8",
            workload="round(critic.update(batches), 3)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256,))),
            by_hand=True,
            runs=8,
            unit="update",
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a number that is read from a tensor, off the CPU, and that the host does not need."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.device.may_be_cuda():
            return
        read = read_at(site, call)
        if read is not None:
            why, better = _advice(read.uses)
            fix = None if site.compiling.scripted() else _fix(site, call)
            yield Report(call, _MESSAGE.format(what=read.how, why=why, better=better), fix, shared=_SHARED)


def _fix(site: Site, call: cst.Call) -> Fix | None:
    """The read as one with its neighbours."""
    torch, imports = module_for(site, "torch", "torch")
    found = reads_together(site, call)
    if found is None:
        return None
    names = ", ".join(found.targets)
    row = (found.first, f"{names} = {found.joined.format(torch=torch)}")
    return Fix(
        message="read these numbers at once",
        replace=(),
        elsewhere=tuple((old, new.replace("{torch}", torch)) for old, new in found.replaced),
        ahead=(row,) if names else (),
        assumes=found.doubt,
        imports=imports,
    )


def _advice(uses: frozenset[Use]) -> tuple[str, str]:
    """Why the number is not needed there, and what to do instead."""
    if {Use.LOGGED, Use.TENSOR} <= uses:
        return "for a number that only logs and tensor operations need", "keep the tensor, read it where it is logged"
    if Use.LOGGED in uses:
        return (
            "for a number that only logs and seldom code need",
            "keep detached tensors and read them where they are needed",
        )
    if Use.REPORTED in uses:
        return "for a number that is only reported", "report the detached tensor and read it where it is logged"
    if Use.TENSOR in uses:
        return "for a number that only tensor operations need", "keep the detached tensor"
    return "for a number that no code seen here uses", "leave the read out, or give the detached tensor"
