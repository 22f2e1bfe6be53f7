"""TL617: hot code computes a tensor that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Method, NetworkCall, Report, Rule, RuleSet, Site

# Methods of tensors and distributions that do nothing but compute.
_PURE = frozenset(
    {
        *(
            "entropy",
            "log_prob",
            "log_probs",
            "mean",
            "sum",
            "std",
            "var",
            "norm",
            "softmax",
            "log_softmax",
            "sigmoid",
            "tanh",
        ),
        *("exp", "log", "sqrt", "pow", "square", "abs", "max", "min", "argmax", "cumsum", "gather", "matmul", "clamp"),
        *("squeeze", "unsqueeze", "view", "reshape", "detach", "clone", "float", "item", "numpy", "cpu"),
    }
)

_OF_DISTRIBUTIONS = frozenset({"entropy", "log_prob", "log_probs"})

_MESSAGE = "`{name}` is never read; remove the computation"

_SOURCE = """\
import torch
from torch import nn
from torch.distributions import Categorical


class Agent:
    def __init__(self):
        self.net = nn.Linear(17, 6)

    def act(self, obs: torch.Tensor):
        with torch.no_grad():
            dist = Categorical(logits=self.net(obs))
            action = dist.probs.argmax(dim=-1)
            entropy = dist.entropy().mean()
        return action.cpu().numpy()


def collect(agent, envs, steps):
    obs, _ = envs.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = envs.step(agent.act(torch.as_tensor(obs)))
"""


class UnusedResult(Rule):
    """A tensor is computed in every step or update and never used.

    ## What it does
    Finds hot assignments of a computed tensor (a forward pass, an entropy, a log-probability, a mean, ...) to a local
    name that nothing reads.

    ## Why is this slow
    Everything up to the last reader has to be computed; a forward pass or an entropy costs as much as one that is
    needed.

    ## Example
    ```python
    entropy = dist.entropy().mean()
    return action
    ```

    ## Use instead
    ```python
    return action
    ```

    ## What the fix may change
    There is no automatic fix: perhaps the result was meant to be returned or logged.

    ## When to ignore it
    Where the computation only has to run, such as a pass that warms something up: assign it to `_`.

    ## Measured
    The entropy of 64 actions; `torchlint rule TL617` prints the figures.

    ## References
    - Ruff documentation, `unused-variable (F841)`, which finds unused names of any kind.
    """

    code = "TL617"
    name = "unused-result"
    summary = "hot code computes a tensor that is never read"
    set = RuleSet.PREVIEW
    trigger = Method(*_PURE) | NetworkCall()
    least = Frequency.UPDATE
    examples = (
        Example(
            name="entropy-of-64",
            source=_SOURCE,
            fixed=_SOURCE.replace("            entropy = dist.entropy().mean()\n", ""),
            setup="torch.manual_seed(0)\nagent = Agent()\nagent.net.to(device)\nobs = obs.to(device)",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.TENSOR, (64, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a computation whose result has a name that nothing reads."""
        call = site.node
        above = site.parent(call)
        if not isinstance(call, cst.Call) or not isinstance(above, cst.Assign) or len(above.targets) != 1:
            return
        target = above.targets[0].target
        if not isinstance(target, cst.Name) or target.value.startswith("_") or not site.values.is_unread(call):
            return
        run = site.autograd.run(call)
        if (run is not None and not run.keeps) or _computes(site, call):
            yield Report(call, _MESSAGE.format(name=target.value))


def _computes(site: Site, call: cst.Call) -> bool:
    """Whether a call is a method of a tensor or distribution that only computes."""
    match call.func:
        case cst.Attribute(value=base, attr=cst.Name(value=method)) if method in _PURE:
            if method in _OF_DISTRIBUTIONS:
                kind = site.values.of(base).kind
                return kind is Kind.DISTRIBUTION or (
                    kind in (Kind.UNKNOWN, Kind.INSTANCE) and site.names.in_file("torch")
                )
            if isinstance(base, cst.Call) and _computes(site, base):
                return True
            return site.values.of(base).kind is Kind.TENSOR and not isinstance(base, cst.Name)
    return False
