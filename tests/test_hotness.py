"""How often lines run, and the path that makes it so. Marks like ``# A`` name the rows that a test asks about."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest
from projects import Code, source_of

from torchlint.engine.analysis import parse
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.hotness.denoising import denoises
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.samples import SampleLoops
from torchlint.facts.hotness.why import explain
from torchlint.rule import Frequency

HEAD = "import torch\nimport gymnasium as gym\nfrom torch import nn\n"
O, E, U, S, I = Frequency  # noqa: E741  once, episode, update, step, inner


def frequencies(text: str | Mapping[str, str], **settings: object) -> dict[str, Frequency]:
    """The frequency of each row that ends in a mark, of the first file."""
    code = Code({"code.py": HEAD + text} if isinstance(text, str) else text, **settings)
    marks = [line.rpartition("# ")[2] for line in code.texts[code.file().path].splitlines() if "  # " in line]
    return {mark: code.frequency(f"  # {mark}") for mark in marks}


LOOPS = {
    "a script": (
        """
env = gym.make("a")
for episode in range(9):
    obs = env.reset()  # A
    while True:
        action = act(obs)  # B
        obs, reward, done, info = env.step(action)  # C
        if done:
            print(reward)  # D
            break
    log(obs)  # F
done_at_last()  # G
""",
        {"A": E, "B": S, "C": S, "D": E, "F": E, "G": O},
    ),
    "branches that leave a loop": (
        """
while True:
    env.step(act(1))
    if steps == most or done:
        f(1)  # A
        break
    for x in y:
        if x:
            f(2)  # B
            break
        f(3)  # C
    else:
        f(4)  # D
for batch in loader:
    if late(batch):
        f(5)  # F
        break
    if first(batch):
        f(6)  # G
        criterion(batch).backward()
        break
""",
        {"A": E, "B": S, "C": I, "D": S, "F": E, "G": U},
    ),
    "gradient updates": (
        """
for epoch in range(9):
    start(epoch)  # A
    for batch in loader:
        loss = criterion(batch)  # B
        loss.backward()
        optimizer.step()  # C
        for group in groups:
            clip(group)  # D
        x = [f(g) for g in groups]  # F
""",
        {"A": E, "B": U, "C": U, "D": I, "F": U},
    ),
    "no loop at all": ("x = model(y)  # A\nloss.backward()  # B\n", {"A": O, "B": O}),
    "a loop about something else": ("for x in y:\n    f(x)  # A\n", {"A": O}),
    "a scheduler is no environment": ("for x in y:\n    scheduler.step(x)  # A\n", {"A": O}),
    "the test of a while": (
        """
while not f(1):
    env.step(g(2))  # A
else:
    h(3)  # B
""",
        {"A": S, "B": O},
    ),
    "what a loop iterates over": ("for x in f():  # A\n    env.step(x)\n", {"A": O}),
    "an inner comprehension": (
        """
class Agent:
    def act(self, obs):
        x = torch.stack(  # A
            [f(o) for o in obs]
        )
        return x
    def run(self, env):
        while True:
            env.step(self.act(1))
""",
        {"A": S},
    ),
    "a loop that renders is a demo": (
        "while True:\n    obs, r, d, i = env.step(act(obs))  # A\n    env.render()\n",
        {"A": O},
    ),
    "a function that tries an environment out": (
        """
def check(env):
    look(f(1))  # A
    once(env)
def once(env):
    env.reset()
    obs, reward, done, info = env.step(1)  # B
def play(env):
    env.reset()
    env.step(f(2))  # C
def go_on(env):
    if stale(1):
        env.reset()
    env.step(f(3))  # D
def go_on_elsewhere(env):
    env.other.reset()
    env.step(f(4))  # F
def train(env):
    for episode in range(9):
        play(env)  # G
""",
        {"A": O, "B": O, "C": S, "D": S, "F": S, "G": S},
    ),
    "a worker's commands": (
        """
def work(remote, env):
    while True:
        command, data = remote.recv()
        if command == "spaces":
            f(1)  # A
        elif command == "step":
            obs = env.step(data)
            f(2)  # B
        elif command == "wrapped":
            f(3)  # C
        else:
            f(4)  # D
def act(remote, env, mode):
    while True:
        if mode == "random":
            env.step(f(5))
        elif mode == "learnt":
            f(6)  # F
def search(options, env):
    kind = options.look_up("kind")
    while True:
        if kind == "random":
            env.step(f(7))
        elif kind == "learnt":
            f(8)  # G
""",
        {"A": E, "B": S, "C": E, "D": S, "F": S, "G": S},
    ),
    "a function in the loop": (
        """
def act(obs):
    return f(obs)  # A
def learn(batch):
    for x in batch:
        f(x)  # B
def unused(x):
    return f(x)  # C
while True:
    obs = env.step(act(obs))
    learn(obs)
""",
        {"A": S, "B": I, "C": O},
    ),
    "a branch with an update that sets its own flag": (
        """
def train(model, optimizer, steps):
    begun = False
    for step in range(steps):
        if model.explores and not begun:
            loss = f(model)  # A
            loss.backward()
            optimizer.step()
            begun = True
        else:
            loss = g(model)  # B
            loss.backward()
            optimizer.step()
""",
        {"A": O, "B": U},
    ),
    "a branch of a generator that yields": (
        """
def batches(data, n):
    batch = []
    for x in data:
        batch.append(f(x))  # A
        if len(batch) == n:
            yield g(batch)  # B
            batch = []
def train(data, optimizer):
    for batch in batches(data, 32):
        loss = h(batch)  # C
        loss.backward()
        optimizer.step()
""",
        {"A": U, "B": U, "C": U},
    ),
    "a loop over environments that are stepped one by one": (
        """
def train(envs, steps):
    f(envs)  # A
    for t in range(steps):
        actions = g(t)  # B
        for i in range(len(envs)):
            env, action = envs[i], actions[i]
            env.step(h(action))  # C
""",
        {"A": O, "B": S, "C": S},
    ),
    "a loop over environments with an episode of each": (
        """
def train(envs):
    for env in envs:
        f(env)  # A
        for t in range(1000):
            env.step(g(t))  # B
""",
        {"A": E, "B": S},
    ),
    "a loop in the caller of the step": (
        """
def one(env, x):
    f(x)  # A
    env.step(x)
def train(env):
    g(env)  # B
    while True:
        one(env, 1)  # C
train(gym.make("a"))
""",
        {"A": S, "B": O, "C": S},
    ),
    "recursion ends": (
        """
def f(x):
    return f(x - 1) if x else g(x)  # A
while True:
    env.step(f(3))
""",
        {"A": S},
    ),
    "nested functions": (
        """
def act(obs):
    def inner(x):
        return f(x)  # A
    return inner(obs)
while True:
    env.step(act(1))
""",
        {"A": S},
    ),
    "methods through the class hierarchy": (
        """
class Base:
    def act(self, obs):
        return self.policy(obs)  # A
    def policy(self, obs):
        raise NotImplementedError
class Agent(Base):
    def policy(self, obs):
        return f(obs)  # B
agent = Agent()
while True:
    env.step(agent.act(1))
""",
        {"A": S, "B": S},
    ),
    "forward of a module that is called": (
        """
