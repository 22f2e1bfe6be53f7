"""TL201: a tensor is validated on every call, only to raise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchlint import cst
from torchlint.models import method_names
from torchlint.rule import Change, Example, Found, Frequency, Input, Kind, Purpose, Report, Rule, Site

from ._contracts import contract
from ._debug_checks import VARIABLE, behind_a_flag, calls
from ._joined_tests import joined_tests
from ._unguarded_nonfinite_check import Checks

_PREDICATES = method_names(tests=True)
_REDUCTIONS = frozenset({"torch.any", "torch.all", "torch.allclose", "torch.equal"})

_SHARED = " (one of {count} such checks in this {where})"

_PROGRAM = """\
{imports}import torch
from torch import nn
{definition}

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(17, 64)
        self.second = nn.Linear(64, 64)
        self.head = nn.Linear(64, 6)

    def forward(self, obs):
{forward}

class Agent:
    def __init__(self):
        self.policy = Policy()

    @torch.no_grad()
    def act(self, obs):
        return self.policy(obs).argmax(dim=-1).cpu().numpy()


def train(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""
_ONE_CHECK = """\
        logits = self.head(torch.tanh(self.second(torch.tanh(self.first(obs)))))
        if torch.isnan(logits).any():
            raise ValueError("NaN in the logits")
        return logits
"""
_ONE_BEHIND_THE_FLAG = """\
        logits = self.head(torch.tanh(self.second(torch.tanh(self.first(obs)))))
        if _DEBUG_CHECKS:
            if torch.isnan(logits).any():
                raise ValueError("NaN in the logits")
        return logits
"""
_FIVE_CHECKS = """\
        if torch.isnan(obs).any():
            raise ValueError("NaN in the observation")
        if torch.isinf(obs).any():
            raise ValueError("infinity in the observation")
        hidden = torch.tanh(self.first(obs))
        if torch.isnan(hidden).any():
            raise ValueError("NaN after the first layer")
        hidden = torch.tanh(self.second(hidden))
        if torch.isnan(hidden).any():
            raise ValueError("NaN after the second layer")
        logits = self.head(hidden)
        if torch.isnan(logits).any():
            raise ValueError("NaN in the logits")
        return logits
"""
_FIVE_BEHIND_THE_FLAG = """\
        if _DEBUG_CHECKS:
            if torch.isnan(obs).any():
                raise ValueError("NaN in the observation")
            if torch.isinf(obs).any():
                raise ValueError("infinity in the observation")
        hidden = torch.tanh(self.first(obs))
        if _DEBUG_CHECKS:
            if torch.isnan(hidden).any():
                raise ValueError("NaN after the first layer")
        hidden = torch.tanh(self.second(hidden))
        if _DEBUG_CHECKS:
            if torch.isnan(hidden).any():
                raise ValueError("NaN after the second layer")
        logits = self.head(hidden)
        if _DEBUG_CHECKS:
            if torch.isnan(logits).any():
                raise ValueError("NaN in the logits")
        return logits
"""


def _example(name: str, forward: str, fixed: str, batch: int) -> Example:
    """An example whose ``forward`` has the given body, and another after the fix."""
    definition = '\n_DEBUG_CHECKS = os.environ.get("TORCH_DEBUG_CHECKS") == "1"\n'
    return Example(
        name=name,
        source=_PROGRAM.format(imports="", definition="", forward=forward),
        fixed=_PROGRAM.format(imports="import os\n\n", definition=definition, forward=fixed),
        setup="agent = Agent()\nagent.policy.to(device)\nobs = obs.to(device)",
        workload="agent.act(obs)",
        inputs=(Input("obs", Kind.TENSOR, (batch, 17)),),
        runs=forward.count("raise"),
        unit="check",
    )


class UnguardedNonfiniteCheck(Rule):
    """A tensor is tested for NaN, infinities or bad values in hot code, only to raise an error.

    ## What it does
    Finds `if` and `assert` statements in hot code that test a tensor for NaN or infinity (`torch.isnan(x).any()`,
    `math.isnan(x.item())`), or what a network computed for its values (`hidden.abs().max() < eps`), and raise, or end
    the program with an error, when the test says so. Contracts on what comes from outside are left alone, for there a
    guard would turn a clear error into silent nonsense: an environment's check of an action, checks of data that was
    read, of the arguments of a function, of a divisor.

    ## Why is this slow
    Each test runs at least one reduction over the tensor and brings a bool back to Python. On an accelerator Python
    then waits for all work queued so far; on the CPU the reductions of a well-checked network cost more than its
    layers do at the sizes usual in reinforcement learning.

    ## Example
    ```python
    if torch.isnan(logits).any():
        raise ValueError("NaN in the logits")
    ```

    ## Use instead
    ```python
    if self.debug:
        if torch.isnan(logits).any():
            raise ValueError("NaN in the logits")
    ```

    ## What the fix may change
    Validation: with the flag off, which is the default, bad values no longer raise here. The fix uses a debug
    attribute or parameter that is already there and off by default; else it adds the constant `_DEBUG_CHECKS`, which
    is true when the environment variable `TORCH_DEBUG_CHECKS` is `1`. It never deletes a check. Where validation is not
    accepted, several tests of one condition are joined on the device, so that one read answers all: nothing, because
    only tests are joined that are proven to be one truth each and to compute nothing but that.

    ## When to ignore it
    Where running on with bad values is worse than the time, for instance once before the optimizer step.

    ## Measured
    The figures below come from acting with a small network, with one check and with a check after every layer.

    ## References
    - PyTorch documentation, `torch.isnan`, and "CUDA semantics: asynchronous execution".
    """

    code = "TL201"
    name = "unguarded-nonfinite-check"
    summary = "a tensor is validated on every call, only to raise"
    trigger = Found(Checks)
    least = Frequency.UPDATE
    yields_to = ("TL212",)
    fixable = True
    may_change = (Change.VALIDATION,)
    options = (VARIABLE,)
    examples = (
        _example("one-check-in-act", _ONE_CHECK, _ONE_BEHIND_THE_FLAG, 1),
        _example("one-check-in-act-of-256", _ONE_CHECK, _ONE_BEHIND_THE_FLAG, 256),
        _example("five-checks-in-act-of-256", _FIVE_CHECKS, _FIVE_BEHIND_THE_FLAG, 256),
        _example("five-checks-in-act", _FIVE_CHECKS, _FIVE_BEHIND_THE_FLAG, 1),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report an ``if`` or ``assert`` whose test validates a tensor and whose failure raises."""
        node = site.node
        if (
            not isinstance(node, (cst.If, cst.Assert))
            or site.flow.purpose() is not Purpose.RAISE
            or not _validates(site, node.test)
        ):
            return
        what = "NaN or infinity check" if _finds_nonfinite(site, node.test) else "check of a tensor's values"
        message = f"{what} on every call, only to raise an error; put the check behind a debug flag"
        figure = tuple(example.name for example in self.examples)
        fix = behind_a_flag(site, node, _validates, VARIABLE.of(self.given))
        at_once = joined_tests(site, node.test) if fix is not None and site.device.may_be_cuda() else None
        if fix is not None and at_once is not None and not at_once.assumes:
            fix = replace(fix, instead=replace(at_once, less=True))
        yield Report(node.test, message, fix=fix, shared=_SHARED, figure=figure)


def _validates(site: Site, test: cst.BaseExpression) -> bool:
    """Whether a test reads the values of a tensor with no debug flag before it."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _validates(site, test.expression)
    if isinstance(test, cst.BooleanOperation):
        return _validates(site, test.left) or _validates(site, test.right)
    if not _finds_nonfinite(site, test) and not _reads_values(site, test):
        return False
    finite = any(_is_predicate(site, call) for call in calls(test)) or _differs_from_itself(test)
    return site.hot.of(test) >= Frequency.UPDATE and not contract(site, test, finite=finite)


def _differs_from_itself(test: cst.BaseExpression) -> bool:
    """Whether ``x != x``, which only NaN does, is what is tested."""
    while isinstance(test, cst.Call) and isinstance(test.func, cst.Attribute):
        test = test.func.value
    match test:
        case cst.Comparison(left=one, comparisons=[cst.ComparisonTarget(operator=cst.NotEqual(), comparator=other)]):
            return one.with_changes(lpar=[], rpar=[]).deep_equals(other)
    return False


def _finds_nonfinite(site: Site, node: cst.CSTNode) -> bool:
    """Whether ``isnan``, ``isinf`` or ``isfinite`` of a tensor stands anywhere in an expression."""
    return any(_is_nonfinite(site, inner) for inner in calls(node))


def _is_nonfinite(site: Site, call: cst.Call) -> bool:
    module, _, predicate = (site.names.of(call.func) or "").rpartition(".")
    if module in ("torch", "math", "numpy") and predicate in _PREDICATES:
        argument = site.calls.argument(call, 0, "input")
        if argument is not None and module != "torch" and (read := _without_item(argument)) is not argument:
            return site.values.of(read).kind in (Kind.TENSOR, Kind.UNKNOWN)
        kind = site.values.of(argument).kind if argument is not None else Kind.UNKNOWN
        return (kind is Kind.TENSOR and module != "numpy") or (kind is Kind.UNKNOWN and module == "torch")
    func = call.func
    return isinstance(func, cst.Attribute) and func.attr.value in _PREDICATES and _is_tensor(site, func.value)


def _is_predicate(site: Site, call: cst.Call) -> bool:
    """Whether a call asks for NaN or infinity, of whatever it is."""
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    return method in _PREDICATES or (site.names.of(call.func) or "").rpartition(".")[2] in _PREDICATES


def _reads_values(site: Site, test: cst.BaseExpression) -> bool:
    """Whether an expression is a truth value that has to be read from a tensor."""
    test = _without_item(test)
    if isinstance(test, cst.Comparison):
        operands = [test.left, *(target.comparator for target in test.comparisons)]
        by_value = not any(isinstance(t.operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn)) for t in test.comparisons)
        by_value = by_value and not any(site.values.of(operand).kind is Kind.NONE for operand in operands)
        return by_value and any(_is_tensor(site, _without_item(operand)) for operand in operands)
    if isinstance(test, cst.Call) and site.names.of(test.func) in _REDUCTIONS:
        return True
    return _is_tensor(site, test) and (isinstance(test, cst.Call) or site.values.of(test).dtype == "bool")


def _without_item(node: cst.BaseExpression) -> cst.BaseExpression:
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "item":
        return node.func.value
    return node


def _is_tensor(site: Site, node: cst.CSTNode) -> bool:
    return site.values.of(node).kind is Kind.TENSOR
