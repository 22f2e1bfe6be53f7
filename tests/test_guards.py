"""The table of guards: each row by its name, by code that it guards, and by the settings that switch it off."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from projects import Code

from tests.linting import lint
from torchlint.facts.hotness.guards import GUARDS
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.why import explain
from torchlint.rule import Frequency
from torchlint.rule.frequency import Why

ROWS = {guard.name: guard for guard in GUARDS}
METHOD = """import torch
class Agent:
    def update(self, x, k, done, n):
        {body}
agent = Agent()
for x in y:
    agent.update(x, x, x, x)
    x.backward()
"""

# By the name of the guard: bodies of a method that each gradient update calls, with {} for the call that is guarded.
BODIES = {
    "branch that raises": ("if x:\n{}\nraise ValueError(x)", "if not x:\nreturn\n<{}\nraise ValueError(x)"),
    "branch that warns": (
        "if x:\n{}\nlog.warning(x)",
        "if x:\n{}\nprint('Warning: small')",
        "if x:\n{}\nprint('[DEBUG] small')",
        "if x:\n{}\nself.log_warning(x)",
        "if x.any():\n{}\nprint(x)",
        "if not (x > 0).all():\n{}\nprint(x)",
        "if not x.any():\nreturn\n<{}\nprint(x)",
    ),
    "tracing": ("if torch.compiler.is_compiling():\n{}", "if not is_compiling():\nreturn\n<{}"),
    "debug flag": (
        "if self.debug:\n{}",
        "if not self.verbose:\nreturn\n<{}",
        "self.debug and {}",
        "if self.headless:\nreturn\n<{}",
        "if self.mode == 'demo_1':\n{}",
    ),
    "interval": (
        "if self.t % self.k == 0:\n{}",
        "if 0 == self.t % self.k:\n{}",
        "if self.t % self.k != 0:\nreturn\n<{}",
        "if not self.t % self.k:\n{}",
        "if k - self.last_log > n:\n{}",
        "if self.log_frequency.check():\n{}",
        "if eval_every_step(n):\n{}",
        "if self.t // n > self.last:\nself.last = self.t // n\n{}",
        "count = self.t // n\nif count != self.last:\nself.last = count\n{}",
        "if n > due:\n{}\ndue += k",
        "if due <= n and x:\ndue = n + 500\n{}",
        "if n >= self.due:\nself.due = self.due + self.k\n{}",
        "if self.next_pause_step == n:\n{}",
    ),
    "first call": (
        "if self.table is None:\n{}",
        "if self.table is not None:\nreturn\n<{}",
        "if not hasattr(self, 'table'):\n{}",
        "if k not in self.made:\nself.made[k] = {}",
        "for key in k:\nif key in self.made:\ncontinue\n<self.made[key] = {}",
        "if self.n == 0:\ny = {}\nself._init_storage(y)",
        "y = self.kept.get(k)\nif y is None:\ny = {}\nself.kept[k] = y",
        "if self.max_len is None or n > self.max_len:\nself.max_len = n\n{}",
        "if n > self.max_len or k != self.base:\nself.max_len = n\nself.base = k\n{}",
        "if n > self.max_len:\nself.max_len = max(2 * n, 16)\n{}",
        "if n > self.size or self.table is None or self.table.dtype != k:\nself.table = {}\nself.size = n",
        "if self.next_save_step == state.global_step or state.global_step == 0:\n{}",
        "if state_steps[0] == 0:\n{}",
        "first = self.fresh[k]\nif first:\n{}\n<self.fresh[k] = False",
    ),
    "broken number": ("if torch.isnan(x).any():\n{}", "if not torch.isfinite(x).all():\n{}"),
    "value out of range": ("if self.i < 0 or self.i >= n:\n{}",),
    "end of an episode": (
        "if done:\n{}",
        "if not done:\nreturn\n<{}",
        "if not_done:\npass\n<else:\n{}",
        "for i, d in enumerate(done):\nif d:\n{}",
        "for i in np.where(done)[0]:\n{}",
        "if k == 'reset':\n{}",
    ),
    "batch of equal numbers": ("if (x == 0).all():\n{}",),
    "end of a plan": ("if self.i >= len(self.plan):\n{}",),
    "flag of an evaluation": ("if self.is_test:\n{}", "if test_mode:\n{}"),
    "results of an evaluation": (
        "eval_scores = judge.ready()\nif eval_scores is not None:\n{}",
        "evaluation_episodes, n = judge.ready()\nif not evaluation_episodes is None:\n{}",
        "eval_reward = judge.ready()\nif eval_reward is None:\nreturn\n<{}",
    ),
    "longer input than in training": ("if not self.training:\nif n > self.max_len:\n{}",),
    "work that is seldom due": ("score = judge.evaluate_if_necessary(k)\nif score is not None:\n{}",),
    "full list": (
        "if len(self.kept) == n:\n{}\nself.kept.clear()",
        "if len(self.kept) < n:\nreturn\n<{}\nself.kept = []",
        "if self.kept[k].is_full():\n{}\nself.kept[k] = History(n)",
        "if not self.kept.is_full():\nreturn\n<{}\nself.kept.reset()",
    ),
    "counter that starts again": (
        "if self.count == n:\n{}\nself.count = 0",
        "if self.count < n:\nreturn\n<{}\nself.count = 0",
    ),
    "fewer than a batch": ("if n < k:\ny = random.sample(x, n)\n{}\n<else:\ny = random.sample(x, k)",),
    "branch that renders": ("if x:\n{}\nself.env.render()",),
    "statement that nothing comes behind": ("raise NotImplementedError\n{}", "while k:\nbreak\n{}"),
    "first item": ("for item in x:\nreturn item\n<{}",),
    "branch for empty data": (
        "if x.size(0) == 0:\n{}\n<x.mean()",
        "y = {} if len(x) == 0 else x.mean()",
        "y = []\nif not len(y):\ny.append({})",
    ),
    "branch for an error": ("try:\npass\n<except KeyError:\n{}", "raise ValueError({})", "assert x, {}"),
    "last round": (
        "for i, y in enumerate(x):\nif i % 9 == 0 or i == n:\n{}",
        "while True:\nif k or self.t % 9 == 0:\n{}\n<if k:\nbreak\n<k = x.any()",
        "while not k:\nk = x.any()\nif n > 0 and (k or self.t % 9 == 0):\n{}",
        "while self.t['n'] < n + 1:\nx.backward()\ni = self.t['n']\nif i % 9 == 0 or i == n:\n{}",
    ),
    "one round of a loop": (
        "for i in range(n):\nx.backward()\nif i == n - 1:\n{}",
        "for i in range(n):\nx.backward()\nif i < n - 1:\ncontinue\n<{}",
        "for i, y in enumerate(x):\nx.backward()\nif i + 1 >= len(x):\n{}",
        "for i, y in enumerate(x):\nx.backward()\ny = x[i + 1] if i + 1 < len(x) else {}",
    ),
    "branch that leaves the loop": ("while True:\nx.backward()\nif k:\n{}\nbreak",),
    "value that a loop keeps": ("last = None\nwhile True:\nx.backward()\nif last is None:\n{}\n<last = x",),
    "flag that is seldom set": ("flag = False\nif k:\nif n % 9 == 0:\nflag = True\n<<if flag:\n{}",),
    "flag that its branch clears": ("if self.wanted:\nself.wanted = False\n{}",),
}

_UPDATES = "for x in y:\n    run(x)\n    x.backward()\n"
# The same of whole programs.
PROGRAMS = {
    "full buffer": """