class Net(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(3, 4)  # A
    def forward(self, x):
        return self.layer(x)  # B
net = Net()
while True:
    env.step(net(1))
""",
        {"A": O, "B": S},
    ),
    "a single step before the loop, by a helper": (
        """
class Buffer:
    def step(self, policy):
        self.env.step(policy(1))
class Trainer:
    def __init__(self):
        self.buffer = Buffer()
    def pretrain(self):
        f(1)  # A
    def run(self):
        self.buffer.step(act)
        self.pretrain()
        while True:
            self.buffer.step(act)
            f(2)  # B
Trainer().run()
""",
        {"A": O, "B": S},
    ),
    "what a function around keeps is made once": (
        """
def policy_of(agent):
    kept = None
    def act(obs):
        nonlocal kept
        if kept is None:
            kept = f(1)  # A
        return g(kept, obs)  # B
    return act
act = policy_of(1)
while True:
    env.step(act(1))
""",
        {"A": O, "B": S},
    ),
    "an update called seldom": (
        """
class Agent:
    def learn(self, batch):
        self.loss(batch).backward()  # A
        self.optimizer.step()
agent = Agent()
while True:
    obs = env.step(1)
    agent.learn(obs)
""",
        {"A": S},
    ),
}


@pytest.mark.parametrize(("text", "expected"), LOOPS.values(), ids=LOOPS)
def test_loops(text: str, expected: dict[str, Frequency]) -> None:
    assert frequencies(text) == expected


GUARDS = {
    "if debug:\n    f(x)  # A": O,
    "if self.debug:\n    f(x)  # A": O,
    "if args.verbose > 1:\n    f(x)  # A": O,
    "if cfg['debug']:\n    f(x)  # A": O,
    "if logger.is_debug():\n    f(x)  # A": O,
    "for j in np.where(dones)[0]:\n    f(x)  # A": E,
    "for j in np.argwhere(dones.cpu()).flatten().tolist():\n    f(x)  # A": E,
    "ended = dones.nonzero().squeeze(-1)\nfor j in ended:\n    f(x)  # A": E,
    "for j in np.where(x)[0]:\n    f(x)  # A": I,
    "ended = np.nonzero(truncated)[0]\nif len(ended) > 0:\n    f(x)  # A": E,
    "ended = dones.nonzero()[0].tolist()\nn = len(ended)\nif n > 0:\n    f(x)  # A": E,
    "ended = np.flatnonzero(dones)\nif ended.size:\n    f(x)  # A": E,
    "found = np.flatnonzero(x)\nif len(found) > 0:\n    f(x)  # A": S,
    "n = len(x)\nif n > 0:\n    f(x)  # A": S,
    "if x.numel() > 1:\n    y = x.std()\nelse:\n    y = zeros(1)  # A": O,
    "if x.numel() < 2:\n    y = zeros(1)  # A\nelse:\n    y = x.std()": O,
    "if x.numel() > 1:\n    y = x.std()  # A\nelse:\n    y = zeros(1)": S,
    "if x.numel() > 1:\n    y = x.mean()\nelse:\n    y = zeros(1)  # A": S,
    "if x.numel() > 2:\n    y = x.std()\nelse:\n    y = zeros(1)  # A": S,
    "n = n\nif n > 0:\n    f(x)  # A": S,
    "for j in np.argsort(dones):\n    f(x)  # A": I,
    "if (x == 0.0).all():\n    f(x)  # A": E,
    "if torch.all(x == 0):\n    f(x)  # A": E,
    "if (x == y).all():\n    f(x)  # A": S,
    "if (x == 0).any():\n    f(x)  # A": S,
    "if not mask.any():\n    y = torch.tensor(0.0)  # A\n    continue\ng(x[mask])": O,
    "if not mask.any():\n    y = torch.tensor(0.0)  # A\n    continue\ng(x)": S,
    "if flag:\n    f(x)  # A": S,
    "if debug:\n    pass\nelse:\n    f(x)  # A": S,
    "if not debug:\n    pass\nelse:\n    f(x)  # A": O,
    "if debug and flag:\n    f(x)  # A": O,
    "if debug or flag:\n    f(x)  # A": S,
    "if debug or verbose:\n    f(x)  # A": O,
    "if step % 100 == 0:\n    f(x)  # A": O,
    "if not step % 100:\n    f(x)  # A": O,
    "if not step % 100:\n    pass\nelse:\n    f(x)  # A": S,
    "if step % 100:\n    f(x)  # A": S,
    "if step % 100:\n    pass\nelse:\n    f(x)  # A": O,
    "if step % 100 != 0:\n    f(x)  # A": S,
    "if step % 100 != 0:\n    pass\nelse:\n    f(x)  # A": O,
    "if step - last > log_interval:\n    f(x)  # A": O,
    "if (step + 1) % gradient_accumulation_steps == 0:\n    f(x)  # A": S,
    "if step % args.grad_accum == 0:\n    f(x)  # A": S,
    "if step % accuracy_interval == 0:\n    f(x)  # A": O,
    "if done:\n    f(x)  # A": E,
    "if done.any():\n    f(x)  # A": E,
    "if np.all(finished):\n    f(x)  # A": E,
    "if torch.any(dones):\n    f(x)  # A": E,
    "if np.any(x):\n    f(x)  # A": S,
    "if self.is_test:\n    f(x)  # A": E,
    "if not self.is_test:\n    f(x)  # A": S,
    "if test_mode:\n    pass\nelse:\n    f(x)  # A": S,
    "if evaluator:\n    f(x)  # A": S,
    "if any(dones):\n    f(x)  # A": E,
    "if dones[i]:\n    f(x)  # A": E,
    "if terminated or truncated:\n    f(x)  # A": E,
    "if not done:\n    f(x)  # A": S,
    "if not done:\n    pass\nelse:\n    f(x)  # A": E,
    "if not_done:\n    f(x)  # A": S,
    "if not_dones.any():\n    f(x)  # A": S,
    "if not not_done_masks[i].any().item():\n    f(x)  # A": E,
    "if not_done:\n    pass\nelse:\n    f(x)  # A": E,
    "if flag:\n    f(x)  # A\n    raise ValueError": O,
    "if flag:\n    pass\nelse:\n    f(x)  # A\n    raise ValueError": O,
    "if self.cache is None:\n    f(x)  # A": O,
    "if self.mask is None or self.mask.shape[0] != n:\n    self.mask = f(x)  # A": O,
    "if len(x) >= self.update_interval:\n    f(x)  # A": O,
    "if n > warmup_period:\n    f(x)  # A": S,
    "if self.write_interval > 0:\n    f(x)  # A": S,
    "if log_every != 0:\n    f(x)  # A": S,
    "if log_every > 0 and n % log_every == 0:\n    f(x)  # A": O,
    "self.log_interval = 0\nif self.log_interval > 0:\n    f(x)  # A": O,
    "if rank > 0:\n    self.log_interval = 0\nif self.log_interval > 0:\n    f(x)  # A": S,
    "if n - last_write > write_interval:\n    f(x)  # A": O,
    "if self.t - self.t_start == self.t_max or done:\n    f(x)  # A": E,
    "if self.t - self.t_start >= n:\n    f(x)  # A": S,
    "if self.n == self.size:\n    f(x)  # A\n    self.n = 0": E,
    "if self.at[i] >= len(self.plans[i]):\n    f(x)  # A": E,
    "if self.at[i] < len(self.plans[i]):\n    f(x)  # A": S,
    "if since_change >= 1000:\n    f(x)  # A": O,
    "if since_change < 1000:\n    f(x)  # A": S,
    "if i >= n and flag:\n    f(x)  # A\n    i = 0": E,
    "if i == 2:\n    f(x)  # A\n    i = 0": S,
    "if i >= 128:\n    f(x)  # A\n    i = 0": E,
    "if i == n:\n    f(x)  # A\n    j = 0": S,
    "if self.n == 0 and self.i == 0:\n    y = f(x)  # A\n    self._init_storage(y)": O,
    "if self.n == 0:\n    y = f(x)  # A\n    self.store(y)": S,
    "if self.n == 4:\n    y = f(x)  # A\n    self._init_storage(y)": S,
    "if self.stored(x):\n    f(x)  # A": E,
    "if self.known(x):\n    f(x)  # A": S,
    "if capture_video:\n    f(x)  # A": O,
    "if self.use_tb:\n    f(x)  # A": S,  # a logger is in use unless defaults leave it off
    "if episode_end:\n    f(x)  # A": E,
    "for i, d in enumerate(done):\n    if d and y:\n        f(x)  # A": E,
    "for i, d in enumerate(data):\n    if d and y:\n        f(x)  # A": I,
    "for d in self.dones:\n    if d:\n        f(x)  # A": E,
    "if logger.isEnabledFor(10):\n    f(x)  # A": O,
    "if not DEV_MODE:\n    return x\nf(x)  # A": O,
    "if x not in self.tables:\n    self.tables[x] = f(x)  # A": O,
    "if y and not x in TABLES:\n    z = f(x)  # A\n    TABLES[x] = z": O,
    "if x in self.tables:\n    return self.tables[x]\nz = f(x)  # A\nself.tables[x] = z": O,
    "if x in self.tables:\n    return self.tables[x]\nz = f(x)  # A\nself.other[x] = z": S,
    "groups = {}\nif x not in groups:\n    groups[x] = f(x)  # A": S,
    "if x not in self.tables:\n    self.other[x] = f(x)  # A": S,
    "if len(self.mask) < n:\n    self.mask = f(x)  # A": O,
    "if n > store.mask.size(0):\n    store.mask = f(x)  # A": O,
    "if self.mask.shape[0] != n:\n    self.other = f(x)  # A": S,
    "if self.mask.shape[0] != n or x:\n    self.mask = f(x)  # A": S,
    "if len(self.mask) > n:\n    self.mask = f(x)  # A": S,
    "if y.shape[0] != n:\n    y = f(x)  # A": S,
    "if self.table[0, 0] == 0:\n    self.table, self.other = f(x)  # A": O,
    "if self.table[0, 0] == 0:\n    self.other = f(x)  # A": S,
    "if self.table[i] == 0:\n    self.table = f(x)  # A": S,
    "for k, y in enumerate(x):\n    if k % 9 == 0 or k == last:\n        f(y)  # A": O,
    "for k, y in enumerate(x):\n    if k % 9 == 0 or y == last:\n        f(y)  # A": I,
    "for k, y in enumerate(x):\n    last = g(y)\n    if k % 9 == 0 or k == last:\n        f(y)  # A": I,
    "if self.cache is not None:\n    pass\nelse:\n    f(x)  # A": O,
    "if not hasattr(self, 'cache'):\n    f(x)  # A": O,
    "if key not in self.cache:\n    f(x)  # A": O,
    "y = cache.get(x)\nif y is None:\n    f(x)  # A": O,
    "try:\n    f(x)  # A\nexcept ValueError:\n    pass": S,
    "try:\n    pass\nexcept ValueError:\n    f(x)  # A": O,
    "assert x, f(x)  # A": S,
    "raise ValueError(f(x))  # A": S,
    "with f(x):\n    g(x)  # A": S,
    "if not debug:\n    return\nf(x)  # A": O,
    "if debug:\n    return\nf(x)  # A": S,
    "if not done:\n    return\nf(x)  # A": E,
    "if step % 100:\n    return\nf(x)  # A": O,
    "if not flag:\n    raise ValueError\nf(x)  # A": S,
    "if flag:\n    if not debug:\n        return\nf(x)  # A": S,
    "score = judge.evaluate_if_necessary(i)\nif score is not None:\n    f(x)  # A": O,
    "score = judge.evaluate(i)\nif score is not None:\n    f(x)  # A": S,
    "if done or i >= last or key.is_set():\n    f(x)  # A": E,
    "if flag or i >= last:\n    f(x)  # A": S,
    "for p in x:\n    return p\nf(x)  # A": O,
    "for p in x:\n    if p:\n        return p\nf(x)  # A": S,
    "if self.eval_wanted:\n    self.eval_wanted = False\n    f(x)  # A": E,
}


@pytest.mark.parametrize(("body", "expected"), GUARDS.items())
def test_guards(body: str, expected: Frequency) -> None:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    text = f"""
class Agent:
    def stored(self, x):
        self.count += 1
        return self.count % self.size == 0
    def known(self, x):
        return x in self.items
    def act(self, x, flag, debug, done, dones, i, step, last, key, terminated, truncated):
{lines}
agent = Agent()
while True:
    env.step(agent.act(*given))
"""
    assert frequencies(text) == {"A": expected}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for j in done.nonzero(as_tuple=False):\n        f(j)  # A", I),
        ("ended = done.nonzero().squeeze(-1)\n    if len(ended) > 0:\n        f(ended)  # A", S),
        ("for j in done.nonzero()[0]:\n        f(j)  # A", E),
        ("for j in np.nonzero(done)[0].tolist():\n        f(j)  # A", E),
        ("done = torch.tensor(done)\n    for j in done.nonzero().squeeze(-1):\n        f(j)  # A", E),
    ],
)
def test_where_environments_give_tensors_some_of_them_end_in_most_steps(body: str, expected: Frequency) -> None:
    """A tensor's ``nonzero`` gives a tensor, an array's a tuple."""
    assert frequencies(f"while True:\n    seen, gain, done, _ = env.step(1)\n    {body}\n") == {"A": expected}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("sim.reset(ended)\n    {step}\n    ended = done.nonzero(as_tuple=False).squeeze(-1)", S),
        ("{step}\n    done, gain = noted(done, gain)\n    ended = done.nonzero().squeeze(-1)\n    sim.reset(ended)", S),
        ("{step}\n    ended = done.nonzero()[0]\n    sim.reset(ended)", E),
        ("{step}\n    done = alone(1)\n    ended = done.nonzero().squeeze(-1)\n    sim.reset(ended)", E),
        ("{step}\n    sim.reset(done)", E),
    ],
)
def test_a_reset_of_the_simulations_that_a_step_ended_runs_in_most_steps(body: str, expected: Frequency) -> None:
    """So does what such a reset calls to reset a part of the same simulations."""
    text = f"""
class Goals:
    def reset(self, ids):
        f(ids)  # A
class Sim:
    def __init__(self):
        self.goals = Goals()
    def reset(self, ids):
        self.goals.reset(ids)
sim = Sim()
ended = torch.arange(9)
while True:
    {body.format(step="seen, gain, done, _ = env.step(1)")}
"""
    assert frequencies(text) == {"A": expected}


@pytest.mark.parametrize(
    ("found", "expected"),
    [("self.reset_buf.nonzero(as_tuple=False).flatten()", S), ("np.nonzero(self.reset_buf)[0]", E)],
)
def test_an_environment_of_many_simulations_resets_some_of_them_in_most_steps(found: str, expected: Frequency) -> None:
    text = f"""
import gymnasium as gym
class Goals:
    def reset(self, ids):
        return f(ids)  # A
class Walkers(gym.Env):
    def __init__(self):
        self.goals = Goals()
    def step(self, action):
        ids = {found}
        if len(ids) > 0:
            self._reset_idx(ids)
        return self.obs, self.gain, self.reset_buf, self.late, {{}}
    def _reset_idx(self, ids):
        self.goals.reset(ids=ids)
"""
    assert frequencies(text) == {"A": expected}


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        ("all_ended = self.done.nonzero(as_tuple=False)\n            ended = all_ended[::2]", S),
        ("ended = self.done.nonzero(as_tuple=False)\n            ended = ended[:, 0]", S),
        ("ended = self.done.nonzero()[0]", E),
        ("done = alone(1)\n            ended = done.nonzero(as_tuple=False)", E),
        ("ended = self.done", E),
    ],
)
def test_a_reset_of_unknown_simulations_is_followed_by_what_it_is_given(ended: str, expected: Frequency) -> None:
    """Through a method that hands the places on, and to whatever in the project takes them."""
    text = f"""
import lib
class Sim:
    def reset(self, ids=None):
        f(ids)  # A
class Agent(lib.Agent):
    def reset_some(self, ids=None):
        return self.sims.reset(ids)
    def play(self):
        ended = []
        while True:
            self.reset_some(ended)
            seen, gain, self.done, info = self.env_step(1)
            {ended}
"""
    assert frequencies(text) == {"A": expected}


def test_a_kind_of_that_name_is_no_interval() -> None:
    text = """
def apply(mode):
    if mode == "interval":
        f(mode)  # A
    if mode == interval:
        f(mode)  # B
while True:
    env.step(apply("interval"))
"""
    assert frequencies(text) == {"A": S, "B": O}


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        ("self.done.nonzero(as_tuple=False).squeeze(-1)", S),
        ("self.done.nonzero().flatten()", S),
        ("self.done.nonzero()[0]", E),
        ("done.nonzero().flatten()", E),
    ],
)
def test_a_simulator_that_resets_those_of_its_own_that_ended_does_so_in_most_steps(
    ended: str, expected: Frequency
) -> None:
    """Its flags are those of many where it searches them as torch does."""
    text = f"""
class Goals:
    def reset(self, ids):
        f(ids)  # A
class Sim(gymnasium.Env):
    def __init__(self):
        self.goals = Goals()
    def reset_some(self, ids):
        self.goals.reset(ids=ids)
    def step(self, a):
        done = self.done
        ended = {ended}
        if len(ended) > 0:
            self.reset_some(ended)
        return 1, 2, 3, 4, 5
"""
    assert frequencies("import gymnasium\n" + text) == {"A": expected}


@pytest.mark.parametrize(
    ("base", "test", "expected"),
    [
        ("rl_games.common.player.BasePlayer", "True", E),
        ("rl_games.common.a2c_common.A2CBase", "True", S),
        ("Base", "count % 9 == 0", O),
        ("Base", "self.keep and count % 9 == 0", O),
        ("Base", "self.keep or count % 9 == 0", S),
    ],
)
def test_an_evaluation_among_other_conditions_or_by_a_framework_is_not_hot(
    base: str, test: str, expected: Frequency
) -> None:
    name = "eval" if base == "Base" else "run"
    text = f"""
import rl_games.common
class Base:
    pass
class Agent({base}):
    def {name}(self):
        while True:
            seen, gain, done, info = self.env.step(1)
            f(done)  # A
    def train(self, count):
        for x in y:
            x.backward()
            if {test}:
                self.eval()
"""
    assert frequencies(text) == {"A": expected}


EXPRESSIONS = {
    "flag and f(x)": S,
    "debug and f(x)": O,
    "self.sim.viewer and f(x)": O,
    "self.viewer is not None and f(x)": O,
    "f(x) and debug": S,
    "not debug or f(x)": O,
    "debug or f(x)": S,
    "f(x) if debug else 0": O,
    "0 if debug else f(x)": S,
    "0 if not debug else f(x)": O,
    "f(x) if done else 0": E,
    "[f(x) for i in y]": I,
    "[i for i in f(x)]": S,
    "[i for j in y for i in f(x)]": I,
    "[i for i in y if f(x)]": I,
    "{i: f(x) for i in y}": I,
    "(lambda: f(x))()": S,
}


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS.items())
def test_parts_of_expressions(text: str, expected: Frequency) -> None:
    code = Code(f"def act(x, debug, done, flag, y):\n    return {text}\nwhile True:\n    env.step(act(*given))\n")
    assert code.analyses[Heat].at(code.file(), code.node("f(x)")).frequency is expected


FRAMEWORKS = {
    "a feature extractor": (
        "from stable_baselines3.common.torch_layers import BaseFeaturesExtractor\n"
        "class Net(BaseFeaturesExtractor):\n    def forward(self, x):\n        return f(x)  # A\n",
        {"A": S},
    ),
    "a policy whose values are asked for at the end of a rollout": (
        "from stable_baselines3.common.policies import ActorCriticPolicy\n"
        "class P(ActorCriticPolicy):\n    def predict_values(self, x):\n        return f(x)  # A\n"
        "    def evaluate_actions(self, x):\n        return f(x)  # B\n",
        {"A": E, "B": S},
    ),
    "a buffer that yields batches": (
        "from stable_baselines3.common.buffers import RolloutBuffer\n"
        "class B(RolloutBuffer):\n    def get(self, size):\n        f(1)  # A\n"
        "        while size:\n            yield f(2)  # B\n        f(3)  # C\n",
        {"A": E, "B": U, "C": E},
    ),
    "a callback": (
        "from stable_baselines3.common.callbacks import BaseCallback\n"
        "class C(BaseCallback):\n    def _on_step(self):\n        f(1)  # A\n"
        "    def _on_rollout_end(self):\n        f(1)  # B\n    def _init_callback(self):\n        f(1)  # C\n",
        {"A": S, "B": E, "C": O},
    ),
    "a wrapper": (
        "class W(gym.Wrapper):\n    def step(self, a):\n        f(a)  # A\n    def reset(self):\n        f(1)  # B\n",
        {"A": S, "B": E},
    ),
    "a lightning module": (
        "import lightning as pl\nclass M(pl.LightningModule):\n    def training_step(self, b, i):\n        f(b)  # A\n",
        {"A": U},
    ),
    "through a class of the project": (
        "from torchrl.objectives import LossModule\nclass B(LossModule):\n    pass\n"
        "class L(B):\n    def forward(self, x):\n        self.g(x)  # A\n    def g(self, x):\n        f(x)  # B\n",
        {"A": U, "B": U},
    ),
    "a class of that name in the project is not the library's": (
        "class Wrapper:\n    pass\nclass W(Wrapper):\n    def step(self, a):\n        f(a)  # A\n",
        {"A": O},
    ),
}


@pytest.mark.parametrize(("text", "expected"), FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_entry_points_of_frameworks(text: str, expected: dict[str, Frequency]) -> None:
    assert frequencies(text) == expected


AGENT = HEAD + "\ndef act(x):\n    return f(x)  # A\n\nwhile True:\n    env.step(act(1))  # B\n"


@pytest.mark.parametrize(
    "name", ["examples/enjoy.py", "plot_results.py", "tools/vis_policy.py", "docs/a.py", "profile_agent.py"]
)
def test_files_that_only_show_are_cold(name: str) -> None:
    assert frequencies({name: AGENT}) == {"A": O, "B": O}


LEARNER = AGENT.replace("while True:", "def learn():\n    loss(batch).backward()\n\nwhile True:\n    learn()")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("dqn_test.py", LEARNER, S),
        ("dqn_test.py", LEARNER + "\ndef test(x):\n    show(x)\n", S),
        ("dqn_test.py", LEARNER + "\ndef test_agent():\n    act(1)\n", O),
        ("dqn_test.py", LEARNER + "\nclass TestAgent:\n    pass\n", O),
        ("dqn_test.py", AGENT + "    agent.update(1)\n", S),
        ("dqn_test.py", "agent.load(path)\n" + AGENT + "    agent.update(1)\n", O),
        ("dqn_test.py", AGENT, O),
        ("plot_test.py", LEARNER, O),
        ("demos/dqn_test.py", LEARNER, O),
        ("train_dqn.debug_entropy.py", AGENT + "    optimizer.zero_grad()\n", S),
        ("train_dqn.debug_entropy.py", AGENT, O),
        ("dqn_debug.py", AGENT + "    optimizer.zero_grad()\n", O),
        ("train_dqn_debug_plots.py", AGENT + "    optimizer.zero_grad()\n", O),
    ],
)
def test_a_program_that_learns_may_be_called_a_test_or_be_for_debugging(
    name: str, text: str, expected: Frequency
) -> None:
    assert frequencies({name: text})["A"] is expected


@pytest.mark.parametrize("name", ["tests/run.py", "test_agent.py", "a/test/run.py", "conftest.py", "test.py"])
def test_tests_are_read_for_their_syntax_alone(name: str) -> None:
    assert parse({name: source_of(name, AGENT)}) == ([], {})
    _, broken = parse({name: source_of(name, "import torch\ndef f(:\n")})
    assert list(broken) == [name]


@pytest.mark.parametrize("name", ["train.py", "examples/agent.py", "latest.py", "protest/a.py", "renderer.py"])
def test_other_files_are_hot(name: str) -> None:
    assert frequencies({name: AGENT}) == {"A": S, "B": S}


@pytest.mark.parametrize(
    "name", ["save", "save_model", "setup", "init_weights", "reset_parameters", "plot", "__repr__", "load"]
)
def test_functions_for_set_up_are_cold(name: str) -> None:
    assert frequencies(AGENT.replace("act", name))["A"] is O


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("save_transition", "self.memory.append(f(x))  # A", S),
        ("_save_obs", "self.obs[:] = f(x)  # A", S),
        ("save_transition", "np.savez(self.path, f(x))  # A", O),
        ("save_frames", "self.memory.append(f(x))  # A", O),
    ],
)
def test_what_is_saved_in_memory_is_hot(name: str, line: str, expected: Frequency) -> None:
    text = f"class B:\n    def {name}(self, x):\n        {line}\nb = B()\nwhile True:\n    b.{name}(env.step(1))\n"
    assert frequencies(text) == {"A": expected}


SALIENCY = """
def gradient(x):
    y = model(x)  # A
    y.sum().backward()
    return x.grad

def overlay(x):
    return gradient(x)  # B

def {name}(x):
    image.write(overlay(x))
"""


def test_gradients_that_only_demos_and_savers_ask_for_are_no_updates() -> None:
    assert frequencies(SALIENCY.format(name="save_overlay")) == {"A": O, "B": O}
    assert frequencies(SALIENCY.format(name="learn")) == {"A": U, "B": U}
    assert frequencies(SALIENCY.format(name="save_overlay") + "def learn(x):\n    gradient(x)\n")["A"] is U


PRIMED = """
class Agent:
    def initialize(self, net):
        self.head = prepare(net)  # A
        self.optimizer = torch.optim.Adam(net.parameters())
        self.optimizer.zero_grad()
        {}
"""


def test_a_step_that_an_optimizer_takes_where_it_is_made_is_no_update() -> None:
    assert frequencies(PRIMED.format("self.optimizer.step()")) == {"A": O}
    assert frequencies(PRIMED.format("self.other_optimizer.step()")) == {"A": U}
    assert frequencies(PRIMED.format("loss(net).backward(); self.optimizer.step()")) == {"A": U}
    assert frequencies(PRIMED.format("for x in net.data: self.optimizer.step()")) == {"A": O}


def test_what_set_up_connects_is_hot() -> None:
    text = "def learn():\n    for batch in loader:\n        loss = f(batch)  # A\n        loss.backward()\n"
    assert frequencies(text + "def init():\n    bus.connect(learn)\n") == {"A": U}
    assert frequencies(text + "def init():\n    learn()\n") == {"A": U}


@pytest.mark.parametrize("decorator", ["functools.cache", "functools.lru_cache(maxsize=None)"])
def test_functions_whose_results_are_kept_are_cold(decorator: str) -> None:
    text = AGENT.replace("def act", f"@{decorator}\ndef act").replace("import torch", "import functools\nimport torch")
    assert frequencies(text) == {"A": O, "B": S}


def test_a_function_that_nobody_calls_is_cold_in_an_application_and_hot_where_a_library_exports_it() -> None:
    net = HEAD + "class Net(nn.Module):\n    def forward(self, x):\n        return f(x)  # A\n"
    assert frequencies({"net.py": net}) == {"A": O}
    assert frequencies({"lib/net.py": net, "lib/__init__.py": "from .net import Net\n"}) == {"A": S}
    assert frequencies({"net.py": net + "net = Net()\n"}) == {"A": S}


def test_marks_correct_hotness() -> None:
    assert frequencies(AGENT.replace("act(x):", "act(x):  # torchlint: cold"))["A"] is O
    lonely = "def act(x):  # torchlint: hot\n    return f(x)  # A\n"
    assert Code(lonely).frequency("# A") is S


def test_settings_correct_hotness() -> None:
    assert frequencies({"agent.py": AGENT}, cold=("agent:act",)) == {"A": O, "B": S}
    lonely = {"lib/net.py": "class Net:\n    def act(self, x):\n        return f(x)  # A\n"}
    assert frequencies(lonely) == {"A": O}
    assert frequencies(lonely, hot=("lib.net:Net.act",)) == {"A": S}


def many(count: int) -> str:
    classes = "".join(f"class A{i}:\n    def choose(self, x):\n        return f(x)  # {i}\n" for i in range(count))
    return f"{classes}def train(agent):\n    while True:\n        env.step(agent.choose(1))\n"


def test_calls_on_unknown_receivers_reach_the_few_methods_of_that_name() -> None:
    assert frequencies(many(3)) == {"0": S, "1": S, "2": S}
    assert set(frequencies(many(9)).values()) == {O}


HANDED = """
class Strategy:
    def train_step(self, batch, loss_func):
        for part in batch.parts():
            loss, metrics = loss_func(part, self.net(part))
            loss.backward()
            self.optimizer.step()

class Worker:
    def compute(self, part, output):
        return output.sum(), f(output)  # A

    def run(self, batches):
        for batch in batches:
            {call}
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("self.strategy.train_step(batch, loss_func=self.compute)", U),
        ("self.strategy.train_step(batch, self.compute)", U),
        ("self.strategy.train_step(batch, None)", O),
    ],
)
def test_a_function_that_is_handed_to_an_unknown_object_runs_in_the_loop_of_its_method(
    call: str, expected: Frequency
) -> None:
    assert frequencies(HANDED.format(call=call)) == {"A": expected}


