"""Why lines run as often as they do: all paths that make them hot, what limits them, and what keeps others cold."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest
from projects import Code

from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.why import explain, shortened
from torchlint.rule import Frequency
from torchlint.rule.frequency import Why

AGENT = """
class Agent:
    def act(self, x, done):
        if done:
            f(x)  # D
        return self.plan(x)
    def plan(self, x):
        return g(x)  # A
"""


def why(texts: str | Mapping[str, str], mark: str = "A", **settings: object) -> Why:
    """Why the statement of the first file that ends in a mark runs as often as it does."""
    code = Code(texts, **settings)
    facts = code.file()
    rows = [row for row, line in enumerate(code.texts[facts.path].splitlines(), 1) if line.endswith(f"# {mark}")]
    assert len(rows) == 1
    stmts: list[ast.stmt] = [stmt for stmt in facts.places if stmt.lineno == rows[0]]
    return explain(code.analyses[Heat], facts, stmts[-1])


def lines(found: Why) -> list[str]:
    return [f"{way.hot.describe()} {way.origin}" for way in found.ways]


def test_all_paths_are_told_the_most_frequent_first() -> None:
    loops = """
agent = Agent()
for batch in loader:
    loss(agent.act(batch, 0)).backward()
while True:
    env.step(agent.act(1, 0))
for x in y:
    env.step(agent.plan(x))
"""
    assert lines(why(AGENT + loops)) == [
        "once per environment step (code.py:14 loop → Agent.plan) steps an environment",
        "once per environment step (code.py:12 loop → Agent.act → Agent.plan) steps an environment",
        "once per gradient update (code.py:10 loop → Agent.act → Agent.plan) runs gradient updates",
    ]


def test_the_same_path_is_told_once() -> None:
    loop = "agent = Agent()\nwhile True:\n    agent.act(1, 0)\n    env.step(agent.act(1, 0))\n"
    assert len(why(AGENT + loop).ways) == 1


def test_frameworks_and_settings_begin_paths_too() -> None:
    wrapper = "import gymnasium as gym\nclass W(gym.Wrapper):\n    def step(self, a):\n        return g(a)  # A\n"
    assert lines(why(wrapper)) == ["once per environment step (code.py:3 W.step) called by Gymnasium"]
    assert lines(why(AGENT, hot=("code:Agent.plan",))) == [
        "once per environment step (code.py:6 Agent.plan) hot by your settings"
    ]


def test_limits_are_told_with_their_lines() -> None:
    loop = "agent = Agent()\nwhile True:\n    env.step(agent.act(1, over))\n"
    found = why(AGENT + loop, "D")
    [way] = found.ways
    [limit] = way.limits
    assert found.frequency is limit.frequency is Frequency.EPISODE
    assert (limit.place.path, limit.place.row, limit.place.name) == ("code.py", 3, "if done:")
    assert limit.guard == "end of an episode"


def test_of_equally_good_callers_the_first_is_named() -> None:
    """In a set of scopes their order is that of memory: one of forty callers would be named by chance."""
    callers = [f"use_{number}" for number in range(40)]
    code = Code(
        "def reduce(x, how):\n    if how == 'mean':\n        f(x)  # A\n    return x\n"
        "def plain(x):\n    return reduce(x, 'sum')\n"
        + "".join(f"def {name}(x):\n    return reduce(x, 'mean')\n" for name in callers)
        + "while True:\n    env.step(plain(1))\n"
        + "".join(f"    {name}(1)\n" for name in callers)
    )
    facts = code.file()
    [stmt] = [stmt for stmt in facts.places if stmt.lineno == 3]
    assert [hop.name for hop in code.analyses[Heat].at(facts, stmt).path] == ["loop", "use_0", "reduce"]


def test_recursion_comes_to_an_end() -> None:
    text = "def act(x):\n    return act(x - 1) if x else g(x)  # A\nwhile True:\n    env.step(act(3))\n"
    assert lines(why(text)) == ["once per environment step (code.py:3 loop → act) steps an environment"]


def test_ways_beyond_the_most_are_counted() -> None:
    loops = "".join("while True:\n    env.step(act(1))\n" for _ in range(5))
    found = why(f"def act(x):\n    return g(x)  # A\n{loops}")
    assert (len(found.ways), found.more) == (5, 0)
    cut = shortened(found, 2)
    assert (cut.ways, cut.more) == (found.ways[:2], 3)


LOOP = "while True:\n    env.step(act(1))\n"
COLD: dict[str, tuple[str | Mapping[str, str], list[str]]] = {
    "no known call": (
        "def act(x):\n    return g(x)  # A\n",
        ["no call of act was found in the project"],
    ),
    "only cold code calls it": (
        "def act(x):\n    return g(x)  # A\ndef save(x):\n    act(x)\ndef other(x):\n    act(x)\n",
        [
            "code.py:4 runs act, but save sets up, saves, shows or tests something by its name",
            "code.py:6 runs act, but nothing makes other hot",
        ],
    ),
    "a guard": (
        f"def act(x):\n    if debug:\n        return g(x)  # A\n{LOOP}",
        ["it is guarded (debug flag) at code.py:2: if debug:"],
    ),
    "an early exit": (
        f"def act(x):\n    if not debug:\n        return x\n    return g(x)  # A\n{LOOP}",
        ["it is guarded (debug flag) at code.py:2: if not debug:"],
    ),
    "a guard of the call": (
        "def act(x):\n    return g(x)  # A\nwhile True:\n    env.step(1)\n    if debug:\n        act(1)\n",
        ["code.py:6 runs act, but guarded (debug flag) at code.py:5: if debug:"],
    ),
    "a name": (
        "def save(x):\n    return g(x)  # A\n" + LOOP.replace("act", "save"),
        ["save sets up, saves, shows or tests something by its name"],
    ),
    "a cache": (
        f"import functools\n@functools.cache\ndef act(x):\n    return g(x)  # A\n{LOOP}",
        ["act keeps its results, so it runs once for each set of arguments"],
    ),
    "a constructor": (
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        self.x = g(1)  # A\n",
        ["Net.__init__ builds a module, which happens once"],
    ),
    "a comment": (
        f"def act(x):  # torchlint: cold\n    return g(x)  # A\n{LOOP}",
        ["act is cold by your settings"],
    ),
    "a demo": (
        {"enjoy.py": f"def act(x):\n    return g(x)  # A\n{LOOP}"},
        ["enjoy.py is a test, a demo, a plot or a profiling script by its name"],
    ),
    "a script": (
        "g(1)  # A\n",
        ["it runs when the module is run, in no loop that steps an environment or runs gradient updates"],
    ),
    "a class": (
        "class C:\n    x = g(1)  # A\n",
        ["the body of the class C runs once, when it is defined"],
    ),
    "too many methods of that name": (
        "".join(f"class C{n}:\n    def choose(self, x):\n        return g(x)  # {'ABCDEFGH'[n]}\n" for n in range(8))
        + "def run(a):\n    while True:\n        env.step(a.choose(1))\n",
        [
            "no call of C0.choose was found in the project",
            "there are calls of .choose() on unknown objects, but too many methods have that name",
        ],
    ),
}


@pytest.mark.parametrize(("texts", "reasons"), COLD.values(), ids=COLD)
def test_cold_lines_say_why(texts: str | Mapping[str, str], reasons: list[str]) -> None:
    found = why(texts)
    assert (found.frequency, found.ways) == (Frequency.ONCE, ())
    assert list(found.reasons) == reasons


def test_callers_beyond_a_few_are_counted() -> None:
    calls = "".join(f"def f{n}():\n    act(1)\n" for n in range(8))
    reasons = why(f"def act(x):\n    return g(x)  # A\n{calls}").reasons
    assert len(reasons) == 6
    assert reasons[-1] == "and 3 more places like these"


BY_NAME = """
class Agent:
    def choose(self, x):
        return f(x)  # A
