"""How often code runs around rollouts: environments in other processes, what waits for a rollout, steps of a model.

The marks are read as in ``test_hotness``.
"""

from __future__ import annotations

import pytest
from test_hotness import frequencies

from torchlint.rule import Frequency

O, E, U, S, I = Frequency  # noqa: E741  once, episode, update, step, inner

WORKERS = """
from multiprocessing import Pipe, Process
class Worker(Process):
    def __init__(self, conn):
        self.env, self.conn = gym.make("a"), conn
    def run(self):
        while True:
            obs, reward, done, info = self.env.step(self.conn.recv())
            self.conn.send({sent})
class Agent:
    def act(self, obs):
        return f(obs)  # A
    def fit(self, rows):
        prepare(rows)  # B
        for row in rows:
            criterion(row).backward()
def main(conns, agent):
    while True:
        rows = []
        for _ in range(128):
            for conn, action in zip(conns, agent.act(rows)):
                conn.send(action)
            {received}
        agent.fit(rows)
main([], Agent())
"""
ONE = "for conn in conns:\n                obs, reward, done, info = conn.recv()\n                rows.append(obs)"
ALL = "rows, rewards, done, info = zip(*[conn.recv() for conn in conns])"


@pytest.mark.parametrize(
    ("sent", "received", "expected"),
    [
        ("[obs, reward, done, info]", ONE, S),
        ("self.env.step(0)", ALL, S),
        ("(obs, reward, done, info)", ALL, S),
        ("[obs, reward, done, info]", ONE.replace("reward, done", "self.rewards[0, 1], self.dones[0]"), S),
        ("[obs, reward, done, info]", ONE.replace("reward, done", "self.first[0, 1], self.second[0]"), E),
        ("[obs, reward, done, info]", "rows, rest = zip(*[conn.recv() for conn in conns])", E),
        ("obs", ONE, E),
    ],
)
def test_what_a_worker_answers_to_a_step_is_a_step(sent: str, received: str, expected: Frequency) -> None:
    found = frequencies(WORKERS.format(sent=sent, received=received))
    assert found["A"] is expected
    assert found["B"] < U


GAME = """
class Game:
    def __init__(self):
        self.env = gym.make("a")
    def {name}(self, action):
        for _ in range(4):
            obs, reward, done, info = self.env.step(action)
        return obs, reward, done, info
def worker(conn):
    game = Game()
    while True:
        conn.send(game.{name}(conn.recv()))
class Worker:
    def __init__(self):
        self.conn, other = Pipe()
        Process(target=worker, args=(other,)).start()
"""


@pytest.mark.parametrize(("name", "expected"), [("step", S), ("play", E)])
def test_what_a_method_of_a_game_gives_that_steps_an_environment_is_the_answer_to_a_step(
    name: str, expected: Frequency
) -> None:
    main = WORKERS[WORKERS.index("class Agent:") :].format(sent="", received=ONE.replace("conn.recv", "conn.conn.recv"))
    imports = WORKERS[: WORKERS.index("class Worker")]
    assert frequencies(imports + GAME.format(name=name) + main)["A"] is expected


WAITING = """
class Agent:
    def fit(self, rows):
        start(rows)  # A
        for _ in range(10):
            criterion(rows).backward()  # B
    def learn(self, rows):
        criterion(rows).backward()  # C
class Core:
    def __init__(self, agent, is_due):
        self.agent, self.is_due = agent, is_due
    def run(self):
        rows = []
        while True:
            rows.append(env.step(0))
            if {condition}:
                self.agent.fit(rows)
                self.agent.learn(rows)
Core(Agent(), made()).run()
"""


@pytest.mark.parametrize(
    ("condition", "expected"), [("self.is_due()", E), ("not late and self.is_due()", E), ("len(rows) > 64", S)]
)
def test_a_loop_of_updates_that_a_condition_without_arguments_waits_for(condition: str, expected: Frequency) -> None:
    """Whether a rollout is complete is seldom said where the steps are made."""
    assert frequencies(WAITING.format(condition=condition)) == {"A": expected, "B": U, "C": S}


