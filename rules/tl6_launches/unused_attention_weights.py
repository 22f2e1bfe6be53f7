"""TL613: attention computes its weights for no one."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Change, Example, Fix, Frequency, Input, Kind, Level, NetworkCall, Report, Rule, RuleSet, Site
from torchlint.rule.build import keyword_of, with_keyword

_ATTENTION = frozenset({"torch.nn.MultiheadAttention", "torch.nn.modules.activation.MultiheadAttention"})
_WEIGHTS = 4  # place of need_weights among the arguments

_MESSAGE = (
    "attention also returns its weights, which are never read; with `need_weights=False` it may use the fused kernel, "
    "which never builds them"
)

_SOURCE = """\
import torch
from torch import nn


class Entities(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)
        self.head = nn.Linear(64, 6)

    def forward(self, entities: torch.Tensor):
        mixed, _ = self.attention(entities, entities, entities)
        return self.head(mixed.mean(dim=1))


class Agent:
    def __init__(self):
        self.policy = Entities()

    def act(self, entities: torch.Tensor):
        with torch.no_grad():
            return self.policy(entities).argmax(dim=-1).cpu().numpy()


def collect(agent, envs, steps):
    obs, _ = envs.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = envs.step(agent.act(torch.as_tensor(obs)))
"""


class UnusedAttentionWeights(Rule):
    """`nn.MultiheadAttention` returns its weights, and they are dropped.

    ## What it does
    Finds hot calls of an `nn.MultiheadAttention` whose second result is not read (`out, _ = attn(q, k, v)`,
    `attn(q, k, v)[0]`) and that do not say `need_weights=False`. Asking for the weights is the default.

    ## Why is this slow
    To return the weights, attention has to build the matrix of all pairs and average it over the heads. Without
    them it calls `scaled_dot_product_attention`, whose fused kernels never build the matrix.

    ## Example
    ```python
    mixed, _ = self.attention(entities, entities, entities)
    ```

    ## Use instead
    ```python
    mixed, _ = self.attention(entities, entities, entities, need_weights=False)
    ```

    ## What the fix may change
    The fused kernel rounds differently, and rows whose keys are all masked may become 0 instead of NaN. Where the
    attention drops out, other numbers are drawn.

    ## When to ignore it
    On the CPU with a batch of a few dozen short sequences: there both take the same time.

    ## Measured
    On one row of 16 entities and on 64 rows of 64; `torchlint rule TL613` prints the figures.

    ## References
    - PyTorch documentation, `torch.nn.MultiheadAttention`, "need_weights".
    """

    code = "TL613"
    name = "unused-attention-weights"
    summary = "attention computes weights that are never read"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = NetworkCall()
    least = Frequency.UPDATE
    fixable = True
    may_change = (Change.ROUNDING, Change.NONFINITE, Change.RNG)
    examples = (
        Example(
            name="long-sequences",
            source=_SOURCE,
            fixed=_SOURCE.replace("entities, entities)\n", "entities, entities, need_weights=False)\n"),
            setup="torch.manual_seed(0)\nagent = Agent()\nagent.policy.to(device)\nentities = entities.to(device)",
            workload="agent.act(entities)",
            inputs=(Input("entities", Kind.TENSOR, (64, 64, 64), grad=False),),
        ),
        Example(
            name="one-row",
            source=_SOURCE,
            fixed=_SOURCE.replace("entities, entities)\n", "entities, entities, need_weights=False)\n"),
            setup="torch.manual_seed(0)\nagent = Agent()\nagent.policy.to(device)\nentities = entities.to(device)",
            workload="agent.act(entities)",
            inputs=(Input("entities", Kind.TENSOR, (1, 16, 64), grad=False),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a call of attention whose weights are asked for and dropped."""
        call = site.node
        if (
            not isinstance(call, cst.Call)
            or site.values.of(call.func).name not in _ATTENTION
            or not site.calls.is_plain(call)
        ):
            return
        if not _asks(site, call) or not _drops(site, call):
            return
        fix = None
        if site.calls.argument(call, _WEIGHTS, "") is None and not site.compiling.scripted():
            changed = with_keyword(call, "need_weights", cst.Name("False"))
            fix = Fix("say need_weights=False", ((call, changed),), may_change=self.may_change)
        yield Report(call, _MESSAGE, fix, figure=tuple(example.name for example in self.examples))


def _asks(site: Site, call: cst.Call) -> bool:
    """Whether the weights are asked for: by default, or by a literal."""
    asked = keyword_of(call, "need_weights") or site.calls.argument(call, _WEIGHTS, "need_weights")
    return asked is None or site.values.of(asked).literal is True


def _drops(site: Site, call: cst.Call) -> bool:
    """Whether nothing reads the second of the two results."""
    chain = site.calls.chain(call)
    if chain:
        match chain[0].node:
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer(value="0")))]):
                return True
        return False
    return site.values.is_unread(call, 1)
