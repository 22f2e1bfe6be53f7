"""TL503: `torch.compile` on every machine."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site, Statement

from ._machines import compiles_anywhere

_SOURCE = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Agent:
    def __init__(self):
        net = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 6)).to(device)
        self.policy = torch.compile(net)

    @torch.no_grad()
    def act(self, obs):
        return self.policy(obs).argmax(dim=-1)
"""


class UnguardedCompile(Rule):
    """`torch.compile` runs whatever the device is, in a project that also runs without CUDA.

    ## What it does
    Finds `torch.compile` with the default backend that no condition guards, in a project that falls back to the CPU or
    names Apple's device. A flag in the function, or a question for the device, platform or capability anywhere on the
    way to it (in callers, in functions that a condition calls, in other files) is a guard; `hasattr(torch, "compile")`
    is none. The first in a function is reported.

    ## Why is this slow
    On the CPU the compiler needs a C++ compiler at run time and seconds for each graph, and a small network often runs
    slower than before. On Apple's device the backend is young.

    ## Example
    ```python
    self.policy = torch.compile(self.policy)
    ```

    ## Use instead
    ```python
    if device.type == "cuda":
        self.policy = torch.compile(self.policy)
    ```

    ## What the fix may change
    There is no automatic fix.

    ## When to ignore it
    Where compiling was measured to gain on the CPU, too.

    ## Measured
    A network of two small layers on the CPU, compiled and not. The figure depends on the C++ compiler.

    ## References
    - PyTorch documentation, `torch.compile`.
    """

    code = "TL503"
    name = "unguarded-compile"
    summary = "torch.compile on every machine"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Call("torch.compile") | Statement("FunctionDef", mentioning={"torch.compile"})
    least = Frequency.ONCE
    examples = (
        Example(
            name="two-layers-on-the-cpu",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "self.policy = torch.compile(net)", 'self.policy = torch.compile(net) if device.type == "cuda" else net'
            ),
            setup="torch.manual_seed(0)\nagent = Agent()\nagent.act(obs)",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a ``torch.compile`` that no condition guards, by its call or as a bare decorator."""
        match site.node:
            case cst.Call() as call if site.names.of(call.func) == "torch.compile":
                nodes: list[cst.BaseExpression] = [call]
            case cst.FunctionDef() as function:
                nodes = [part.decorator for part in function.decorators]
            case _:
                nodes = []
        for node in nodes:
            if not isinstance(node, cst.Call) or node is site.node:
                if compiles_anywhere(site, node):
                    yield Report(
                        node,
                        "compiled on every machine, though the project also runs without CUDA; small networks may get "
                        "slower there, and the compiler may be missing; ask for the device first",
                    )