class Agent:
    def stored(self, x):
        self.count += 1
        return self.count % self.size == 0
    def update(self, x):
        if self.stored(x):
            {}
agent = Agent()
for x in y:
    agent.update(x)
    x.backward()
""",
    "reset": "def run(x):\n    reset(x)\ndef reset(x):\n    {}\n" + _UPDATES,
    "evaluation": (
        "def run(x):\n    evaluate(x)\n"
        "def evaluate(eval_batches):\n    for x in eval_batches:\n        f(x)\n    {}\n" + _UPDATES
    ),
    "method that a class turns off": """
class Task:
    def reward(self, x):
        self.check(x)
        return self.score(x)
    def check(self, x):
        pass
    def score(self, x):
        return x
class Search(Task):
    def check(self, x):
        {}
    def score(self, x):
        'This task is scored step by step.'
        raise NotImplementedError
def run(task: Task, x):
    task.reward(x)
    x.backward()
for x in y:
    run(make(), x)
""",
    "own loop of updates": """
class Agent:
    def learn(self, x):
        {}
        for epoch in range(9):
            self.optimizer.step()
agent = Agent()
for x in y:
    agent.learn(x)
    x.backward()
""",
    "refill of an empty queue": """
class Agent:
    def act(self, x):
        if len(self.queue) == 0:
            self.queue.extend({})
        return self.queue.popleft()
