"""TL905: mixed precision in a deprecated spelling, or a part of it that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Report, Rule, Site, Trigger
from torchlint.rule.build import source

_OLD = {
    "torch.cuda.amp.autocast": 'torch.amp.autocast("cuda", ...)',
    "torch.cuda.amp.GradScaler": 'torch.amp.GradScaler("cuda", ...)',
    "torch.cuda.amp.autocast_mode.autocast": 'torch.amp.autocast("cuda", ...)',
    "torch.cuda.amp.grad_scaler.GradScaler": 'torch.amp.GradScaler("cuda", ...)',
    "torch.cpu.amp.autocast": 'torch.amp.autocast("cpu", ...)',
    "torch.cpu.amp.GradScaler": 'torch.amp.GradScaler("cpu", ...)',
}
_SCALERS = frozenset({"torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler"})
_CASTS = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})
# What is asked of a scaler that scales nothing.
_BOOKKEEPING = frozenset({"state_dict", "load_state_dict", "get_scale", "is_enabled", "update", "set_growth_interval"})

_SOURCE = """\
import torch
from torch import nn


class Learner:
    def __init__(self, device):
        self.device = device
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.scaler = torch.amp.GradScaler("cuda", enabled=torch.cuda.is_available())

    def update(self, obs, goal):
        loss = (self.net(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""


class AmpMisuse(Rule):
    """Mixed precision in a deprecated spelling, or a scaler or context that nobody uses.

    ## What it does
    Finds `torch.cuda.amp.autocast` and `torch.cuda.amp.GradScaler`, called or imported, and those of `torch.cpu.amp`;
    and a `GradScaler` or `autocast` that is made and kept, but neither scales a loss nor is entered anywhere.

    ## Why is this slow
    A scaler alone makes nothing faster: training runs in float32 as before, while the settings say otherwise. The old
    spellings work, but since torch 2.4 each call warns, and they will go.

    ## Example
    ```python
    self.scaler = torch.amp.GradScaler("cuda")
    ...
    loss.backward()
    self.optimizer.step()
    ```

    ## Use instead
    ```python
    with torch.amp.autocast("cuda"):
        loss = self.loss(batch)
    self.scaler.scale(loss).backward()
    self.scaler.step(self.optimizer)
    self.scaler.update()
    ```

    ## What the fix may change
    There is no automatic fix: `torch.amp.autocast` needs torch 1.10 and `torch.amp.GradScaler` torch 2.3, and which
    one a project runs with is not known here. Mixed precision changes results; small networks are often slower in it.

    ## When to ignore it
    Where torch older than 2.3 must be supported.

    ## Measured
    Mixed precision on an accelerator has not been measured here. A deprecated spelling goes away, and a part that
    nobody uses does nothing: it is a mistake whatever it costs.

    ## References
    - PyTorch documentation, "Automatic Mixed Precision package".
    """

    code = "TL905"
    name = "amp-misuse"
    summary = "mixed precision in a deprecated spelling, or a part of it that nobody uses"
    trigger = Trigger(calls=frozenset({*_OLD, *_SCALERS, *_CASTS}), imports=frozenset(_OLD))
    least = Frequency.ONCE
    cuda_only = True
    kept = "it is a mistake whatever it costs"
    examples = (
        Example(
            name="scaler-without-use",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                '        self.scaler = torch.amp.GradScaler("cuda", enabled=torch.cuda.is_available())\n', ""
            ),
            setup="torch.manual_seed(0)\nlearner = Learner(device)\nobs, goal = obs.to(device), goal.to(device)",
            workload="learner.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a part of mixed precision that is never used, else its old spelling."""
        match site.node:
            case cst.Call() as call:
                name = site.name(call.func) or ""
                old = _OLD.get(name)
                kind = name.rpartition(".")[2]
                if (old or name in _SCALERS | _CASTS) and not site.handled(call, _BOOKKEEPING):
                    yield Report(call, _unused(kind))
                elif old and isinstance(call.func, cst.Attribute):
                    yield Report(call, _renamed(source(call.func), old))
            case cst.ImportFrom(names=[*aliases]) if site.runs_anyway():
                for alias in aliases:
                    old = _OLD.get(f"{_module(site.node)}.{source(alias.name)}")
                    if old:
                        yield Report(alias, _renamed(f"{_module(site.node)}.{source(alias.name)}", old))


def _module(node: cst.ImportFrom) -> str:
    return source(node.module) if node.module is not None and not node.relative else ""


def _renamed(name: str, new: str) -> str:
    return f"`{name}` is deprecated and warns on every call since torch 2.4; write `{new}`"


def _unused(kind: str) -> str:
    if kind == "GradScaler":
        return "this GradScaler scales no loss: mixed precision is not in use; use it together with autocast or drop it"
    return "this autocast is never entered: mixed precision is not in use; enter it around the forward pass or drop it"