def test_a_plain_call_reaches_no_method_of_an_actor_in_another_process() -> None:
    worker = "class A:\n    def learn_from(self, x):\n        x.backward()\n        f(x)  # A\n"
    driver = "def fit(group):\n    for batch in batches:\n        group.learn_from(batch)\n        f(batch)  # B\n"
    assert frequencies(worker + driver) == {"A": U, "B": U}
    assert frequencies(f"import ray\n@ray.remote\n{worker}{driver}") == {"A": U, "B": O}
    assert frequencies(f"import ray\n@ray.remote(num_gpus=1)\n{worker}{driver}") == {"A": U, "B": O}


def test_calls_on_unknown_receivers_do_not_reach_methods_of_other_arity_or_of_unconnected_files() -> None:
    agent = "class A:\n    def choose(self, x):\n        return f(x)  # A\n"
    train = "def train(a):\n    while True:\n        env.step(a.choose(1))\n"
    assert frequencies(agent + train) == {"A": S}
    assert frequencies(agent.replace("self, x", "self") + train) == {"A": O}
    assert frequencies({"agent.py": agent, "train.py": train}) == {"A": O}
    assert frequencies({"agent.py": agent, "train.py": f"import agent\n{train}"}) == {"A": S}


def test_a_method_of_a_text_is_none_of_the_project() -> None:
    encoder = "class Encoder:\n    def encode(self, x):\n        return f(x)  # A\n"
    run = "def run(values):\n    while True:\n        value = values[0]\n        env.step({call})\n"
    assert frequencies(encoder + run.format(call="value.encode('ascii')")) == {"A": S}
    assert frequencies(encoder + run.format(call="value.encode('ascii') if isinstance(value, str) else 1")) == {"A": O}


SWITCH = """
class Agent:
    def train(self, batch=None):
        f(1)  # A

    def choose(self):
        return 1

def run(agent, norm, net):
    while True:
        env.step({call})
        norm.eval()
        agent.choose()
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("agent.train()", S),
        ("net.train()", O),
        ("net.train(batch=1)", S),
        ("net.train(1)", O),
        ("norm.train()", O),
        ("norm.train(True)", O),
    ],
)
def test_a_switch_of_the_mode_is_no_call_of_train(call: str, expected: Frequency) -> None:
    assert frequencies(SWITCH.format(call=call)) == {"A": expected}


SAMPLE = """
class Buffer:
    def sample(self, size=9):
        f(1)  # A

    def keep(self, item):
        self.items.append(item)

def run(things, other):
    while True:
        env.step({call})
        things.keep(1)
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("things.sample()", S),
        ("other.sample()", O),
        ("other.sample((3,))", O),
        ("other.sample(size=3)", S),
        ("things.action_space.sample()", O),
        ("things.action_spaces[0].sample()", O),
    ],
)
def test_a_sample_of_a_space_is_none_of_a_buffer(call: str, expected: Frequency) -> None:
    assert frequencies(SAMPLE.format(call=call)) == {"A": expected}


def test_common_names_are_never_linked_by_name() -> None:
    assert frequencies(many(1).replace("choose", "update")) == {"0": O}


def test_the_path_begins_at_the_loop() -> None:
    code = Code(
        {
            "train.py": "from agent import Agent\nagent = Agent()\nwhile True:\n    env.step(agent.act(1))\n",
            "agent.py": """
class Agent:
    def act(self, x):
        self.plan(x)
    def plan(self, x):
        f(x)  # A
""",
        }
    )
    hot = code.hot("# A", "agent.py")
    assert hot.describe() == "once per environment step (train.py:3 loop → Agent.act → Agent.plan)"
    assert [(hop.path, hop.row) for hop in hot.path] == [("train.py", 3), ("agent.py", 2), ("agent.py", 4)]


def test_the_path_of_an_entry_point_is_the_function() -> None:
    code = Code("import gymnasium as gym\nclass W(gym.Wrapper):\n    def step(self, a):\n        return f(a)  # A\n")
    assert [(hop.row, hop.name) for hop in code.hot("# A").path] == [(3, "W.step")]


def test_what_is_not_hot_has_no_path() -> None:
    assert Code("f(1)  # A").hot("# A").path == ()


def test_what_makes_a_line_hot() -> None:
    code = Code("while True:\n    env.step(f(1))\nfor b in y:\n    g(b).backward()\n")
    heat = code.analyses[Heat]
    assert heat.kinds(code.file(), code.node("f(1)")) == {"step"}
    assert heat.kinds(code.file(), code.node("g(b)")) == {"update"}


TWICE = """
import torch


class Runner:
    def collect(self, env):
        f()  # A
        self.prepare()

    def prepare(self):
        f()  # B


class Other:
    def collect_all(self):
        f()


def steps(env, runner):
    while True:
        runner.collect(env)
        obs, reward, done, info = env.step(1)


def main(env, runner: Runner):
    {main}
"""
EPISODES = "for episode in range(9):\n        runner.collect(env)\n        steps(env, make())"


def test_a_call_by_name_alone_does_not_outdo_a_proven_loop() -> None:
    assert Code(TWICE.format(main="steps(env, make())")).frequency("# A") is Frequency.STEP
    assert Code(TWICE.format(main="steps(env, make())")).frequency("# B") is Frequency.STEP
    assert Code(TWICE.format(main=EPISODES)).frequency("# A") is Frequency.EPISODE
    assert Code(TWICE.format(main=EPISODES)).frequency("# B") is Frequency.EPISODE


@pytest.mark.parametrize(
    ("read", "base", "expected"),
    [
        ("rounds_seen", "", Frequency.STEP),
        ("rounds_seen", "(library.Runner)", Frequency.EPISODE),  # an object of the library may have all of it
        ("seen", "", Frequency.EPISODE),
    ],
)
def test_a_name_outdoes_a_proven_loop_where_much_is_asked_that_one_class_has(
    read: str, base: str, expected: Frequency
) -> None:
    text = f"import library\n{TWICE.format(main=EPISODES)}".replace(
        "class Runner:", f"class Runner{base}:\n    rounds_left, {read} = 9, 0\n"
    )
    text = text.replace("        obs,", f"        print(runner.rounds_left, runner.{read})\n        obs,")
    assert Code(text).frequency("# A") is Code(text).frequency("# B") is expected


