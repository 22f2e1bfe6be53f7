"""TL603: a target network follows another one through arithmetic that makes three new tensors per parameter."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Fix, Found, Frequency, Kind, Method, Report, Rule, Site
from torchlint.rule.build import expression, keyword, module_for, source

from ._averages import average_of
from ._parameter_loop_polyak import AssignedData

_LOOP = "each parameter of the average is computed into new tensors and copied back; do it in place: `{better}`"
_WHOLE = "the average of two state dicts is built and loaded; write it into the parameters in place, with `lerp_`"
_IN_PLACE = "t.data.mul_(1 - tau).add_(tau * p.data)"
_APART = "the two networks share no parameter and have one dtype"
_INTO = "networks-of-others"
_NUMBERS = "the factors are numbers"

_SOURCE = """\
import copy

import torch
from torch import nn


class Agent:
    def __init__(self, width=256):
        torch.manual_seed(0)
        self.q = nn.Sequential(nn.Linear(17, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 6))
        self.target = copy.deepcopy(self.q)
        self.optimizer = torch.optim.Adam(self.q.parameters())
        self.tau = 0.005

    def follow(self):
        for p, t in zip(self.q.parameters(), self.target.parameters()):
            t.data.copy_({value})

    def update(self, obs, goal):
        loss = (self.q(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.follow()


def train(agent, replay, updates):
    for _ in range(updates):
        agent.update(*replay.sample(256))
"""
_OTHERS = """\
import torch
from torch import nn


def follow(net: nn.Module, target: nn.Module, tau: float):
    for p, t in zip(net.parameters(), target.parameters()):
        {step}


def train(net, target, optimizer, replay, updates):
    for _ in range(updates):
        obs, goal = replay.sample(256)
        loss = (net(obs) - goal).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow(net, target, 0.005)


def network(width=256):
    return nn.Sequential(nn.Linear(17, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 6))
"""
_WRITTEN = "self.tau * p.data + (1 - self.tau) * t.data"


class ParameterLoopPolyak(Rule):
    """The average that a target network keeps is computed into new tensors.

    ## What it does
    Finds loops over the parameters of two networks that write `tau * p + (1 - tau) * t` back into `t` by `copy_()` or
    by setting `.data`, and state dicts that are built that way and loaded, in code that runs once per update.

    ## Why is this slow
    For each parameter two products and a sum are allocated, and the result is copied once more. A network has many
    small parameters, so it is the number of operations that counts, on an accelerator of kernels. `mul_` and `add_`
    work in place with one temporary, `lerp_` with none. A state dict copies the names and loads everything once more.

    ## Example
    ```python
    for p, t in zip(self.q.parameters(), self.target.parameters()):
        t.data.copy_(tau * p.data + (1 - tau) * t.data)
    ```

    ## Use instead
    ```python
    for p, t in zip(self.q.parameters(), self.target.parameters()):
        t.data.mul_(1 - tau).add_(tau * p.data)
    ```

    ## What the fix may change
    Nothing: the same two products are summed, bit for bit. It is offered where the sum is spelled out in the call of
    `copy_`. Where the two networks are not proven to have parameters of their own, of one dtype, the fix writes the
    sum where it belongs, `torch.add(tau * p.data, (1 - tau) * t.data, out=t.data)`: both products are computed before
    `t` changes, as they were, and only the copy is saved. Where autograd may record there, or `t` may hold integers, as
    items of a state dict do, only `mul_` and `add_` can take its place, and the fix is unsafe. So it is where autograd
    may record and the factors are not proven to be numbers: they may be tensors with a graph. `lerp_` is faster still,
    and rounds otherwise.

    ## When to ignore it
    Where it runs seldom. A state dict also holds buffers, such as the statistics of batch normalisation, which loops
    over parameters leave out.

    ## Measured
    The figures below move a target network once.

    ## References
    - PyTorch documentation, `torch.Tensor.lerp_`; `torch.optim.swa_utils.AveragedModel`.
    """

    code = "TL603"
    name = "parameter-loop-polyak"
    summary = "a target network's average is computed into new tensors"
    trigger = Method("copy_", "load_state_dict") | Found(AssignedData)
    least = Frequency.UPDATE
    fixable = True
    examples = (
        Example(
            name="three-layers-of-256",
            source=_SOURCE.format(value=_WRITTEN),
            fixed=_SOURCE.format(value=_WRITTEN).replace(
                f"copy_({_WRITTEN})", "mul_(1 - self.tau).add_(self.tau * p.data)"
            ),
            setup="agent = Agent()",
            workload="[agent.follow(), *agent.target.parameters()][1:]",
        ),
        Example(
            name=_INTO,
            source=_OTHERS.format(step="t.data.copy_(tau * p.data + (1 - tau) * t.data)"),
            fixed=_OTHERS.format(step="torch.add(tau * p.data, (1 - tau) * t.data, out=t.data)"),
            setup="torch.manual_seed(0)\nnet, target = network().to(device), network().to(device)",
            workload="[follow(net, target, 0.005), *target.parameters()][1:]",
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a copy, an assigned value or a loaded dict that keeps up the average of two networks."""
        node = site.node
        if not isinstance(node, cst.BaseExpression):
            return
        average = average_of(site, node)
        if average is None:
            return
        if average.whole:
            yield Report(node, _WHOLE)
            return
        terms = _terms(node) if isinstance(node, cst.Call) and not site.compiling.scripted() else None
        if terms is None:
            yield Report(node, _LOOP.format(better=_IN_PLACE))
            return
        target, factor, added = terms
        doubts = [] if all(_is_scaled(site, part) for part in (factor, added)) else [_NUMBERS]
        unrecorded = site.autograd.records() is False
        into = average.learned and (unrecorded or (_is_data(target) and _is_data(added)))
        into = into and not (average.apart and not doubts)
        doubts = [] if into and unrecorded else doubts
        if into:
            torch, imports = module_for(site, "torch", "torch")
            new = _into(torch, node, target)
            fix = Fix("write the sum where it belongs", ((node, new),), assumes=" and ".join(doubts), imports=imports)
        else:
            doubts = doubts if average.apart else [_APART, *doubts]
            new = _method(_method(target, "mul_", _bare(factor)), "add_", _bare(added))
            fix = Fix("compute it in place with `mul_` and `add_`", ((node, new),), assumes=" and ".join(doubts))
        yield Report(node, _LOOP.format(better=source(new)), fix, figure=_INTO if into else "")


def _terms(call: cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression, cst.BinaryOperation] | None:
    """``t``, ``a`` and ``b * p`` of ``t.copy_(b * p + a * t)`` in any order; ``None`` for other spellings."""
    match call:
        case cst.Call(
            func=cst.Attribute(value=target),
            args=[cst.Arg(keyword=None, star="", value=cst.BinaryOperation(operator=cst.Add()) as total)],
        ):
            for kept, added in ((total.left, total.right), (total.right, total.left)):
                factor = _factor(kept, target)
                if factor is not None and _is_plain_product(added) and not _mentions(added, target):
                    assert isinstance(added, cst.BinaryOperation)
                    return target, factor, added
    return None


def _is_scaled(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a factor is proven a number, or one side of a product is: a tensor may widen what is computed."""
    sides = (node.left, node.right) if isinstance(node, cst.BinaryOperation) else (node,)
    return any(site.values.of(part).kind is Kind.NUMBER for part in (node, *sides))


def _factor(product: cst.BaseExpression, target: cst.BaseExpression) -> cst.BaseExpression | None:
    """``a`` of ``a * t`` and ``t * a``, where it is plain and has nothing to do with ``t``."""
    match product:
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            for one, other in ((left, right), (right, left)):
                if source(one) == source(target) and _is_plain(other) and not _mentions(other, target):
                    return other
    return None


def _is_plain_product(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply) and _is_plain(node)


def _is_plain(node: cst.BaseExpression) -> bool:
    """Whether an expression is arithmetic over names, attributes and numbers."""
    match node:
        case cst.BinaryOperation(left=left, right=right):
            return _is_plain(left) and _is_plain(right)
        case cst.UnaryOperation(expression=inner):
            return _is_plain(inner)
        case cst.Attribute(value=inner):
            return _is_plain(inner)
    return isinstance(node, (cst.Name, cst.Integer, cst.Float))


def _mentions(node: cst.BaseExpression, target: cst.BaseExpression) -> bool:
    """Whether an expression reads what the target is a part of."""
    root = target
    while isinstance(root, (cst.Attribute, cst.Subscript)):
        root = root.value
    return source(root) in _names(node)


def _names(node: cst.BaseExpression) -> set[str]:
    match node:
        case cst.BinaryOperation(left=left, right=right):
            return _names(left) | _names(right)
        case cst.UnaryOperation(expression=inner) | cst.Attribute(value=inner):
            return _names(inner)
        case cst.Name(value=name):
            return {name}
    return set()


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression as an argument: without the parentheses that it needed as an operand."""
    return node.with_changes(lpar=node.lpar[1:], rpar=node.rpar[:-1]) if node.lpar else node


def _is_data(node: cst.BaseExpression) -> bool:
    """Whether a tensor, or one side of a product, is spelled as one without a graph: ``p.data``, ``p.detach()``."""
    match node:
        case cst.BinaryOperation(left=left, right=right):
            return _is_data(left) or _is_data(right)
        case cst.Attribute(attr=cst.Name(value="data")) | cst.Call(func=cst.Attribute(attr=cst.Name(value="detach"))):
            return True
    return False


def _into(torch: str, copied: cst.BaseExpression, target: cst.BaseExpression) -> cst.Call:
    """``torch.add(a, b, out=t)`` in the place of ``t.copy_(a + b)``: both products are there before ``t`` changes."""
    assert isinstance(copied, cst.Call)
    total = copied.args[0].value
    assert isinstance(total, cst.BinaryOperation)
    terms = [cst.Arg(_bare(total.left)), cst.Arg(_bare(total.right)), keyword("out", target)]
    return cst.Call(expression(f"{torch}.add"), terms)


def _method(base: cst.BaseExpression, name: str, argument: cst.BaseExpression) -> cst.Call:
    return cst.Call(cst.Attribute(base, cst.Name(name)), [cst.Arg(argument)])
