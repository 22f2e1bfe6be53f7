"""Which objects a loop holds: what a base class calls on its own object is what the classes of these objects have."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.rule import Frequency

AGENTS = """
import gymnasium as gym
class Agent:
    def rollout(self):
        for _ in range(5):
            action = self.explore(self.obs)
            self.obs, reward, done, info = self.env.step(action)
    def one(self):
        action = self.explore(self.obs)
        self.obs, reward, done, info = self.env.step(action)
    def explore(self, obs):
        pass
class Critic(Agent):
    def interact(self):
        super().rollout()
    def explore(self, obs):
        return f(obs)  # critic
    def train(self):
        self.value(1)
        loss.backward()
    def value(self, obs):
        pass
class Clipped(Critic):
    def value(self, obs):
        g(1)  # clipped
class Noisy(Agent):
    def interact(self):
        super().one()
    def explore(self, obs):
        return f(obs)  # noisy
"""
CRITIC = """
from agents import Critic
def main():
    critic = Critic(gym.make("a"))
    while critic.episodes < 9:
        critic.interact()
        critic.train()
"""
NOISY = CRITIC.replace("Critic", "Noisy").replace("critic.train()", "pass")


def names(code: Code, mark: str) -> list[str]:
    """The files and names of the hops to a marked line."""
    return [f"{hop.path.removesuffix('.py')} {hop.name}" for hop in code.hot(f"  # {mark}").path]


def test_the_loop_of_a_base_class_runs_what_its_objects_override() -> None:
    code = Code({"agents.py": AGENTS, "critic.py": CRITIC, "noisy.py": NOISY})
    assert names(code, "critic") == ["agents loop", "agents Critic.explore"]
    assert names(code, "noisy") == ["noisy loop", "agents Noisy.interact", "agents Agent.one", "agents Noisy.explore"]


def test_a_constructor_makes_an_object_of_no_derived_class() -> None:
    clipped = CRITIC.replace("Critic", "Clipped").replace("critic.train()", "pass")
    made = Code({"agents.py": AGENTS, "critic.py": CRITIC, "clipped.py": clipped})
    assert made.frequency("# clipped") is Frequency.ONCE
    promised = CRITIC.replace("main()", "main(critic: Critic)").replace('critic = Critic(gym.make("a"))', "pass")
    promising = Code({"agents.py": AGENTS, "critic.py": promised, "clipped.py": clipped})
    assert promising.frequency("# clipped") is Frequency.UPDATE


@pytest.mark.parametrize(
    "driver",
    [
        "",  # a library: the objects of a class that no code here drives may come to all of its methods
        "from agents import Noisy\nagent = Noisy()\nagent.explore(1)\n",
        "from agents import Noisy\ndef start(run):\n    run(Noisy().rollout)\n",
        "from agents import Noisy\ndef run(agent):\n    agent.rollout()\nrun(agents.pop())\n",
    ],
)
def test_objects_that_no_code_is_seen_to_drive_may_come_to_a_loop(driver: str) -> None:
    code = Code({"agents.py": AGENTS, "critic.py": CRITIC, "driver.py": driver})
    assert names(code, "noisy") == ["agents loop", "agents Noisy.explore"]


def test_a_class_that_is_called_by_name_runs_its_own_method() -> None:
    text = """
        class Base:
            def update(self):
                f(1)  # base
                loss.backward()
        class Derived(Base):
            def update(self):
                g(1)  # derived
                Base.update(self)
        class Other(Base):
            def update(self):
                h(1)  # other
        agent = Derived()
        while True:
            agent.update()
        """
    code = Code(text)
    assert names(code, "base") == ["code loop", "code Derived.update", "code Base.update"]
    assert code.frequency("# other") is Frequency.ONCE


def test_a_second_constructor_makes_objects_of_derived_classes() -> None:
    text = """
        class Agent:
            @classmethod
            def load(cls, path):
                return cls(path)
            def train(self):
                self.learn()
            def learn(self):
                loss.backward()
        class Special(Agent):
            def learn(self):
                f(1)  # special
                loss.backward()
        def main(kind):
            agent = Agent.load("a")
            while True:
                agent.train()
        """
    assert Code(text).frequency("# special") is Frequency.UPDATE


def test_a_path_brings_one_object_through_all_methods_of_a_base_class() -> None:
    quiet = AGENTS.replace("class Noisy", "class Quiet").replace("# noisy", "# quiet").partition("class Quiet")[2]
    agents = f"{AGENTS}class Quiet{quiet}"
    driver = NOISY.replace("Noisy", "Quiet")
    code = Code({"agents.py": agents, "noisy.py": NOISY, "quiet.py": driver})
    for name in ("noisy", "quiet"):
        kind = name.title()
        links = [f"{name} loop", f"agents {kind}.interact", "agents Agent.one", f"agents {kind}.explore"]
        assert names(code, name) == links


TWINS = """
class Plain:
    def choose(self, obs):
        return f(obs)  # plain
    def learn(self, batch, weights=None):
        return self.net(batch)
