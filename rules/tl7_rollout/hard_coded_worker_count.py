"""TL702: the number of worker processes is hard-coded."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Option, Report, Rule, RuleSet, Site

# Constructors of worker processes, with the place and name of the argument that says how many.
_COUNTS = {
    "torch.utils.data.DataLoader": (5, "num_workers"),
    "multiprocessing.Pool": (0, "processes"),
    "torch.multiprocessing.Pool": (0, "processes"),
    "concurrent.futures.ProcessPoolExecutor": (0, "max_workers"),
    "torch.multiprocessing.spawn": (2, "nprocs"),
    "ray.init": (1, "num_cpus"),
    "gymnasium.make_vec": (1, "num_envs"),
    "stable_baselines3.common.env_util.make_vec_env": (1, "n_envs"),
}
_OF_LISTS = frozenset(
    {
        "gymnasium.vector.AsyncVectorEnv",
        "gym.vector.AsyncVectorEnv",
        "stable_baselines3.common.vec_env.SubprocVecEnv",
    }
)
_ALL = _OF_LISTS | _COUNTS.keys()
_MOST = Option[int]("most", 1, "a number of workers up to this is left alone", 1)

_SOURCE = """\
from torch.utils.data import DataLoader


def loader(rows):
    return DataLoader(rows, batch_size=64, num_workers=8)


def train(net, optimizer, rows, epochs):
    for _ in range(epochs):
        for batch in loader(rows):
            loss = net(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


class HardCodedWorkerCount(Rule):
    """The number of worker processes is hard-coded.

    ## What it does
    Finds the first constructor of worker processes in a project (data loaders, process pools, vector environments) that
    is given a literal number of two or more workers.

    ## Why is this slow
    A number that fits one machine leaves cores idle on a larger one, and makes processes wait for each other on a
    smaller one.

    ## Example
    ```python
    loader = DataLoader(rows, batch_size=64, num_workers=8)
    ```

    ## Use instead
    ```python
    loader = DataLoader(rows, batch_size=64, num_workers=min(8, os.cpu_count() or 1))
    ```

    ## What the fix may change
    There is no automatic fix: the best number depends on what else runs, and the number of environments changes what
    is learned.

    ## When to ignore it
    Where the number is part of the algorithm, or the machine is always the same.

    ## Measured
    Nothing: what a number of workers costs depends on the machine.

    ## References
    - Python documentation, `os.cpu_count`, `os.process_cpu_count`.
    """

    code = "TL702"
    name = "hard-coded-worker-count"
    summary = "the number of worker processes is hard-coded"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Call(*_ALL)
    least = Frequency.ONCE
    options = (_MOST,)
    examples = (
        Example(
            name="loader-of-8",
            source=_SOURCE,
            fixed=_SOURCE.replace("from torch.utils", "import os\n\nfrom torch.utils", 1).replace(
                "num_workers=8", "num_workers=min(8, os.cpu_count() or 1)"
            ),
            setup="",
            workload="loader(rows).batch_size",
            inputs=(Input("rows", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the first constructor of worker processes, if it is given a literal number."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.calls.is_plain(call):
            return
        name = site.names.of(call.func) or ""
        if name not in _ALL or not site.calls.is_first(_ALL):
            return
        count = _listed(site, call) if name in _OF_LISTS else site.calls.argument(call, *_COUNTS[name])
        if isinstance(count, cst.Integer) and int(count.value) > _MOST.of(self.given):
            yield Report(call, f"the number of workers is fixed at {count.value}; use `os.cpu_count()` or a setting")


def _listed(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """The ``n`` of a list of environments: ``[make for _ in range(n)]``, ``[make] * n``."""
    match site.calls.argument(call, 0, "env_fns"):
        case cst.ListComp(
            for_in=cst.CompFor(
                iter=cst.Call(func=cst.Name(value="range"), args=[cst.Arg(value=count)]), inner_for_in=None
            )
        ):
            return count
        case cst.BinaryOperation(left=cst.List(), operator=cst.Multiply(), right=count):
            return count
    return None
