"""TL706: minibatches are indexed with lists of Python integers from a sampler."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Fix, Frequency, Input, Kind, Report, Rule, Site
from torchlint.rule.build import module_for, source

from ._batches import IN_ORDER, drawn_from
from ._indexing import only_indexes

_BATCHES = "torch.utils.data.BatchSampler"
_SHUFFLED = "torch.utils.data.SubsetRandomSampler"
_RANGES = frozenset({"builtins.range", "numpy.arange", "torch.arange"})
_FULL = "a batch has at least one row and no more than there are"
_FULL_SEVERAL = "a batch has several rows and no more than there are"
_TWICE = (cst.Name, cst.Attribute, cst.Integer)
_SOME = "there is at least one row"
_SEVERAL = "no batch has a single row"
_SIZED = "a batch has at least one row"

_SOURCE = """\
import torch
from torch import nn
from torch.utils.data import BatchSampler, SubsetRandomSampler


class Learner:
    def __init__(self):
        self.net = nn.Linear(17, 1)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def minibatches(self, obs: torch.Tensor, returns: torch.Tensor):
        found = []
        for index in BatchSampler(SubsetRandomSampler(range(2048)), 64, False):
            found.append((obs[index], returns[index]))
        return found

    def learn(self, obs, returns):
        for rows, goal in self.minibatches(obs, returns):
            loss = (self.net(rows) - goal).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def train(learner: Learner, rollouts, updates):
    for _ in range(updates):
        learner.learn(*rollouts.collect())
"""


class SamplerOfPythonInts(Rule):
    """Minibatches are indexed with lists of Python integers from a sampler.

    ## What it does
    Finds `BatchSampler(SubsetRandomSampler(range(n)), k, drop_last)` and the same with other samplers over a range,
    also where names stand for them, but as an argument of a `DataLoader`, or where a loop goes over the numbers of a
    batch.

    ## Why is this slow
    Every index becomes a Python integer, goes through two generators into a list, and back into a tensor for each
    array that it indexes. The permutation was a tensor to begin with.

    ## Example
    ```python
    for index in BatchSampler(SubsetRandomSampler(range(n)), k, False):
        loss = self.loss(obs[index], returns[index])
    ```

    ## Use instead
    ```python
    for index in torch.randperm(n).split(k):
        loss = self.loss(obs[index], returns[index])
    ```

    ## What the fix may change
    Nothing: both draw the same permutation. It is offered in the head of a `for`, or in the statement right before it,
    where the variable only indexes proven tensors and arrays. With `drop_last` the rows that are left over are cut off.
    For no rows at all, or fewer than a batch has, `split` gives one batch where the sampler gives none, so where these
    numbers are not known the fix says what it assumes. It assumes that a size of a batch which is not known is a
    positive number, for both refuse others with exceptions of other classes. Where arrays are indexed it assumes that
    no batch is of one row: NumPy takes a tensor of one element for a number and drops the dimension.

    ## When to ignore it
    Where a batch takes far longer than the indexing.

    ## Measured
    On 2,048 rows in batches of 64; `torchlint rule TL706` prints the figures.

    ## References
    - PyTorch documentation, `torch.utils.data.BatchSampler`, `torch.randperm`.
    """

    code = "TL706"
    name = "sampler-of-python-ints"
    summary = "minibatches are indexed with lists of Python integers from a sampler"
    trigger = Call(_BATCHES, "torch.utils.data.sampler.BatchSampler")
    least = Frequency.EPISODE  # built once per epoch of a phase of learning, run through for all its minibatches
    fixable = True
    examples = (
        Example(
            name="rows-2048-by-64",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "BatchSampler(SubsetRandomSampler(range(2048)), 64, False)", "torch.randperm(2048).split(64)"
            ).replace("from torch.utils.data import BatchSampler, SubsetRandomSampler\n", ""),
            setup="torch.manual_seed(0)\nlearner = Learner()",
            workload="learner.minibatches(obs, returns)",
            unit="epoch",
            inputs=(Input("obs", Kind.TENSOR, (2048, 17)), Input("returns", Kind.TENSOR, (2048, 1))),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report batches of a sampler over a range."""
        call = site.node
        if not isinstance(call, cst.Call) or _name(site, call) != _BATCHES or not site.calls.is_plain(call):
            return
        sampler, size = site.calls.argument(call, 0, "sampler"), site.calls.argument(call, 1, "batch_size")
        kind = drawn_from(site, call)
        if kind is None or size is None or _feeds_loader(site, call):
            return
        cure = "take slices" if kind == IN_ORDER else "split a permutation, `torch.randperm(n).split(k)`"
        fix = None
        if isinstance(sampler, cst.Call) and kind == _SHUFFLED and len(sampler.args) == 1:
            rows = _rows(site, sampler)
            fix = _fix(site, call, rows, size) if rows is not None and not _over_tensor(site, sampler) else None
        yield Report(call, f"the indices of each minibatch are a list of Python integers; {cure}", fix)


