"""TL203: one number of a tensor read back to the host, where the host does not need it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchlint import cst
from torchlint.rule import (
    Call,
    Change,
    Example,
    Fix,
    Found,
    Frequency,
    Input,
    Kind,
    Level,
    Method,
    Report,
    Rule,
    Site,
    Use,
)
from torchlint.rule.build import module_for, source

from ._read_again import read_again
from ._reading_afterwards import read_afterwards
from ._reading_each import reads_each
from ._reading_together import TORCH, reads_together
from ._recording import recorded
from ._scalar_readback import NUMBERS, read_at
from ._single_numbers import READING
from ._tensors_listed import TensorsListed, tensors_listed

_MESSAGE = "`{what}` forces a GPU sync {why}; {better}"
_REDUCED = "the whole tensor is copied for it, so reduce it on the device"
_STACK = "`torch.stack` joins tensors where they lie"
_SHARED = "; one `torch.stack([...]).tolist()` replaces {count} such reads in this {where}"

_SOURCE = """\
import torch
from torch import nn
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Critic:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-3)

    def update(self, batches):
        total = 0.0
        for obs, goal in batches:
            loss = F.mse_loss(self.net(obs).squeeze(-1), goal)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(batches)


def train(critic: Critic, replay, updates):
    for _ in range(updates):
        print(critic.update(replay.sample(8)))
"""
_BETTER = _SOURCE.replace("total += loss.item()", "total += loss.detach().double()")
_BETTER = _BETTER.replace("        return total", "        total = float(total)\n        return total")

_LISTED = _SOURCE.replace("total = 0.0", "losses = []").replace("total += loss.item()", "losses.append(loss.item())")
_LISTED = _LISTED.replace("return total / len(batches)", "return max(losses)")
_LISTED_BETTER = _LISTED.replace("loss.item()", "loss.detach()").replace(
    "        return max", "        losses = torch.stack(losses).tolist() if losses else []\n        return max"
)

_SEVERAL = """\
import torch
from torch import nn
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6)).to(device)
        self.critic = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
        self.optimizer = torch.optim.SGD([*self.actor.parameters(), *self.critic.parameters()], lr=1e-3)

    def update(self, obs: torch.Tensor, goal: torch.Tensor):
        obs, goal = obs.to(device), goal.to(device)
        log_probs = F.log_softmax(self.actor(obs), dim=-1)
        actor_loss = -(log_probs.amax(-1) * goal).mean()
        critic_loss = F.mse_loss(self.critic(obs).squeeze(-1), goal)
        entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
        self.optimizer.zero_grad()
        (actor_loss + critic_loss - 0.01 * entropy).backward()
        self.optimizer.step()
{end}

def train(agent: Agent, replay, updates):
    for _ in range(updates):
        print(agent.update(*replay.sample(256)))
"""
_ONE_BY_ONE = """\
        return {
            "actor": actor_loss.item(),
            "critic": critic_loss.item(),
            "entropy": entropy.item(),
        }
"""
_AT_ONCE = """\
        actor_loss_value, critic_loss_value, entropy_value = torch.stack([actor_loss, critic_loss, entropy]).tolist()
        return {
            "actor": actor_loss_value,
            "critic": critic_loss_value,
            "entropy": entropy_value,
        }
"""
_COUNTED = _SEVERAL.replace("{end}", _ONE_BY_ONE.replace('"entropy": entropy.item()', '"goals": goal.sum().item()'))
_ASKED = """\
        actor_loss_value, critic_loss_value, goal_sum = read_at_once([actor_loss, critic_loss, goal.sum()])
        return {
            "actor": actor_loss_value,
            "critic": critic_loss_value,
            "goals": goal_sum,
        }
