"""TL501: a module compiled for fixed shapes is called with different batch sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from torchlint import cst
from torchlint.rule import (
    Call,
    CallSite,
    Change,
    Example,
    Fix,
    Frequency,
    Hop,
    Input,
    Kind,
    Level,
    Method,
    Report,
    Rule,
    Site,
)
from torchlint.rule.build import keyword_of, without_keyword

from ._calling import calls_of
from ._compile_over_varying_shapes import is_refused

_GRAPH_MODES = frozenset({"reduce-overhead", "max-autotune"})

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self, backend="inductor"):
        net = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6))
        self.policy = torch.compile(net, dynamic=False, backend=backend)
        self.optimizer = torch.optim.Adam(net.parameters())

    def act(self, obs):
        with torch.no_grad():
            return self.policy(obs).argmax(dim=-1)

    def update(self, obs, goal):
        loss = (self.policy(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(agent, env, replay, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
        agent.update(*replay.sample(256))
"""
_SETUP = """\
sizes = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233)

def first_calls():
    torch.manual_seed(0)
    torch.compiler.reset()
    agent = Agent(backend="eager")
    return [agent.act(obs[:size]) for size in sizes]
"""


class CompileOverVaryingShapes(Rule):
    """A module compiled for fixed shapes is called with different batch sizes.

    ## What it does
    Finds `torch.compile` with `dynamic=False`, or with a mode that captures CUDA graphs (`reduce-overhead`,
    `max-autotune`), on a module that is called while acting (one observation, or one per environment) and again
    while learning (a batch).

    ## Why is this slow
    With `dynamic=False` every new batch size is compiled again, up to the recompile limit; after that the module runs
    uncompiled. In a CUDA-graph mode every size is captured and holds memory of its own. The default,
    `dynamic=None`, settles on a graph with a symbolic batch size when it sees the second one.

    ## Example
    ```python
    self.policy = torch.compile(self.policy, dynamic=False)
    ```

    ## Use instead
    ```python
    self.policy = torch.compile(self.policy)
    ```

    ## What the fix may change
    It leaves the argument out. A graph for symbolic sizes may use other kernels, so results may differ in rounding.
    There is no fix where the mode comes from a setting.

    ## When to ignore it
    Where there are two or three sizes in all, each used very often, and memory allows a graph for each.

    ## Measured
    The figures below count compiling: the first calls with a dozen batch sizes, without code generation
    (`backend="eager"`). A generating backend takes seconds for each graph.

    ## References
    - PyTorch documentation, `torch.compile`, and "Dynamic shapes".
    """

    code = "TL501"
    name = "compile-over-varying-shapes"
    summary = "a module compiled for fixed shapes is called with different batch sizes"
    level = Level.WARNING
    fixable = True
    may_change = (Change.ROUNDING,)
    trigger = Call("torch.compile") | Method("compile")
    least = Frequency.ONCE
    examples = (
        Example(
            name="tracing-12-batch-sizes",
            source=_SOURCE,
            fixed=_SOURCE.replace("net, dynamic=False, ", "net, "),
            setup=_SETUP,
            workload="first_calls()",
            unit="",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a fixed-shape ``torch.compile`` whose result two hot places call with different batches."""
        node = site.node
        if not isinstance(node, cst.Call):
            return
        option = _fixed_shape_option(site, node)
        pair = _differing(calls_of(site, node)) if option is not None else None
        if option is None or pair is None:
            return
        first, second = (f"{call.hop.path}:{call.hop.row}" for call in pair)
        argument, text, proven = option
        fix = Fix(f"Leave {argument}= out", ((node, without_keyword(node, argument)),), (Change.ROUNDING,))
        yield Report(
            node,
            f"compiled with {text} but called with different batch sizes; each is compiled or captured again "
            f"({first}, {second}); leave the argument out",
            fix if proven else None,
            level=None if proven else Level.NOTE,
        )


def _fixed_shape_option(site: Site, call: cst.Call) -> tuple[str, str, bool] | None:
    """The argument that fixes the shapes, as text, and whether it is proven to (a mode from a setting is not)."""
    dynamic, mode = keyword_of(call, "dynamic"), keyword_of(call, "mode")
    if dynamic is not None and site.values.of(dynamic).literal is False:
        return "dynamic", "`dynamic=False`", True
    if mode is None or not site.device.may_be_cuda() or site.values.of(mode).kind is Kind.NONE:
        return None
    name = site.values.of(mode).literal
    if name is None and is_refused(site, mode):
        return None
    if name is None:
        return "mode", "a `mode` that may capture CUDA graphs", False
    return ("mode", f'`mode="{name}"`', True) if name in _GRAPH_MODES else None


def _differing(calls: Sequence[CallSite]) -> tuple[CallSite, CallSite] | None:
    """Two hot calls with different batch sizes: proven different, or one in a rollout and one in an update alone."""
    hot = [call for call in calls if call.frequency > Frequency.ONCE]
    sides: dict[Hop, str] = {}
    for call in hot:
        if sides.get(call.hop) != "step":  # a loop that both acts and learns makes what acts hot for both
            sides[call.hop] = call.root
    for first, second in combinations(hot, 2):
        if first.batch and second.batch:
            if first.batch != second.batch:
                return first, second
        elif {sides[first.hop], sides[second.hop]} == {"step", "update"}:
            return first, second
    return None