def test_a_name_that_outdoes_a_proven_loop_leads_to_what_derived_classes_override() -> None:
    text = TWICE.format(main=EPISODES).replace("class Runner:", "class Runner:\n    rounds_left = rounds_seen = 0\n")
    text = text.replace("        obs,", "        print(runner.rounds_left, runner.rounds_seen)\n        obs,")
    derived = "class Careful(Runner):\n    def prepare(self):\n        f()  # C\n"
    assert Code(text.replace("class Other:", f"{derived}class Other:")).frequency("# C") is Frequency.STEP


PROGRAM = """
import torch


class Program:
    def launch(self):
        f()  # A
        for episode in range(9):
            f()  # B
            self.episode()

    def episode(self):
        while True:
            obs, reward, done, info = self.env.step(1)
            {call}


def main(make):
    Program(make()).launch()
"""


def test_a_call_by_name_alone_leads_from_no_step_to_a_whole_training() -> None:
    code = Code(PROGRAM.format(call="self.app.launch()"))
    assert code.frequency("# A") is Frequency.ONCE
    assert code.frequency("# B") is Frequency.EPISODE


BY_NAME_ALONE = """
class Engine:
    def work(self, x):
        return f(x)  # A
def {name}(thing, x):
    return thing.work(x)
while True:
    env.step({name}(make(), 1))
"""


@pytest.mark.parametrize(("name", "expected"), [("answer", S), ("setup_engine", O)])
def test_what_sets_up_heats_nothing_by_a_name_alone(name: str, expected: Frequency) -> None:
    assert frequencies(BY_NAME_ALONE.format(name=name)) == {"A": expected}


EVALUATING = """
import torch


class Learner:
    def evaluate(self, batches):
        {mode}
        for batch in batches:
            f(self.net(batch))  # A

    def update(self, batch):
        loss = self.net(batch).mean()
        loss.backward()
        self.optimizer.step()


def main(learner: Learner, batches, held_out):
    for batch in batches:
        learner.update(batch)
        if learner.is_due():
            learner.evaluate(held_out)
"""


LEFT_OUT = """
class Trainer:
    def shape(self, x, mask: torch.Tensor = None, scale=1.0):
        {body}
        return x
    def update(self, x, mask=None):
        {call}
        loss.backward()
while True:
    Trainer().update(1)
"""


@pytest.mark.parametrize(
    ("body", "call", "expected"),
    [
        ("if mask:\n            f(x)  # A", "self.shape(x)", {"A": O}),
        ("if mask is not None:\n            f(x)  # A", "self.shape(x, None)", {"A": O}),
        ("if mask is not None and f(1):\n            f(x)  # A", "self.shape(x, mask=mask)", {"A": O}),
        ("if scale != 1.0:\n            f(x)  # A", "self.shape(x)", {"A": O}),
        ("if scale > 2:\n            f(1)\n        else:\n            f(x)  # A", "self.shape(x)", {"A": U}),
        ("if mask:\n            f(x)  # A", "self.shape(x, x > 0)", {"A": U}),
        ("if mask:\n            f(x)  # A", "self.shape(x, **more)", {"A": U}),
        ("if mask:\n            f(x)  # A", "self.shape(x)\n        other.shape(x, x)", {"A": U}),
        (
            "if mask:\n            f(x)  # A",
            "self.shape(x)\n        handed(self.shape)(x, mask=x)",
            {"A": U},
        ),
        ("if scale != 1.0:\n            f(x)  # A", "self.shape(x, scale=2.0)", {"A": U}),
    ],
)
def test_a_parameter_that_all_calls_leave_out_is_its_default(
    body: str, call: str, expected: dict[str, Frequency]
) -> None:
    found = frequencies(LEFT_OUT.format(body=body, call=call))
    assert {mark: found[mark] for mark in expected} == expected


TOKENIZED = """
import torch
class Net(torch.nn.Module):
    def forward(self, input_ids=None, labels=None):
        y = self.body(input_ids)
        if labels is not None:
            loss_fct = {loss}
            return loss_fct(y, labels)  # A
        return y
def train(texts, tokenizer):
    net = Net()
    while True:
        inputs = tokenizer(texts{given}, return_tensors="pt")
        inputs = inputs.to("cuda")
        net(**inputs).mean().backward()
"""


@pytest.mark.parametrize(
    ("loss", "given", "expected"),
    [
        ("torch.nn.MSELoss()", "", O),
        ("torch.nn.MSELoss()", ", text_target=texts", U),
        ("torch.nn.MSELoss()", ", **options", U),
        ("losses['mse']", "", U),
    ],
)
def test_what_a_tokenizer_gives_holds_no_labels(loss: str, given: str, expected: Frequency) -> None:
    """A loss that is not known may be the network itself."""
    assert frequencies(TOKENIZED.format(loss=loss, given=given)) == {"A": expected}


MAPPING = """
class Policy:
    def settings(self, x, mask):
        found = {{"x": x}}
        if mask is not None:
            found["mask"] = mask
        return found
    def act(self, x, mask=None):
        if mask is None:
            mask = f(x)  # A
        return mask
    def update(self, x, mask):
        {call}
        loss.backward()
while True:
    Policy().update(1, 2)
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("given = self.settings(x, mask)\n        self.act(**given)", O),
        ("given = {'x': x}\n        given['mask'] = mask\n        self.act(**given)", O),
        ("given = {'x': x}\n        self.act(**given)", U),
        ("given = self.settings(x, mask)\n        self.act(**given)\n        self.act(x)", U),
        ("given = settings(x, mask)\n        self.act(**given)", U),
    ],
)
def test_a_mapping_with_the_key_of_a_parameter_gives_it(call: str, expected: Frequency) -> None:
    assert frequencies(MAPPING.format(call=call)) == {"A": expected}


STAGES = """
class Stage(nn.Module):
    def __call__(self, board):
        self.board = board
        self.forward()
    def later(self, board):
        self.__call__(board)
    def forward(self):
        raise NotImplementedError
class Gym(Stage):
    def forward(self):
        f(1)  # A
        self.obs, self.reward, self.done, self.info = self.env.step(self.board["action"])
class Attend(Stage):
    def forward(self):
        f(2)  # B
class Act(Stage):
    def forward(self):
        f(3)  # C
class Greedy(Act):
    pass
"""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        # The loop of a test of another class is not a loop over steps, and its objects run nothing of the others.
        ("attend = Attend()\nfor _ in range(5):\n    attend(board)\n", {"A": S, "B": O, "C": O}),
        ("attend = Attend()\nwhile True:\n    attend(board)\n    loss.backward()\n", {"A": S, "B": U, "C": O}),
        ("def run(stage):\n    stage(board)\n    loss.backward()\nwhile True:\n    run(Attend())\n", {"B": U, "C": O}),
        # An object of a class that derives from one runs what this inherits.
        ("act = Greedy()\nwhile True:\n    act(board)\n    loss.backward()\n", {"A": S, "B": O, "C": U}),
        # Who declares no more than the base class means all of them.
        ("def run(stage: Stage):\n    while True:\n        stage(board)\n        loss.backward()\n", {"B": S, "C": S}),
        ("while True:\n    Gym()(board)\n", {"A": S, "B": O, "C": O}),
        # Nothing is seen to call what is built here: a container holds it.
        ("chain = Chain(Attend(), Act())\nattend = Attend()\nattend(board)\n", {"A": S, "B": O, "C": S}),
    ],
)
def test_a_call_in_a_base_class_reaches_what_the_class_of_its_object_overrides(
    calls: str, expected: dict[str, Frequency]
) -> None:
    found = frequencies(STAGES + calls)
    assert {mark: found[mark] for mark in expected} == expected


@pytest.mark.parametrize(
    ("loop", "end", "expected"),
    [
        ("for _ in trange(3):", "", O),
        ("for _ in trange(3):", "steps(env)\n", O),
        ("for _ in range(9):", "steps(env)\n", S),
        ("for _ in range(rounds):", "steps(env)\n", S),
        ("for _ in range(3):", "while True:\n    steps(env)\n", S),
    ],
)
def test_a_handful_of_rounds_of_a_program_is_a_trial(loop: str, end: str, expected: Frequency) -> None:
    body = "    obs, reward, done, info = env.step(1)\n    f(obs)  # A\n"
    inner = "".join(f"    {line}\n" for line in f"{loop}\n{body}".splitlines())
    text = f"{HEAD}def steps(env):\n{inner}{end}" if end else f"{HEAD}{loop}\n{body}"
    assert Code(text).hot("# A").frequency is expected


def test_a_loop_that_shows_each_step_is_no_root_behind_a_wrapper() -> None:
    wrapper = (
        "class Wrapper:\n    def step(self, action):\n        obs, reward, done, info = self.env.step(action)\n"
        "        return obs, reward, done, info\n"
    )
    loop = "show = Wrapper()\nwhile True:\n    obs, reward, done, info = show.step(1)\n    f(obs)  # A\n"
    code = HEAD + wrapper + loop
    assert Code(code).hot("# A").frequency is S
    assert Code(code + "    plt.imshow(obs)\n").hot("# A").frequency is O


def test_the_path_through_a_base_class_keeps_to_the_class_of_the_object() -> None:
    text = (
        HEAD
        + STAGES
        + (
            "class Later(Stage):\n    def forward(self):\n        f(4)  # D\n"
            "attend = Attend()\nlater = Later()\n"
            "while True:\n    attend(board)\n    loss.backward()\n"
            "for batch in batches:\n    later.later(batch)\n    loss.backward()\n"
        )
    )
    code = Code(text)
    assert [hop.name for hop in code.hot("# B").path] == ["loop", "Stage.__call__", "Attend.forward"]
    assert [hop.name for hop in code.hot("# D").path] == ["loop", "Stage.later", "Stage.__call__", "Later.forward"]


DRIVER = """
def run(agent, env):
    agent = f(agent)  # A
    obs, reward, done, info = env.step(agent.first())
    for _ in range(9):
        obs, reward, done, info = env.step(agent.act(obs))  # B
def main():
    agent = f(1)  # C
    {call}
"""


@pytest.mark.parametrize(
    ("call", "end", "expected"),
    [
        ("run(agent, env)", 'if __name__ == "__main__":\n    main()\n', {"A": O, "B": S, "C": O}),
        ("run(agent, env)", "@click.command()\ndef command():\n    main()\ncommand()\n", {"A": O, "B": S, "C": O}),
        # Someone else's loop may run it, but then once for a loop of steps.
        ("run(agent, env)", "", {"A": O, "B": S, "C": O}),
        ("every(run)", "run(1, env)\nmain()\n", {"A": O, "B": S}),
        ("[run(agent, env) for _ in range(9)]", "main()\n", {"A": O, "B": S}),
    ],
)
def test_what_a_program_runs_once_is_set_up_outside_of_its_loop(
    call: str, end: str, expected: dict[str, Frequency]
) -> None:
    found = frequencies(DRIVER.format(call=call) + end)
    assert {mark: found[mark] for mark in expected} == expected


SETTING_UP = """
def update(agent, batch):
    loss = agent.loss(batch)
    loss.backward()
def main():
    agent = f(1)  # A
    update(agent, next(batches))
    for batch in batches:
        update(agent, batch)  # B
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("from absl import app\ndef main(_): pass\napp.run(main)\n", O),
        ("from absl import app\nfrom code import main\napp.run(main)\n", U),
    ],
)
def test_a_main_function_of_another_file_that_is_handed_on_says_nothing_of_this_one(
    other: str, expected: Frequency
) -> None:
    assert frequencies({"code.py": HEAD + SETTING_UP, "other.py": other}) == {"A": expected, "B": U}


def test_a_method_that_begins_an_episode_for_a_subclass_is_a_reset_too() -> None:
    text = """
class Worlds:
    def act(self, action):
        self._reset()
        return self.env.step(action)
    def _reset(self):
        f(1)  # A
"""
    assert frequencies(text) == {"A": E}


RESTORING = """
class World:
    def {name}(self, saved):
        self.state.copy_(saved)
        self.env.step(saved)

class Judge:
    def __init__(self, world):
        self.world = world
    def {judge}(self):
        f(1)  # A
        self.world.{name}(self.saved)

class Learner:
    def __init__(self, env):
        self.env, self.world = env, World()
        self.judge = Judge(self.world)
    def fit(self):
        while self.epoch < self.epochs:
            for step in range(self.steps):
                obs, reward, done, info = self.env.step(self.act())
            f(2)  # B
            {due} = self.judge is not None and (self.scheduled or self.loaded)
            if {due}:
                self.judge.{judge}()
"""


@pytest.mark.parametrize(
    ("name", "judge", "due", "expected"),
    [
        ("restore_state", "look", "due", E),
        ("put", "evaluate", "should_evaluate", E),
        ("put", "look", "due", S),
    ],
)
def test_a_step_back_to_a_saved_state_or_in_an_evaluation_makes_no_loop_of_steps(
    name: str, judge: str, due: str, expected: Frequency
) -> None:
    code = RESTORING.format(name=name, judge=judge, due=due)
    assert Code(code).frequency("# B") is expected


def test_an_evaluation_is_no_update_however_it_is_called() -> None:
    for mode in ("self.net.eval()", "torch.set_grad_enabled(False), torch.no_grad()", "self.net.train(False)"):
        assert Code(EVALUATING.format(mode=mode)).frequency("# A") is Frequency.EPISODE
    assert Code(EVALUATING.format(mode="pass")).frequency("# A") > Frequency.EPISODE
    own = EVALUATING.replace("(self, batches)", "(self)").replace("evaluate(held_out)", "evaluate()")
    assert Code(own.format(mode="batches = self.data")).frequency("# A") is Frequency.EPISODE
    held_out = EVALUATING.replace("in batches:\n            f(", "in self.eval_batches:\n            f(")
    assert Code(held_out.format(mode="pass")).frequency("# A") is Frequency.EPISODE
    chances = EVALUATING.format(mode="torch.no_grad()").replace("evaluate(", "evaluate_actions(")
    assert Code(chances).frequency("# A") > Frequency.EPISODE


