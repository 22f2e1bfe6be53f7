"""What ``torchlint dev new-rule`` writes: a rule that works, its fixtures, and around it a package with tests."""

from __future__ import annotations

from string import Template

from torchlint.rule import API_VERSION

RULE = Template('''\
"""$code: see the documentation of the rule in its class."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Fix, Input, Kind, Level, Report, Rule, RuleSet, Site

_AGENT = """\\
import torch
from torch import nn


class Agent:
    def __init__(self, device):
        self.policy = nn.Linear(17, 6).to(device)

    def act(self, obs):
        return torch.{function}(self.policy(obs)).argmax(dim=1)


def train(agent: Agent, env, steps):
    obs, info = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, info = env.step(agent.act(obs))
"""


class $class_name(Rule):
    """The function ``torch.neg`` in hot code: a placeholder for your smell.

    ## What it does
    Finds `torch.neg(x)` that runs once per environment step or more often.

    ## Why is this slow
    It is not: this rule shows how one is written.

    ## Example
    ```python
    scores = torch.neg(self.policy(obs))
    ```

    ## Use instead
    ```python
    scores = torch.negative(self.policy(obs))
    ```

    ## What the fix may change
    Nothing: both names are the same function.

    ## When to ignore it
    Always, until it says something.

    ## Measured
    Not yet: `torchlint bench $code` runs both versions.

    ## References
    `torch.negative` in the documentation of PyTorch.
    """

    code = "$code"
    name = "$name"
    summary = "a call of torch.neg in hot code"
    level = Level.NOTE
    set = RuleSet.$set
    # Nothing is claimed on the CPU before it was measured there.
    cuda_only = True
    trigger = Call("torch.neg")
    fixable = True
    examples = (
        Example(
            name="scores-of-one-observation",
            source=_AGENT.format(function="neg"),
            fixed=_AGENT.format(function="negative"),
            setup="agent = Agent(device)",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.TENSOR, (1, 17)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a call of ``torch.neg`` with one plain argument."""
        match site.node:
            case cst.Call(func=cst.Name() | cst.Attribute() as function, args=[cst.Arg(keyword=None, star="")]):
                if site.names.of(function) != "torch.neg":
                    return
            case _:
                return
        fix = None
        if isinstance(function, cst.Attribute):
            new = function.with_changes(attr=cst.Name("negative"))
            fix = Fix("Use torch.negative", ((function, new),))
        yield Report(site.node, "torch.neg(...): use torch.negative(...)", fix)
''')

_HOT = """\
import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Linear(4, 2)

    def act(self, obs):
        return torch.{function}(self.policy(obs)).argmax(dim=-1){mark}


def train(agent: Agent, env, steps):
    obs, info = env.reset()
    for _ in range(steps):
        action = agent.act(torch.as_tensor(obs))
        obs, reward, terminated, truncated, info = env.step(action)
"""

_ALIASED = """\
import torch as th
from torch import neg


def collect(env, policy, steps):
    obs, info = env.reset()
    for _ in range(steps):
        scores = th.{function}(policy(obs)){mark}
        others = neg(scores){mark}
        obs, reward, terminated, truncated, info = env.step(others)
"""

_COLD = """\
import torch


def scale(table):
    return torch.neg(torch.as_tensor(table))


def main(env, policy, table, steps):
    offsets = scale(table)
    obs, info = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, info = env.step(policy(obs, offsets))
"""

_GUARDED = """\
import torch


def train(env, policy, steps, debug=False):
    obs, info = env.reset()
    for _ in range(steps):
        scores = policy(obs)
        if debug:
            print(torch.neg(scores))
        obs, reward, terminated, truncated, info = env.step(scores)
"""

_LOOKALIKE = """\
import numpy as np
import torch


class Table:
    def neg(self, values):
        return [-value for value in values]


def train(env, policy, table: Table, steps):
    obs, info = env.reset()
    for _ in range(steps):
        scores = torch.as_tensor(np.negative(table.neg(policy(obs))))
        obs, reward, terminated, truncated, info = env.step(scores.neg())
"""


def fixtures(code: str) -> dict[str, str]:
    """Return the fixtures of the rule by file name."""
    mark = f"  # expect: {code}"
    return {
        "hot.py": _HOT.format(function="neg", mark=mark),
        "hot.fixed.py": _HOT.format(function="negative", mark=""),
        "aliased.py": _ALIASED.format(function="neg", mark=mark),
        "aliased.fixed.py": _ALIASED.format(function="negative", mark=""),
        "cold.py": _COLD,
        "guarded.py": _GUARDED,
        "lookalike.py": _LOOKALIKE,
    }


LISTED = Template("| $code $name | a call of torch.neg in hot code | note, preview | nothing |\n")

PACKAGE = f'"""Rules for torchlint."""\n\nTORCHLINT_API = {API_VERSION}\n'

PYPROJECT = Template("""\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$distribution"
version = "0.1.0"
description = "Rules for torchlint"
requires-python = ">=3.10"
dependencies = ["torchlint"]

[tool.setuptools]
packages = ["$package"]

[tool.setuptools.package-data]
"$package" = ["figures.json"]

[tool.pytest.ini_options]
testpaths = ["tests"]
""")

TESTS = Template('''\
"""What torchlint holds its own rules to, for the rules of this package."""

import importlib.util
from pathlib import Path

import pytest
from torchlint.engine.rules import home_of, load_rules
from torchlint.testing import (
    check_documentation,
    check_example,
    check_marks,
    check_names,
    check_results,
    check_twins,
    fixtures,
)

PACKAGES = ("$package",)
RULES = [rule for rule in load_rules(PACKAGES) if home_of(rule) in PACKAGES]
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{example.name}") for rule in RULES for example in rule.examples
]
FIXTURES = [
    pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in fixtures(Path(__file__).parent / "fixtures")
]


@pytest.mark.parametrize("rule", RULES)
def test_the_documentation_has_all_headings(rule):
    check_documentation(rule)


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_the_fix_makes_the_better_version(rule, example):
    check_example(rule, example)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_both_versions_compute_the_same(rule, example):
    check_results(rule, example)


@pytest.mark.parametrize("path", FIXTURES)
def test_the_marked_lines_are_found_and_no_others(path):
    check_marks(path, PACKAGES)


@pytest.mark.parametrize("path", FIXTURES)
def test_fixes_make_the_twins(path):
    check_twins(path, PACKAGES)


@pytest.mark.parametrize("path", FIXTURES)
def test_other_names_change_nothing(path):
    check_names(path, PACKAGES)
''')