IMAGINED = """
class Policy(nn.Module):
    def forward(self, state):
        return f(state)  # A
class Model(nn.Module):
    def forward(self, action, state):
        return g(action, state)
def imagine(model, policy, state):
    for _ in range(15):
        action = policy(state)
        {carried}
    return f(action)  # B
def learn(model, policy, rows):
    imagine(model, policy, rows)
    for row in rows:
        criterion(row).backward()
while True:
    for _ in range(1000):
        env.step(0)
    learn(Model(), Policy(), rows)
"""


@pytest.mark.parametrize(
    ("carried", "expected"),
    [
        ("state = model(action, state)", S),
        ("state, reward = model(action, state.detach())", S),
        ("with torch.no_grad():\n            state = model(action, state)", S),
        ("rewards = model(action, state)", E),
        ("state = step(action, state)", E),
    ],
)
def test_each_round_in_which_a_network_carries_a_state_on_is_a_step(carried: str, expected: Frequency) -> None:
    assert frequencies(IMAGINED.format(carried=carried)) == {"A": expected, "B": E}


TEAM = """
class Team:
    def update(self, batch, i):
        criterion(batch, i).backward()
    def average(self):
        f(1)  # A
def episode():
    while True:
        env.step(0)
def main(team):
    for _ in range(100):
        {before}
        for i in {over}:
            team.update(batch, i)
        team.average()
main(Team())
"""


@pytest.mark.parametrize(
    ("before", "over", "expected"),
    [
        ("pass", "range(team.nagents)", U),
        ("pass", "range(len(agents))", U),
        ("pass", "enumerate(team.agents.values())", U),
        ("pass", "range(epochs)", E),
        ("pass", "range(opts.epochs)", E),
        ("pass", "progress(agent.batches(), disable=opts.quiet)", E),
        ("episode()", "range(nagents)", E),
    ],
)
def test_what_follows_the_updates_of_several_agents_runs_once_per_update(
    before: str, over: str, expected: Frequency
) -> None:
    assert frequencies(TEAM.format(before=before, over=over)) == {"A": expected}


COMMON = """
class Learner:
    def update(self, obs, act, reward):
        f(obs)  # A
class Meter:
    def update(self, value):
        f(value)  # B
while True:
    obs, *_ = env.step(0)
    made().update({given})
"""


@pytest.mark.parametrize(("given", "expected"), [("obs, 1, 2", S), ("obs, act=1, reward=2", S), ("obs", O)])
def test_a_common_name_is_linked_where_a_call_gives_more_than_containers_take(given: str, expected: Frequency) -> None:
    assert frequencies(COMMON.format(given=given)) == {"A": expected, "B": O}


HELD = """
class Net(nn.Module):
    def forward(self, x):
        return f(x)  # A
class Model:
    def __init__(self, net):
        self._net = net
    @property
    def net(self):
        return self._net
    def value(self, x):
        return self.net(x)
model = Model(Net())
while True:
    env.step(model.value(1))
"""


def test_a_call_of_what_a_property_gives_runs_that() -> None:
    assert frequencies(HELD) == {"A": S}


UNKNOWN_CLASS = """
class Base(nn.Module):
    pass
class Gaussian:
    def density(self, x):
        return f(x)  # A
class Policy(Base, Gaussian):
    pass
class Learner:
    def __init__(self, policy):
        self.policy = policy
        self.optimizer = torch.optim.Adam(self.policy.parameters())
    def learn(self, x):
        self.policy.density(x).backward()
def train(path):
    learner = Learner(torch.load(path))
    for x in batches:
        learner.learn(x)
"""


def test_a_method_of_a_module_of_unknown_class_is_found_by_its_name() -> None:
    assert frequencies(UNKNOWN_CLASS) == {"A": U}
