"""TL205: a distribution is built in hot code with its validation left on."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.code.project import Project
from torchlint.rule import Call, Change, Example, Fix, Found, Frequency, Input, Kind, Option, Report, Rule, Site
from torchlint.rule.build import expression, source, with_keyword

from ._distribution_classes import DistributionClasses, of_own_class
from ._distribution_validation import BEFORE, VALIDATING, ProgramEntries, constructor, says, wants_validation

# Files that the message of a fix names.
_NAMED = 2
_ASSUMES = "`{what}` holds the parameters of the distribution alone"
_ONCE = Option[bool](
    "once", True, "where several calls validate, the fix sets the default where the program begins, not at each call"
)

_MESSAGE = "arguments and samples are validated on every call; pass `validate_args=False`"

_DISCRETE = """\
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6))

    @torch.no_grad()
    def act(self, obs):
        dist = Categorical(logits=self.net(obs){off})
        action = dist.sample()
        return action.cpu().numpy(), dist.log_prob(action).cpu().numpy(), dist.entropy().cpu().numpy()


def collect(policy, env, steps):
    obs, info = env.reset()
    for _ in range(steps):
        action, log_prob, entropy = policy.act(obs)
        obs, reward, terminated, truncated, info = env.step(action)
"""
_CONTINUOUS = """\
import torch
from torch import nn
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6))
        self.log_std = nn.Parameter(torch.zeros(6))

    @torch.no_grad()
    def act(self, obs):
        dist = Normal(self.net(obs), self.log_std.exp(){off})
        action = dist.sample()
        return action.cpu().numpy(), dist.log_prob(action).sum(-1).cpu().numpy()


def collect(policy, env, steps):
    obs, info = env.reset()
    for _ in range(steps):
        action, log_prob = policy.act(obs)
        obs, reward, terminated, truncated, info = env.step(action)
"""


def _example(name: str, program: str, batch: int) -> Example:
    return Example(
        name=name,
        source=program.replace("{off}", ""),
        fixed=program.replace("{off}", ", validate_args=False"),
        setup="policy = Policy().to(device)\nobs = obs.to(device)",
        workload="policy.act(obs)",
        inputs=(Input("obs", Kind.TENSOR, (batch, 17)),),
    )


class DistributionValidation(Rule):
    """A distribution checks its arguments, and later its samples, each time it is built and used.

    ## What it does
    Finds distributions of `torch.distributions` that hot code builds without `validate_args`, also through a class
    that derives from one and takes or inherits this option, in a project that nowhere calls
    `Distribution.set_default_validate_args(False)`. Torch validates by default since 1.8, so nothing is reported in
    a project that pins an earlier one (`torch==1.6.0`), nor in a program that runs `torch.compile` whatever its
    settings say: the first compilation of a process turns validation off by default. A `TransformedDistribution` or
    a `MixtureSameFamily` has no arguments to test: it is reported where hot code asks for `log_prob` or `cdf`, but
    not one that is only sampled.

    ## Why is this slow
    By default each parameter is tested against its constraint when the distribution is built, and each value when
    `log_prob` is asked for. Every test is a few operations on the tensor and a bool that Python waits for; on an
    accelerator that is a wait for all work queued so far.

    ## Example
    ```python
    dist = Categorical(logits=logits)
    ```

    ## Use instead
    ```python
    dist = Categorical(logits=logits, validate_args=False)
    ```

    or once, before training:

    ```python
    torch.distributions.Distribution.set_default_validate_args(False)
    ```

    ## What the fix may change
    Validation. Samples, log-probabilities and the random stream stay the same; what is lost are errors: NaN logits no
    longer raise when the distribution is built, a standard deviation that is NaN or not positive passes silently, and
    a value outside of the support gets some log-probability, such as an action given as a float.

    Where a program, a file with an `if __name__ == "__main__":`, runs several such calls, the fix is one call at the
    beginning of that program, and one of each other program that runs them. That also turns off the validation of
    distributions that the rule does not find, those that run seldom and those that are built in libraries. Processes
    that are started by `spawn` do not run that call and validate as before. With `once = false` each call gets
    `validate_args=False`; so it does where a comment names TL205, because some validation is wanted, or where the file
    that begins the program was not asked for.

    ## When to ignore it
    While a policy is being debugged, and where running on with a broken policy costs more than the time.

    ## Measured
    The figures below come from acting with a small policy: the network, a sample and its log-probability.

    ## References
    - PyTorch documentation, `torch.distributions.Distribution.set_default_validate_args`.
    """

    code = "TL205"
    name = "distribution-validation"
    summary = "a distribution is built in hot code with its validation left on"
    trigger = Call(*BEFORE) | Found(DistributionClasses)
    least = Frequency.UPDATE
    fixable = True
    may_change = (Change.VALIDATION,)
    options = (_ONCE,)
    examples = (
        _example("categorical-act", _DISCRETE, 1),
        _example("categorical-act-of-256", _DISCRETE, 256),
        _example("normal-act", _CONTINUOUS, 1),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a call that builds a distribution with the default validation, where the default is on."""
        call = site.node
        if (
            not isinstance(call, cst.Call)
            or not (_is_spread(call) or site.calls.is_plain(call))
            or wants_validation(site)
        ):
            return
        own = of_own_class(site)
        built = own or constructor(site, call) or ""
        if built not in BEFORE or not (own or not says(site, call, built)):
            return
        programs = site.fact(ProgramEntries)
        if not programs.validates(site.file) or not programs.tests(site.file, site.expression(call), built):
            return
        figure = ("categorical-act", "categorical-act-of-256") if "ategorical" in built else ("normal-act",)
        fix = None if site.compiling.scripted() else self._fix(site, call, built)
        yield Report(call, _MESSAGE, fix, figure=figure, deprecated=VALIDATING)

    def _fix(self, site: Site, call: cst.Call, built: str) -> Fix | None:
        """The default set where the programs begin, in place of several calls; else the call itself.

        A constructor that the project puts in the place of that of torch may not take the argument.
        """
        here = Fix(
            message="pass `validate_args=False`",
            replace=((call, with_keyword(call, "validate_args", expression("False"))),),
            may_change=(Change.VALIDATION,),
            assumes=_ASSUMES.format(what=source(call.args[0].value)) if _is_spread(call) else "",
        )
        ends = {name.rpartition(".")[2] for name in site.fact(Project).put_into("__init__")}
        own = None if built.rpartition(".")[2] in ends else here
        programs = site.fact(ProgramEntries)
        entries = programs.leading_to(site.file)
        many = _ONCE.of(self.given) and 0 < len(entries) < programs.built(entries)
        if not many or programs.excepts(entries) or not all(entry.is_free for entry in entries):
            return own
        parts = [(entry, entry.default_off()) for entry in entries]
        inside = next((part for entry, part in parts if entry.file is site.file), None)
        where = ", ".join(f"`{entry.file.path}`" for entry in entries[:_NAMED])
        more = f" and {len(entries) - _NAMED} more files" if len(entries) > _NAMED else ""
        return Fix(
            message=f"turn validation off once, where the program begins: in {where}{more}",
            replace=(),
            may_change=(Change.VALIDATION,),
            imports=inside.imports if inside is not None else (),
            ahead=inside.ahead if inside is not None else (),
            in_files=tuple(part for _, part in parts if part is not inside),
            instead=own,
        )


def _is_spread(call: cst.Call) -> bool:
    """Whether a call hands all parameters of a distribution on at once: ``Normal(*parameters)``."""
    match call.args:
        case [cst.Arg(star="*", value=cst.Name() | cst.Attribute() | cst.Subscript())]:
            return True
    return False
