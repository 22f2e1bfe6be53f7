"""TL205: a distribution is built in hot code with its validation left on."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Change, Example, Fix, Frequency, Input, Kind, Report, Rule, Site
from torchlint.rule.build import expression, keyword_of, with_keyword
from torchlint_rules.tl2_sync._distribution_validation import constructor

# Classes of torch.distributions that constrain their arguments: module, name, and how many positional arguments come
# before ``validate_args``. Those that wrap another distribution have nothing to validate themselves.
_CLASSES = (
    *(("bernoulli", "Bernoulli", 2), ("beta", "Beta", 2), ("binomial", "Binomial", 3), ("cauchy", "Cauchy", 2)),
    *(("categorical", "Categorical", 2), ("chi2", "Chi2", 1)),
    *(("continuous_bernoulli", "ContinuousBernoulli", 3), ("dirichlet", "Dirichlet", 1)),
    *(("exponential", "Exponential", 1), ("fishersnedecor", "FisherSnedecor", 2), ("gamma", "Gamma", 2)),
    *(("geometric", "Geometric", 2), ("gumbel", "Gumbel", 2), ("half_cauchy", "HalfCauchy", 1)),
    *(("half_normal", "HalfNormal", 1), ("inverse_gamma", "InverseGamma", 2), ("kumaraswamy", "Kumaraswamy", 2)),
    *(("laplace", "Laplace", 2), ("log_normal", "LogNormal", 2), ("logistic_normal", "LogisticNormal", 2)),
    *(("lowrank_multivariate_normal", "LowRankMultivariateNormal", 3), ("multinomial", "Multinomial", 3)),
    *(("multivariate_normal", "MultivariateNormal", 4), ("negative_binomial", "NegativeBinomial", 3)),
    *(("normal", "Normal", 2), ("one_hot_categorical", "OneHotCategorical", 2), ("pareto", "Pareto", 2)),
    *(("one_hot_categorical", "OneHotCategoricalStraightThrough", 2), ("poisson", "Poisson", 1)),
    *(("relaxed_bernoulli", "RelaxedBernoulli", 3), ("relaxed_categorical", "RelaxedOneHotCategorical", 3)),
    *(("studentT", "StudentT", 3), ("uniform", "Uniform", 2), ("von_mises", "VonMises", 2), ("weibull", "Weibull", 2)),
)
_BEFORE = {
    spelling: before
    for module, name, before in _CLASSES
    for spelling in (f"torch.distributions.{name}", f"torch.distributions.{module}.{name}")
}
_OWNERS = ("torch.distributions.Distribution", "torch.distributions.distribution.Distribution", *_BEFORE)

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
    that derives from one, in a project that nowhere calls `Distribution.set_default_validate_args(False)`.

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
    trigger = Call(*_BEFORE)
    least = Frequency.UPDATE
    fixable = True
    may_change = (Change.VALIDATION,)
    examples = (
        _example("categorical-act", _DISCRETE, 1),
        _example("categorical-act-of-256", _DISCRETE, 256),
        _example("normal-act", _CONTINUOUS, 1),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a call that builds a distribution with the default validation, where the default is on."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.calls.is_plain(call):
            return
        built = constructor(site, call) or ""
        if built not in _BEFORE or _says(site, call, _BEFORE[built]) or _off_by_default(site):
            return
        figure = ("categorical-act", "categorical-act-of-256") if "ategorical" in built else ("normal-act",)
        yield Report(call, _MESSAGE, None if site.compiling.scripted() else _fix(call), figure=figure)


def _says(site: Site, call: cst.Call, before: int) -> bool:
    """Whether a call gives ``validate_args``, by name or after the ``before`` arguments that precede it."""
    if (site.names.of(call.func) or "").endswith(".__init__"):
        before += 1  # Normal.__init__(self, ...)
    positional = sum(argument.keyword is None for argument in call.args)
    return keyword_of(call, "validate_args") is not None or positional > before


def _off_by_default(site: Site) -> bool:
    """Whether the project sets the default to anything but a plain ``True``."""
    settings = (given for owner in _OWNERS for given in site.calls.arguments(f"{owner}.set_default_validate_args"))
    return any(not given or given[0].literal is not True for given in settings)


def _fix(call: cst.Call) -> Fix:
    return Fix(
        message="pass `validate_args=False`",
        replace=((call, with_keyword(call, "validate_args", expression("False"))),),
        may_change=(Change.VALIDATION,),
    )
