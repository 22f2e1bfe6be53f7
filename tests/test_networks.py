"""Which modules are trained, frozen or copies, and what they are made of."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.facts.autograd.networks import Networks
from torchlint.rule import Network

HEAD = """\
import copy
import itertools
import torch
from torch import nn, optim
net = nn.Linear(4, 2)
other = nn.Linear(4, 2)
"""


def network(text: str, shown: str = "net") -> Network:
    """What is known of a module after these statements."""
    code = Code(f"{HEAD}{text}\nshow({shown})\n")
    return code.analyses[Networks].of(code.file(), code.shown())


TRAINED = {
    "optim.Adam(net.parameters())": True,
    "optim.Adam(list(net.parameters()) + list(other.parameters()))": True,
    "optim.Adam([*other.parameters(), *net.parameters()])": True,
    "optim.Adam(itertools.chain(other.parameters(), net.parameters()))": True,
    "optim.Adam([{'params': other.parameters()}, {'params': net.parameters(), 'lr': 1.0}])": True,
    "params = list(other.parameters())\nparams += list(net.parameters())\noptim.SGD(params, lr=1.0)": True,
    "params = [p for p in net.parameters() if p.requires_grad]\noptim.SGD(params, lr=1.0)": True,
    "optim.Adam(p for m in [net, other] for p in m.parameters())": True,
    "getattr(optim, 'Adam')(net.parameters())": True,
    "both = nn.ModuleList([net])\noptim.Adam(other.parameters())": False,
    "def make(module):\n    return optim.Adam(module.parameters())\nmake(net)": True,
    "def make(parameters):\n    return optim.Adam(parameters)\nmake(net.parameters())": True,
    "optim.Adam(other.parameters())": False,
    "optim.Adam(load())": None,
    "for mine, theirs in zip(net.parameters(), other.parameters()):\n    theirs.grad = mine.grad": True,
}


@pytest.mark.parametrize("text", TRAINED)
def test_optimizers_of_every_spelling(text: str) -> None:
    assert network(text).trained is TRAINED[text]


FROZEN = {
    "net.requires_grad_(False)": True,
    "net.requires_grad_()": False,
    "net = nn.Linear(4, 2).requires_grad_(False)": True,
    "for p in net.parameters():\n    p.requires_grad = False": True,
    "for p in net.parameters():\n    p.requires_grad_(False)": True,
    "for name, p in net.named_parameters():\n    p.requires_grad = False": True,
    "for p in other.parameters():\n    p.requires_grad = False": False,
    "net.requires_grad_(False)\nnet.requires_grad_(True)": False,
    "def switch(m, on):\n    for p in m.parameters():\n        p.requires_grad = on\nswitch(net, False)": False,
    "both = [net, other]\nfor module in both:\n    module.requires_grad_(False)": True,
}


@pytest.mark.parametrize("text", FROZEN)
def test_freezing(text: str) -> None:
    assert network(text).frozen is FROZEN[text]


def test_what_is_thawed_may_be_trained_or_not() -> None:
    assert network("optim.Adam(net.parameters())\nnet.requires_grad_(False)\nnet.requires_grad_(True)").trained is None


COPIES = {
    "copied = copy.deepcopy(net)": True,
    "copied = copy.deepcopy(net).to('cpu').eval()": True,
    "copied = nn.Linear(4, 2)\ncopied.load_state_dict(net.state_dict())": True,
    "copied = nn.Linear(4, 2)\ncopied.load_state_dict(torch.load('net.pt'))": False,
    "copied = nn.Linear(4, 2)": False,
    "copied = copy.deepcopy(net)\noptim.Adam(copied.parameters())": False,
    "copied = nn.Linear(4, 2)\nfor slow, fast in zip(copied.parameters(), net.parameters()):\n"
    "    slow.data.copy_(fast.data)": True,
    "copied = nn.Linear(4, 2)\nfor fast, slow in zip(net.parameters(), copied.parameters()):\n"
    "    slow.data = 0.9 * slow.data + 0.1 * fast.data": True,
    "copied = nn.Linear(4, 2)\ndef follow(slow, fast):\n    for p, q in zip(slow.parameters(), fast.parameters()):\n"
    "        p.data.lerp_(q.data, 0.1)\nfollow(copied, net)": True,
}


@pytest.mark.parametrize("text", COPIES)
def test_copies(text: str) -> None:
    assert network(f"optim.Adam(net.parameters())\n{text}", "copied").target is COPIES[text]
    assert not network(f"optim.Adam(net.parameters())\n{text}").target


AGENT = """
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        return self.layers(x)

class Agent:
    def __init__(self, trunk):
        self.trunk = trunk
        self.critic = Critic()
        self.critic_target = Critic()
        self.best = copy.deepcopy(self.critic)
        self.critics = {"one": Critic(), "two": Critic()}
        params = list(self.critic.parameters()) + list(self.critics["one"].parameters())
        self.optimizer = optim.Adam(params)
        self.trunk_optimizer = optim.Adam(self.trunk.parameters())

