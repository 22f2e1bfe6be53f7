"""TL907: every worker process runs torch with as many threads as there are cores."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Method, Report, Rule, Site

from ._worker_thread_oversubscription import function_reaches

_STARTS = frozenset({"torch.multiprocessing.Process", "multiprocessing.Process", "multiprocessing.context.Process"})
_SPAWN = frozenset({"torch.multiprocessing.spawn", "torch.multiprocessing.spawn.spawn"})
# Any of these, anywhere in the project, says that someone thought of threads.
_LIMITS = ("set_num_threads", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "threadpool_limits")

_SOURCE = """\
import torch
import torch.multiprocessing as mp


def work(net, batches):
    total = 0.0
    for obs, goal in batches:
        loss = (net(obs) - goal).square().mean()
        net.zero_grad()
        loss.backward()
        total += float(loss)
    return total


def main(net, batches):
    workers = []
    for rank in range(8):
        worker = mp.Process(target=work, args=(net, batches))
        worker.start()
        workers.append(worker)
"""


class WorkerThreadOversubscription(Rule):
    """Every worker process runs torch with as many threads as the machine has cores.

    ## What it does
    Finds processes that are started in a loop and run a backward pass, in a project that stays on the CPU and limits
    the number of threads nowhere.

    ## Why is this slow
    Each process starts a thread per core for its tensors, so that `n` workers have `n` times as many threads as there
    are cores. They wait for each other at the end of every operation, spinning.

    ## Example
    ```python
    def work(net):
        train(net)

    workers = [mp.Process(target=work, args=(net,)) for _ in range(8)]
    ```

    ## Use instead
    ```python
    def work(net):
        torch.set_num_threads(1)
        train(net)
    ```

    ## What the fix may change
    There is no automatic fix. Fewer threads split sums otherwise, which may change rounding.

    ## When to ignore it
    Where there are fewer workers than cores and the networks are large.

    ## Measured
    The figures below run one worker's function in one process on one thread, where the limit changes nothing, so this
    is a note. Beside other busy processes on two cores, one thread instead of the default made 348 instead of 6 updates
    a second in one measurement; that shows how it fails, it is not a general factor.

    ## References
    - PyTorch documentation, "Multiprocessing best practices: CPU oversubscription".
    """

    code = "TL907"
    name = "worker-thread-oversubscription"
    summary = "every worker process runs torch with as many threads as there are cores"
    level = Level.NOTE
    kept = "where the limit changes nothing, so this is a note"
    trigger = Call(*_STARTS, *_SPAWN) | Method("Process")
    least = Frequency.ONCE
    examples = (
        Example(
            name="workers-that-train",
            source=_SOURCE,
            fixed=_SOURCE.replace("    total = 0.0\n", "    torch.set_num_threads(1)\n    total = 0.0\n"),
            setup="torch.manual_seed(0)\nnet = torch.nn.Linear(17, 6)\nbatches = [(obs, goal)] * 4",
            workload="work(net, batches)",
            inputs=(Input("obs", Kind.TENSOR, (64, 17)), Input("goal", Kind.TENSOR, (64, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a process among several whose function trains on the CPU without a limit."""
        call = site.node
        if not isinstance(call, cst.Call):
            return
        name = site.names.of(call.func)
        if name in _SPAWN:
            target, many = site.calls.argument(call, 0, "fn"), site.calls.argument(call, 2, "nprocs") is not None
        elif name in _STARTS or _of_context(call):
            target, many = site.calls.argument(call, 1, "target"), bool(site.loops.around(call))
        else:
            return
        if (
            target is None
            or not many
            or site.device.may_be_cuda()
            or any(site.names.in_project(word) for word in _LIMITS)
        ):
            return
        if function_reaches(site, target, frozenset({"backward", "torch.autograd.grad"})):
            yield Report(
                call,
                "each of these processes runs torch with a thread per core; call torch.set_num_threads(1) at the start "
                "of the function it runs",
            )


def _of_context(call: cst.Call) -> bool:
    """``context.Process(target=...)`` of a context of ``multiprocessing``."""
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="Process"))):
            return any(arg.keyword is not None and arg.keyword.value == "target" for arg in call.args)
    return False