agent = Agent()
while True:
    obs, reward, done, info = env.step(agent.act(obs))
""",
    "branch for another command": """
def work(remote, env):
    while True:
        command, x = remote.recv()
        if command == "spaces":
            {}
        elif command == "step":
            env.step(x)
""",
    "test of a constant": "def run(x):\n    take(x, False)\ndef take(x, g):\n    if {g}:\n        f(x)\n" + _UPDATES,
    "logger that is off": (
        "parser.add_argument('--use-wandb', action='store_true')\n"
        "def run(x):\n    if args.use_wandb:\n        {}\n" + _UPDATES
    ),
    "option that no call sets": "def run(x, deep=False):\n    if deep:\n        {}\n" + _UPDATES,
    "flag that its branch sets": """
class Agent:
    def __init__(self):
        self.made = False
    def update(self, x):
        if self.made:
            return
        {}
        self.made = True
agent = Agent()
for x in y:
    agent.update(x)
    x.backward()
""",
    "argument that calls give": """
def run(x, mask=None):
    if mask is None:
        {}
for x in y:
    run(x, mask=x)
    x.backward()
""",
}


def _indented(body: str) -> str:
    """Each row after one that ends in a colon stands further in; ``<`` at the beginning of one: further out again."""
    depth, rows = 0, []
    for row in body.splitlines():
        depth -= len(row) - len(row.lstrip("<"))
        rows.append("    " * depth + row.lstrip("<"))
        depth += row.endswith(":")
    return "\n        ".join(rows)


CASES = [
    *((name, METHOD.format(body=_indented(body))) for name, bodies in BODIES.items() for body in bodies),
    *PROGRAMS.items(),
]


@pytest.mark.parametrize(
    ("default", "hot"),
    [
        ("", True),
        ("parser.add_argument('--use-tb', action='store_true')", False),
        ("parser.add_argument('--use-tb', action='store_false')", True),
        ("parser.add_argument('--log', dest='use_tb', default=True)", True),
        ("class Config:\n    use_tb: bool = False", False),
        ("class Config:\n    use_tb: bool = field(default=False)", False),
        ("class Config:\n    use_tb = True", True),
        ("class Config:\n    use_tb: bool = field(default=False, metadata={})", False),
        ("class Config:\n    use_tb: bool = dataclasses.field(default=True)", True),
        ("class Config:\n    use_tb: bool = field(default_factory=bool)", True),
        ("class Config(BaseModel):\n    use_tb: bool = Field(False, description='')", False),
        ("def make(use_tb=None): pass", False),
        ("settings = {'use_tb': False}", False),
        ("settings = {'use_tb': True}\ndef make(use_tb=False): pass", True),
    ],
)
@pytest.mark.parametrize("test", ["self.use_tb", "config['use_tb']", "config.get('use_tb')"])
def test_a_logger_is_in_use_unless_all_defaults_leave_it_off(default: str, test: str, hot: bool) -> None:
    found = _guarded(METHOD.format(body=f"if {test}:\n            {{}}") + f"{default}\n")
    assert (_names(found) == {"logger that is off"}) is not hot


@pytest.mark.parametrize(
    ("declared", "held"),
    [
        ("", False),
        ("parser.add_argument('--algo', default='a', choices=['a', 'b'])", True),
        ("parser.add_argument('--algo', default='c', choices=['a', 'b'])", False),
        ("parser.add_argument('--algo', choices=['a', 'b'])\nargs.algo = 'c'", False),
        ("parser.add_argument('--algo', choices=['a', 'b'])\nargs.algo = pick()", False),
        ("parser.add_argument('--algo', choices=['a', 'b'])\nmake(algo=args.algo)", True),
        ("parser.add_argument('--algo', choices=['a', 'b'])\nsettings = {'algo': 'c'}", False),
        ("parser.add_argument('--algo', choices=['a', 'b'], nargs='+')", False),
        ("parser.add_argument('--algo', choices=find())", False),
        ("parser.add_argument('--algo')", False),
        ("parser.add_argument('--algo', choices=['a', 'b'])\nparser.set_defaults(**read())", False),
    ],
)
@pytest.mark.parametrize("test", ["self.algo == 'c'", "config['algo'] in ('c', 'd')", "k and args.algo == 'c'"])
def test_a_value_that_no_choice_of_an_option_is_leads_nowhere(declared: str, held: bool, test: str) -> None:
    found = _guarded(METHOD.format(body=f"if {test}:\n            {{}}") + f"{declared}\n")
    assert (_names(found) == {"option that no call sets"}) is held


@pytest.mark.parametrize(
    ("default", "hot"),
    [
        ("", False),
        ("def make(check_nan=True): pass", True),
        ("def make(check_nan: bool = True): pass\ndef run(check_nan=False): pass", False),
        ("def make(check_nan=1): pass", False),
        ("class Config:\n    check_nan: bool = True", True),
    ],
)
@pytest.mark.parametrize(("test", "asks"), [("self.check_nan", True), ("check_nan", True), ("self.debug", False)])
def test_a_check_of_numbers_that_is_on_by_default_runs(default: str, hot: bool, test: str, asks: bool) -> None:
    found = _guarded(METHOD.format(body=f"if {test}:\n            {{}}") + f"{default}\n")
    assert (_names(found) == {"debug flag"}) is not (hot and asks)


SHARED_STEP = """
def make(train):
    def step(x):
        if train:
            x.backward()
        return x
    return step
