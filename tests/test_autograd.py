"""Whether autograd records somewhere, which tensors are part of a graph, and what functions may run."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.autograd.networks import Networks

HEAD = """\
import contextlib
import torch
from torch import nn
"""
# The statement at the mark is asked about; ``act`` is called by a loop that steps an environment, at module level.
LOOP = """
def run(env, net):
    obs = env.reset()
    while True:
        obs, reward, done, info = env.step({call})

run(make(), nn.Linear(4, 2))
"""


def records(text: str, mark: str = "# here") -> bool | None:
    """What is known of the mode at the statement whose row holds a mark."""
    code = Code(text)
    name = next(name for name, source in code.texts.items() if mark in source)
    row = next(row for row, line in enumerate(code.texts[name].splitlines(), 1) if mark in line)
    stmts = [stmt for stmt in code.file(name).places if stmt.lineno == row]
    return code.analyses[Autograd].records(code.file(name), stmts[-1])


LOCAL = {
    "with torch.no_grad():\n    f()  # here": False,
    "with torch.inference_mode():\n    f()  # here": False,
    "with torch.inference_mode(mode=False):\n    f()  # here": True,
    "with torch.autograd.no_grad():\n    f()  # here": False,
    "with torch.autograd.grad_mode.no_grad():\n    f()  # here": False,
    "with torch.set_grad_enabled(False):\n    f()  # here": False,
    "with torch.set_grad_enabled(True):\n    f()  # here": True,
    "with torch.set_grad_enabled(flag):\n    f()  # here": None,
    "with torch.no_grad():\n    with torch.enable_grad():\n        f()  # here": True,
    "with open(p) as file, torch.no_grad():\n    f()  # here": False,
    "with torch.autocast('cuda'):\n    f()  # here": True,
    "guard = torch.no_grad()\nwith guard:\n    f()  # here": False,
    "guard = torch.no_grad() if flag else contextlib.nullcontext()\nwith guard:\n    f()  # here": None,
    "with torch.no_grad() if flag else torch.inference_mode():\n    f()  # here": False,
    "torch.set_grad_enabled(False)\nf()  # here": False,
    "if flag:\n    torch.set_grad_enabled(False)\nf()  # here": None,
    "f()  # here\ntorch.set_grad_enabled(False)": None,
    "with torch.no_grad():\n    g()\nf()  # here": True,
}


@pytest.mark.parametrize("text", LOCAL)
def test_guards_around_a_statement(text: str) -> None:
    assert records(f"{HEAD}\n{text}\n") is LOCAL[text]


DECORATED = {
    "@torch.no_grad()": False,
    "@torch.no_grad": False,
    "@torch.inference_mode()": False,
    "@torch.enable_grad()": True,
    "@torch.compile": True,
    "@quiet": False,
    "@wrapped": None,
}


@pytest.mark.parametrize("decorator", DECORATED)
def test_decorators(decorator: str) -> None:
    text = f"""{HEAD}
quiet = torch.no_grad()

def wrapped(function):
    def inner(*args):
        with torch.no_grad():
            return function(*args)
    return inner

{decorator}
def act(net, obs):
    return net(obs)  # here
"""
    assert records(text + LOOP.format(call="act(net, obs)")) is DECORATED[decorator]


CALLED = {
    "act(net, obs)": True,
    "quiet(net, obs)": False,
    "act(net, obs) + quiet(net, obs)": True,
    "managed(net, obs)": False,
    "unknown(obs)": False,
}


@pytest.mark.parametrize("call", CALLED)
def test_callers_decide_where_the_function_does_not(call: str) -> None:
    text = f"""{HEAD}
def act(net, obs):
    return net(obs)  # here

@torch.no_grad()
def quiet(net, obs):
    return act(net, obs)

@contextlib.contextmanager
def evaluating(net):
    with torch.no_grad():
        yield net

def managed(net, obs):
    with evaluating(net) as module:
        return act(module, obs)
"""
    assert records(text + LOOP.format(call=call)) is CALLED[call]


def test_callers_in_other_files_count() -> None:
    agent = "import torch\nclass Agent:\n    def act(self, obs):\n        return self.net(obs)  # here\n"
    main = "import torch\nfrom agent import Agent\n{guard}:\n    while True:\n        Agent().act(make())\n"
    assert records({"agent.py": agent, "main.py": main.format(guard="with torch.no_grad()")}) is False
    assert records({"agent.py": agent, "main.py": main.format(guard="if True")}) is True


def test_a_seldom_call_without_a_guard_does_not_count_beside_hot_ones_that_hold_one() -> None:
    text = f"""{HEAD}
def act(net, obs):
    return net(obs)  # here

def export(net):
    act(net, torch.zeros(1))

def quiet(net, obs):
    with torch.no_grad():
        return act(net, obs)
"""
    assert records(text + LOOP.format(call="quiet(net, obs)") + "export(nn.Linear(1, 1))\n") is False


def test_recursion_comes_to_an_end() -> None:
    text = f"""{HEAD}