def test_a_trainer_that_is_given_rollouts_makes_many_updates_of_each() -> None:
    text = "import torch\nfor batch in batches:\n    ppo_trainer.step({given})\n    f(batch)  # A\n"
    assert Code(text.format(given="queries, answers, rewards")).frequency("# A") is Frequency.ONCE
    assert Code(text.format(given="64")).frequency("# A") is Frequency.UPDATE


ITERATIONS = """
import torch


class Agent:
    def collect(self, env):
        for t in range(128):
            obs, reward, done, info = env.step(1)

    def answers(self, prompts):
        return [self.answer(prompt) for prompt in prompts]

    def answer(self, prompt):
        return self.policy.generate(prompt, max_new_tokens=9)

    def parse(self, texts):
        return self.parser.generate(texts)

    def learn(self):
        f()  # A
        self.loss.backward()
        self.optimizer.step()


def main(agent: Agent, env, policy):
    for iteration in range(9):
        {rollout}
        f()  # B
        agent.learn()
"""


@pytest.mark.parametrize(
    ("rollout", "expected"),
    [
        ("agent.collect(env)", U),
        ("for t in range(9):\n            obs, reward, done, info = env.step(1)", U),
        ("policy.generate(prompts)", O),
        ("agent.answers(prompts)", O),
        ("agent.parse(prompts)", U),
        ("pass", U),
    ],
)
def test_a_loop_in_which_a_model_generates_is_no_loop_over_updates(rollout: str, expected: Frequency) -> None:
    code = Code(ITERATIONS.format(rollout=rollout))
    assert code.frequency("# A") is U
    assert min(code.frequency("# B"), U) is (U if expected is U else Frequency.EPISODE)


INHERITING = """
import torch


class Base:
    def train(self):
        for epoch in range(9):
            self.round()

    def round(self):
        for batch in self.loader:
            self.fit(batch)
            self.optimizer.step()

    def fit(self, batch):
        f(batch)  # A


class Inheriting(Base):
    def fit(self, batch):
        f(batch)  # B


class Overriding(Base):
    def round(self):
        {first}
        self.fit(self.data)
        for batch in self.loader:
            self.optimizer.step()

    def fit(self, batch):
        f(batch)  # C


class Below(Overriding):
    {more}
    def fit(self, batch):
        f(batch)  # D
"""


@pytest.mark.parametrize(
    ("first", "more", "expected"),
    [
        ("pass", "", {"# A": U, "# B": U, "# C": E, "# D": E}),
        ("super().round()", "", {"# A": U, "# B": U, "# C": U, "# D": U}),
        ("pass", "def round(self):\n        Base.round(self)\n", {"# A": U, "# B": U, "# C": U, "# D": U}),
        ("pass", "def round(self):\n        super().round()\n", {"# A": U, "# B": U, "# C": E, "# D": E}),
        ("[super(Overriding, self).round() for _ in range(1)]", "", {"# C": U, "# D": U}),
    ],
)
def test_a_method_calls_only_what_objects_have_that_run_it(
    first: str, more: str, expected: Mapping[str, Frequency]
) -> None:
    code = Code(INHERITING.format(first=first, more=more))
    assert {mark: code.frequency(mark) for mark in expected} == expected


CONSTRUCTING = """
class Agent:
    @classmethod
    def default(cls, env):
        first = f(1)  # A
        obs, reward, done, info = env.step(first)
        return {made}


{use}
"""


@pytest.mark.parametrize(
    ("made", "use", "expected"),
    [
        ("cls(obs)", "", O),
        ("cls(obs)", "agent = Agent.default(env)", O),
        ("cls(obs)", "while True:\n    agent = Agent.default(env)", S),
        ("obs", "", S),
    ],
)
def test_a_class_method_that_makes_an_object_is_no_step_by_itself(made: str, use: str, expected: Frequency) -> None:
    assert Code(CONSTRUCTING.format(made=made, use=use)).frequency("# A") is expected


TRAINERS = """
import torch


class Trainer:
    def __init__(self, agent):
        self.agent = agent


class EachStep(Trainer):
    def __init__(self, agent):
        super().__init__(agent)

    def train(self, env):
        while True:
            obs, reward, done, info = env.step(self.agent.act(obs))
            self.agent.update(obs)


class EachEpoch(Trainer):
    def train(self, env):
        for _ in range(9):
            for _ in range(999):
                obs, reward, done, info = env.step(self.agent.act(obs))
            self.agent.update(obs)


class Quick:
    def update(self, obs):
        f(obs)  # A
        self.loss(obs).backward()


class Slow:
    def update(self, obs):
        f(obs)  # B
        for _ in range(9):
            self.loss(obs).backward()


EachStep(Quick()).train(env)
EachEpoch(Slow()).train(env)
"""


def test_a_trainer_runs_the_agent_that_it_is_given() -> None:
    code = Code(TRAINERS)
    assert code.frequency("# A") is S
    assert code.frequency("# B") is Frequency.EPISODE


HELD = """
class Loss:
    def __call__(self, batch):
        return self.part(batch)

    def part(self, batch):
        return f(batch)  # A


class Mine(Loss):
    def part(self, batch):
        return f(batch)  # B


class Other(Loss):
    def part(self, batch):
        return f(batch)  # C


class Agent:
    def __init__(self):
        self.loss = Mine()
        self.spare = Other()

    def update(self, batch):
        {update}


agent = Agent()
for batch in batches:
    agent.update(batch)
"""


@pytest.mark.parametrize(
    "update",
    ["self.loss(batch).backward()", "def closure():\n            self.loss(batch).backward()\n        closure()"],
)
def test_an_object_that_is_called_keeps_to_its_own_class(update: str) -> None:
    code = Code(HELD.format(update=update))
    assert code.frequency("# B") is U
    assert code.frequency("# C") is O


ANNOTATED = """
from torch import nn


class Actor(nn.Module):
    def forward(self, x):
        return f(x)  # A


class Decoder(nn.Module):
    def forward(self, x):
        return f(x)  # B


class World:
    def rollout(self, actor: nn.Module, x):
        for _ in range(9):
            x = actor(x)
        return x


class Learner:
    def __init__(self):
        self.world, self.actor, self.decoder = World(), Actor(), Decoder()

    def update(self, x):
        self.decoder(self.world.rollout({given}, x)).mean().backward()


learner = Learner()
for x in batches:
    learner.update(x)
"""


@pytest.mark.parametrize(("given", "decoding"), [("self.actor", U), ("found", I)])
def test_a_module_that_is_passed_is_what_a_parameter_calls(given: str, decoding: Frequency) -> None:
    code = Code(ANNOTATED.format(given=given))
    assert code.frequency("# A") is (I if given == "self.actor" else decoding)
    assert code.frequency("# B") is decoding


UNCALLED = """
class {name}(nn.Module):
    def forward(self, x, y{more}):
        {body}
        return f(x)  # A
class Agent:
    def __init__(self, device):
        self.part = {name}().to(device)
"""


@pytest.mark.parametrize(
    ("name", "more", "body", "expected"),
    [
        ("Policy", "", "pass", S),
        ("TripletLoss", "", "pass", U),
        ("WCriterion", "", "pass", U),
        ("Glossary", "", "pass", S),
        ("Planner", "", "loss = self.inner.actor_loss(x)", U),
        ("Planner", "", "x = nn.functional.cross_entropy(x, y)", U),
        # A language model also runs without labels.
        ("Head", ", labels=f(1)", "if labels is not None:\n            x = self.loss(x, y)", S),
    ],
)
def test_a_module_that_computes_a_loss_runs_once_per_update(
    name: str, more: str, body: str, expected: Frequency
) -> None:
    assert frequencies(UNCALLED.format(name=name, more=more, body=body)) == {"A": expected}


def test_a_loop_that_runs_a_method_is_a_better_witness_than_a_module_of_which_no_call_is_known() -> None:
    text = """
        from torch import nn
        def helper(x):
            return f(x)  # A
        class Planner(nn.Module):
            def forward(self, x):
                return helper(x)
        planner = Planner()
        def act(x):
            return helper(x)
        while True:
            env.step(act(1))
        """
    assert [hop.name for hop in Code(text).hot("# A").path] == ["loop", "act", "helper"]


FITTING = """
class Plain:
    def learn(self, batch):
        loss = batch.mean()  # A
        loss.backward()

class Epochs:
    def learn(self, batch):
        old = batch.mean()  # B
        for epoch in range(9):
            self.optimizer.step()  # C
        self.log(old)
    def log(self, old):
        print(old)  # D

class Nested:
    def learn(self, batch):
        batch.prepare()  # F
        self.fit(batch)
    def fit(self, batch):
        batch.look()  # G
        while True:
            self.optimizer.step()

class Twins:
    def learn(self, batch):
        batch.mean()  # H
        for critic in self.critics:
            critic.loss(batch).backward()

class Both:
    def learn(self, batch):
        batch.mean()  # J
        self.optimizer.step()
        for _ in range(self.extra):
            self.optimizer.step()

class Deep:
    def learn(self, batch):
        batch.mean()  # K
        self.optimizer.step()
        for epoch in range(9):
            for part in batch:
                self.optimizer.step()

def make(name):
    if name == "plain":
        return Plain()
    if name == "epochs":
        return Epochs()
    if name == "nested":
        return Nested()
    if name == "twins":
        return Twins()
    return Both() if name == "both" else Deep()

agent = make(name)
for round in range(9):
    batch = rollout()
    agent.learn(batch)
"""


@pytest.mark.parametrize(("rolls", "expected"), [("env.step(x)", E), ("f(x)", S)])
def test_a_function_that_steps_and_learns_in_loops_is_no_part_of_a_step(rolls: str, expected: Frequency) -> None:
    code = Code(f"""
        def main(env):
            while True:
                env.step(0)
                fit(env)
        def fit(env):
            f(1)  # A
            for x in range(1000):
                for y in range(10):
                    {rolls}
                for y in range(10):
                    loss(y).backward()
        main(make())
    """)
    assert code.frequency("# A") is expected


def test_a_function_with_its_own_loop_of_updates_runs_once_per_iteration() -> None:
    found = frequencies(FITTING)
    assert found == {"A": U, "B": E, "C": U, "D": E, "F": U, "G": E, "H": U, "J": U, "K": E}


ADDED_UP = """
def add_up(model, batch, optimizer):
    f(batch)  # A
    for token in batch:
        loss = model(token).mean()
        {inside}

for batch in batches:
    for part in batch:
        add_up(model, part, optimizer)
    loss = model(batch).mean()
    {around}
"""


@pytest.mark.parametrize(
    ("inside", "around", "expected"),
    [
        ("loss.backward()", "optimizer.step()", U),
        ("accelerator.backward(loss)", "optimizer.step()", U),
        ("loss.backward(); optimizer.step()", "optimizer.step()", E),
        ("loss.backward()", "loss.backward()", E),
        ("loss.backward(); learn(loss)", "optimizer.step()", E),
    ],
)
def test_a_function_that_only_adds_up_gradients_in_its_loop_is_a_part_of_an_update(
    inside: str, around: str, expected: Frequency
) -> None:
    head = "import torch\n\ndef learn(loss):\n    loss.backward()\n"
    assert Code(head + ADDED_UP.format(inside=inside, around=around)).frequency("# A") is expected


CHOSEN = """
def sample(obs, explore, noise=False, mode="mean", ratio=-1):
    if ratio > 0:
        f(0)  # L
    if ratio != -1:
        f(0)  # M
    if explore:
        f(1)  # A
    else:
        f(2)  # B
    if not noise:
        f(3)  # C
    x = f(4) if noise else 0  # D
    if mode == "mean":
        f(5)  # F
    if obs is None:
        return 0
    if mode != "full":
        return 1
    f(6)  # G
    obs = f(obs)
    if explore and obs:
        f(7)  # H
    return deep(obs, explore)

def deep(obs, explore):
    if explore:
        f(8)  # J
    return f(9)  # K

while True:
    env.step(sample(env, True))
for batch in batches:
    sample(batch, False, mode="full", ratio=2).backward()
    sample(batch, batch > 1, mode=batch).backward()
"""


def test_a_branch_runs_as_often_as_the_calls_that_choose_it() -> None:
    found = frequencies(CHOSEN)
    assert found == {"A": S, "B": U, "C": S, "D": S, "F": S, "G": U, "H": U, "J": U, "K": U, "L": U, "M": U}


@pytest.mark.parametrize("module", ["'pkg.losses'", "f'pkg.{name}'", "'pkg.' + name"])
def test_a_module_that_is_imported_by_name_is_connected(module: str) -> None:
    files = {
        "pkg/losses.py": "class A:\n    def loss(self, x):\n        return f(x)  # A\n",
        "pkg/__init__.py": "",
        "main.py": f"""
import importlib
def make(name, settings):
    return getattr(importlib.import_module({module}), settings.loss)(settings)
def run(batches, name, settings):
    chosen = make(name, settings)
    for batch in batches:
        chosen.loss(batch).backward()
run(batches, name, settings)
""",
    }
    assert frequencies(files) == {"A": U}


@pytest.mark.parametrize(("text", "frequency"), [("agents.sac:Sac", U), ("agents.sac", O), ("worlds.sac:Sac", O)])
def test_a_module_of_which_a_part_is_registered_by_a_text_is_connected(text: str, frequency: Frequency) -> None:
    files = {
        "agents/sac.py": """
from runner import Runner
class Sac:
    def __init__(self):
        self.runner = Runner(self)
    def choose(self, obs, features):
        return f(obs)  # A
""",
        "agents/ppo.py": """
from runner import Runner
class Ppo:
    def __init__(self):
        self.runner = Runner(self)
    def choose(self, obs, features):
        return g(obs)
""",
        "agents/__init__.py": f"""
from registry import register
register(name="SAC", entry_point="{text}")
register(name="PPO", entry_point="agents.ppo:Ppo")
""",
        "runner.py": """
class Runner:
    def __init__(self, policy):
        self.policy = policy
    def run(self, batches):
        for batch in batches:
            self.policy.choose(batch, None).backward()
""",
        "registry.py": "known = {}\ndef register(name, entry_point):\n    known[name] = entry_point\n",
    }
    assert frequencies(files) == {"A": frequency}