class Other:
    def choose(self, x):
        return g(x)
def run(agent):
    while True:
        env.step(agent.choose(1))
"""


def test_a_way_through_a_method_that_several_classes_have_is_not_proven() -> None:
    code = Code(BY_NAME)
    hot = code.hot("# A")
    assert (hot.frequency, hot.path) == (Frequency.STEP, ())
    assert [(way.proven, len(way.hot.path)) for way in why(BY_NAME).ways] == [(False, 2)]
    sole = BY_NAME.replace("    while", "    agent.size\n    while").replace(
        "class Agent:", "class Agent:\n    size = 9"
    )
    assert [hop.name for hop in Code(sole).hot("# A").path] == ["loop", "Agent.choose"]
    proven = f"{BY_NAME}run(Agent())\n"
    assert [hop.name for hop in Code(proven).hot("# A").path] == ["loop", "Agent.choose"]
    assert [way.proven for way in why(proven).ways] == [True]


def test_a_certain_way_is_shown_before_a_shorter_one_that_rests_on_a_name() -> None:
    text = f"{BY_NAME}def act(agent: Agent):\n    agent.choose(1)\nwhile True:\n    env.step(act(1))\n"
    assert [hop.name for hop in Code(text).hot("# A").path] == ["loop", "act", "Agent.choose"]
    assert [way.proven for way in why(text).ways] == [True, False]


def test_no_way_leads_through_an_object_that_the_loop_cannot_hold() -> None:
    text = """
class Base:
    def run(self):
        while True:
            self.env.step(self.act(1))
class First(Base):
    def act(self, x):
        return f(x)  # A
class Second(Base):
    def act(self, x):
        return g(x)
    def collect(self):
        self.env.step(self.act(1))
First().run()
second = Second()
for _ in range(9):
    second.collect()
"""
    assert lines(why(text)) == ["once per environment step (code.py:3 loop → First.act) steps an environment"]
    moved = text.replace("  # A", "").replace("g(x)", "g(x)  # A")
    found = lines(why(moved))
    assert found[0] == "once per environment step (code.py:15 loop → Second.collect → Second.act) steps an environment"
    assert not any("code.py:3 " in line for line in found)


def test_a_loop_over_what_a_loop_collects_names_that_loop() -> None:
    text = "kept = []\nfor t in range(9):\n    kept.append(env.step(a)[1])\nfor reward in kept:\n    f(reward)  # A\n"
    origin = "steps an environment; the loop in line 4 goes over what it collects"
    assert lines(why(text)) == [f"once per environment step (code.py:2 loop) {origin}"]
