"""TL505: runs get past what `torch.compile` gives."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Bypass, BypassKind, Call, Example, Found, Frequency, Input, Kind, Level, Report, Rule, Site

from ._compiled_module_bypassed import Takers, bypassed, takes_uncompiled

_SOURCE = """\
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 12))

    def best_action(self, obs):
        mean, log_std = self.net(obs).chunk(2, dim=-1)
        variance = (2 * log_std.clamp(-5, 2)).exp()
        return (mean / (1 + variance).sqrt()).tanh()

    def forward(self, obs):
        return self.net(obs)


class Agent:
    def __init__(self, backend="inductor"):
        self.policy = torch.compile(Policy(), backend=backend)

    @torch.no_grad()
    def act(self, obs):
        return self.policy.best_action(obs)


def rollout(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""


class CompiledModuleBypassed(Rule):
    """Calls bypass the compiled module.

    ## What it does
    Finds a module that is compiled and then used only through methods besides `forward` (`policy.act(x)`), also where
    its class has no `forward` at all; a `torch.compile(net)` whose result is not kept; and an object that is given
    a module before the same function compiles it, and calls it.

    ## Why is this slow
    `torch.compile` returns a new object that compiles calls of itself. Its other methods are those of the old module,
    and run uncompiled; so does everybody who holds the old module.

    ## Example
    ```python
    self.policy = torch.compile(self.policy)
    ...
    action = self.policy.act(obs)
    ```

    ## Use instead
    ```python
    self.policy.act = torch.compile(self.policy.act)
    ...
    action = self.policy.act(obs)
    ```
    Or `self.policy.compile()`, which compiles the module itself, for references that were taken before.

    ## What the fix may change
    There is no automatic fix: which of the methods are worth compiling is not known.

    ## When to ignore it
    Where the method was left uncompiled on purpose.

    ## Measured
    The figures below show a small policy whose action takes a few more operations than its layers, compiled and not.
    They depend on the C++ compiler. What is lost is what compiling would have gained.

    ## References
    - PyTorch documentation, `torch.compile` and `torch.nn.Module.compile`.
    """

    code = "TL505"
    name = "compiled-module-bypassed"
    summary = "calls bypass the compiled module"
    level = Level.WARNING
    trigger = Call("torch.compile") | Found(Takers)
    least = Frequency.ONCE
    examples = (
        Example(
            name="method-besides-forward",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "        self.policy = torch.compile(Policy(), backend=backend)\n",
                "        self.policy = Policy()\n"
                "        self.policy.best_action = torch.compile(self.policy.best_action, backend=backend)\n",
            ),
            setup="torch.manual_seed(0)\nagent = Agent()\nagent.act(obs)",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a compiled module that is not what runs, and a call that takes a module before it is compiled."""
        node = site.node
        if not isinstance(node, cst.Call):
            return
        if site.names.of(node.func) == "torch.compile":
            bypass = bypassed(site, node)
            if bypass is not None:
                yield Report(node, _message(bypass))
            return
        taken = takes_uncompiled(site, node)
        if taken is not None:
            names = ", ".join(taken.names)
            compiled, called = (f"{hop.path}:{hop.row}" for hop in (taken.compiled, taken.place))
            yield Report(
                node,
                f"keeps {names} from before torch.compile, so it calls the uncompiled module; compile first, or with "
                f".compile() (compiled at {compiled}, called at {called})",
            )


def _message(bypass: Bypass) -> str:
    if bypass.way is BypassKind.DROPPED or bypass.place is None:
        return "the result of torch.compile, which alone runs compiled, is dropped; assign it, or use net.compile()"
    place = f"{bypass.place.path}:{bypass.place.row}"
    if bypass.way is BypassKind.NO_FORWARD:
        return f"{bypass.name} has no forward to compile: its methods ({place}) run uncompiled; compile these"
    return f"compiled, but forward is never called: {bypass.name}() ({place}) runs uncompiled; compile that method"