learn, check = make(True), make(False)
for i, x in enumerate(y):
    learn(x)
    if i % {} == 0:
        check(x)
        {{}}
"""


@pytest.mark.parametrize(("every", "held"), [("eval_every", True), ("learn_every", False)])
def test_a_step_that_a_program_evaluates_with_at_intervals_is_no_update(every: str, held: bool) -> None:
    found = _guarded(SHARED_STEP.format(every))
    assert (_names(found) == {"interval"}) is held


EVERY = """import torch
class Agent:
    def __init__(self, every=2):
        self.every = every
    def update(self, x, options):
        if self.t % {}:
            {{}}
agent = Agent()
for x in y:
    agent.update(x, x)
    x.backward()
"""


@pytest.mark.parametrize(
    ("test", "declared", "held"),
    [
        ("2 == 0", "", False),
        ("3 == 0", "", True),
        ("self.every == 0", "", False),
        ("self.every == 0", "Agent(every=9)\nsettings = {'every': 9}", True),
        ("options.pause == 0", "class Options:\n    pause: int = 1", False),
        ("options.pause == 0", "class Options:\n    pause: int = 500", True),
        ("options.pause == 0", "class Options:\n    pause: int = field(default=1, metadata={'help': 'rounds'})", False),
        ("options.pause == 0", "class Options:\n    pause: int = field(default=500)", True),
        ("options.pause == 0", "class Options:\n    pause: int = field(default_factory=made)", True),
        ("options.pause == 0", "parser.add_argument('--pause', default=1)", False),
        ("options['pause'] == 0", "options = {'pause': 1}", False),
        ("options['pause'] == 0", "options = dict(pause=1)", False),
        ("options['pause'] == 0", "options.update(pause=2)", False),
        ("options['pause'] == 0", "options.update(pause=200)", True),
        ("options.pause == 0", "", True),
    ],
)
def test_an_interval_of_one_or_two_rounds_holds_nothing_back(test: str, declared: str, held: bool) -> None:
    found = _guarded(EVERY.format(test) + declared + "\n")
    assert (_names(found) == {"interval"}) is held


@pytest.mark.parametrize(
    ("default", "other", "held"),
    [
        ("every=1", "def keep(every=100): pass", False),
        ("every=9", "def keep(every=100): pass", True),
        ("every", "def keep(every=100): pass", True),
        ("every=1", "slow, fast = {'every': 100}, {'every': 1}", False),
        ("every=1", "slow = {'every': 100}", True),
        ("every", "slow, fast = {'every': 100}, {'every': 1}", True),
    ],
)
def test_what_a_function_takes_by_default_is_its_own_interval(default: str, other: str, held: bool) -> None:
    code = EVERY.replace("every=2", default).format("self.every == 0").format("g(x)")
    found = _guarded_in(Code({"code.py": code, "other.py": other}), row=7)
    assert (_names(found) == {"interval"}) is held


DIVIDING = """
from helpers import divisible_by
class Agent:
    def update(self, x, t):
        if {}:
            {{}}