agent = Agent(net)
"""
PLACES = {
    "agent.critic": (True, False),
    "agent.critic.layers": (True, False),
    "agent.critic_target": (False, True),
    "agent.best": (False, True),
    "agent.critics['one']": (True, False),
    "agent.critics['two']": (False, False),
    "agent.trunk": (True, False),
    "net": (True, False),
    "other": (False, False),
    "torch.compile(agent.critic)": (True, False),
}


@pytest.mark.parametrize("place", PLACES)
def test_networks_are_told_apart_by_where_they_come_from(place: str) -> None:
    found = network(AGENT, place)
    assert (found.trained, found.target) == PLACES[place]


def test_a_module_that_trains_itself() -> None:
    own = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    own += "        self.layer = nn.Linear(1, 1)\n"
    own += "        self.optimizer = optim.Adam(self.parameters())\n\nmine = Net()\n"
    assert network(own, "mine").trained is True
    assert network(own, "mine.layer").trained is True
    assert network(f"{own}target = Net()\ntarget.load_state_dict(mine.state_dict())", "target").target is True


PARTS = {
    "net": {"Linear"},
    "nn.Sequential(nn.Linear(1, 2), nn.Tanh())": {"Sequential", "Linear", "Tanh"},
    "nn.Sequential(*[nn.Linear(1, 1) for _ in range(3)])": {"Sequential", "Linear"},
    "nn.ModuleDict({'a': nn.GRU(1, 1)})": {"ModuleDict", "GRU"},
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)": {"TransformerEncoder", "TransformerEncoderLayer"},
    "agent.critic": {"Sequential", "Linear", "ReLU"},
    "mlp([4, 8, 1])": {"Sequential", "Linear", "ELU"},
    "mlp([4, 8, 1], nn.Mish)": {"Sequential", "Linear", "Mish"},
    "agent.best.layers[0]": {"Sequential", "Linear", "ReLU"},
    "load('net.pt')": None,
}


@pytest.mark.parametrize("place", PARTS)
def test_parts_at_any_depth(place: str) -> None:
    mlp = """
def mlp(sizes, activation=nn.ELU):
    layers = []
    for one, two in zip(sizes, sizes[1:]):
        layers.append(nn.Linear(one, two))
        layers += [activation()]
    return nn.Sequential(*layers)
"""
    found = network(AGENT + mlp, place).parts
    wanted = PARTS[place]
    assert found == (None if wanted is None else {f"torch.nn.{name}" for name in wanted})


def test_one_optimizer_for_two_networks_or_one_for_each() -> None:
    code = Code(f"""{HEAD}
third = nn.Linear(1, 1)
fourth = nn.Linear(1, 1)
optim.Adam([*net.parameters(), *other.parameters()])
optim.Adam(third.parameters())
show([net, other, third, fourth])
""")
    shown = {part.id: part for part in code.shown().elts}
    together = code.analyses[Networks].moved_together
    assert together(code.file(), shown["net"], shown["other"]) is True
    assert together(code.file(), shown["net"], shown["third"]) is False
    assert together(code.file(), shown["net"], shown["fourth"]) is None


TWO = """
import copy
import torch
from torch import nn

class {name}:
    def __init__(self):
        self.agent = nn.GRUCell(8, 8)

    def act(self, inputs):
        return show(self.agent)

    def parameters(self):
        params = list(self.agent.parameters())
        params += list(self.other.parameters())
        return params

    def load_state(self, other):
        self.agent.load_state_dict(other.{slot}.state_dict())

REGISTRY = {{}}
REGISTRY["first"] = {name}
REGISTRY["second"] = Second

class Learner:
    def __init__(self, kind):
        self.online = REGISTRY[kind]()
        self.net = nn.GRUCell(8, 8)
        self.params = list(self.online.parameters()) + list(self.net.parameters())
        self.optimizer = torch.optim.Adam(self.params)
        self.copied = copy.deepcopy(self.online)

    def learn(self):
        self.copied.load_state({given})
"""


@pytest.mark.parametrize(
    ("slot", "given", "expected"), [("agent", "self.online", False), ("net", "self", True)], ids=["same slot", "other"]
)
def test_of_two_objects_of_a_class_one_is_the_copy(slot: str, given: str, expected: bool) -> None:
    code = Code(TWO.format(name="First", slot=slot, given=given))
    assert code.analyses[Networks].target(code.file(), code.shown()) is expected


def test_a_base_class_runs_the_networks_of_all_classes_that_derive_from_it():
    code = Code("""
        from torch import nn

        class Base(nn.Module):
            def act(self, obs):
                return self(obs)

            def own(self, obs):
                return self.forward(obs)

        class Small(Base):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(4, 2)

        class Large(Base):
            def __init__(self):
                super().__init__()
                self.net = nn.TransformerEncoderLayer(4, 2)

            def own(self, obs):
                return self.net(obs)
    """)
    networks = code.analyses[Networks]
    of_all = {"torch.nn.Linear", "torch.nn.TransformerEncoderLayer"}
    assert networks.made_of(code.file(), code.node("self(obs)").func) == of_all
    assert networks.made_of(code.file(), code.node("self.forward(obs)").func) == {"torch.nn.Linear"}