LOADING = {
    "with the name of the package": "__import__(f'{__name__}.{name}', fromlist=[None])",
    "behind a name": "path = __name__ + '.' + name\n    importlib.import_module(path)",
    "relative": "importlib.import_module('.' + name, package=__package__)",
    "by format": "importlib.import_module('agents.{}'.format(name))",
    "with a remainder": "importlib.import_module('agents.%s' % name)",
    "by a name that is not known": "importlib.import_module(name)",
    "another package": "importlib.import_module('worlds.%s' % name)",
    "a text": "importlib.import_module('agents')",
}


@pytest.mark.parametrize("how", LOADING)
def test_a_package_that_loads_its_modules_by_name_is_connected_with_them(how: str) -> None:
    files = {
        "agents/ppo.py": "class Ppo:\n    def loss(self, batch):\n        return f(batch)  # A\n",
        "agents/__init__.py": f"""
import importlib, inspect, os
made = {{}}
for name in os.listdir("agents"):
    {LOADING[how]}
def make(name):
    return made[name]()
""",
        "main.py": """
from agents import make
def main():
    agent = make("ppo")
    for batch in batches:
        agent.loss(batch).backward()
main()
""",
    }
    assert frequencies(files) == {"A": O if how in ("another package", "a text") else U}


@pytest.mark.parametrize("how", ["import_module('..losses')", "import_module('..losses', package=__package__)"])
def test_two_dots_of_a_module_that_is_loaded_lead_to_the_package_above(how: str) -> None:
    files = {
        "pkg/losses.py": "def ppo(batch):\n    return f(batch)  # A\n",
        "pkg/__init__.py": "",
        "pkg/agents/__init__.py": "",
        "pkg/agents/base.py": f"""
import importlib
def loss(name, batch):
    return getattr(importlib.{how}, name)(batch)
""",
        "main.py": "from pkg.agents.base import loss\nfor batch in batches:\n    loss('ppo', batch).backward()\n",
    }
    assert frequencies(files) == {"A": U}


def test_a_package_whose_list_of_exports_is_computed_hands_on_its_modules() -> None:
    files = {
        "agents/ppo.py": "def loss(batch):\n    return f(batch)  # A\n",
        "agents/__init__.py": "import glob\n__all__ = [path[:-3] for path in glob.glob('*.py')]\n",
        "main.py": "from agents import *\nfor batch in batches:\n    ppo.loss(batch).backward()\n",
    }
    assert frequencies(files) == {"A": U}


RANKS = """
for step, batch in enumerate(batches):
    batch.backward()
    if dist.get_rank() % 8 == 0:
        f(1)  # A
    if args.local_rank % 2 != 0:
        f(2)  # B
    if (step + args.rank) % 8 == 0:
        f(3)  # C
    if step % 8 == 0:
        f(4)  # D
"""


def test_a_remainder_of_the_number_of_a_process_is_no_interval() -> None:
    assert frequencies(RANKS) == {"A": U, "B": U, "C": O, "D": O}


FILLED = """
from functools import partial
def plain(x):
    return f(1)  # A
def scaled(x, scale, shift=0):
    return f(2)  # B
def clipped(x, most):
    return f(3)  # C
def loss(kind, x):
    if kind == "plain":
        chosen = plain
    if kind == "scaled":
        chosen = partial(scaled, scale=2, shift=1)
    if kind == "clipped":
        chosen = partial(clipped, most=1)
    return chosen(x)
for batch in batches:
    loss(kind, batch).backward()
"""


def test_one_of_several_functions_runs_also_where_arguments_of_some_are_filled_in() -> None:
    assert frequencies(FILLED) == {"A": U, "B": U, "C": U}


KEYWORDS_HANDED_ON = """
class Reward:
    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

class Score(Reward):
    def forward(self, texts, mode):
        if mode == "train":
            f(1)  # A
        elif mode == "infer":
            f(2)  # B
        print(*texts)
        return f(3)  # C

class Trainer:
    def __init__(self, reward: Score):
        self.reward = reward
    def score(self, batch, mode="infer"):
        return self.reward(**batch, mode=mode)
    def evaluate(self, held_out):
        for batch in held_out:
            self.score(batch)
    def fit(self, batches, held_out):
        for step, batch in enumerate(batches):
            self.score(batch, mode="train").backward()
        self.evaluate(held_out)
"""


def test_a_branch_is_chosen_through_a_function_that_hands_on_its_keywords() -> None:
    assert frequencies(KEYWORDS_HANDED_ON) == {"A": U, "B": O, "C": U}


def test_the_path_leads_through_a_call_that_chooses_the_branch() -> None:
    code = Code(HEAD + CHOSEN)
    rows = code.texts["code.py"].splitlines()
    assert [rows[hop.row - 1] for hop in code.hot("# B").path] == ["for batch in batches:", rows[4]]
    assert rows[4].startswith("def sample")


def test_a_branch_that_a_later_caller_chooses_becomes_hot() -> None:
    text = """
def sample(obs, explore):
    if explore:
        look(obs)
def look(obs):
    f(1)  # A
def third(env):
    sample(env, True)
def second(env):
    third(env)
def first(env):
    second(env)
while True:
    env.step(sample(env, False))
    first(env)
"""
    assert frequencies(text) == {"A": S}


SET_UP = """
class Runner:
    def run(self):
        model = make(1)  # A
        obs, *rest = self.env.step(0)
        self.wait()
        for generation in range(9):
            found = make(2)  # B
            while True:
                obs, *rest = self.env.step(model(obs))  # C
    def wait(self):
        make(3)  # D
        self.env.step(1)

class Stepper:
    def once(self):
        make(4)  # F
        obs, *rest = self.env.step(0)
"""


def test_what_stands_before_a_loop_of_steps_is_set_up() -> None:
    assert frequencies(SET_UP) == {"A": O, "B": E, "C": S, "D": S, "F": S}


CRITERIA = """
class Net(nn.Module):
    def forward(self, x, labels=None):
        return f(x)  # A
class TripletLoss(nn.Module):
    def forward(self, x):
        return f(x)  # B
class Wing(nn.Module):
    def forward(self, x, targets):
        return f(x)  # C
class Lossless(nn.Module):
    def forward(self, x):
        return f(x)  # D
parts = nn.ModuleList([Net(), TripletLoss(), Wing(), Lossless()])
"""


def test_a_loss_without_a_caller_runs_once_per_update() -> None:
    assert frequencies(CRITERIA) == {"A": S, "B": U, "C": U, "D": S}


COLLECTED = """
env = gym.make("a")
for episode in range(9):
    obs, rewards, marked, mixed = env.reset(), [], [], [0]
    kept = []
    while True:
        obs, reward, done, info = env.step(act(obs))
        fresh = []
        fresh.append(reward)
        rewards.append(reward)
        mixed.append(reward)
        if reward > 1:
            marked.append(reward)
        if done:
            break
    for reward in rewards[::-1]:
        f(reward)  # A
    for index, (reward, _) in enumerate(zip(rewards, rewards)):
        kept += [f(reward)]  # B
    for reward in marked:
        f(reward)  # C
    for reward in mixed:
        f(reward)  # D
    for reward in rewards[-10:]:
        f(reward)  # F
    if episode % 10 == 0:
        print([g(reward) for reward in rewards])  # G
    rewards = shorter(rewards)
    for reward in rewards:
        f(reward)  # H
    for reward in fresh:
        f(reward)  # J
"""


def test_a_loop_over_what_a_loop_collects_has_as_many_rounds() -> None:
    assert frequencies(COLLECTED) == {"A": S, "B": S, "C": E, "D": E, "F": E, "G": O, "H": E, "J": E}


COLLECTED_BY_KEY = """
def learn(batches, steps):
    found = {"loss": [], "norm": [], "rare": [], "cut": [], "full": [0], "late": []}
    counted = defaultdict(list)
    for _ in range(steps):
        loss = criterion(batches.sample())
        loss.backward()
        norm = optimizer.step()
        if steps == 1:
            found["loss"].append(loss.item())
        else:
            found["loss"].append(loss)
        with torch.no_grad():
            found["norm"].append(norm)
        if norm > 1:
            found["rare"].append(norm)
        found["cut"].append(norm)
        found["cut"] = found["cut"][-9:]
        found["full"].append(norm)
        found["late"].append(norm)
        counted["loss"].append(loss)
    for loss in found["loss"]:
        f(loss)  # A
    found["loss"] = []
    for norm in found["norm"]:
        f(norm)  # B
    for norm in found["rare"]:
        f(norm)  # C
    for norm in found["cut"]:
        f(norm)  # D
    for norm in found["full"]:
        f(norm)  # F
    for loss in counted["loss"]:
        f(loss)  # G
    for norm in found["other"]:
        f(norm)  # H
    found = others(found)
    for norm in found["late"]:
        f(norm)  # J
for epoch in range(9):
    learn(epoch, 3)
"""


def test_a_list_under_a_key_of_a_dict_is_collected_too() -> None:
    assert frequencies(COLLECTED_BY_KEY) == {"A": U, "B": U, "C": E, "D": E, "F": E, "G": U, "H": E, "J": E}


TYPED = """
import numpy as np
def predict(x):
    if not isinstance(x, torch.Tensor):
        x = f(1)  # A
    return x
def value(x):
    if type(x) == torch.Tensor:
        return f(2)  # B
    return f(3)  # C
def score(x):
    if isinstance(x, np.ndarray):
        f(4)  # D
    if torch.is_tensor(x):
        f(5)  # F
for batch in batches:
    obs = torch.zeros(3)
    predict(obs).backward()
    value(obs).backward()
    score(batch)
while True:
    env.step(value(np.zeros(3)))
    score(np.zeros(3))
predict(torch.ones(2))
"""


def test_a_branch_for_a_type_runs_as_often_as_calls_give_that_type() -> None:
    assert frequencies(TYPED) == {"A": O, "B": U, "C": S, "D": S, "F": U}


ASKED = """
class Loss:
    def loss(self, batch):
        raise NotImplementedError
class Shown:
    def loss(self, batch):
        f(batch)  # Z
{losses}
for batch in batches:
    for each in losses():
        if isinstance(each, Loss):
            each.loss(batch).backward()
"""


def test_a_test_of_a_class_says_whose_method_is_called() -> None:
    losses = "".join(
        f"class Loss{mark}(Loss):\n    def loss(self, batch):\n        return f(batch)  # {mark}\n"
        for mark in "ABCDFGH"
    )
    assert frequencies(ASKED.format(losses=losses)) == {**dict.fromkeys("ABCDFGH", U), "Z": O}


TOLD = """
import numpy as np
from functools import partial
def ended(obs):
    if torch.is_tensor(obs):
        f(1)  # A
    return f(2)  # B
while True:
    env.step(ended(np.zeros(3)))
"""


@pytest.mark.parametrize(
    ("elsewhere", "expected"),
    [
        ("dict(obs=x)", O),
        ("class Batch: obs: int\nBatch(obs=x)", O),
        ("def g(h): h(obs=x)", O),  # nothing hands ``ended`` on, so ``h`` is something else
        ("def g(h): h(obs=x)\nchosen = {1: ended}", S),
        ("def g(h): h(obs=x)\nnamed = 'ended'", S),
        ("partial(x, obs=x)", O),
        ("partial(ended, obs=x)", S),
    ],
)
def test_a_call_of_what_may_not_be_a_function_gives_it_no_argument(elsewhere: str, expected: Frequency) -> None:
    assert frequencies(TOLD + elsewhere + "\n") == {"A": expected, "B": S}


TOKENS = """
def generate(model, ids, length):
    for _ in range(length):
        logits = model(ids)  # A
        new = logits[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], dim=-1)
    return ids  # B

def plan(actions, horizon):
    for _ in range(horizon):
        actions = torch.cat([actions, f(actions).argmax(-1)])  # C
    return actions

@torch.no_grad()
def evaluate(model, eval_prompts):
    for prompt in eval_prompts:
        show(model, prompt)

def show(model, tokens):
    cache = None
    for _ in range(9):
        tokens, cache = next_token(model, tokens, past_key_values=cache)  # D

def train(model, optimizer, prompts):
    for batch in prompts:
        answers = generate(model, batch, 8)
        plan(answers, 4)
        for _ in range(2):
            model(answers).backward()
            optimizer.step()
        evaluate(model, prompts)
"""


def test_a_loop_over_tokens_is_hot_in_a_rollout_but_not_in_an_evaluation() -> None:
    assert frequencies(TOKENS) == {"A": S, "B": E, "C": E, "D": E}
    assert Code(HEAD + TOKENS).hot("# A").phrase == "once per token"


def test_a_loop_over_tokens_that_no_training_reaches_is_not_hot() -> None:
    alone = TOKENS.partition("def train")[0] + "generate(model, ids, 9)\n"
    assert frequencies(alone) == {"A": O, "B": O, "C": O, "D": O}


ROLLING = """
def sample(net, tokens):
    for _ in range(9):
        tokens = torch.cat([tokens, net(tokens)[:, -1:].argmax(-1)], dim=-1)  # A
    return tokens

class Answers(nn.Module):
    def forward(self, prompts):
        self.begin(prompts)  # D
        for prompt in prompts:
            self.keep(sample(self.net, prompt))  # B

class Policy(nn.Module):
    def forward(self, x):
        return f(x)  # C

parts = nn.ModuleList([Answers(), Policy()])
"""


def test_a_forward_that_goes_over_rollouts_runs_once_per_rollout() -> None:
    assert frequencies(ROLLING) == {"A": I, "B": S, "C": S, "D": E}


def test_a_forward_that_holds_a_loop_of_updates_is_no_pass_that_something_calls() -> None:
    training = """
class Learner(nn.Module):
    def forward(self):
        self.net.train()  # A
        for batch in self.batches:
            self.net(batch).backward()  # B
            self.optimizer.step()

learner = Learner()
"""
    assert frequencies(training) == {"A": O, "B": U}