def search(net, obs, depth):
    if depth:
        return search(net, obs, depth - 1)
    return net(obs)  # here

def quiet(net, obs):
    with torch.no_grad():
        return search(net, obs, 3)
"""
    assert records(text + LOOP.format(call="quiet(net, obs)")) is False
    assert records(text + LOOP.format(call="search(net, obs, 2)")) is True


def test_a_function_that_runs_backward_is_not_guarded_by_anybody() -> None:
    text = f"""{HEAD}
class Learner:
    def update(self, batch):
        loss = self.net(batch).mean()  # here
        {{end}}
"""
    assert records(text.format(end="loss.backward()")) is True
    assert records(text.format(end="return loss")) is None
    assert records(text.format(end="with torch.enable_grad():\n            loss.backward()")) is None


def test_functions_that_a_library_starts_record() -> None:
    text = f"{HEAD}import torch.multiprocessing as mp\ndef worker(net):\n    net(make())  # here\n"
    assert records(f"{text}mp.Process(target=worker).start()\n") is True
    assert records(text) is None


GRAPHS = {
    "net(obs)": True,
    "net(obs).detach()": False,
    "net(obs).argmax()": False,
    "net(obs).data": False,
    "(net(obs) + 1).exp()": True,
    "torch.stack([obs, net(obs)])": True,
    "torch.zeros(3)": False,
    "torch.zeros(3, requires_grad=True)": True,
    "net(obs) > 0": False,
    "net(obs).sum().item()": False,
    "frozen(obs)": False,
    "frozen(net(obs))": True,
    "nn.Tanh()(obs)": False,
    "nn.Tanh()(net(obs))": True,
    "torch.distributions.Normal(net(obs), 1.0).sample()": False,
    "torch.distributions.Normal(net(obs), 1.0).rsample()": True,
    "unknown(obs)": None,
    "helper(obs)": True,
    "quiet(obs)": False,
    "as_array(net(obs))": False,
    "as_array_early(net(obs))": False,
    "as_list(net(obs))": False,
    "as_other(net(obs))": True,
    "(batch.labels != batch.padding).sum()": False,
    "(batch.labels != 3).float().mean()": False,
    "(batch.labels != 3).float().mul(net(obs))": True,
    "batch.labels.float().mean()": None,
}


@pytest.mark.parametrize("expression", GRAPHS)
def test_what_hangs_on_a_graph(expression: str) -> None:
    code = Code(f"""{HEAD}
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters())
frozen = nn.Linear(4, 2)
frozen.requires_grad_(False)
obs = torch.zeros(4)

def helper(x):
    hidden = net(x)
    return hidden * 2

@torch.no_grad()
def quiet(x):
    return helper(x)

def as_array(x):
    if isinstance(x, torch.Tensor):
        return x.detach().numpy()
    else:
        return x

def as_array_early(x):
    if torch.is_tensor(x) or x is None:
        return x.detach().numpy()
    return x

def as_list(x):
    return x if not isinstance(x, (list, torch.autograd.Variable)) else x.tolist()

def as_other(x):
    if torch.is_tensor(x) and wanted:
        return x.detach()
    return x

show({expression})
""")
    assert code.analyses[Autograd].has_graph(code.file(), code.shown()) is GRAPHS[expression]


GATHERED = {
    "losses": True,
    "torch.stack(losses).sum()": True,
    "numbers": False,
    "rows": True,
    "[state for state, _ in rows]": False,
    "[value for _, value in rows]": True,
    "states": False,
    "torch.stack(values)": True,
    "terms": True,
    "counts": False,
    "kept.losses": True,
    "kept.numbers": False,
}


@pytest.mark.parametrize("expression", GATHERED)
def test_what_is_put_into_a_collection_brings_its_graph(expression: str) -> None:
    code = Code(f"""{HEAD}
class Kept:
    def __init__(self):
        self.losses = []
        self.numbers = []

    def add(self, loss):
        self.losses.append(loss)
        self.numbers.append(loss.detach())

net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters())
obs = torch.zeros(4)
kept = Kept()
losses = []
numbers = []
rows = []
terms = {{"critic": []}}
counts = {{"critic": []}}
for _ in range(8):
    terms["critic"].append(net(obs))
    counts["critic"].append(1)
    losses.append(net(obs).sum())
    numbers.append(net(obs).detach())
    rows.append((obs, net(obs)))
    kept.add(net(obs).mean())
