"""TL208: Python decides on the value of a tensor, and waits for the device to learn it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import (
    Call,
    Change,
    Example,
    Found,
    Frequency,
    Input,
    Kind,
    Level,
    Purpose,
    Report,
    Rule,
    Site,
    Use,
)

from ._debug_checks import VARIABLE, behind_a_flag
from ._joined_tests import joined, leaves_of, on_device, reads, reads_somewhere
from ._tensor_condition import EarlyEnds, Truths

_CHOICES = frozenset({"builtins.min", "builtins.max"})
_TRUTHS = frozenset({"builtins.any", "builtins.all"})
_MATH = frozenset(
    f"math.{name}"
    for name in (
        *("acos", "asin", "atan", "atan2", "ceil", "copysign", "cos", "cosh", "erf", "exp", "expm1", "fabs", "floor"),
        *("fmod", "hypot", "isclose", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "pow", "sin"),
        *("sinh", "sqrt", "tan", "tanh", "trunc"),
    )
)

_MESSAGE = "{what} forces a GPU sync; {better}"

_SOURCE = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRUCell(17, 64)
        self.head = nn.Linear(64, 6)

    def forward(self, obs: torch.Tensor, hidden: torch.Tensor, first: torch.Tensor):
        if first.any():
            hidden = hidden * (1.0 - first.float())[:, None]
        hidden = self.gru(obs, hidden)
        return self.head(hidden), hidden


class Learner:
    def __init__(self):
        self.policy = Recurrent().to(device)
        self.optimizer = torch.optim.Adam(self.policy.parameters())

    def update(self, obs, hidden, first, goal):
        values, _ = self.policy(obs, hidden, first)
        loss = (values - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""
_BETTER = _SOURCE.replace(
    """\
        if first.any():
            hidden = hidden * (1.0 - first.float())[:, None]
""",
    """\
        hidden = hidden * (1.0 - first.float())[:, None]
""",
)


class TensorCondition(Rule):
    """Python branches on the value of a tensor that may live on a device.

    ## What it does
    Finds tensors that Python asks for their truth in hot code: the test of `if`, `while`, `assert`, of a conditional
    expression or a comprehension, an operand of `and`, `or` and `not`, `x in tensor`, and tensors given to `bool()`,
    to Python's `min()` and `max()`, `any()` and `all()`, and to functions of `math`. The test
    that ends a loop needs the value: it is reported only where it reads several tensors, of which one read is enough,
    or an element of a tensor that is the same in all rounds, as in `if ids[i] == end: break`.

    ## Why is this slow
    The branch cannot be taken before the value is on the host, so Python waits for all work queued on the device, and
    the device then idles until Python has queued more. `torch.compile` breaks the graph there too.

    ## Example
    ```python
    if first.any():
        hidden = hidden * (1.0 - first.float())[:, None]
    ```

    ## Use instead
    ```python
    hidden = hidden * (1.0 - first.float())[:, None]
    ```

    Where both branches compute a value and do nothing else, `torch.where`; instead of `min()` and `max()`,
    `torch.minimum`, `torch.maximum` or `clamp`. A branch that does more, such as to copy a target network, can ask a
    count that the host keeps.

    ## What the fix may change
    Nothing where `and` or `or` asks several tensors of one truth each: the device joins them (`a.any() | b.any()`), and
    one read answers what took several. Only tests are joined that may be computed in any case: comparisons, `isnan` and
    the like. The fix says what it assumes where it is not proven that no two of them lie on different accelerators, or
    that what has an `any()` is a tensor where others of its kind may be dicts. `not x.any()` becomes `~x.any()`, or
    `(x.any() == 0)` where `x` may hold bytes, of which the result is a byte. An `assert`, or a branch that exists to
    raise, gets a debug flag before it, as TL201 writes it: then wrong values no longer raise while the flag is off
    (validation). There is no automatic fix that takes another branch away: what to compute without it depends on it.

    ## When to ignore it
    On the CPU, where reading the value costs little and the branch saves work: skipping a masked write when nothing
    is done is the faster form there. Also where the branch saves much work on the device.

    ## Measured
    The wait exists on an accelerator only. The events before and after are counted on the counted device;
    `torchlint rule TL208` prints them.

    ## References
    - PyTorch documentation, "CUDA semantics: asynchronous execution".
    """

    code = "TL208"
    name = "tensor-condition"
    summary = "Python branches on the value of a tensor, which forces a GPU sync"
    level = Level.NOTE
    trigger = Found(Truths) | Call(*_CHOICES, *_TRUTHS, *_MATH, "builtins.bool")
    least = Frequency.UPDATE
    yields_to = ("TL201", "TL202", "TL203")
    cuda_only = True
    fixable = True
    may_change = (Change.VALIDATION,)
    options = (VARIABLE,)
    examples = (
        Example(
            name="reset-hidden-state",
            source=_SOURCE,
            fixed=_BETTER,
            setup="policy = Learner().policy\nobs, hidden, first = obs.to(device), hidden.to(device), first.to(device)",
            workload="policy(obs, hidden, first)[0]",
            inputs=(
                Input("obs", Kind.TENSOR, (256, 17)),
                Input("hidden", Kind.TENSOR, (256, 64)),
                Input("first", Kind.TENSOR, (256,), "bool"),
            ),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a tensor that Python has to read to go on, off the CPU; of one test the first such tensor."""
        node = site.node
        if not isinstance(node, cst.BaseExpression) or not site.device.may_be_cuda():
            return
        if isinstance(node, cst.Call) and (what := _read_by(site, node)):
            if what == _TRUTH and _ends_loop(site, node):
                return
            if what == _CHOSEN and Use.SIZE in site.flow.uses(node):
                return  # a number of rounds or of rows is needed on the host
            yield Report(node, _MESSAGE.format(what=what, better=_BETTER_FOR.get(what, _KEEP)))
        elif _asked(site, node) and reads(site, node) and _comes_first(site, node):
            purpose = site.flow.purpose()
            picked = purpose not in _CHECKS and _picks(site, node)
            message = _MESSAGE.format(what="branching on a tensor", better=_AT_ONCE if picked else _INSTEAD[purpose])
            fix = None if site.compiling.scripted() else joined(site, node)
            if purpose is Purpose.LEAVE and fix is None and not picked:
                return  # a loop that ends by the value needs it
            check = _check(site, node) if purpose is Purpose.RAISE else None
            if check is not None and (fix is None or fix.assumes):
                fix = behind_a_flag(site, check, reads_somewhere, VARIABLE.of(self.given))
            yield Report(node, message, fix)


