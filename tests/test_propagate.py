"""Facts that spread along edges: the fixed point, and that no order of nodes, edges or files changes it."""

from __future__ import annotations

import random

import pytest
from projects import Code

from torchlint.facts.code.propagate import Reached
from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.facts.hotness.entering import MOST, Entered, Entry, Seed
from torchlint.facts.hotness.hotness import Heat
from torchlint.rule import Frequency

Graph = dict[str, list[tuple[str, int]]]


def spread(graph: Graph, seeds: dict[str, int]) -> dict[str, int]:
    """The widest way from a seed to each node: an edge carries no more than its width."""
    reached: Reached[str, int] = Reached()
    edges = {node: [(node, *edge) for edge in out] for node, out in graph.items()}

    def transfer(edge: tuple[str, str, int]) -> tuple[str, int] | None:
        value = reached.get(edge[0])
        return None if value is None else (edge[1], min(value, edge[2]))

    reached.propagate(seeds, lambda node: edges.get(node, ()), transfer, max)
    return reached.values


def test_values_spread_round_circles_to_a_fixed_point() -> None:
    graph: Graph = {"a": [("b", 3)], "b": [("c", 9)], "c": [("b", 9), ("d", 2)], "e": [("a", 9)]}
    assert spread(graph, {"a": 5}) == {"a": 5, "b": 3, "c": 3, "d": 2}
    assert spread(graph, {"a": 5, "c": 4}) == {"a": 5, "b": 4, "c": 4, "d": 2}


@pytest.mark.parametrize("number", range(20))
def test_no_order_of_nodes_and_edges_changes_the_result(number: int) -> None:
    chance = random.Random(number)
    names = [str(each) for each in range(12)]
    graph: Graph = {name: [(chance.choice(names), chance.randrange(9)) for _ in range(3)] for name in names}
    seeds = {name: chance.randrange(9) for name in chance.sample(names, 3)}
    expected = spread(graph, seeds)
    for _ in range(5):
        mixed = {name: chance.sample(out, len(out)) for name, out in chance.sample(sorted(graph.items()), len(graph))}
        assert spread(mixed, dict(chance.sample(sorted(seeds.items()), len(seeds)))) == expected


def test_an_edge_is_asked_again_when_what_it_read_elsewhere_changes() -> None:
    """``gate`` is on no edge into ``end``, but the edge into it carries no more than ``gate`` has."""
    reached: Reached[str, int] = Reached()
    edges = {"start": ["end", "middle"], "middle": ["gate"]}

    def transfer(target: str) -> tuple[str, int]:
        return target, min(9, reached.get("gate") or 0) if target == "end" else 9

    visited = reached.propagate({"start": 9}, lambda node: edges.get(node, ()), transfer, max)
    assert reached.values == {"start": 9, "middle": 9, "gate": 9, "end": 9}
    assert visited == ["start", "end", "middle", "gate"]


S, U, E = Frequency.STEP, Frequency.UPDATE, Frequency.EPISODE
VALUES = [
    Entered(),
    Entered(Entry(S, frozenset({"step"})), rates={ANY: S}),
    Entered(Entry(U, frozenset({"update"}), weak=True), rates={Receiver("A"): U}),
    Entered(Entry(U, frozenset({"update"})), rates={Receiver("A"): U, Receiver("B"): E}),
    Entered(Entry(U, seed=Seed(U, "called by one")), rates={ANY: U}),
    Entered(Entry(S, seed=Seed(S, "a guess", guessed=True)), rates={Receiver("B"): S}),
    Entered(items=Entry(S, frozenset({"step"}))),
    Entered(Entry(E), rates={Receiver(str(each)): E for each in range(MOST)}),
    Entered(Entry(E), rates={Receiver(str(each)): U for each in range(MOST // 2, MOST + 1)}),
]


def test_the_join_has_the_laws_of_a_lattice() -> None:
    for one in VALUES:
        assert one.joined(one) == one
        for other in VALUES:
            both = one.joined(other)
            assert both == other.joined(one)
            assert both.joined(one) == both
            for third in VALUES:
                assert both.joined(third) == one.joined(other.joined(third))


FILES = {
    "agents.py": """
import torch
from buffers import Buffer

class Base:
    def act(self, obs, explore):
        if explore:
            return self.noisy(obs)
        return self.best(obs)
    def noisy(self, obs):
        return self.best(obs) + 1
    def best(self, obs):
        return obs
    def learn(self, batch):
        for part in batch:
            self.loss(part).backward()
    def loss(self, part):
        return part.mean()

class Deep(Base):
    def __init__(self):
        self.net = Net()
        self.buffer = Buffer()
    def best(self, obs):
        self.buffer.look(obs)
        return self.net(obs)
    def loss(self, part):
        return self.net(part).mean()

class Net(torch.nn.Module):
    def forward(self, x):
        return self.scaled(x)
    def scaled(self, x):
        return x * 2

class Unused(torch.nn.Module):
    def forward(self, x):
        return helped(x)

def helped(x):
    return x + 1
""",
    "buffers.py": """
class Buffer:
    def look(self, obs):
        for each in self.items(obs):
            self.keep(each)
    def items(self, obs):
        for part in obs:
            yield part.copy()
    def keep(self, each):
        self.last = each

class Other:
    def observe(self, reward):
        self.seen = reward
        self.note(reward)
    def note(self, reward):
        self.total = reward
""",
    "training.py": """
from agents import Deep, Net, Unused
from buffers import Other

def rollout(env, agent, judge, explore):
    obs = env.reset()
    for _ in range(100):
        obs, reward, done, info = env.step(agent.act(obs, explore))
        judge.observe(reward)

def evaluate(env, agent):
    for _ in range(9):
        agent.act(env.reset(), False)

def main(env):
    agent, judge, unused = Deep(), Other(), Unused()
    for round in range(100):
        rollout(env, agent, judge, True)
        agent.learn(env.batches())
        if round % 10 == 0:
            evaluate(env, agent)

main(make())
""",
}


@pytest.mark.parametrize("number", range(6))
def test_no_order_of_files_changes_how_often_code_runs(number: int) -> None:
    names = random.Random(number).sample(sorted(FILES), len(FILES))
    assert _frequencies({name: FILES[name] for name in names}) == _frequencies(FILES)


def _frequencies(texts: dict[str, str]) -> dict[tuple[str, int], tuple[Frequency, frozenset[str]]]:
    code = Code(texts)
    heat = code.analyses[Heat]
    found = {}
    for name in sorted(texts):
        facts = code.file(name)
        for stmt in facts.places:
            found[name, stmt.lineno] = heat.frequency(facts, stmt), heat.kinds(facts, stmt)
    assert len({frequency for frequency, _ in found.values()}) == len(Frequency)
    return found