agent = Agent()
for t, x in enumerate(y):
    agent.update(x, t)
    x.backward()
"""


@pytest.mark.parametrize(
    ("test", "held"),
    [
        ("divisible_by(t + 1, 100)", True),
        ("divisible_by(t, den=100)", True),
        ("not divisible_by(t, 100)", False),
        ("divisible_by(t, 2)", False),
        ("divisible_by(t, accumulation_steps)", False),
        ("indivisible(t, 100)", False),
        ("not indivisible(t, 100)", True),
        ("unknown(t, 100)", False),
    ],
)
def test_a_function_that_compares_a_remainder_with_zero_says_when_an_interval_is_due(test: str, held: bool) -> None:
    helpers = "def divisible_by(num, den):\n    return (num % den) == 0\n"
    helpers += "def indivisible(num, den):\n    return num % den != 0\n"
    code = DIVIDING.replace("divisible_by", "divisible_by, indivisible", 1).format(test).format("g(x)")
    found = _guarded_in(Code({"code.py": code.lstrip(), "helpers.py": helpers}), row=5)
    assert (_names(found) == {"interval"}) is held


ASKING = """
class Agent:
    def update(self, x, learner, t):
        if {}:
            {{}}
agent = Agent()
for t, x in enumerate(y):
    agent.update(x, make(), t)
    x.backward()
"""
LEARNERS = """
class Learner:
    def is_due(self, t):
        raise NotImplementedError
    def every(self, t, rounds):
        raise NotImplementedError
    def is_ready(self, t):
        pass
class Slow(Learner):
    batch = 100
    def is_due(self, t):
        return t % self.batch == 0
    def every(self, t, rounds):
        return t >= self.first and t % rounds == 0
    def is_ready(self, t):
        if t < self.first:
            return False
        return t % self.batch == 0
class Quick(Slow):
    def is_ready(self, t):
        return t >= self.first
"""


@pytest.mark.parametrize(
    ("test", "held"),
    [
        ("learner.is_due(t)", True),
        ("x is not None and learner.is_due(t)", True),
        ("not learner.is_due(t)", False),
        ("learner.every(t, 100)", True),
        ("learner.every(t, rounds=1)", False),
        ("learner.is_ready(t)", False),  # one of them is ready in each round
        ("learner.is_known(t)", False),
        ("log.is_due(t)", False),
    ],
)
def test_methods_of_other_objects_say_when_an_interval_is_due(test: str, held: bool) -> None:
    code = ("import log\n" + ASKING.lstrip()).format(test).format("g(x)")
    found = _guarded_in(Code({"code.py": code + "from learners import make\n", "learners.py": LEARNERS}), row=5)
    assert (_names(found) == {"interval"}) is held


def test_a_predicate_that_asks_for_itself_is_no_guard() -> None:
    methods = "    def is_due(self):\n        return self.x and self.is_open()\n"
    methods += "    def is_open(self):\n        return self.y or self.is_due()\n"
    code = DIVIDING.replace("class Agent:\n", f"class Agent:\n{methods}").format("self.is_due()").format("g(x)")
    assert not _names(_guarded_in(Code({"code.py": code.lstrip(), "helpers.py": ""}), row=9))


RESETTING = """
class Wrapped:
    def initial(self):
        {{}}
        {}
env, learner = Wrapped(), make()
while True:
    x = env.initial()
    for _ in y:
        x.backward()
        env.initial()