_CHOSEN = "choosing between tensors in Python"
_EACH = "asking each element of a tensor in Python"
_TRUTH = "the truth value of a tensor"
_KEEP = "keep the value in a tensor"
_BETTER_FOR = {
    _CHOSEN: "`torch.minimum`, `torch.maximum` or `clamp` work on the device",
    _EACH: "the methods `any()` and `all()` of tensors ask all of them at once",
}
_AT_ONCE = "`tolist()` before the loop reads all elements at once"
_CHECK = "check the value where it is on the host, or not on every call"
_CHECKS = (Purpose.RAISE, Purpose.REPORT)
# What to do in place of a branch: a blend of two results does not raise, report, leave a loop or call anything.
_INSTEAD = {
    Purpose.RAISE: _CHECK,
    Purpose.REPORT: _CHECK,
    Purpose.LEAVE: "read it once, or check only every few iterations",
    Purpose.BLEND: "use `torch.where` in place of the branch",
    Purpose.VALUE: _KEEP,
    Purpose.OTHER: "decide by a number or flag that is already on the host",
}


def _ends_loop(site: Site, call: cst.Call) -> bool:
    """Whether a loop ends by the truth of a tensor alone, which it needs: ``if bool(done.all()): break``."""
    parent = site.parent(call)
    if isinstance(parent, cst.UnaryOperation):
        parent = site.parent(parent)
    alone = isinstance(parent, (cst.If, cst.While))
    return alone and site.flow.purpose() is Purpose.LEAVE and not _picks(site, call.args[0].value)


def _picks(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a test reads an element of a tensor in each of many rounds of a loop."""
    loops = site.loops.around(node)
    twin = site.expression(node)
    return bool(loops) and not loops[0].few and twin is not None and site.fact(EarlyEnds).of(site.file, twin)


def _read_by(site: Site, call: cst.Call) -> str:
    """What a builtin or a function of ``math`` makes the host learn of a tensor, empty where there is none."""
    name = site.names.of(call.func)
    if name not in _CHOICES and name not in _TRUTHS and name not in _MATH and name != "builtins.bool":
        return ""
    if not any(on_device(site, argument.value) for argument in call.args if not argument.star):
        return ""
    if name in _CHOICES:
        return _CHOSEN
    if name in _TRUTHS:
        return _EACH
    return _TRUTH if name == "builtins.bool" else "a Python number made of a tensor"


def _check(site: Site, node: cst.CSTNode) -> cst.If | cst.Assert | None:
    """The statement that a condition, or a part of one, decides."""
    parent = site.parent(node)
    while isinstance(parent, (cst.BooleanOperation, cst.UnaryOperation)):
        parent = site.parent(parent)
    return parent if isinstance(parent, (cst.If, cst.Assert)) else None


def _asked(site: Site, node: cst.CSTNode) -> bool:
    """Whether Python asks an expression for its truth; ``if p.grad:`` asks whether there is a gradient."""
    if isinstance(node, cst.Attribute) and node.attr.value == "grad":
        return False
    if isinstance(node, cst.Comparison) and isinstance(node.comparisons[0].operator, (cst.In, cst.NotIn)):
        return True
    match site.parent(node):
        case cst.If(test=test) | cst.While(test=test) | cst.Assert(test=test) | cst.IfExp(test=test):
            return test is node
        case cst.CompFor(ifs=conditions):
            return any(condition.test is node for condition in conditions)
        case cst.UnaryOperation(operator=cst.Not()):
            return True
        case cst.BooleanOperation(left=left) as parent:
            return left is node or _asked(site, parent)
    return False


def _comes_first(site: Site, node: cst.CSTNode) -> bool:
    """Whether no other operand before this one, in the same ``and``, ``or`` and ``not``, reads a tensor."""
    top, parent = node, site.parent(node)
    while isinstance(parent, cst.BooleanOperation) or (
        isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not)
    ):
        top, parent = parent, site.parent(parent)
    return next(leaf for leaf in leaves_of(top) if leaf is node or reads(site, leaf)) is node
