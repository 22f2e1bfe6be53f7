"""TL906: convolutions over images use channels-first memory."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site

_CONVOLUTIONS = frozenset({"torch.nn.Conv2d"})

_SOURCE = """\
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(4, 32, 8, stride=4), nn.ReLU(), nn.Conv2d(32, 64, 4, stride=2), nn.ReLU())


def gradients(frames):
    loss = net(frames).square().mean()
    net.zero_grad()
    loss.backward()
    return loss.detach()
"""


class ChannelsLastUnset(Rule):
    """A project with convolutions never chooses their memory format.

    ## What it does
    Reports the first `torch.nn.Conv2d` of a project that mentions `channels_last` nowhere, nor permutes images itself.

    ## Why is this slow
    Several kernels for convolutions work on memory with the channels last, and copy it there and back otherwise.

    ## Example
    ```python
    net = nn.Sequential(nn.Conv2d(4, 32, 8, stride=4), nn.ReLU())
    ```

    ## Use instead
    ```python
    net = nn.Sequential(nn.Conv2d(4, 32, 8, stride=4), nn.ReLU()).to(memory_format=torch.channels_last)
    features = net(frames.contiguous(memory_format=torch.channels_last))
    ```

    ## What the fix may change
    There is no automatic fix: strides change, `view` may fail where `reshape` does not, and results may differ in
    rounding. This rule must be selected by its code.

    ## When to ignore it
    Where only forward passes on a CPU matter: there it made no difference.

    ## Measured
    The figures below compare a forward and backward pass of two convolutions.

    ## References
    - PyTorch documentation, "Channels Last Memory Format".
    """

    code = "TL906"
    name = "channels-last-unset"
    summary = "convolutions over images use channels-first memory"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Call(*_CONVOLUTIONS)
    least = Frequency.ONCE
    examples = (
        Example(
            name="frames-forward-and-backward",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "    loss = net(frames)", "    loss = net(frames.contiguous(memory_format=torch.channels_last))"
            ).replace("\n\n\ndef", "\nnet = net.to(memory_format=torch.channels_last)\n\n\ndef"),
            setup="for part in net.parameters():\n    nn.init.constant_(part, 0.01)",
            workload="gradients(frames)",
            unit="update",
            inputs=(Input("frames", Kind.TENSOR, (32, 4, 84, 84)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the first convolution where no file chooses a memory format."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) not in _CONVOLUTIONS:
            return
        if (
            site.calls.is_first(_CONVOLUTIONS)
            and not site.names.in_project("channels_last")
            and not site.names.in_project("permute(")
        ):
            yield Report(call, "no memory format is chosen for the convolutions; try torch.channels_last for training")