"""
_COUNTED_BETTER = _SEVERAL.replace("{end}", _ASKED).replace(
    "import functional as F\n", "import functional as F\n\n\n" + READING.replace(TORCH, "torch") + "\n"
)


class ScalarReadback(Rule):
    """Python reads a number back from the device in every update, and only a log, a sum or a tensor takes it.

    ## What it does
    Finds `.item()`, `float(t)` and `int(t)` of a tensor in code that runs at least once per gradient update, when the
    number is followed through names, containers, attributes, returns and calls, and all it comes to are loggers, sums,
    or further tensor operations. A loop over a list that such code fills runs as often: `[l.item() for l in losses]`.
    `x.cpu().mean().item()` and `x.cpu()[0].item()` copy the whole tensor for one number, so they are among them, and
    so are `torch.tensor([x.sum(), n], device=device)` and `y.new_tensor([x.sum(), n])`, which read each tensor of their
    list to make a new one. A second `x.item()` of a tensor whose number was read before counts, too, whatever it is
    for.

    ## Why is this slow
    The number is not there before the device has finished all work queued so far. Python waits for it, queues nothing
    meanwhile, and the device idles afterwards. Several numbers read one by one wait several times.

    ## Example
    ```python
    loss.backward()
    optimizer.step()
    total += loss.item()
    ```

    ## Use instead
    ```python
    loss.backward()
    optimizer.step()
    total += loss.detach().double()
    ```

    Read the sum once, after the loop; several numbers at once with `torch.stack([...]).tolist()`. A number that
    goes back into tensor operations can stay a tensor: `self.alpha = self.log_alpha.exp().detach()`.

    ## What the fix may change
    Numbers that neighbouring statements, or one statement, read one by one are read at once, which changes nothing:
    `torch.stack` joins tensors that are proven to hold floating-point numbers, and others go to a function that the
    fix adds to the file. It asks each tensor for its dtype and its device, and reads them by one copy where these
    are the same, else one by one. What may not be a tensor is not asked, and the fix says what it assumes. Proofs
    are a dtype, a `backward()` of the tensor itself that ran before, or a graph or what computed it (means, losses,
    norms, quotients and the like), where no file of the program mentions complex numbers and it is not a library,
    or where `backward()` ran before of a sum of which the tensor is an operand, or it is computed from a minimum, a
    maximum or what `clamp` gives: all of these raise for complex numbers. Numbers that are read together prove each
    other, too: where a mean and a maximum of one tensor are among them, it holds floating-point numbers, or one of
    them raises. A tensor that is not proven to lie where another one lies (on the one accelerator of the project,
    or beside what both met in an operation or are computed from) is moved there first, by `.to(loss.device)`, which
    does nothing to a tensor that lies there already and may be dropped by who knows that all of them do; of more
    than two tensors by one expression. A comprehension that reads a number from each tensor of a list or dict
    becomes one read in the same way. Where a loop only adds numbers to a local sum or appends them to a local list,
    the sum (of 64-bit numbers, as Python's are) or the list stays on the device until the loop is over: the order
    of effects, for the host no longer waits in each round, and of a list the memory, too. A list keeps copies, but
    of numbers that were computed for it or that nothing writes to later. The same holds for an attribute that
    begins as an empty deque or list, records nothing but such numbers, and is read less often: TL204 says where. A
    number that goes into a report for callers that are not known has no fix of its own: who reads the report at
    once would wait there, and `np.mean` over tensors on a device raises. A fix is offered only where the code may
    run on an accelerator; on the CPU it is slower by some microseconds.

    ## When to ignore it
    On the CPU, where nothing waits and adding Python numbers is faster than adding small tensors. Where the host needs
    the number at once for something that torchlint does not see. A statement `loss.item()`, which drops the number, is
    not reported: it is there to wait, before a clock is read.

    ## Measured
    The wait exists on an accelerator only. The events before and after are counted on the counted device;
    `torchlint rule TL203` prints them.

    ## References
    - PyTorch documentation, "Performance Tuning Guide": avoid unnecessary CPU-GPU synchronization.
    """

    code = "TL203"
    name = "scalar-readback"
    summary = "a number is read back from the device in every update for a log, a sum or more tensor operations"
    level = Level.NOTE
    trigger = Call(*NUMBERS) | Method("item") | Found(TensorsListed)
    least = Frequency.UPDATE
    yields_to = ("TL104", "TL201", "TL206", "TL611")
    cuda_only = True
    fixable = True
    may_change = (Change.ORDER, Change.MEMORY)
    examples = (
        Example(
            name="loss-of-each-batch",
            source=_SOURCE,
            fixed=_BETTER,
            setup="critic = Critic()\nbatches = [(obs.to(device), goal.to(device))] * 8",
            workload="critic.update(batches)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256,))),
            runs=8,
            unit="update",
        ),
        Example(
            name="list-of-losses",
            source=_LISTED,
            fixed=_LISTED_BETTER,
            setup="critic = Critic()\nbatches = [(obs.to(device), goal.to(device))] * 8",
            workload="critic.update(batches)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256,))),
            runs=8,
            unit="update",
        ),
        Example(
            name="three-losses",
            source=_SEVERAL.replace("{end}", _ONE_BY_ONE),
            fixed=_SEVERAL.replace("{end}", _AT_ONCE),
            setup="agent = Agent()",
            workload="agent.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256,))),
            unit="update",
        ),
        Example(
            name="losses-and-a-count",
            source=_COUNTED,
            fixed=_COUNTED_BETTER,
            setup="agent = Agent()",
            workload="agent.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256,))),
            unit="update",
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a number that is read from a tensor, off the CPU, and that the host does not need."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.device.may_be_cuda():
            return
        read = read_at(site, call)
        if read is not None:
            why, better = _advice(read.uses)
            better = f"{_REDUCED}; {better}" if read.copied else better
            listed = _listed(site, call)
            better = f"`torch.stack({listed}).tolist()` reads all of them at once" if listed else better
            fix, figure = (None, "") if site.compiling.scripted() else _fix(site, call)
            message = _MESSAGE.format(what=read.how, why=why, better=better)
            flow = site.flow.way(call, Use.LOGGED, Use.REPORTED, Use.TENSOR)
            shared = "" if read.copied else _SHARED
            yield Report(call, message, fix, shared=shared, figure=figure, flow=flow)
        elif tensors := tensors_listed(site, call):
            why = f"for {'each tensor' if len(tensors) > 1 else 'the tensor'} of its list"
            what = f"{source(call.func)}([...])"
            yield Report(call, _MESSAGE.format(what=what, why=why, better=_STACK))
        elif read_again(site, call):
            why = "for a number that was read before"
            yield Report(call, _MESSAGE.format(what=".item()", why=why, better="keep the number that was read first"))


def _fix(site: Site, call: cst.Call) -> tuple[Fix | None, str]:
    """The read done after its loop, or else as one with its neighbours, and the example that measures this form."""
    torch, imports = module_for(site, "torch", "torch")
    fix = None
    for found in reversed(reads_together(site, call)):
        fix = Fix(
            message="read these numbers at once",
            replace=(),
            elsewhere=tuple((old, new.replace(TORCH, torch)) for old, new in found.replaced),
            ahead=((found.first, found.rows.replace(TORCH, torch)),) if found.rows else (),
            assumes=found.doubt,
            imports=imports,
            instead=fix and replace(fix, less=True),
            definitions=found.definitions,
        )
    each = reads_each(site, call)
    if each is not None:
        fix = Fix(
            message="read these numbers at once",
            replace=(),
            elsewhere=((each.comprehension, each.text.replace(TORCH, torch)),),
            assumes=each.doubt,
            imports=imports,
            definitions=each.definitions,
        )
    together = fix
    fix = recorded(site, call, fix)
    later = read_afterwards(site, call)
    if later is None:
        if fix is None or fix is not together:
            return fix, ""
        return fix, "losses-and-a-count" if fix.definitions else "three-losses"
    rows = tuple(row.format(torch=torch) for row in later.rows)
    fix = Fix(
        message="read it once, after the loop",
        replace=(),
        elsewhere=later.replaced,
        behind=((later.loop, "\n".join(rows)),),
        may_change=later.changes,
        assumes=later.doubt,
        imports=imports if rows != later.rows else (),
        instead=fix and replace(fix, less=True),
    )
    return fix, "list-of-losses" if Change.MEMORY in later.changes else ""


def _listed(site: Site, call: cst.Call) -> str:
    """The list of which a comprehension reads each tensor: ``losses`` of ``[loss.item() for loss in losses]``."""
    match site.parent(call):
        case cst.ListComp(elt=elt, for_in=cst.CompFor(iter=over, ifs=[], inner_for_in=None)) if elt is call:
            named = isinstance(over, (cst.Name, cst.Subscript)) and site.values.of(over).kind is Kind.LIST
            return source(over) if named else ""
    return ""


def _advice(uses: frozenset[Use]) -> tuple[str, str]:
    """Why the number is not needed there, and what to do instead."""
    if {Use.LOGGED, Use.TENSOR} <= uses:
        return (
            "for a number that only goes to logs and back into tensors",
            "keep the tensor, read it where it is logged",
        )
    if Use.LOGGED in uses:
        return (
            "only to log a number",
            "keep detached tensors and read them where they are needed",
        )
    if Use.REPORTED in uses:
        return "only to report a number", "report the detached tensor and read it where it is logged"
    if Use.TENSOR in uses:
        return "for a number that only goes back into tensors", "keep the detached tensor"
    return "for a number that is not used here", "remove the read, or return the detached tensor"
