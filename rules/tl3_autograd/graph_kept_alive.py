"""TL303: losses or states are collected together with their autograd graphs."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Fix, Found, Frequency, Input, Kind, Level, Report, Rule, Site, Use
from torchlint.rule.build import source

from ._graph_kept_alive import (
    Kept,
    backpropagated,
    backpropagated_in_round,
    chains,
    gives_loss,
    is_leaf,
    is_loss,
    is_part_of_result,
    lives_for_a_call,
    written_into,
)

_MAY_HOLD = frozenset({Kind.TENSOR, Kind.UNKNOWN, Kind.TUPLE, Kind.LIST, Kind.DICT, Kind.DISTRIBUTION})
# What a method is called on without parentheses around it.
_PLAIN = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)
# Where a later backward() may run through the graph: what is passed to code that is not known, such as a memory.
_LATER = frozenset({Use.BACKWARD, Use.PASSED})
_OPEN = frozenset({Use.STORED, Use.COLLECTED, Use.REPORTED, Use.RETURNED, Use.PASSED, Use.TENSOR})

_FREED = (
    "`{what}` is kept in `{where}` with its autograd graph; backward() frees most of it, the rest stays alive as long "
    "as `{where}` does (memory, no time); keep `{kept}.detach()`"
)
_LEARNING = (
    "`{what}` is kept in `{where}` with its autograd graph; what backward() does not free of it stays alive as long as "
    "`{where}` does (memory, no time); keep it detached"
)
_WHOLE = (
    "`{what}` is kept in `{where}` with its whole autograd graph; no backward() frees it, so the activations of every "
    "round stay in memory (no effect on time); keep it detached"
)
_CURE = "Detach what is only kept"

_SOURCE = """\
import torch
from torch import nn


class Learner:
    def __init__(self, size=64):
        self.net = nn.Sequential(nn.Linear(17, size), nn.ReLU(), nn.Linear(size, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def train(self, batches):
        total = torch.zeros(())
        for batch in batches:
            loss = self.net(batch).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss
        return total.item()
"""


class GraphKeptAlive(Rule):
    """Losses, their parts or recurrent states are summed or collected without `detach()`.

    ## What it does
    Finds tensors that keep an autograd graph and are added to a sum, a list or an object again and again in hot
    code, or written into a tensor place by place (`losses[i] = loss`), where nothing ever runs backward through the
    collection.

    ## Why is this slow
    A tensor holds the graph that made it, and that graph holds what its backward pass needs. As long as the sum or the
    list lives, so do the graphs of all rounds. After `backward()` most of a graph is freed and a small rest remains;
    without it the activations of every round stay. It costs memory, not time.

    ## Example
    ```python
    loss.backward()
    total += loss
    ```

    ## Use instead
    ```python
    loss.backward()
    total += loss.detach()
    ```

    ## What the fix may change
    Nothing where all uses of the collection are known and none runs backward. Where some are not known the fix is
    unsafe: it says what it assumes. There is none where several tensors are kept at once. `.item()` would also drop
    the graph, but waits for the device.

    ## When to ignore it
    Where the graph is wanted after all, by code that the linter cannot see.

    ## Measured
    300 losses of a network with two layers of 256 units, at a batch of 256: 210 MiB without `backward()`, 8 MiB after
    it, 1 MiB detached. The figures below show that the time stays the same.

    ## References
    - PyTorch FAQ, "My model reports out of memory": don't accumulate history across your training loop.
    """

    code = "TL303"
    name = "graph-kept-alive"
    summary = "losses or states are collected together with their autograd graphs"
    trigger = Found(Kept)
    least = Frequency.UPDATE
    about_memory = True
    fixable = True
    examples = (
        Example(
            name="sum-of-16-losses",
            source=_SOURCE + "\n\ndef main(learner, replay):\n    print(learner.train(replay.batches(16)))\n",
            fixed=(_SOURCE + "\n\ndef main(learner, replay):\n    print(learner.train(replay.batches(16)))\n").replace(
                "total += loss", "total += loss.detach()"
            ),
            setup="torch.manual_seed(0)\nlearner = Learner()\nbatches = list(batches)",
            workload="learner.train(batches)",
            runs=16,
            inputs=(Input("batches", Kind.TENSOR, (16, 64, 17)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report what is added to something that lasts, with a graph that nothing runs backward through."""
        node = site.node
        if not isinstance(node, cst.BaseExpression):
            return
        place = written_into(site, node)
        where = place or site.loops.grown(node, fresh=True)
        if not where or _follows_another(site, node):
            return
        given, kind = gives_loss(site, node), site.values.of(node).kind
        if kind not in _MAY_HOLD and not (given and kind is Kind.INSTANCE):
            return
        graph = site.autograd.has_graph(node)
        if _is_only_listed(site, node) and is_leaf(site, node):
            return  # nothing depends on what was computed from nothing
        if graph is False or (graph is None and not given and not is_loss(site, node)):
            return
        if graph and not site.autograd.has_graph(node, trained=True):
            return  # of a target network alone: it should record none (TL306)
        if _is_only_listed(site, node) and lives_for_a_call(site, node):
            return
        learns = _learns(site, node)
        if not learns and _is_only_listed(site, node) and chains(site, node):
            return  # its graph is a part of that of the next round anyway
        freed = given or backpropagated(site, node)
        if (freed or place) and not (freed and (learns or backpropagated_in_round(site, node))):
            return  # the graph is wanted until a later backward()
        if not learns and not freed and is_part_of_result(site, node, where):
            return  # what the function returns holds its graph, and longer than the sum does
        ends = site.flow.graph_uses(node)
        if ends & (_LATER - {Use.PASSED} if given else _LATER):
            return
        if not freed and ends & (_OPEN - {Use.REPORTED} if learns else _OPEN):
            return  # but a report of what updates were made comes too late for a backward pass
        text = _FREED if freed and kind is not Kind.INSTANCE else _LEARNING if learns else _WHOLE
        what = source(node)
        kept = what if isinstance(node, _PLAIN) or node.lpar else f"({what})"
        message = text.format(what=what, where=where, kept=kept)
        yield Report(node, message, _fix(site, node, known=not ends & _OPEN), level=Level.NOTE if freed else None)


def _learns(site: Site, node: cst.BaseExpression) -> bool:
    """Whether gradient updates are made between one addition and the next."""
    loops = [loop for loop in site.loops.around(node) if not loop.comprehension]
    return any(loop.learns for loop in loops) if loops else site.calls.reaches(frozenset({"backward"}))


def _is_only_listed(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a value is kept as it is; a sum has a graph of its own."""
    return not isinstance(site.parent(node), (cst.AugAssign, cst.BinaryOperation))


def _follows_another(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an earlier element of the same tuple is reported already."""
    holder = site.parent(node)
    if not isinstance(holder, (cst.Tuple, cst.List)):
        return False
    for element in holder.elements:
        if element.value is node:
            return False
        if site.autograd.has_graph(element.value):
            return True
    return False


def _fix(site: Site, node: cst.BaseExpression, *, known: bool) -> Fix | None:
    """``x.detach()``; ``None`` where several tensors may be meant."""
    kind = site.values.of(node).kind
    single = kind is Kind.TENSOR or (kind is Kind.UNKNOWN and is_loss(site, node))
    if not single or site.compiling.scripted():
        return None
    doubt = "" if known else "nothing runs backward through what is kept"
    plain = isinstance(node, _PLAIN) or node.lpar
    base = node if plain else node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return Fix(_CURE, ((node, cst.Call(cst.Attribute(base, cst.Name("detach")))),), (), doubt)
