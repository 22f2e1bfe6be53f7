"""TL905: mixed precision is enabled by a deprecated API, or never used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchlint import cst
from torchlint.rule import Call, Example, Fix, Frequency, Import, Input, Kind, Report, Rule, Site
from torchlint.rule.build import expression, keyword, module_for, source, with_keyword

from ._amp_misuse import handled

# The old names, each with the device that the new one is told.
_OLD = {
    "torch.cuda.amp.autocast": "cuda",
    "torch.cuda.amp.GradScaler": "cuda",
    "torch.cuda.amp.autocast_mode.autocast": "cuda",
    "torch.cuda.amp.grad_scaler.GradScaler": "cuda",
    "torch.cpu.amp.autocast": "cpu",
    "torch.cpu.amp.GradScaler": "cpu",
}
# The first torch that has the new name.
_SINCE = {"autocast": (1, 10), "GradScaler": (2, 3)}
# The first torch that warns of the old ones.
_DEPRECATED = (2, 4)
# Positional parameters of the old autocast, which are in another order in the new one; its dtype where none is given,
# and a dtype that whoever chooses another default mentions.
_PARAMETERS = ("enabled", "dtype", "cache_enabled")
_DTYPES = {"cuda": ("float16", "bfloat16"), "cpu": ("bfloat16", "float16")}
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


_SPELLING = "old-spelling"
_OLD_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6))

    def act(self, obs):
        with torch.no_grad(), torch.cpu.amp.autocast(True):
            return self.net(obs).argmax(dim=-1)


def train(agent, env, steps):
    obs = env.reset()
    for _ in range(steps):
        obs, reward, done, info = env.step(agent.act(obs))
"""


class AmpMisuse(Rule):
    """Mixed precision is enabled by a deprecated API, or its scaler or context is not used.

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
    Nothing: the new spelling is given what the old one assumes. It is offered where the old one is spelled out in the
    call, and where the project says that its torch knows the new one (`target-torch`, or the project's dependencies):
    `torch.amp.autocast` came with torch 1.10, `torch.amp.GradScaler` with 2.3. Where nothing says which torch the
    project runs with, the finding stands without a fix. An import of old names is left to you,
    and so is a part that is not used. Mixed precision changes results; small networks are often slower in it.

    ## When to ignore it
    Where torch older than 2.3 must be supported. With `target-torch`, or a lower bound in the dependencies, the rule
    knows and is silent. So it is about old spellings where the dependencies pin a torch before 2.4, `torch==2.2.0`.

    ## Measured
    Counts do not show what mixed precision gains on an accelerator. A deprecated spelling goes away, and a part that
    is not used does nothing: it is a mistake whatever it costs.

    ## References
    - PyTorch documentation, "Automatic Mixed Precision package".
    """

    code = "TL905"
    name = "amp-misuse"
    summary = "mixed precision is enabled by a deprecated API, or never used"
    trigger = Call(*_OLD, *_SCALERS, *_CASTS) | Import(*_OLD)
    least = Frequency.ONCE
    cuda_only = True
    kept = "it is a mistake whatever it costs"
    fixable = True
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
        Example(
            name=_SPELLING,
            source=_OLD_SOURCE,
            fixed=_OLD_SOURCE.replace("torch.cpu.amp.autocast(True)", 'torch.amp.autocast("cpu", enabled=True)'),
            setup="torch.manual_seed(0)\nagent = Agent()",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.TENSOR, (64, 17)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a part of mixed precision that is never used, else its old spelling."""
        match site.node:
            case cst.Call() as call:
                name = site.names.of(call.func) or ""
                device = _OLD.get(name)
                kind = name.rpartition(".")[2]
                if (device or name in _SCALERS | _CASTS) and not handled(site, call, _BOOKKEEPING):
                    yield Report(call, _unused(kind))
                elif device and isinstance(call.func, cst.Attribute):
                    message = _renamed(source(call.func), kind, device)
                    fix = _fix(site, call, kind, device)
                    yield Report(call, message, fix, figure=_SPELLING, torch=_SINCE[kind], deprecated=_DEPRECATED)
            case cst.ImportFrom(names=[*aliases]) if site.hot.runs_anyway():
                for alias in aliases:
                    name, kind = f"{_module(site.node)}.{source(alias.name)}", source(alias.name)
                    if name in _OLD:
                        message = _renamed(name, kind, _OLD[name])
                        yield Report(alias, message, figure=_SPELLING, torch=_SINCE[kind], deprecated=_DEPRECATED)


def _module(node: cst.ImportFrom) -> str:
    return source(node.module) if node.module is not None and not node.relative else ""


def _renamed(name: str, kind: str, device: str) -> str:
    new = f'torch.amp.{kind}("{device}", ...)'
    return f"`{name}` is deprecated and warns on every call since torch 2.4; write `{new}`"


def _fix(site: Site, call: cst.Call, kind: str, device: str) -> Fix | None:
    """The new spelling with what the old one assumes; ``None`` where the arguments are not all known."""
    if any(argument.star for argument in call.args) or site.compiling.scripted():
        return None
    torch, imports = module_for(site, "torch", "torch")
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")) if call.args else cst.MaybeSentinel.DEFAULT
    first = cst.Arg(cst.SimpleString(f'"{device}"'), comma=comma)
    args = call.args if kind == "GradScaler" else _named(call.args)
    new = call.with_changes(func=expression(f"{torch}.amp.{kind}"), args=[first, *args])
    message = f"write `{torch}.amp.{kind}`"
    if kind == "GradScaler":
        doubt = "nothing asks whether the scaler is an instance of the old class" if _asks_for_classes(site) else ""
        return Fix(message, ((call, new),), assumes=doubt, imports=imports, torch=_SINCE[kind], stated=True)
    given = {argument.keyword.value for argument in new.args if argument.keyword is not None}
    if site.names.in_project("set_autocast") or (
        "cache_enabled" not in given and site.names.in_project("cache_enabled")
    ):
        return None  # what the new one takes where nothing is said is not what the old one does
    dtype, other = _DTYPES[device]
    if "dtype" not in given and site.names.in_project(other):
        new = with_keyword(new, "dtype", expression(f"{torch}.{dtype}"))
    return Fix(message, ((call, new),), imports=imports, torch=_SINCE[kind], stated=True)


def _asks_for_classes(site: Site) -> bool:
    return site.names.in_project("isinstance") or site.names.in_project("issubclass")


def _named(args: Sequence[cst.Arg]) -> list[cst.Arg]:
    """Arguments of the old autocast with the names of those that stand there by their place."""
    return [
        argument if argument.keyword is not None else keyword(name, argument.value).with_changes(comma=argument.comma)
        for argument, name in zip(args, [*_PARAMETERS, *[""] * len(args)], strict=False)
    ]


def _unused(kind: str) -> str:
    if kind == "GradScaler":
        return "this GradScaler scales no loss: mixed precision is not in use; use it together with autocast or drop it"
    return "this autocast is never entered: mixed precision is not in use; enter it around the forward pass or drop it"