def _feeds_loader(site: Site, call: cst.Call) -> bool:
    """Whether batches are an argument of a ``DataLoader``, which hands them to its dataset."""
    parent = site.parent(call)
    outer = site.parent(parent) if isinstance(parent, cst.Arg) else parent
    return isinstance(outer, cst.Call) and (site.names.of(outer.func) or "").endswith("DataLoader")


def _name(site: Site, call: cst.Call) -> str:
    return (site.names.of(call.func) or "").replace("torch.utils.data.sampler.", "torch.utils.data.")


def _rows(site: Site, sampler: cst.Call) -> cst.BaseExpression | None:
    """The ``n`` of ``range(n)`` that a sampler goes over."""
    indices = sampler.args[0].value if sampler.args else None
    if isinstance(indices, cst.Call) and site.names.of(indices.func) in _RANGES and len(indices.args) == 1:
        return indices.args[0].value if indices.args[0].keyword is None and not indices.args[0].star else None
    return None


def _over_tensor(site: Site, sampler: cst.Call) -> bool:
    """Whether the indices are elements of a tensor: a list of those is one index for each dimension."""
    indices = sampler.args[0].value
    return isinstance(indices, cst.Call) and site.names.of(indices.func) == "torch.arange"


def _fix(site: Site, call: cst.Call, rows: cst.BaseExpression, size: cst.BaseExpression) -> Fix | None:
    """The permutation, split."""
    drop = site.calls.argument(call, 2, "drop_last")
    indexed = only_indexes(site, call)
    drops = drop.value if isinstance(drop, cst.Name) else ""
    if drops not in ("True", "False") or not indexed or site.compiling.scripted():
        return None
    if drops == "True" and not (isinstance(rows, _TWICE) and isinstance(size, _TWICE)):
        return None  # both are written twice
    torch, missing = module_for(site, "torch", "torch")
    count, step = source(rows), source(size)
    batches = f"{torch}.randperm({count})"
    known, batch = _number(site, rows), _number(site, size)
    if drops == "True" and known and batch:
        if known < batch:
            return None  # there is no batch at all
        batches += f"[:{known - known % batch}]" if known % batch else ""
    elif drops == "True":
        batches += f"[: {count} - {count} % {step}]"
    doubt = _doubt(known, batch, drops=drops == "True", tensors=indexed == {Kind.TENSOR})
    return Fix("split a permutation", ((call, f"{batches}.split({step})"),), assumes=doubt, imports=missing)


def _number(site: Site, node: cst.BaseExpression) -> int | None:
    """The positive whole number that an expression is proven to be."""
    value = site.values.of(node).literal
    return value if type(value) is int and value > 0 else None


def _doubt(known: int | None, batch: int | None, *, drops: bool, tensors: bool) -> str:
    """What is not proven of the numbers of rows; a batch of one row drops a dimension where it indexes an array."""
    if drops:
        full = known is not None and batch is not None and (tensors or batch > 1)
        return "" if full else _FULL if tensors else _FULL_SEVERAL
    if known is None:
        return _SOME
    if batch is None:
        return _SIZED
    return "" if tensors or (batch > 1 and known % batch != 1) else _SEVERAL
