"""STR101: a clone is recorded by autograd only to be detached."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Fix, Frequency, Input, Kind, Method, Report, Rule, Site

_COPY = """\
import torch


def snapshot(values):
    return {line}


def train(env, policy, optimizer, steps):
    obs, info = env.reset()
    for _ in range(steps):
        values = policy(obs)
        kept = snapshot(values)
        obs, reward, terminated, truncated, info = env.step(kept.argmax())
"""


class CloneBeforeDetach(Rule):
    """A tensor is cloned with its graph, and the graph is dropped right after.

    ## What it does
    Finds `x.clone().detach()` in hot code.

    ## Why is this slow
    The clone is recorded by autograd before it is taken off the graph.

    ## Example
    ```python
    kept = values.clone().detach()
    ```

    ## Use instead
    ```python
    kept = values.detach().clone()
    ```

    ## What the fix may change
    Nothing: the result is the same copy without a graph.

    ## When to ignore it
    In code that runs seldom.

    ## Measured
    On the values of 64 states.

    ## References
    `torch.Tensor.detach` in the documentation of PyTorch.
    """

    code = "STR101"
    name = "clone-before-detach"
    summary = "a clone is recorded by autograd and detached right after"
    trigger = Method("detach")
    least = Frequency.STEP
    fixable = True
    examples = (
        Example(
            name="values-of-64-states",
            source=_COPY.format(line="torch.relu(values).clone().detach()"),
            fixed=_COPY.format(line="torch.relu(values).detach().clone()"),
            setup="",
            workload="snapshot(values)",
            inputs=(Input("values", Kind.TENSOR, (64, 6)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a tensor that is cloned first and detached then."""
        match site.node:
            case (
                cst.Call(
                    func=cst.Attribute(
                        value=cst.Call(func=cst.Attribute(value=x, attr=cst.Name("clone")) as clone) as inner
                    ),
                    args=[],
                ) as call
            ) if not inner.args:
                if site.values.of(x).kind is not Kind.TENSOR:
                    return
            case _:
                return
        swapped = call.with_changes(
            func=cst.Attribute(
                inner.with_changes(func=clone.with_changes(attr=cst.Name("detach"))), attr=cst.Name("clone")
            )
        )
        yield Report(call, "clone().detach() records the clone: detach first", Fix("Detach first", ((call, swapped),)))
