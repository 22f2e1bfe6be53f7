"""What smells show as, held against real traces of the rules' own examples, before and after their fixes."""

from collections import Counter

import pytest
import torch

from torchlint.bench.program import build
from torchlint.bench.suite import running
from torchlint.engine.rules import load_rules
from torchlint.profile.smells import is_implicit, shown, smell_of
from torchlint.profile.sole import TELLING

# What these run differs on an accelerator alone: pinned or asynchronous copies, synchronisation, what a copy moves.
ON_CUDA = {"TL106", "TL108", "TL207", "TL213"}
RULES = [rule for rule in load_rules(()) if smell_of(rule.code).operators and rule.code not in ON_CUDA]


def operators(program):
    """How often each operator runs in one call, after one to warm up."""
    program()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as traced:
        program()
    return Counter(event.name for event in traced.events())


@pytest.mark.once
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_smell_runs_its_operators_more_often_than_the_better_form(rule):
    names = smell_of(rule.code).operators
    more = []
    with running():
        for example in rule.examples:
            before, after = (operators(build(example, source)) for source in (example.source, example.fixed))
            more.append(sum(before[name] for name in names) - sum(after[name] for name in names))
    assert max(more) > 0, f"{rule.code}: none of {sorted(names)} goes away with the smell: {more}"


def test_every_rule_of_the_default_set_shows_somehow_or_is_known_to_show_elsewhere():
    told = {rule.code: smell_of(rule.code) for rule in load_rules(())}
    nothing = {code for code, smell in told.items() if not (smell.operators or smell.calls or smell.elsewhere)}
    # What these cost is spread over all that a function runs, so the function is all there is to name.
    assert nothing == {"TL301", "TL302", "TL306", "TL307", "TL617", "TL707", "TL709", "TL710", "TL711", "TL804"}


def test_a_line_that_names_an_operator_shows_as_that_one_and_as_what_nothing_names():
    smell = smell_of("TL201").within(["if torch.isnan(x).any():"])
    assert smell.operators == {"aten::isnan", "aten::any", "aten::is_nonzero"}
    assert smell.calls == {"isnan", "any"}
    assert is_implicit("aten::is_nonzero")
    assert not is_implicit("aten::isnan")


def test_a_line_that_names_none_may_show_as_any():
    assert smell_of("TL102").within(["x = y.float()"]).operators == smell_of("TL102").operators


def test_nothing_is_known_of_rules_of_others():
    assert smell_of("ACME1").nouns == ("place", "places")
    assert not smell_of("ACME1").operators


@pytest.mark.once
def test_what_tells_a_place_without_stacks_is_run_by_nothing_in_torch_itself():
    inputs = torch.rand(8, 16)

    def work():
        net = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 4))
        for optimizer in (torch.optim.Adam(net.parameters()), torch.optim.SGD(net.parameters(), momentum=0.9)):
            optimizer.zero_grad()
            loss = net(inputs).square().mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        for made in (
            torch.distributions.Categorical(logits=inputs),
            torch.distributions.Normal(inputs, inputs + 1),
            torch.distributions.Beta(inputs + 1, inputs + 1),
        ):
            made.log_prob(made.sample())
            made.entropy()
        torch.nn.MultiheadAttention(16, 2)(inputs, inputs, inputs)
        torch.nn.LSTM(16, 4)(inputs)
        list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs), 4, shuffle=True))
        repr(inputs)

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as traced:
        work()
    # What runs inside of other operators is theirs.
    ran = {each.name for each in traced.events() if not (each.cpu_parent and each.cpu_parent.name.startswith("aten::"))}
    assert "aten::is_nonzero" in ran
    assert not TELLING & ran
    assert {name for name in shown() if name in TELLING} == TELLING
