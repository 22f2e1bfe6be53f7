"""TL904: matrix products run in full float32 precision by default."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site

_OPTIMIZERS = function_names(optimizes=True)
_DECISIONS = ("set_float32_matmul_precision", "fp32_precision", "allow_tf32")

_SOURCE = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(17, 6).to(device)
optimizer = torch.optim.Adam(net.parameters())


def forward(obs):
    return net(obs)
"""


class MatmulPrecisionUnset(Rule):
    """The project trains on CUDA and never says how precise float32 matrix products must be.

    ## What it does
    Reports the first optimizer of a project that may use CUDA and mentions neither
    `torch.set_float32_matmul_precision` nor `fp32_precision` nor `allow_tf32`.

    ## Why is this slow
    On recent GPUs tensor cores multiply float32 matrices several times as fast when they may round the factors to TF32.
    The default is full precision.

    ## Example
    ```python
    optimizer = torch.optim.Adam(net.parameters())
    ```

    ## Use instead
    ```python
    torch.set_float32_matmul_precision("high")
    optimizer = torch.optim.Adam(net.parameters())
    ```

    ## What the fix may change
    There is no automatic fix: results lose precision. This rule must be selected by its code.

    ## When to ignore it
    Where full precision is wanted, and for small networks.

    ## Measured
    On a CPU it changes nothing; on CUDA the same kernels are launched, and run faster.

    ## References
    - PyTorch documentation, `torch.set_float32_matmul_precision`.
    """

    code = "TL904"
    name = "matmul-precision-unset"
    summary = "matrix products run in full float32 precision by default"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Call(*_OPTIMIZERS)
    least = Frequency.ONCE
    cuda_only = True
    torch = (1, 12)
    examples = (
        Example(
            name="precision-not-chosen",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "from torch import nn\n", 'from torch import nn\n\ntorch.set_float32_matmul_precision("highest")', 1
            ),
            setup="nn.init.constant_(net.weight, 0.01)\nnn.init.zeros_(net.bias)",
            workload="forward(obs.to(device))",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the first optimizer where no file decides about precision."""
        call = site.node
        if (
            not isinstance(call, cst.Call)
            or site.names.of(call.func) not in _OPTIMIZERS
            or not site.device.may_be_cuda()
        ):
            return
        if site.calls.is_first(_OPTIMIZERS.all) and not any(site.names.in_project(word) for word in _DECISIONS):
            yield Report(
                call,
                'float32 matrix products run in full precision; torch.set_float32_matmul_precision("high") allows TF32 '
                "where that is precise enough",
            )
