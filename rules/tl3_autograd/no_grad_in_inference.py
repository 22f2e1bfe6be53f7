"""TL301: ``no_grad`` where ``inference_mode`` would do."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Fix, Frequency, Input, Kind, Level, Report, Rule, Site, Statement
from torchlint.rule.build import expression, module_for

_MESSAGE = "`torch.no_grad()` around inference; `torch.inference_mode()` does less bookkeeping (the gain is small)"

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self, device):
        self.device = device
        self.policy = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6))
        self.policy.to(device)

    def act(self, obs):
        with torch.no_grad():
            logits = self.policy(torch.as_tensor(obs, dtype=torch.float32, device=self.device))
            return logits.argmax().item()


def train(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""


class NoGradInInference(Rule):
    """`torch.no_grad()` guards code whose results are plain numbers or arrays.

    ## What it does
    Finds `with torch.no_grad():` and `@torch.no_grad()` on the hot path of acting and evaluating, where every tensor
    made inside is proven to end there: what leaves it are NumPy arrays, numbers or nothing, and every module and
    function that runs there is known with all its parts and keeps nothing. Lazy layers, modules that remember what
    they compute first, forward hooks and modules of which only the annotation is known are left alone.

    ## Why is this slow
    It hardly is. `torch.inference_mode()` also leaves out version counters and view tracking, which saves a little
    per operation. The rule exists because the advice is common; it is a note.

    ## Example
    ```python
    with torch.no_grad():
        return self.policy(obs).argmax(dim=-1).item()
    ```

    ## Use instead
    ```python
    with torch.inference_mode():
        return self.policy(obs).argmax(dim=-1).item()
    ```

    ## What the fix may change
    Nothing: only what is proven to hold no tensor leaves the guarded code, and the rule is silent everywhere else. A
    tensor made in inference mode can never take part in autograd later: one that is stored and reaches a loss raises.
    So does one that a layer, a cache or a distribution remembers.

    ## When to ignore it
    Whenever the code may change so that a tensor leaves it: `no_grad` is the more forgiving choice.

    ## Measured
    The figures below show one action of a small network. It is a few microseconds at best, whatever the network.

    ## References
    - PyTorch documentation, "Autograd mechanics": inference mode.
    """

    code = "TL301"
    name = "no-grad-in-inference"
    summary = "no_grad around inference whose tensors never leave it"
    level = Level.NOTE
    kept = "a few microseconds at best"
    trigger = Statement("With", "FunctionDef", mentioning={"torch.no_grad"})
    least = Frequency.STEP
    torch = (1, 9)
    fixable = True
    examples = (
        Example(
            name="one-action",
            source=_SOURCE,
            fixed=_SOURCE.replace("torch.no_grad()", "torch.inference_mode()"),
            setup="agent = Agent(device)",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.NDARRAY, (17,)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a ``no_grad`` block or decorator that only data leaves."""
        guard = _no_grad(site, site.node)
        if guard is None or not site.hot.acting() or site.compiling.inside() or site.compiling.scripted():
            return
        if isinstance(site.node, cst.With) and site.autograd.records() is False:
            return  # another guard around this one decides
        if site.flow.leaves_as_data(sealed=True):
            yield Report(guard, _MESSAGE, _fix(site, guard))


def _fix(site: Site, guard: cst.BaseExpression) -> Fix:
    """``inference_mode`` in place of ``no_grad``, through the same name of the module where it is spelled out."""
    name = guard.func if isinstance(guard, cst.Call) else guard
    if isinstance(name, cst.Attribute) and site.names.of(name.value) == "torch":
        return Fix("use `torch.inference_mode()`", ((name.attr, "inference_mode"),))
    torch, imports = module_for(site, "torch", "torch")
    return Fix("use `torch.inference_mode()`", ((name, expression(f"{torch}.inference_mode")),), imports=imports)


def _no_grad(site: Site, node: cst.CSTNode) -> cst.BaseExpression | None:
    """The ``torch.no_grad()`` of a ``with`` that holds nothing else, or the decorator of a function."""
    if isinstance(node, cst.With):
        guards = [item.item for item in node.items]
        if len(guards) != 1 or not isinstance(guards[0], cst.Call):
            return None
    elif isinstance(node, cst.FunctionDef):
        guards = [decorator.decorator for decorator in node.decorators]
    else:
        return None
    for guard in guards:
        if site.names.of(guard.func if isinstance(guard, cst.Call) else guard) == "torch.no_grad":
            return guard
    return None