class Searching:
    def __init__(self):
        self.search = f(1)
    def choose(self, obs):
        return f(obs)  # searching
    def learn(self, batch):
        return self.net(batch)
"""


@pytest.mark.parametrize(
    ("use", "reached"),
    [
        ("", {"plain", "searching"}),
        ("    agent.search.size = 9\n", {"searching"}),
        ("    agent.learn(batch, weights=1)\n", {"plain"}),
        ("    agent.learn(batch, 1, 2)\n", set()),
        ("    agent.missing\n", set()),
        # What a branch asks for may be there for other objects.
        ("    if deep:\n        agent.search.size = 9\n", {"plain", "searching"}),
        ("    if hasattr(agent, 'search'):\n        agent.search\n", {"plain", "searching"}),
        ("    size = agent.search.size if hasattr(agent, 'search') else 9\n", {"plain", "searching"}),
    ],
)
def test_a_class_is_linked_by_name_where_it_has_all_that_is_asked_of_the_object(use: str, reached: set[str]) -> None:
    code = Code(f"{TWINS}def run(agent, env):\n{use}    while True:\n        env.step(agent.choose(1))\n")
    assert {name for name in ("plain", "searching") if code.frequency(f"# {name}")} == reached


def test_a_module_may_have_what_torch_gives_to_modules() -> None:
    text = """
        from torch import nn
        class Policy(nn.Module):
            def choose(self, obs):
                return f(obs)  # policy
        def run(policy, env):
            policy.to("cpu")
            policy.training
            {use}
            while True:
                env.step(policy.choose(1))
        """
    assert Code(text.format(use="policy.parameters()")).frequency("# policy") is Frequency.STEP
    assert Code(text.format(use="policy.buffer.items")).frequency("# policy") is Frequency.ONCE


@pytest.mark.parametrize(
    ("filling", "frequency"),
    [
        ("pass", Frequency.ONCE),
        ("setattr(self, 'other', 1)", Frequency.ONCE),
        ("[setattr(self, name, 1) for name in settings]", Frequency.STEP),
        ("self.__dict__.update(settings)", Frequency.STEP),
        ("fill(self, settings)", Frequency.STEP),
        ("keep(self, settings)", Frequency.ONCE),
    ],
)
def test_an_object_that_is_given_attributes_by_names_that_are_not_written_may_have_any(
    filling: str, frequency: Frequency
) -> None:
    text = """
        def fill(target, settings):
            for name, value in settings.items():
                setattr(target, name, value)
        def keep(target, settings):
            settings.owner = target
        class Policy:
            def __init__(self, settings):
                {filling}
            def choose(self, obs):
                return f(obs)  # policy
        def run(policy, env):
            policy.spec.size
            while True:
                env.step(policy.choose(1))
        """
    assert Code(text.format(filling=filling)).frequency("# policy") is frequency