"""


@pytest.mark.parametrize(
    ("name", "held"),
    [("new_episode", True), ("_reset_game", True), ("reset_hidden", False), ("start_update", False)],
)
def test_what_begins_an_episode_by_its_name_runs_once_for_each(name: str, held: bool) -> None:
    guarded = PROGRAMS["reset"].replace("reset(x)", f"{name}(x)")
    assert (_names(_guarded(guarded)) == {"reset"}) is held


@pytest.mark.parametrize(
    ("body", "held"),
    [
        ("return f(self.env.reset())", True),
        ("frame = self.gym_env.reset()", True),
        ("self.timer.reset()", False),
        ("if self.over:\n            self.env.reset()", False),
        ("self.env.reset()\n        self.env.step(0)", False),
        ("self.env.reset()\n        for z in self.all:\n            f(z)", False),
    ],
)
def test_a_method_that_only_resets_its_environment_begins_an_episode(body: str, held: bool) -> None:
    assert (_names(_guarded(RESETTING.format(body))) == {"reset"}) is held


@pytest.mark.parametrize(
    "body", ["if n > due:\n{}\ndue += 1", "if n > best:\n{}\nbest = n", "if n > due:\n{}\ndue *= k"]
)
def test_a_number_that_a_count_has_come_to_is_no_interval_unless_it_moves_on_by_several(body: str) -> None:
    assert _names(_guarded(METHOD.format(body=_indented(body)))) == set()


def _guarded(text: str, **settings: object) -> Why:
    """Why ``g`` in the marked line, or the call of it, runs as often as it does."""
    code = Code(text.lstrip().replace("{}", "g(x)").replace("{g}", "g"), **settings)
    return _guarded_in(code, text.lstrip().split("{")[0].count("\n") + 1)


def _guarded_in(code: Code, row: int) -> Why:
    facts = code.file()
    [name] = [
        node for node in ast.walk(facts.tree) if isinstance(node, ast.Name) and (node.id, node.lineno) == ("g", row)
    ]
    above = facts.parent[name]
    return explain(code.analyses[Heat], facts, above if isinstance(above, ast.Call) else name)


def _names(found: Why) -> set[str]:
    """The guards that an explanation names."""
    named = {limit.guard for way in found.ways for limit in way.limits}
    return named | {name for name in ROWS for reason in found.reasons if f"guarded ({name})" in reason}


@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_guard_is_named_where_it_holds(name: str, text: str) -> None:
    found = _guarded(text)
    assert name in _names(found)
    most = ROWS[name].limit
    assert found.frequency <= (Frequency.EPISODE if most is None else most)


ONCE = """
class Agent:
    def __init__(self):
        self._made = False
        self.register_buffer("ready", torch.tensor([False]))
        self.parts = {{}}
    @property
    def made(self):
        return self._made
    def prepare(self, x):
        {body}
    def change(self):
        {change}
agent = Agent()
for x in y:
    agent.prepare(x)
    agent.change()
    x.backward()
"""


@pytest.mark.parametrize(
    ("body", "change", "expected"),
    [
        ("if self.made:\nreturn\n<f = g(x)\nself._made = True", "pass", Frequency.ONCE),
        ("if self.made:\nreturn\n<f = g(x)\nself._made = True", "self._made = False", Frequency.EPISODE),
        ("if self.made:\nreturn\n<f = g(x)\nself._made = x", "pass", Frequency.UPDATE),
        ("if self.parts:\nreturn\n<f = g(x)\nself.parts = {'f': f}", "pass", Frequency.ONCE),
        ("if not self.parts:\nf = g(x)\nself.parts = {'f': f}", "pass", Frequency.ONCE),
        ("if self.parts:\nreturn\n<f = g(x)\nself.parts = {'f': f}", "self.parts.clear()", Frequency.EPISODE),
        ("if self.parts:\nreturn\n<f = g(x)\nself.parts = {}", "pass", Frequency.UPDATE),
        ("if self.parts:\nreturn\n<f = g(x)\nself.parts = f", "pass", Frequency.UPDATE),
        ("if self.ready:\nreturn\n<f = g(x)\nself.ready.data.copy_(torch.Tensor([True]))", "pass", Frequency.ONCE),
        ("if self.ready:\nreturn\n<f = g(x)\nself.ready.fill_(True)", "self.ready.fill_(False)", Frequency.EPISODE),
    ],
)
def test_what_is_made_and_kept_is_made_once(body: str, change: str, expected: Frequency) -> None:
    code = Code(ONCE.format(body=_indented(body), change=change))
    assert code.frequency("g(x)") is expected


FILLED = """
def main(batches, n, m=None):
    ids = None
    {body}
def put(x, ids=None):
    if ids is None:
        ids = g(x)
    return set_all(x, ids)
def set_all(x, ids=None):
    if ids is None:
        ids = h(x)
    x.fill_(ids)
