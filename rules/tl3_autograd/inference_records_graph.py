"""TL302: autograd records a graph for a network of which only the values are used."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import names
from torchlint.rule import Change, Example, Fix, Frequency, Input, Kind, NetworkCall, Report, Rule, Site
from torchlint.rule.build import module_for, source

from ._guarded import (
    AS_WRITTEN,
    ENDS,
    ends_here,
    guarded,
    rounds_otherwise,
    runs_as_written,
    value_of,
)
from ._inference_records_graph import handed_on_alone, repeated
from ._kept_graphs import stores_graph

_GRADIENTS = names(autograd=("backward", "gradient", "hooks", "records", "sets"))
_MESSAGE = "the graph of `{what}` is recorded and never used; `torch.no_grad()` avoids it"
_AHEAD = "nothing asks for a gradient of what the statement computes"

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6))
        self.optimizer = torch.optim.Adam(self.policy.parameters())

    def act(self, obs):
        logits = self.policy(torch.as_tensor(obs, dtype=torch.float32))
        return logits.argmax().item()

    def update(self, obs, advantage):
        loss = -(self.policy(obs).log_softmax(-1).amax(-1) * advantage).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))


if __name__ == "__main__":
    import gymnasium

    train(Agent(), gymnasium.make("HalfCheetah-v5"), 1000)
"""


class InferenceRecordsGraph(Rule):
    """A network is run for its values, and no gradient of them is ever computed.

    ## What it does
    Finds hot calls of networks with trainable parameters that no caller guards with `torch.no_grad()` or
    `torch.inference_mode()`, and whose results are only read: turned into numbers or arrays, sampled from, compared,
    or detached before they are used. Acting, evaluating and bootstrap values are the usual places. A result that
    reaches a loss on some way, or that is kept where it cannot be followed, is left alone.

    ## Why is this slow
    Every operation on a tensor that asks for gradients makes a node of a graph, and the graph keeps the inputs of the
    operation alive until its result is gone. For a small network and one observation, which is what acting is, that
    bookkeeping is a good part of the time; for a batch it is memory.

    ## Example
    ```python
    def act(self, obs):
        return self.policy(obs).argmax().item()
    ```

    ## Use instead
    ```python
    @torch.no_grad()
    def act(self, obs):
        return self.policy(obs).argmax().item()
    ```

    ## What the fix may change
    Nothing where all that leaves the function is numbers and arrays. Transformer layers of PyTorch take another path
    without gradients, which rounds otherwise; where it is not known what a network is made of, so may this. Where
    tensors leave the function, or where only one statement can be guarded, the fix is not safe: a gradient that
    the code computes behind it would be missing. Where the network runs again on the same input nothing is put around
    one of the runs: to keep the result of the first and detach it where it is only read saves the whole second run
    (TL614).

    ## When to ignore it
    Where a gradient of the result is asked for in a way that cannot be seen, such as from a notebook.

    ## Measured
    The figures below come from one action of a small network. For a batch of 256 the time is the same within the
    noise, and what is saved is memory.

    ## References
    - PyTorch documentation, "Autograd mechanics": locally disabling gradient computation.
    """

    code = "TL302"
    name = "inference-records-graph"
    summary = "autograd records a graph for a network of which only the values are used"
    trigger = NetworkCall(recorded=True)
    least = Frequency.UPDATE
    yields_to = ("TL306", "TL614")
    fixable = True
    may_change = (Change.ROUNDING,)
    examples = (
        Example(
            name="act-17-6",
            source=_SOURCE,
            fixed=_SOURCE.replace("    def act", "    @torch.no_grad()\n    def act"),
            setup="agent = Agent()",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.NDARRAY, (17,)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a run of a network that records a graph of which only values are used."""
        call = site.node
        if (
            not isinstance(call, cst.Call)
            or not _dead(site, call)
            or site.autograd.records() is not True
            or site.compiling.scripted()
        ):
            return
        above = site.parent(call)
        while above is not None:
            if isinstance(above, cst.Call) and _dead(site, above):
                return
            above = site.parent(above)
        yield Report(call, _MESSAGE.format(what=source(call.func)), _fix(site, call))


def _dead(site: Site, call: cst.Call) -> bool:
    """Whether a call runs a network that is not frozen, and no gradient is asked for of what comes of it."""
    run = site.autograd.run(call)
    if run is None or run.differentiates or site.autograd.has_graph(call) is not True:
        return False
    if (run.stores and stores_graph(site, call)) or not site.flow.graph_uses(call, ENDS) <= ENDS:
        return False
    return bool(site.flow.uses(call, frozenset())) and (not run.returned or handed_on_alone(site, call))


def _fix(site: Site, call: cst.Call) -> Fix | None:
    """``no_grad`` on the function where it needs no graph at all, else around the statement where that needs none."""
    rounds = rounds_otherwise(site, call)
    if rounds:
        return None
    if site.flow.leaves_as_data() and not site.calls.reaches(_GRADIENTS.all):
        torch, imports = module_for(site, "torch", "torch")
        guard = f"{torch}.no_grad()"
        changes = (Change.ROUNDING,) if rounds is None else ()
        assumes = "" if runs_as_written(site) else AS_WRITTEN
        return Fix(f"add `@{guard}`", (), may_change=changes, assumes=assumes, imports=imports, decorators=(guard,))
    value = value_of(site, call)
    if value is None or repeated(site, value):
        return None  # of equal runs one is enough, and its graph may be wanted for the other
    if not (value is call or site.flow.graph_uses(value, ENDS) <= ENDS):
        return None
    run = site.autograd.run(call)
    kept = run is None or run.keeps
    proven = not kept and (site.values.of(value).is_data or ends_here(site, value))
    return guarded(site, call, "" if proven else _AHEAD)