states, values = zip(*rows)
show({expression})
""")
    assert code.analyses[Autograd].has_graph(code.file(), code.shown()) is GATHERED[expression]


@pytest.mark.parametrize(
    ("guard", "graph"),
    [
        ("if x.requires_grad:\n    x = x.detach()", False),
        ("if other.requires_grad:\n    x = x.detach()", True),
        ("if x.ndim:\n    x = x.detach()", True),
        ("if x.requires_grad:\n    x = x.mean()", True),
        ("if x.requires_grad:\n    pass\nelse:\n    x = x.detach()", True),
    ],
)
def test_what_has_a_graph_is_detached_behind_a_test_of_it(guard: str, graph: bool) -> None:
    head = (
        f"{HEAD}net = nn.Linear(4, 2)\noptimizer = torch.optim.Adam(net.parameters())\nobs = other = torch.zeros(4)\n"
    )
    code = Code(f"{head}x = net(obs)\n{guard}\nshow(x)\n")
    assert code.analyses[Autograd].has_graph(code.file(), code.shown()) is graph


@pytest.mark.parametrize(
    ("unpacked", "net", "graph"),
    [
        ("x, (y, z)", "made(4)", None),
        ("(y, z), x", "made(4)", None),
        ("x, y", "made(4)", True),
        ("x, (y, z)", "nn.LSTM(4, 4)", True),
    ],
)
def test_a_part_of_a_part_of_what_an_unknown_network_gives_may_be_a_number(
    unpacked: str, net: str, graph: bool | None
) -> None:
    head = f"{HEAD}net = {net}\noptimizer = torch.optim.Adam(net.parameters())\nobs = torch.zeros(2, 3, 4)\n"
    code = Code(f"{head}{unpacked} = net(obs)\nshow(y)\n")
    assert code.analyses[Autograd].has_graph(code.file(), code.shown()) is graph


def test_graphs_of_target_networks_alone_can_be_told_apart() -> None:
    head = f"{HEAD}import copy\nnet = nn.Linear(4, 2)\ntarget = copy.deepcopy(net)\nobs = torch.zeros(4)\n"
    head += "optimizer = torch.optim.Adam(net.parameters())\n"
    for shown, trained in (("target(obs)", False), ("target(net(obs))", True), ("net(obs) + target(obs)", True)):
        code = Code(f"{head}show({shown})\n")
        assert code.analyses[Autograd].has_graph(code.file(), code.shown()) is True
        assert code.analyses[Autograd].has_graph(code.file(), code.shown(), trained=True) is trained


def test_what_a_function_reaches_through_its_callees() -> None:
    code = Code("""
        import torch

        def first(x):
            return second(x)

        def second(x):
            return [third(part) for part in x]

        def third(x):
            return torch.autograd.grad(x, x) if x else first(x)

        def other(x):
            x.loss.backward()
    """)
    reaches = code.analyses[Autograd].reaches
    assert reaches(code.function("code.first"), frozenset({"torch.autograd.grad"}))
    assert not reaches(code.function("code.first"), frozenset({"backward"}))
    assert reaches(code.function("code.other"), frozenset({"backward"}))


RUNS = {
    "net(obs)": True,
    "model.policy(obs)": True,
    "features(obs)": True,
    "activation(obs)": False,
    "model.name(obs)": False,
    "torch.tanh(obs)": False,
    "Model()": False,
}


@pytest.mark.parametrize("expression", RUNS)
def test_calls_that_run_networks(expression: str) -> None:
    code = Code(f"""{HEAD}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 2)

    def policy(self, obs):
        return torch.tanh(self.body(obs))

    def name(self, obs):
        return "model"

net, model, activation, obs = nn.Linear(4, 2), Model(), nn.ReLU(), torch.zeros(4)

def features(obs):
    return net(obs)

show({expression})
""")
    call = code.node(expression)
    assert code.analyses[Autograd].runs(code.file(), call) is RUNS[expression]


def test_runs_say_what_is_returned_and_what_differentiates() -> None:
    code = Code(f"""{HEAD}
net = nn.Linear(4, 2)

def given(obs):
    hidden = net(obs)
    return hidden + 1

def kept(obs):
    hidden = net(obs + 1)
    return hidden.detach()

def energy(obs):
    return torch.autograd.grad(net(obs * 2), obs)[0] + net(obs - 1)

def outer(obs):
    return energy(obs + 2)
""")
    run = code.analyses[Autograd].run
    assert run(code.file(), code.node("net(obs)"), keeps=False).returned is True
    assert run(code.file(), code.node("net(obs - 1)"), keeps=False).returned is True
    assert run(code.file(), code.node("net(obs + 1)"), keeps=True).returned is False
    assert run(code.file(), code.node("net(obs + 1)"), keeps=True).keeps is True
    assert run(code.file(), code.node("energy(obs + 2)"), keeps=False).differentiates is True


@pytest.mark.parametrize("freezes", [False, True])
def test_a_target_network_that_a_class_freezes_may_be_frozen_where_the_class_is_not_known(freezes: bool) -> None:
    code = Code(f"""
        import copy
        import torch
        from torch import nn

        class Agent:
            def __init__(self, net):
                self.net, self.target_net = net, copy.deepcopy(net)
                for parameter in self.target_net.parameters():
                    parameter.requires_grad = {not freezes}
                self.optimizer = torch.optim.Adam(net.parameters())

            def sync(self):
                self.target_net.load_state_dict(self.net.state_dict())

        def learn(agents, batch):
            for agent in agents:
                show(agent.target_net)

        learn(torch.load("agents.pt"), 1)
        learn([Agent(nn.Linear(2, 2))], 1)
    """)
    assert code.analyses[Networks].target(code.file(), code.shown()) is not freezes
