"""TL701: one environment is stepped at a time by a policy that could act for many."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Level, Method, Report, Rule, RuleSet, Site

from ._single_environment_loop import steps_one

_MESSAGE = (
    "the policy acts for one environment at a time; step several environments together, because a small network "
    "costs about as much for one row as for many"
)

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 6))

    @torch.no_grad()
    def act(self, obs):
        return self.policy(torch.as_tensor(obs)).argmax(dim=-1)


def choose(agent, observations):
    return torch.stack([agent.act(obs) for obs in observations])


def rollout(agent, env, replay, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        action = agent.act(obs)
        obs, reward, terminated, truncated, _ = env.step(action.numpy())
        replay.add(obs, action, reward)
"""
_BETTER = _SOURCE.replace("torch.stack([agent.act(obs) for obs in observations])", "agent.act(observations)").replace(
    "env", "envs"
)


class SingleEnvironmentLoop(Rule):
    """One environment is stepped at a time by a policy that could act for many.

    ## What it does
    Finds loops that step one environment with an action that a network chose in the same round, and keep what they see.
    Vector environments, evaluations, and objects of unknown origin that are not called an environment, are left alone.

    ## Why is this slow
    What a small network costs are the operations that are started, for one row as for many. With several environments
    one call chooses all actions.

    ## Example
    ```python
    action = agent.act(obs)
    obs, reward, terminated, truncated, info = env.step(action)
    ```

    ## Use instead
    ```python
    envs = gymnasium.make_vec("HalfCheetah-v5", num_envs=8)
    actions = agent.act(observations)
    observations, rewards, terminated, truncated, infos = envs.step(actions)
    ```

    ## What the fix may change
    There is no automatic fix: the data comes from several episodes at once, and random numbers are drawn in another
    order. This rule must be selected by its code.

    ## When to ignore it
    Where the environment cannot be run several times, or the algorithm is meant for one.

    ## Measured
    The figures below choose actions for eight environments, one by one and together.

    ## References
    - Gymnasium documentation, "Vector environments".
    """

    code = "TL701"
    name = "single-environment-loop"
    summary = "one environment is stepped at a time by a policy that could act for many"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Method("step")
    least = Frequency.STEP
    examples = (
        Example(
            name="act-for-8",
            source=_SOURCE,
            fixed=_BETTER,
            setup="torch.manual_seed(0)\nagent = Agent()",
            workload="choose(agent, observations)",
            unit="loop",
            inputs=(Input("observations", Kind.TENSOR, (8, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the step of one environment with an action that a network chose for it alone."""
        match site.node:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="step"))) as call if steps_one(site, call):
                yield Report(call, _MESSAGE)