main(1, 2)
"""


@pytest.mark.parametrize(
    ("body", "put", "set_all"),
    [
        ("ids = f(n)\nfor x in batches:\nput(x, ids)\nx.backward()", Frequency.ONCE, Frequency.ONCE),
        ("for x in batches:\nput(x, ids)\nx.backward()", Frequency.UPDATE, Frequency.ONCE),
        ("for x in batches:\nput(x)\nx.backward()", Frequency.UPDATE, Frequency.ONCE),
        ("if m is None:\nm = n\n<for x in batches:\nput(x, m)\nx.backward()", Frequency.ONCE, Frequency.ONCE),
        ("if m is None and n:\nm = n\n<for x in batches:\nput(x, m)\nx.backward()", Frequency.UPDATE, Frequency.ONCE),
    ],
)
def test_an_argument_is_given_where_it_was_missing_before(body: str, put: Frequency, set_all: Frequency) -> None:
    test = "from main import put\nfor x in y:\n    put(x)\n    x.backward()\n"
    text = FILLED.format(body=_indented(body).replace("\n        ", "\n    "))
    code = Code({"main.py": text, "tests/test_put.py": test})
    assert code.frequency("g(x)") is put
    assert code.frequency("h(x)") is set_all


QUEUES = """
class Agent:
    def is_out(self):
        return len(self.queue) == 0
    def act(self, x):
        {body}
agent = Agent()
while True:
    obs, reward, done, info = env.step(agent.act(obs))
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if not self.queue:\nfor y in g(x):\nself.queue.append(y)\n<<return self.queue.pop(0)", Frequency.UPDATE),
        ("if self.is_out():\nself.queue += g(x)\n<return self.queue.pop()", Frequency.UPDATE),
        ("if x and not len(self.q[0]):\nself.q[0] = deque(g(x))\n<return self.q[0].popleft()", Frequency.UPDATE),
        ("if not self.queue:\nself.queue.append(g(x))\n<return self.queue.pop()", Frequency.STEP),
        ("if not self.queue:\nself.queue.extend(g(x))\n<while self.queue:\ny = self.queue.pop()", Frequency.STEP),
        ("if self.queue:\nself.queue.extend(g(x))\n<return self.queue.pop()", Frequency.STEP),
        ("if not self.queue:\nself.queue.extend(g(x))\n<return self.other.pop()", Frequency.STEP),
    ],
)
def test_an_empty_queue_is_refilled_once_for_several_steps(body: str, expected: Frequency) -> None:
    found = Code(QUEUES.format(body=_indented(body))).hot("g(x)")
    assert found.frequency is expected
    assert found.phrase == ("once per several steps" if expected is Frequency.UPDATE else expected.phrase)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    def score(self, x):\n        return x\n", ""),  # code elsewhere may have a class that defines it
        ("        return self.score(x)", "        if x:\n            return self.score(x)"),
        ("        self.check(x)\n", "        self.check(x)\n        if x:\n            return x\n"),
        ("        raise NotImplementedError", "        if x:\n            raise NotImplementedError"),
        ("for x in y", "class Deep(Search):\n    def score(self, x):\n        return x\nfor x in y"),
    ],
)
def test_a_method_that_may_come_to_an_end_is_not_turned_off(old: str, new: str) -> None:
    [text] = [text for name, text in CASES if name == "method that a class turns off"]
    assert _guarded(text).frequency is Frequency.ONCE
    assert _guarded(text.replace(old, new)).frequency is Frequency.UPDATE


OVERRIDDEN = """
class Task:
    def __init__(self, size, checks=True):
        self.checks = checks
    def reward(self, x, checks=None):
        checks = self.checks if checks is None else checks
        if checks:
            self.check(x)
    def check(self, x):
        pass
class Search(Task):
    def __init__(self, size=3, checks=False):
        super().__init__(size=size, checks=checks)
    def check(self, x):
        {}
class Deep(Search):
    pass
def run(task: Task, x):
    task.reward(x)
    x.backward()
for x in y:
    run(make(), x)
"""


