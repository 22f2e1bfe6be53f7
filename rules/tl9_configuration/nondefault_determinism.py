"""TL903: convolutions may not choose their fastest algorithm."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site, Store

_STORED = {"torch.backends.cudnn.benchmark": "False", "torch.backends.cudnn.deterministic": "True"}
_CALLS = frozenset({"torch.use_deterministic_algorithms"})
CONVOLUTIONS = tuple(f"torch.nn.{kind}" for kind in ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d"))

_SOURCE = """\
import torch
from torch import nn

torch.backends.cudnn.deterministic = True


def build():
    return nn.Sequential(nn.Conv2d(4, 8, 8, stride=4), nn.ReLU(), nn.Flatten())


def features(net, frames):
    return net(frames)
"""


class NondefaultDeterminism(Rule):
    """cuDNN is set to be deterministic, or not to look for the fastest algorithm, in every run.

    ## What it does
    Finds `torch.backends.cudnn.deterministic = True`, `torch.backends.cudnn.benchmark = False` and
    `torch.use_deterministic_algorithms(True)` with no flag in front of them, in a project with convolutions.

    ## Why is this slow
    For convolutions of fixed shapes, such as stacks of frames, `benchmark = True` measures the algorithms once and then
    takes the fastest. Determinism rules some of them out.

    ## Example
    ```python
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    ```

    ## Use instead
    ```python
    torch.backends.cudnn.deterministic = args.deterministic
    torch.backends.cudnn.benchmark = not args.deterministic
    ```

    ## What the fix may change
    There is no automatic fix: runs that can be repeated bit by bit are a choice, so this rule must be selected by its
    code.

    ## When to ignore it
    Where results must be repeatable.

    ## Measured
    The gain exists on CUDA only, in the time of kernels; their number stays the same.

    ## References
    - PyTorch documentation, "Reproducibility".
    """

    code = "TL903"
    name = "nondefault-determinism"
    summary = "convolutions may not choose their fastest algorithm"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Call(*_CALLS) | Store("torch.backends.cudnn")
    least = Frequency.ONCE
    cuda_only = True
    examples = (
        Example(
            name="deterministic-frames",
            source=_SOURCE,
            fixed=_SOURCE.replace("torch.backends.cudnn.deterministic = True\n", ""),
            setup="torch.manual_seed(0)\nnet = build()",
            workload="features(net, frames)",
            inputs=(Input("frames", Kind.TENSOR, (2, 4, 84, 84)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a setting that every run comes to, where the project builds a convolution."""
        match site.node:
            case cst.Attribute() as target:
                value = site.flow.stored()
                found = isinstance(value, cst.Name) and _STORED.get(site.names.of(target) or "") == value.value
            case cst.Call(func=func) as call if site.names.of(func) in _CALLS:
                mode = site.calls.argument(call, 0, "mode")
                found = isinstance(mode, cst.Name) and mode.value == "True"
            case _:
                return
        if found and site.hot.runs_anyway() and any(site.calls.arguments(name) for name in CONVOLUTIONS):
            yield Report(
                site.node,
                "keeps cuDNN from taking the fastest algorithm for convolutions in every run; put it behind a flag",
            )