@pytest.mark.parametrize(("begins", "found"), [("for cycle in range(n)", {"A": O, "B": E, "C": U}), ("if n", {"A": S})])
def test_a_forward_that_calls_a_loop_of_updates_in_each_cycle_is_no_pass(begins: str, found: dict[str, object]) -> None:
    training = f"""
class Learner(nn.Module):
    def learn(self, batches):
        f(1)  # B
        for batch in batches:
            self.net(batch).backward()  # C
            self.optimizer.step()
    def forward(self, n):
        f(2)  # A
        {begins}:
            self.learn(self.collect())

learner = Learner()
"""
    assert frequencies(training).items() >= found.items()


def test_without_an_environment_a_forward_runs_once_per_forward_pass() -> None:
    assert Code(HEAD + ROLLING).hot("# C").phrase == "once per forward pass"
    stepping = ROLLING + "while True:\n    obs, reward, done, info = env.step(parts(obs))\n"
    assert Code(HEAD + stepping).hot("# C").phrase == "once per environment step"


MOVING = """
class Engine:
    def {name}(self):
        f(1)  # A
class Trainer:
    def learn(self, engine):
        for batch in batches:
            engine.{name}()
            optimizer.step()
"""


@pytest.mark.parametrize("name", ["onload", "offload_weights", "empty_cache", "wake_up", "release_memory_buffers"])
def test_what_makes_room_for_another_phase_is_not_hot_by_its_name_alone(name: str) -> None:
    text = MOVING.format(name=name)
    assert frequencies(text) == {"A": O}
    assert frequencies(text.replace("engine):", "engine: Engine):")) == {"A": U}
    assert frequencies(MOVING.format(name="advance")) == {"A": U}


TWO_WRAPPERS = """
import torch

class First:
    def __init__(self, task: Task):
        self.task = task
    def step(self, actions):
        obs, reward, done, info = self.task.step(actions)
        return obs

class Second:
    def __init__(self, task: Task):
        self.inner = task
    def step(self, actions):
        actions = actions + 1
        obs, reward, done, info = self.inner.step(actions)
        return obs

class Task:
    def step(self, actions):
        return f(actions)  # A

{after}
"""


@pytest.mark.parametrize("after", ["env = {}(Task())", "TASKS = {{'env': {}}}", "TASKS = ['{}']"])
@pytest.mark.parametrize("name", ["First", "Second"])
def test_a_class_that_no_code_mentions_is_the_worst_witness(after: str, name: str) -> None:
    code = Code(TWO_WRAPPERS.format(after=after.format(name)))
    found = code.analyses[Heat].at(code.file(), code.node("f(actions)"))
    assert [hop.name for hop in found.path] == [f"{name}.step", "Task.step"]


OWN_ENVIRONMENT = """
import torch

class Simulator:
    def reset(self):
        return f(1)  # A
    def step(self, {actions}):
        self.move()
        return {given}
    def move(self):
        f(2)  # B
"""


@pytest.mark.parametrize(
    ("given", "actions", "expected"),
    [
        ("self.obs, self.reward, self.done, {}", "actions", S),
        ("self.obs, self.reward, self.done", "actions", S),
        ("self.obs, self.state", "actions", O),
        ("self.obs", "actions", O),
        ("self.obs, self.reward, self.done, {}", "", O),
    ],
)
def test_a_class_with_the_methods_of_an_environment_is_one(given: str, actions: str, expected: Frequency) -> None:
    code = Code(OWN_ENVIRONMENT.format(given=given, actions=actions))
    assert (code.frequency("# A"), code.frequency("# B")) == (O, expected)


RATES = """
import torch
from torch import nn

def main(env, batches):
    policy = Policy()
    learner = Learner(load(env)) if env.saved else Learner(policy)
    for step in range(100):
        env.step(policy.act(step))
    learner.update(batches)

class Head(nn.Module):
    def forward(self, x):
        return f(x)  # A

class Policy:
    def __init__(self):
        self.head = Head()
    def act(self, x):
        return self.head(x)

class Learner:
    def __init__(self, policy):
        self.policy = policy
    def update(self, batches):
        for batch in batches:
            self.losses(batch).backward()
    def losses(self, batch):
        return sum(self.policy.act(part) for part in batch)
"""


def test_the_path_is_that_of_the_object_that_runs_as_often_as_is_said() -> None:
    code = Code(RATES)
    found = code.analyses[Heat].at(code.file(), code.node("f(x)"))
    assert found.frequency is I
    assert [hop.name for hop in found.path] == ["loop", "Learner.losses", "Policy.act", "Head.forward"]


DUE = """
import torch

class Agent:
    def is_due(self):
        return {given}
    def step(self, x):
        if self.is_due():
            f(x)  # A

agent = Agent()
while True:
    agent.step(env.step(1))
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("self.count % self.every == 0 and self.count >= self.start", O),
        ("self.count >= self.start", S),
        ("len(self.memory) > 100", S),
    ],
)
def test_a_method_that_tells_an_interval_is_one(given: str, expected: Frequency) -> None:
    assert Code(DUE.format(given=given)).frequency("# A") is expected


HANDED_ON = """
class Learner:
    def train(self, batch, show=False):
        return self.part(batch, self.net, show=show)
    def part(self, batch, net, show=False):
        net(batch).backward()
        if show:
            f(batch)  # A
        f(batch)  # B

learner = Learner()
for epoch in range(100):
    for batch in batches:
        learner.train(batch)
learner.train(batch, show=True)
"""


def test_a_caller_that_hands_on_a_parameter_leaves_the_choice_to_its_callers() -> None:
    code = Code(HEAD + HANDED_ON)
    assert (code.frequency("# A"), code.frequency("# B")) == (O, U)


DEMONSTRATION = """
from torch import nn

learner, optimizer, last_{name}_step, {name}_interval = nn.Linear(2, 2), make(), 0, 10_000

def train(batch):
    learner(batch).sum().backward()
    optimizer.step()

for step in range(10_000_000):
    train(sample())
    if step > 100 and (step - last_{name}_step) / {name}_interval >= 1.0:
        for action in range(4):
            f(action)  # A
            train(sample())
"""


@pytest.mark.parametrize(("name", "expected"), [("demo", O), ("plot", O), ("val", O), ("update", U)])
def test_what_is_shown_at_intervals_is_no_loop_of_updates(name: str, expected: Frequency) -> None:
    assert Code(DEMONSTRATION.format(name=name)).frequency("# A") is expected


PARTS = """
class Uniform:
    def sample(self, n):
        f(n)  # A
        return n, n
    def items(self, n):
        f(n)  # C
        yield n, n

class Weighted:
    def sample(self, n):
        f(n)  # B
        return n, n, n
    def items(self, n):
        for i in range(n):
            f(n)  # D
            yield n, n, n

def first(memory):
    while True:
        one, two, three = memory.sample(3)
        for item in memory.items(3):
            one, two, three = item
            env.step(one)

memory = Uniform() if flag else Weighted()
first(memory)
"""


def test_a_method_that_returns_another_number_of_values_is_not_meant() -> None:
    assert frequencies(PARTS) == {"A": O, "B": E, "C": O, "D": S}
    assert frequencies(PARTS.replace("one, two, three = memory", "one, *rest = memory"))["A"] is E


BUILT = """
class Source:
    def __init__(self):
        self.built = False
    def build(self):
        if self.built:
            return
        {skip}
        f(1)  # A
        self.built = True
    def image(self):
        self.build()
        return f(2)  # B
{reset}

source = Source()
while True:
    env.step(source.image())
"""


@pytest.mark.parametrize(
    ("skip", "reset", "expected"),
    [
        ("pass", "", O),
        ("pass", "    def clear(self):\n        self.built = False", E),
        ("if self.few(): return f(3)", "", S),
        ("pass", "    def clear(self):\n        self.built = flag", S),
        ("pass", "source.built = False", S),
    ],
)
def test_what_a_flag_keeps_from_being_built_again_is_not_hot(skip: str, reset: str, expected: Frequency) -> None:
    found = frequencies(BUILT.format(skip=skip, reset=reset))
    assert (found["A"], found["B"]) == (expected, S)


COUNTED_FLAG = """
class Runner:
    def __init__(self):
        self.fitted = 0
    def roll(self):
        while True:
            env.step(act(1))
            if self.fitted == 0:
                f(1)  # A
                self.fitted = 1
            else:
                f(2)  # B
    def roll_twice(self):
        self.fitted = {other}

Runner().roll()
"""


@pytest.mark.parametrize(("other", "expected"), [("1", O), ("0", E), ("count(1)", S)])
def test_what_runs_until_a_numbered_flag_is_set_is_not_hot(other: str, expected: Frequency) -> None:
    assert frequencies(COUNTED_FLAG.format(other=other)) == {"A": expected, "B": S}


BY_HAND = """
class Runner:
    def __init__(self, settings):
        self.settings = settings
        self.step = 0
    def run(self):
        while self.step < self.settings.steps:
            if self.step == self.settings.seeds + self.settings.random:
                f(1)  # A
            elif self.step > self.settings.seeds:
                f(2)  # B
            {other}
            env.step(act(1))
            self.step += 1

Runner(settings).run()
"""


@pytest.mark.parametrize(("other", "expected"), [("pass", E), ("self.step = count(1)", S)])
def test_one_round_of_a_loop_that_counts_by_hand_is_not_hot(other: str, expected: Frequency) -> None:
    assert frequencies(BY_HAND.format(other=other)) == {"A": expected, "B": S}


RENDERED = """
def watch(envs, agent, filming, frames):
    shown = 0
    while True:
        if filming:
            labels = text(1)  # A
            for image in envs.{render}(width=9):
                frames.append((image, f(2)))  # B
            shown += 1
        {acts}
        envs.step(agent.act(f(3)))  # C
"""


@pytest.mark.parametrize(
    ("render", "acts", "expected"),
    [("render_all", "pass", O), ("draw", "pass", I), ("render_all", "if shown: envs.step(f(4)); envs.render()", O)],
)
def test_a_branch_that_renders_is_not_hot(render: str, acts: str, expected: Frequency) -> None:
    found = frequencies(RENDERED.format(render=render, acts=acts))
    assert (found["B"], found["C"]) == (expected, S)
    text = RENDERED.format(render="draw", acts="if shown: envs.step(f(4)); envs.render()  # D")
    assert frequencies(text)["D"] is S


def test_what_nothing_comes_to_is_not_hot() -> None:
    found = frequencies("""
while True:
    env.step(act(1))
    if crowded:
        raise NotImplementedError
        for one in many:
            f(1)  # A
    f(2)  # B
""")
    assert found == {"A": O, "B": S}
    assert frequencies("""
while True:
    env.step(act(1))
    for one in many:
        raise NotImplementedError("not now")
        f(1)  # A
""") == {"A": O}


EITHER = """
class Body(nn.Module):
    def forward(self, obs):
        f(1)  # A
        return obs

class Matcher(nn.Module):
    def forward(self, obs, later{default}):
        f(2)  # B
        return obs

class Agent:
    def __init__(self, settings):
        self.body = (Body() if settings.small else Matcher()).to("cuda")
        self.matcher = Matcher()
    def act(self, obs):
        return self.body(obs)
    def update(self, obs):
        loss = self.matcher(obs, obs).mean()
        loss.backward()
        self.optimizer.step()

agent = Agent(settings)
while True:
    env.step(agent.act(1))
for batch in batches:
    agent.update(batch)
"""


def test_a_module_of_one_of_two_classes_has_no_forward_that_needs_more_than_it_is_given() -> None:
    assert frequencies(EITHER.format(default="")) == {"A": S, "B": U}
    assert frequencies(EITHER.format(default="=None")) == {"A": S, "B": S}


EVALUATED = """
from tasks import Lift, Push, Recorder
import sys

def main(name, env):
    task = eval(name)(env=env)
    recorder = Recorder("here")
    obs = env.reset()
    while True:
        obs, reward, done, info = env.step(task.act(obs))

main(sys.argv[1], gym.make("a"))
"""
TASKS = """
class Task:
    def __init__(self, env):
        self.env = env
    def act(self, obs):
        return self.plan(obs)
    def plan(self, obs):
        raise NotImplementedError
class Lift(Task):
    def plan(self, obs):
        return f(1)  # A
class Push(Task):
    def plan(self, obs):
        return f(2)  # B
class Pull(Task):
    def plan(self, obs):
        return f(3)  # C
class Recorder:
    def __init__(self, folder):
        self.folder = folder
    def act(self, obs):
        return f(4)  # D
"""


def test_a_class_that_is_found_by_its_name_is_one_that_the_file_knows_and_that_takes_the_call() -> None:
    assert frequencies({"tasks.py": TASKS, "code.py": HEAD + EVALUATED}) == {"A": S, "B": S, "C": O, "D": O}
    known = HEAD + EVALUATED.replace("eval(name)", 'eval("Lift")')
    assert frequencies({"tasks.py": TASKS, "code.py": known}) == {"A": S, "B": O, "C": O, "D": O}
    many = "".join(f"class Task{n}(Task):\n    def plan(self, obs):\n        return f({n})\n" for n in range(9))
    names = ", ".join(["Lift", *(f"Task{n}" for n in range(9))])
    program = HEAD + EVALUATED.replace("Lift, Push, Recorder", f"Recorder, {names}")
    assert frequencies({"tasks.py": TASKS + many, "code.py": program})["A"] is S


ONE_STEP = """
def score(text):
    env = {made}
    env.init(text)
    out = env.step(text)
    return out["reward"]
for batch in batches:
    rewards = [score(text) for text in batch]
    f(rewards)  # A
"""


@pytest.mark.parametrize(("made", "expected"), [("gym.make(text)", O), ("self.env", S)])
def test_an_environment_that_lives_for_one_step_makes_no_loop_of_steps(made: str, expected: Frequency) -> None:
    assert frequencies(ONE_STEP.format(made=made)) == {"A": expected}


BY_NAME = """
class Actor:
    def decide(self, obs):
        return self.choose(obs, True)
    def choose(self, obs, greedy):
        if greedy:
            return self.best(obs)
        return obs
    def best(self, obs):
        return f(obs)  # A

def learn(agent, batch):
    agent.decide(batch).backward()

actor = Actor()
while True:
    env.step(actor.choose(1, False))