@pytest.mark.parametrize(
    ("old", "new", "off"),
    [
        ("", "", True),
        ("checks=checks)", "checks=False)", True),
        ("checks = self.checks if checks is None else checks\n        if checks:", "if self.checks:", True),
        ("checks=checks)", "checks=True)", False),
        ("checks=checks)", "**read())", False),
        ("size=3, checks=False", "size=3, checks=True", False),
        ("task.reward(x)", "task.reward(x, checks=True)", False),
        ("for x in y", "Search(checks=True)\nfor x in y", False),
        ("for x in y", "make().checks = True\nfor x in y", False),
        ("    pass\ndef", "    def __init__(self):\n        super().__init__(checks=True)\ndef", False),
    ],
)
def test_an_option_that_a_class_hands_its_base_as_off_is_off_for_its_objects(old: str, new: str, off: bool) -> None:
    found = _guarded(OVERRIDDEN.replace(old, new, 1) if old else OVERRIDDEN)
    assert found.frequency is (Frequency.ONCE if off else Frequency.UPDATE)


@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_guard_that_is_switched_off_holds_nothing(name: str, text: str) -> None:
    assert name not in _names(_guarded(text, ignore_guards=(name,)))


def test_every_row_has_a_case_and_a_name_of_its_own() -> None:
    assert len(ROWS) == len(GUARDS)
    assert {name for name, _ in CASES} == ROWS.keys()


def test_the_documentation_lists_every_row(root: Path) -> None:
    listed = [row for row in (root / "docs" / "hotness.md").read_text(encoding="utf-8").splitlines() if row[:1] == "|"]
    for guard in GUARDS:
        limit = "as what sets it" if guard.limit is None else guard.limit.phrase
        assert f"| {guard.name} | {limit} | {guard.says} |" in listed


def test_what_no_guard_holds_names_none() -> None:
    found = _guarded(METHOD.format(body=_indented("if self.seldom(x, False):\npass\n<{}")))
    assert found.frequency is Frequency.UPDATE
    assert not _names(found)
    assert not found.reasons


INTERVALS = """import torch
class Learner:
    def __init__(self, net):
        self.net, self.optimizer, self.t = net, torch.optim.Adam(net.parameters()), 0
    def learn(self, batch):
        self.optimizer.zero_grad()
        self.net(batch).mean().backward()
        self.optimizer.step()
    def fit(self, batches):
        for batch in batches:
            self.learn(batch)
class Agent:
    def __init__(self, learner):
        self.learner, self.t = learner, 0
    def update(self, memory):
        self.t += 1
        {body}
def main(env, agent, memory):
    obs = env.reset()
    while True:
        obs, reward, done, info = env.step(0)
        agent.update(memory)
main(gym.make("x"), Agent(Learner(torch.nn.Linear(2, 2))), [])
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if self.t % 4 != 0:\nreturn\n<batch = sample(memory)\nself.learner.learn(batch)", Frequency.UPDATE),
        ("if self.t % 4 == 0:\nbatch = sample(memory)\nself.learner.learn(batch)", Frequency.UPDATE),
        ("if self.t % 4 == 0:\nbatch = sample(memory)\n<self.learner.learn(memory)", Frequency.ONCE),
        ("if self.t % 4 != 0:\nreturn\n<batch = sample(memory)\nself.learner.fit(batch)", Frequency.EPISODE),
        ("if self.t % 4 == 0:\nbatch = sample(memory)\nself.learner.fit(batch)", Frequency.EPISODE),
        ("self.learner.learn(memory)\nif self.t % 4 != 0:\nreturn\n<batch = sample(memory)", Frequency.ONCE),
    ],
)
def test_behind_an_interval_what_leads_to_an_update_runs_as_often_as_that(body: str, expected: Frequency) -> None:
    code = Code(INTERVALS.format(body=_indented(body)))
    assert code.frequency("batch = sample(memory)") is expected


LAMBDAS = """\
import torch


class Base:
    act = lambda self, x: x * 2

    def note(self, x):
        "Only documented."

    def run(self, env):
        obs, _ = env.reset()
        while True:
            self.act(obs)
            self.note(obs)
            obs, *_ = env.step(torch.FloatTensor([obs]))


class Derived(Base):
    act = lambda self, x: x + 1

    def note(self, x):
        raise NotImplementedError


Derived().run(None)
"""


def test_lambdas_and_methods_that_are_only_documented_turn_nothing_off(tmp_path: Path) -> None:
    assert [found.code for found in lint(tmp_path, {"agent.py": LAMBDAS}, select=("TL104",)).findings] == ["TL104"]
