"""TL908: a setting that torch does not have."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.values.torch_table import backend_has
from torchlint.rule import Example, Frequency, Input, Kind, Report, Rule, Site, Store
from torchlint.rule.build import source

_ADVICE = {
    "max_split_size_mb": '; it is an option of the allocator: PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:..."',
    "expandable_segments": '; it is an option of the allocator: PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"',
    "benchmark": "; benchmark belongs to torch.backends.cudnn",
    "deterministic": "; deterministic belongs to torch.backends.cudnn",
    "allow_tf32": "; allow_tf32 belongs to torch.backends.cuda.matmul and torch.backends.cudnn",
}

_SOURCE = """\
import torch

torch.backends.cuda.max_split_size_mb = 128


class Learner:
    def __init__(self, device):
        self.net = torch.nn.Linear(17, 6).to(device)

    def update(self, obs):
        return self.net(obs).square().mean()
"""


class NonexistentBackendKnob(Rule):
    """A `torch.backends` setting does not exist in any supported torch.

    ## What it does
    Finds assignments to attributes of `torch.backends.cuda`, `torch.backends.cudnn` and the other backends that no
    version of torch from 1.10 to 2.13 has.

    ## Why is this slow
    Python adds the attribute to the module and never reads it: the run is as slow, or as short of memory, as without
    the line, while the code says otherwise. A few backends raise instead.

    ## Example
    ```python
    torch.backends.cuda.max_split_size_mb = 128
    ```

    ## Use instead
    ```console
    $ PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 python train.py
    ```

    ## What the fix may change
    There is no automatic fix: which setting was meant is a guess.

    ## When to ignore it
    Where a newer torch or an extension adds the attribute.

    ## Measured
    Nothing: the line has no effect.

    ## References
    - PyTorch documentation, `torch.backends`.
    """

    code = "TL908"
    name = "nonexistent-backend-knob"
    summary = "a torch.backends setting that does not exist"
    trigger = Store("torch.backends")
    least = Frequency.ONCE
    cuda_only = True
    kept = "the line has no effect"
    examples = (
        Example(
            name="split-size",
            source=_SOURCE,
            fixed=_SOURCE.replace("torch.backends.cuda.max_split_size_mb = 128\n\n\n", "\n"),
            setup="torch.manual_seed(0)\nlearner = Learner(device)\nobs = obs.to(device)",
            workload="learner.update(obs)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a target of an assignment that names an unknown attribute of a known backend."""
        match site.node:
            case cst.Attribute(attr=cst.Name(value=attribute)) as target if site.flow.stored() is not None:
                name = site.names.of(target)
                asked = site.names.in_file(f'"{attribute}"') or site.names.in_file(f"'{attribute}'")  # by hasattr
                if name is not None and backend_has(name) is False and not asked:
                    advice = _ADVICE.get(attribute, "")
                    yield Report(target, f"torch has no `{source(target)}`: the assignment has no effect{advice}")