for batch in batches:
    learn(made(), batch)
"""


def test_a_branch_that_only_a_call_by_name_chooses_is_as_hot_as_that_call() -> None:
    """A certain path comes to ``choose``, but not to its branch."""
    assert frequencies(BY_NAME) == {"A": U}


ROUNDS = """
from transformers import AutoModelForCausalLM

class Worker:
    def __init__(self, name, {scores}):
        self.model = AutoModelForCausalLM.from_pretrained(name)
        self.{scores} = {scores}

    def collect(self, prompts):
        answers = self.model.generate(prompts, max_new_tokens=8)  # A
        for answer, prompt in zip(answers, prompts):
            f(answer)  # B
        return answers

def {name}(worker: Worker, loader, queue):
    for prompts in loader:
        queue.put(worker.collect(prompts))  # C

worker = Worker("m", judge)
{name}(worker, data, results)
"""


def test_rounds_that_generate_what_is_learned_from_are_rollouts() -> None:
    """No update is in sight: the words of the file say that the answers are rewarded."""
    assert frequencies(ROUNDS.format(name="run", scores="rewards")) == {"A": E, "B": S, "C": E}
    assert frequencies(ROUNDS.format(name="run", scores="texts")) == {"A": O, "B": O, "C": O}
    assert frequencies(ROUNDS.format(name="evaluate", scores="rewards")) == {"A": O, "B": O, "C": O}


def test_a_loop_that_generates_within_another_one_counts_as_one_over_updates() -> None:
    """One round of the outer loop is a rollout, which holds many rounds of the inner one."""
    text = ROUNDS.format(name="run", scores="rewards").replace("\nrun(worker", "\nfor _ in range(99):\n    run(worker")
    assert frequencies(text) == {"A": U, "B": I, "C": U}
    code = Code(HEAD + text)
    assert code.hot("# C").phrase == "once per generated batch"
    (row,) = (row for row, line in enumerate(code.file().source.utf8.splitlines(), 1) if b"# C" in line)
    why = explain(code.analyses[Heat], code.file(), next(stmt for stmt in code.file().places if stmt.lineno == row))
    assert {why.phrase, why.ways[0].hot.phrase} == {"once per generated batch"}, (
        "an explanation says what a finding says"
    )


def test_a_function_that_generates_and_that_nothing_calls_is_entered_once_per_rollout() -> None:
    text = ROUNDS.partition("def {name}")[0].format(scores="rewards")
    assert frequencies(text) == {"A": E, "B": S}


LOOKED_AT = """
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("m")
reward_model = make()

def answer(prompts):
    return model.generate(prompts, max_new_tokens=8)

def table(prompts):
    for prompt in prompts:
        f(answer(prompt))  # A

def main(config, prompts, step, logger):
    {call}

main(config, prompts, 1, logger)
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("table(prompts)", E),
        ("if config.test_only:\n        table(prompts)", O),
        ("if not config.test_only:\n        learn()\n    else:\n        table(prompts)", O),
        ("if not config.test_only:\n        table(prompts)", E),
        ("if step % 5 == 0:\n        table(prompts)", E),
        ("if step % 5 == 0 and logger is not None:\n        table(prompts)", O),
        ("if step % config.eval_every == 0:\n        table(prompts)", O),
        ("if config.test_only:\n        table(prompts)\n    table(prompts)", E),
    ],
)
def test_rounds_that_generate_what_is_only_looked_at_are_no_rollouts(call: str, expected: Frequency) -> None:
    assert Code(LOOKED_AT.format(call=call)).frequency("# A") is expected


def test_a_program_that_evaluates_by_the_name_of_its_file_makes_no_rollouts_of_what_it_calls() -> None:
    helper, _, program = LOOKED_AT.format(call="table(prompts)").partition("def main")
    for name, expected in (("eval_answers.py", O), ("collect_answers.py", E)):
        code = Code({"helper.py": helper, name: f"import torch\nfrom helper import table\n\ndef main{program}"})
        assert code.frequency("# A") is expected


BESIDE = """
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("m")
rewards, optimizer = make(), make()

def answer(prompts):
    f(prompts)  # A
    return model.generate(prompts, max_new_tokens=8)

for prompts in first:
    answer(prompts)

for prompts in loader:
    {rollout}
    model(batch).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("rollout", "expected"),
    [
        ("batch = model.generate(prompts, max_new_tokens=8)", O),
        ("batch = next(stored)", E),
        ("if step % 100 == 0:\n        model.generate(prompts, max_new_tokens=8)", E),
    ],
)
def test_a_loop_beside_the_one_that_generates_and_learns_prepares_or_evaluates(rollout, expected) -> None:
    assert Code(BESIDE.format(rollout=rollout)).frequency("# A") is expected


TOGETHER = """
class Agent:
    def update(self, reward):
        f(reward)  # A
        self.loss(reward).backward()
        self.optimizer.step()

def run(agents: list[Agent], {over}, batches):
    for batch in batches:
        g(batch)  # B
        for agent, reward in zip({over}, batch):
            agents[0].update(reward)  # C
"""


def test_a_loop_over_parts_of_one_update_stands_in_the_loop_of_updates() -> None:
    assert frequencies(TOGETHER.format(over="learners")) == {"A": U, "B": U, "C": U}
    assert frequencies(TOGETHER.format(over="rewards")) == {"A": U, "B": E, "C": U}


COUNTED = """
def fit(net, optimizer, batches, {rounds}):
    for epoch in range(50):
        g(batches)  # A
        for i in range({rounds}):
            net(batches[i]).mean().backward()  # B
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [("optim_iter_num", E), ("optim_epochs", E), ("model_batches", E), ("n_models", U), ("num_optimizers", U)],
)
def test_rounds_over_data_are_no_parts_of_one_update(rounds: str, expected: Frequency) -> None:
    assert frequencies(COUNTED.format(rounds=rounds)) == {"A": expected, "B": U}


LEFT = """
from torch import nn

class Drop(nn.Module):
    def forward(self, x):
        return f(x)  # A

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = Drop()
        {more}

    def forward(self, x):
        {run}
        return x
"""


@pytest.mark.parametrize(
    ("more", "run", "expected"),
    [
        ("", "", O),
        ("self.rate = 0.1", "x = x * self.rate", O),
        ("", "x = self.drop(x)", S),
        ("", "x = getattr(self, 'drop')(x)", S),
        ("", "for part in self.children(): x = part(x)", S),
        ("self.kept = [Drop()]", "", S),
        ("run(Drop)", "", S),
    ],
)
def test_a_module_that_is_kept_and_never_run_is_cold(more: str, run: str, expected: Frequency) -> None:
    code = Code({"nets.py": LEFT.format(more=more, run=run), "use.py": "from nets import Decoder\nuse(Decoder())\n"})
    assert code.frequency("# A") is expected


FLAGS = """
def run(env, policy):
    obs = env.reset()
    while True:
        obs, reward, done, info = env.step(policy(obs))
        for i, {flag}, r in zip(range(8), {of}, reward):
            if {flag}:
                f(i)  # A
"""


def test_a_flag_that_a_zip_goes_over_is_one_for_the_end_of_an_episode() -> None:
    assert frequencies(FLAGS.format(flag="d", of="done")) == {"A": E}
    assert frequencies(FLAGS.format(flag="d", of="info")) == {"A": I}


IMPORTED = "from torch import nn\nclass Head(nn.Module):\n    def forward(self, x):\n        return f(x)  # A\n"


@pytest.mark.parametrize(
    ("user", "expected"),
    [("x = dict(head=Head)\n", S), ("x = 1\n", O)],
)
def test_a_module_that_is_imported_and_nowhere_mentioned_is_not_used(user: str, expected: Frequency) -> None:
    code = Code({"heads.py": IMPORTED, "use.py": f"from heads import Head\nimport torch\n{user}"})
    assert code.frequency("# A") is expected


@pytest.mark.parametrize(
    ("loop", "counts"),
    [
        ("for prompt in prompts:", True),
        ("for i in range(len(prompts)):", True),
        ("for prompt, score, row in zip(prompts, chunk, chunk):", True),
        ("for start in range(0, len(prompts), chunk):", False),
    ],
)
def test_a_chunk_of_samples_is_no_sample(loop, counts):
    code = Code(f"""
        import torch

        def score(prompts, tokenizer, chunk):
            {loop}
                show(prompts)
    """)
    stmt = next(node for node in ast.walk(code.file().tree) if isinstance(node, ast.For))
    assert SampleLoops().of(code.file(), stmt) is counts


@pytest.mark.parametrize(
    ("parameters", "item", "counts"), [("size", "row", True), ("batch_size", "row", False), ("batch_size", "", True)]
)
def test_a_batch_of_a_generator_is_no_sample(parameters: str, item: str, counts: bool) -> None:
    ends = f"yield {item}" if item else "pass"
    code = Code(f"""
        class Rollout:
            def get(self, {parameters}):
                for row in self.rows:
                    {ends}

        def score(rollout: Rollout, tokenizer):
            for data in rollout.get(8):
                show(tokenizer.decode(data))
    """)
    stmt = next(node for node in ast.walk(code.file().tree) if isinstance(node, ast.For) and "get" in ast.unparse(node))
    assert SampleLoops(code.analyses[CallGraph]).of(code.file(), stmt) is counts


def test_a_chunk_of_samples_is_a_batch_of_the_rollout():
    code = Code("""
        import torch

        def score(model, tokenizer, prompts, chunk):
            scores = []
            for start in range(0, len(prompts), chunk):
                tokens = tokenizer(prompts[start : start + chunk], return_tensors="pt")
                scores.append(model(**tokens).logits)  # A
            return scores

        def main(model, tokenizer, loader, optimizer):
            for prompts in loader:
                scores = score(model, tokenizer, prompts, 8)
                for epoch in range(4):
                    loss = model(scores).sum()
                    loss.backward()
                    optimizer.step()
    """)
    assert code.hot("# A").describe().startswith("once per generated batch")


@pytest.mark.parametrize(
    ("rounds", "counts"),
    [
        ("noise = net(latents, t)\n    latents = scheduler.step(noise, t, latents)", True),
        ("latents = latents - 0.1 * net(latents, t)", True),
        ("state['latents'] = net(state['latents'], t)", True),
        ("table[:, t] = walk(table[:, t], t)", False),
        ("noise = net(latents, t)\n    losses.append(noise.mean())", False),
    ],
)
def test_a_loop_denoises_where_each_round_goes_on_from_the_one_before(rounds: str, counts: bool) -> None:
    code = Code(f"latents = table = make()\nfor t in timesteps:\n    {rounds}\n")
    loop = next(node for node in ast.walk(code.file().tree) if isinstance(node, ast.For))
    assert denoises(code.file(), loop) is counts


COLLECTING = """
for prompts in loader:
    answers = model.generate(prompts, max_new_tokens=8)
    rewards = f(answers)  # A
    batches = replay.add(answers, rewards)
    if batches is not None:
        for epoch in range(4):
            for batch in batches:
                model(batch).sum().backward()  # B
                optimizer.step()
        f(rewards)  # C
"""


def test_the_branch_that_learns_from_what_several_rounds_generated_is_no_such_round() -> None:
    assert frequencies("for epoch in range(9):" + COLLECTING.replace("\n", "\n    ")) == {"A": U, "B": U, "C": E}


COUNTED_BY_CALLERS = """
from torch import nn

learner, optimizer = nn.Linear(2, 2), make()

def train(batch, start, {parameter}):
    learner(batch).sum().backward()
    optimizer.step()
    if {parameter} == 0:
        f(batch)  # A

for step in range(10_000_000):
    train(sample(), 0, {given})
"""


@pytest.mark.parametrize(
    ("parameter", "given", "expected"),
    [("round", "step", E), ("round", "step % 4", U), ("kind", "sample()", U)],
)
def test_the_first_round_of_a_loop_that_a_caller_counts(parameter: str, given: str, expected: Frequency) -> None:
    assert Code(COUNTED_BY_CALLERS.format(parameter=parameter, given=given)).frequency("# A") is expected


def test_what_a_framework_calls_once_per_rollout_is_no_update_by_an_update_in_it() -> None:
    """A controller of one number learns between the rollouts; the gradient updates are in the framework's loop."""
    code = Code("""
        import torch
        from composer.core import Callback

        class Controller:
            def __init__(self):
                self.value = torch.zeros(1, requires_grad=True)
                self.optimizer = torch.optim.SGD([self.value], 0.1)

            def update(self, kl):
                self.optimizer.zero_grad()
                (self.value * kl).backward()
                self.optimizer.step()

        class Rollouts(Callback):
            def __init__(self):
                self.controller = Controller()

            def iteration_start(self, state, logger):
                g(state)  # A
                self.controller.update(state.kl)

            def batch_start(self, state, logger):
                g(state)  # B
    """)
    assert code.frequency("# A") is E
    assert code.frequency("# B") is U


def test_a_reset_of_all_simulations_begins_their_episodes_by_a_step() -> None:
    code = Code("""
        import torch

        class Swarm:
            def reset_all(self):
                g(self)  # A
                return self.step(torch.zeros(4096, 3))

            def step(self, actions):
                return h(actions)  # B

        def collect(env: Swarm, policy, rounds):
            obs = env.reset_all()
            for _ in range(rounds):
                obs, reward, done, info = env.step(policy(obs))
    """)
    assert code.frequency("# A") is O
    assert code.frequency("# B") is S


@pytest.mark.parametrize(
    ("picked", "expected"),
    [
        ("self.optimizers[key]", Frequency.UPDATE),
        ("self.opts[key]", Frequency.UPDATE),
        ("self.options[key]", Frequency.EPISODE),
        ("self.optimizers[0]", Frequency.EPISODE),
    ],
)
def test_a_round_over_all_heads_is_one_update_where_each_has_an_optimizer(picked: str, expected: Frequency) -> None:
    text = f"""
        import torch


        class Trainer:
            def fit(self, batches):
                for x, labels in batches:
                    x = x / 2  # A
                    for key, label in labels.items():
                        loss = self.predict(x, key, label)
                        loss.backward()
                        {picked}.step()


        Trainer().fit(torch.load("batches"))
    """
    assert Code(text).frequency("# A") is expected
