"""TL305: networks are switched between training and evaluation on every step."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Level, Method, Report, Rule, Site, Statement

from ._switching import (
    hands_mode_on,
    mode_matters,
    only_on_change,
    runs_per_step,
    sets_mode,
    switches_layer,
    switches_mode,
)

_ADVICE = "set the mode once, before acting or learning, or not at all"

# What policies of Stable-Baselines3 call it.
_OF_POLICIES = "set_training_mode"
_SWITCHES = ("train", "eval", _OF_POLICIES)

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self, device):
        self.device = device
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
        self.net.to(device)

    def act(self, obs):
        self.net.eval()
        with torch.inference_mode():
            q = self.net(torch.as_tensor(obs, dtype=torch.float32, device=self.device))
        self.net.train()
        return q.argmax().item()


def train(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""


class ModeTogglePerStep(Rule):
    """`train()` or `eval()` runs on every step.

    ## What it does
    Finds calls of `.train()` and `.eval()` of modules that run once per environment step or more often, also in
    helpers that the step calls, and context managers of the project that switch back and forth.

    ## Why is this slow
    Both walk through all submodules in Python and set an attribute on each. For a small network the walk there and
    back takes as long as its forward pass.

    ## Example
    ```python
    def act(self, obs):
        self.net.eval()
        action = self.net(obs).argmax().item()
        self.net.train()
        return action
    ```

    ## Use instead
    ```python
    def act(self, obs):
        return self.net(obs).argmax().item()
    ```

    ## What the fix may change
    There is no automatic fix: layers such as dropout and batch normalisation compute something else in the other mode,
    and so may any module that asks for `self.training`. A second network that stays in evaluation mode, or one switch
    around many steps, keeps their results.

    ## When to ignore it
    Where such layers act and learn in turns; the finding is only a note where the network may hold any.

    ## Measured
    The figures below compare one action with and without the switch there and back.

    ## References
    - PyTorch documentation, `torch.nn.Module.train`.
    """

    code = "TL305"
    name = "mode-toggle-per-step"
    summary = "train() or eval() on every step"
    trigger = Method(*_SWITCHES) | Statement("With")
    least = Frequency.STEP
    examples = (
        Example(
            name="around-one-action",
            source=_SOURCE,
            fixed=_SOURCE.replace("        self.net.eval()\n", "").replace("        self.net.train()\n", ""),
            setup="agent = Agent(device)",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.NDARRAY, (17,)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a switch of a proven module, or a context manager that switches what it is given."""
        match site.node:
            case cst.Call(func=cst.Attribute(value=module, attr=cst.Name(value=method))) as call if method in _SWITCHES:
                if (
                    _is_switch(site, call, method)
                    and _is_module(site, module)
                    and not switches_layer(site, module)
                    and not hands_mode_on(site)
                    and not only_on_change(site, call)
                    and runs_per_step(site, call)
                ):
                    shown = f"{method}(...)" if call.args else f"{method}()"
                    text = f"`{shown}` walks through all submodules on every step; {_ADVICE}"
                    level = Level.NOTE if mode_matters(site, module) else Level.WARNING
                    yield Report(call, text, shared=" ({count} such calls in this {where})", level=level)
            case cst.With(items=items):
                yield from _switching_contexts(site, [item.item for item in items])


def _switching_contexts(site: Site, contexts: list[cst.BaseExpression]) -> Iterator[Report]:
    for context in contexts:
        if not isinstance(context, cst.Call) or not switches_mode(site, context):
            continue
        modules = [argument.value for argument in context.args]
        if any(site.values.of(module).kind is Kind.ENV for module in modules):
            continue
        if modules and all(switches_layer(site, module) for module in modules):
            continue
        known = all(_is_module(site, module) and not mode_matters(site, module) for module in modules)
        text = f"the context switches the mode of all submodules twice on every step; {_ADVICE}"
        yield Report(context, text, level=Level.WARNING if known else Level.NOTE)


def _is_switch(site: Site, call: cst.Call, method: str) -> bool:
    """``train()`` and ``eval()``; a mode that someone else chose is their switch where it is only passed on."""
    match call.args:
        case []:
            return method != _OF_POLICIES
        case [cst.Arg(value=cst.Name(value="True" | "False"), star="")]:
            return method != "eval"
        case [cst.Arg(keyword=None | cst.Name(value="mode"), star="")]:
            return method == "train" and sets_mode(site, call)
    return False


def _is_module(site: Site, node: cst.BaseExpression) -> bool:
    return site.values.of(node).kind is Kind.MODULE
