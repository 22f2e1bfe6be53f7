"""Hotness through what runs a function without calling it by its name.

The first letter of a mark says how often its row runs: inner, step, update, episode or once.
"""

from __future__ import annotations

import pytest
from test_hotness import frequencies

from torchlint.rule import Frequency

CASES: dict[str, str] = {
    "a function that is passed": """
def run(f):
    while True:
        env.step(f(1))
def act(x):
    return g(x)  # S0
run(act)
""",
    "a function that is chosen by the type of its argument": """
from functools import singledispatch
@singledispatch
def prepared(x):
    raise TypeError(x)
@prepared.register
def of_number(x: int):
    return g(x)  # S0
@prepared.register(list)
def _(x):
    return g(x)  # S1
@other.register(list)
def _(x):
    return g(x)  # O
while True:
    env.step(prepared(x))
""",
    "a method that is passed by keyword": """
class A:
    def go(self):
        run(callback=self._on_step)
    def _on_step(self, x):
        return g(x)  # S0
def run(callback):
    while True:
        env.step(callback(1))
A().go()
""",
    "two functions that are passed": """
def run(f):
    while True:
        env.step(f(1))
def act(x):
    return g(x)  # S0
def act2(x):
    return g(x)  # S2
run(act)
run(act2)
""",
    "a function that is handed on through parameters": """
class Engine:
    def train_batch(self, batches, loss_fn):
        def process(logits):
            return self.scaled(logits, loss_fn)
        self.run(batches, process)
    def run(self, batches, process_fn):
        for batch in batches:
            process_fn(model(batch)).backward()
            optimizer.step()
    def scaled(self, logits, loss_fn):
        return loss_fn(logits) / 2
class Trainer:
    def __init__(self, engine: Engine):
        self.engine = engine
    def train(self, batches):
        self.engine.train_batch(batches, functools.partial(clipped, low=0.1))
    def train_plain(self, batches):
        self.engine.train_batch(batches, loss_fn=plain)
def clipped(x, low):
    return g(x)  # U0
def plain(x):
    return g(x)  # U1
import functools
""",
    "a function beside which another is passed": """
class Trainer:
    def train(self, batches):
        for batch in batches:
            batched(self._train, batch)
    def evaluate(self, batch):
        batched(self._evaluate, batch)
    def _train(self, batch):
        loss(batch).backward()
        g(batch)  # U0
    def _evaluate(self, batch):
        g(batch)  # O1
def batched(call, batch):
    return call(batch)
""",
    "a function that is stored": """
class Runner:
    def __init__(self, policy):
        self.policy = policy
    def run(self):
        while True:
            env.step(self.policy(1))
def act(x):
    return g(x)  # S0
Runner(act).run()
""",
    "functions whose wrappers a decorator hands to a registry": """
import functools
class Registry:
    _functions = {}
    @classmethod
    def register(cls, name, function):
        cls._functions[name] = function
    @classmethod
    def restore(cls, name, data):
        cls._functions[name] = pickle.loads(data)
    @classmethod
    def fill(cls):
        for name, function in {"plain": plain, "none": None}.items():
            cls.register(name, function)
    @classmethod
    def get(cls, name):
        return cls._functions[name]
def register(name):
    def note(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)
        Losses.register(name, wrapper)
        return wrapper
    return note
@register("clipped")
def clipped(x):
    return g(x)  # U0
@register("plain")
def plain(x):
    return g(x)  # U1
def timed(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper
@timed
def other(x):
    return g(x)  # O2
class Losses(Registry):
    pass
class Worker:
    def __init__(self, settings):
        self.loss_of = Losses.get(settings.loss)
    def train(self, batches):
        for batch in batches:
            self.loss_of(batch).backward()
            optimizer.step()
""",
    "functions that a decorator notes in a table": """
TABLE = {}
def register(name):
    def note(function):
        TABLE[name] = function
        return function
    return note
def look_up(name):
    return TABLE[name]
@register("clipped")
def clipped(x):
    return g(x)  # U0
@register("plain")
def plain(x):
    return g(x)  # U1
def timed(function):
    def wrapper(x):
        return function(x)
    return wrapper
@timed
def other(x):
    return g(x)  # O2
for batch in batches:
    loss_of = look_up(settings.loss)
    loss_of(batch).backward()
    optimizer.step()
""",
    "functions that a decorator notes and may give back as others": """
TABLE = {}
def register(name):
    def note(function):
        TABLE[name] = function
        if name == "plain":
            return function
        return traced(function)
    return note
@register("clipped")
def clipped(x):
    return g(x)  # O0
for batch in batches:
    loss_of = TABLE[settings.loss]
    loss_of(batch).backward()
    optimizer.step()
""",
    "classes that an object notes": """
class Registry:
    def __init__(self):
        self.known = {}
    def register(self, name):
        def note(cls):
            self.known[name] = cls
            return cls
        return note
    def get(self, name):
        return self.known[name]
losses = Registry()
@losses.register("clipped")
class Clipped:
    def compute(self, x):
        return g(x)  # U0
class Idle:
    def compute(self, x):
        return g(x)  # O1
loss = losses.get(settings.loss)()
for batch in batches:
    loss.compute(batch).backward()
    optimizer.step()
""",
    "a step that a framework runs, and the loss that it hands back": """
from functools import partial
from megatron.core.pipeline_parallel import get_forward_backward_func
def loss_func(data, output):
    return g(output)  # U0
def forward_step(batches, model):
    data = next(batches)  # U1
    return model(data), partial(loss_func, data)
run = get_forward_backward_func()
run(forward_step_func=forward_step, data_iterator=batches, model=model)
""",
    "a loss that a decorator of a framework notes": """
from verl.trainer.ppo.core_algos import register_policy_loss
@register_policy_loss("rows")
def row_loss(old, new, mask):
    return g(old - new)  # U0
""",
    "a function that a call made, given to a pool of threads": """
from concurrent.futures import ThreadPoolExecutor
def scorer(scale):
    def score(x):
        return g(x)  # S0
    return score
score_of = scorer(2)
with ThreadPoolExecutor() as pool:
    while True:
        env.step(pool.submit(score_of, 1))
""",
    "a function that a call makes for a pool of threads": """
from concurrent.futures import ThreadPoolExecutor
def scorer(scale):
    def score(x):
        return g(x)  # S0
    return score
with ThreadPoolExecutor() as pool:
    while True:
        env.step(pool.submit(scorer(2), 1))
""",
    "a partial that is made for a pool of threads": """
from concurrent.futures import ThreadPoolExecutor
from functools import partial
def score(scale, x):
    return g(x)  # S0
def run(pool):
    while True:
        env.step(pool.submit(partial(score, 2), 1))
run(ThreadPoolExecutor())
""",
    "a function that a mixin hands to the class beside it": """
from trl import GRPOTrainer
class Matching:
    def __init__(self, model):
        super().__init__(model=model, reward_funcs=[self._reward])
    def _reward(self, prompts, completions):
        return g(prompts)  # U0
class Trainer(Matching, GRPOTrainer):
    pass
Trainer(net).train()
""",
    "a partial": """
from functools import partial
def act(net, x):
    return g(x)  # S0
f = partial(act, 1)
while True:
    env.step(f(1))
""",
    "a partial that is stored": """
import functools
class A:
    def __init__(self):
        self.f = functools.partial(self.inner, 3)
    def inner(self, a, x):
        return g(x)  # S0
    def act(self, x):
        return self.f(x)  # S1
a = A()
while True:
    env.step(a.act(1))
""",
    "a decorator of the project": """
import functools
def timed(f):
    @functools.wraps(f)
    def wrapper(*args, **kw):
        log(1)  # SW
        return f(*args, **kw)
    return wrapper
@timed
def act(x):
    return g(x)  # S0
while True:
    env.step(act(1))
""",
    "a decorator with arguments, on a method": """
import functools
def retry(n):
    def deco(f):
        @functools.wraps(f)
        def wrapper(*args, **kw):
            log(1)  # SW
            return f(*args, **kw)
        return wrapper
    return deco
class A:
    @retry(3)
    def act(self, x):
        return g(x)  # S0
a = A()
while True:
    env.step(a.act(1))
""",
    "a property": """
class A:
    @property
    def obs(self):
        return g(1)  # S0
    def act(self):
        return self.obs  # S1
a = A()
while True:
    env.step(a.act())
""",
    "an object that is called": """
class A:
    def __call__(self, x):
        return g(x)  # S0
a = A()
while True:
    env.step(a(1))
""",
    "a closure": """
def make(n):
    def act(x):
        return g(x)  # S0
    return act
act = make(3)
while True:
    env.step(act(1))
""",
    "a lambda": """
act = lambda x: (
    g(x)
)
f = lambda x: helper(x)
def helper(x):
    return g(x)  # S0
while True:
    env.step(f(1))
""",
    "a lambda that is passed": """
def helper(x):
    return g(x)  # S0
def run(f):
    while True:
        env.step(f(1))
run(lambda x: helper(x))
""",
    "super": """
class B:
    def act(self, x):
        return g(x)  # S0
class A(B):
    def act(self, x):
        return super().act(x)
a = A()
while True:
    env.step(a.act(1))
""",
    "super with arguments": """
class B:
    def act(self, x):
        return g(x)  # S0
class A(B):
    def act(self, x):
        return super(A, self).act(x)
a = A()
while True:
    env.step(a.act(1))
""",
    "a generator": """
class A:
    def batches(self):
        for i in range(3):
            x = g(i)  # U0
            yield x
    def train(self):
        for b in self.batches():
            loss(b).backward()
A().train()
""",
    "an object whose iterator is a generator": """
class Loader:
    def __iter__(self):
        for i in range(3):
            x = g(i)  # U0
            yield x
loader = Loader()
for b in loader:
    loss(b).backward()
""",
    "an iterator": """
class Loader:
    def __iter__(self):
        return self
    def __next__(self):
        return g(1)  # U0
loader = Loader()
for b in loader:
    loss(b).backward()
""",
    "a context manager": """
class T:
    def __enter__(self):
        g(1)  # S0
    def __exit__(self, *a):
        g(1)  # S2
t = T()
while True:
    with t:
        env.step(1)
""",
    "a context manager that is a function": """
import contextlib
@contextlib.contextmanager
def timer():
    g(1)  # S0
    yield
while True:
    with timer():
        env.step(1)
""",
    "map": """
def f(x):
    return g(x)  # I0
while True:
    env.step(list(map(f, y)))
""",
    "the function of a process": """
import multiprocessing as mp
def helper(x):
    return g(x)  # S0
def worker(q):
    while True:
        env.step(helper(1))
p = mp.Process(target=worker, args=(1,))
""",
    "getattr with a literal": """
class A:
    def act(self, x):
        return g(x)  # S0
a = A()
while True:
    env.step(getattr(a, 'act')(1))
""",
    "a bound method in a variable": """
class A:
    def act(self, x):
        return g(x)  # S0
a = A()
f = a.act
while True:
    env.step(f(1))
""",
    "a dictionary of functions": """
def f1(x):
    return g(x)  # S0
def f2(x):
    return g(x)  # S2
T = {'a': f1, 'b': f2}
while True:
    env.step(T[k](1))
""",
    "a list of callbacks": """
class C1:
    def on_step(self, x):
        return g(x)  # I0
class C2:
    def on_step(self, x):
        return g(x)  # I2
cbs = [C1(), C2()]
while True:
    env.step(1)
    for c in cbs:
        c.on_step(1)
""",
    "static methods and class methods": """
class A:
    @staticmethod
    def f(x):
        return g(x)  # S0
    @classmethod
    def h(cls, x):
        return cls.f(x)  # S1
while True:
    env.step(A.h(1))
""",
    "a compiled module": """
class Net(nn.Module):
    def forward(self, x):
        return self.go(x)  # S0
    def go(self, x):
        return g(x)  # S1
net = torch.compile(Net())
while True:
    env.step(net(1))
""",
    "compiled functions": """
def upd(x):
    return g(x)  # S1
class A:
    def __init__(self):
        self.upd = torch.compile(self._upd)
    def _upd(self, x):
        return g(x)  # S0
f = torch.compile(upd)
a = A()
while True:
    env.step(f(1))
    a.upd(3)
""",
    "a part of a Sequential": """
class Net(nn.Module):
    def forward(self, x):
        return g(x)  # S0
class Big(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(Net(), nn.ReLU())
    def forward(self, x):
        return self.net(x)
net = Big()
while True:
    env.step(net(1))
""",
    "parts of a ModuleList": """
class Net(nn.Module):
    def forward(self, x):
        return g(x)  # I0
class Big(nn.Module):
    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList([Net() for _ in range(3)])
    def forward(self, x):
        for n in self.nets:
            x = n(x)
        return x
net = Big()
while True:
    env.step(net(1))
""",
    "a data set": """
from torch.utils.data import Dataset, DataLoader
class D(Dataset):
    def __getitem__(self, i):
        return g(i)  # U0
for b in DataLoader(D(), batch_size=3):
    loss(b).backward()
""",
    "functions that configurations name": """
from dataclasses import dataclass, field
from typing import Any
@dataclass
class Term:
    func: Any
@dataclass(kw_only=True)
class Reward(Term):
    weight: float = 1.0
@dataclass
class Event(Term):
    on_start: Any = None
def term(made, *args, **kwargs):
    return field(default_factory=lambda: made(*args, **kwargs))
def track(env):
    return g(env)  # I0
def slide(env):
    return g(env)  # I1
def push(env):
    return g(env)  # O0
def begin(env):
    return g(env)  # O1
class Posture:
    def __init__(self, term, env):
        self.std = g(env)  # O2
    def __call__(self, env):
        return g(self.std)  # I2
@dataclass
class Rewards:
    track: Reward = term(Reward, func=track)
    slide: Reward = field(default_factory=lambda: Reward(func=slide))
    posture = Reward(func=Posture, weight=2.0)
@dataclass
class Events:
    push: Event = term(Event, func=push, on_start=begin)
class Manager:
    def __init__(self, terms, env):
        self.terms: list[Reward] = list()
        for each in terms:
            self.resolve(each, env)
            self.terms.append(each)
    def resolve(self, term: Term, env):
        if isinstance(term.func, type):
            term.func = term.func(term, env)
    def compute(self, env):
        return sum(each.weight * each.func(env) for each in self.terms)
class Walker(gym.Env):
    def __init__(self, terms):
        self.manager = Manager(terms, self)
    def step(self, action):
        return self.obs, self.manager.compute(self), False, False, {}
""",
    "a data set that draws an item of each of its generators": """
from torch.utils.data import DataLoader, IterableDataset
class Source(IterableDataset):
    def __init__(self):
        self.made = []
    def sampling(self, world):
        def generator():
            count = g(0)  # E0
            while self.active:
                sample = g(count)  # U0
                for _ in range(9):
                    world.step(act(sample))
                yield sample
        self.made.append(generator)
    def __iter__(self):
        drawn = [make() for make in self.made]
        while True:
            parts = [next(each, None) for each in drawn]
            yield g(parts)  # U1
source = Source()
source.sampling(env)
for batch in DataLoader(source, batch_size=None):
    loss(batch).backward()
""",
    "a subscript": """
class D:
    def __getitem__(self, i):
        return g(i)  # S0
d = D()
while True:
    env.step(d[i])
""",
    "a function given to a library, for each leaf": """
import torch.utils._pytree as pytree
def f(x):
    return g(x)  # I0
while True:
    env.step(pytree.tree_map(f, y))
""",
    "an autograd function": """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return g(x)  # S0
    @staticmethod
    def backward(ctx, x):
        return g(x)  # U2
while True:
    env.step(F.apply(3))
""",
    "a factory of objects": """
class A:
    def act(self, x):
        return g(x)  # S0
class B:
    def act(self, x):
        return g(x)  # S2
def make(name):
    if name == 'a':
        return A()
    return B()
a = make(k)
while True:
    env.step(a.act(1))
""",
    "a factory of which a literal chooses the arm": """
class A:
    def act(self, x):
        return g(x)  # O0
class B:
    def act(self, x):
        return g(x)  # S2
def make(name):
    if name == 'a':
        return A()
    return B()
a = make('b')
while True:
    env.step(a.act(1))
""",
    "a dictionary of classes": """
class A:
    def act(self, x):
        return g(x)  # S0
class B:
    def act(self, x):
        return g(x)  # S2
R = {'a': A, 'b': B}
a = R[name](1)
while True:
    env.step(a.act(1))
""",
    "a forward hook is not run": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(self.hook)
    def hook(self, m, i, o):
        return g(i)  # O0
    def forward(self, x):
        return x
net = Net()
while True:
    env.step(net(1))
""",
    "the constructor of an object that is built for each use": """
class D:
    def __init__(self, x):
        self.x = g(x)  # S0
class Net(nn.Module):
    def forward(self, x):
        return D(x)
net = Net()
while True:
    env.step(net(1))
""",
    "a nested function that is passed": """
def scan(f, xs):
    for x in xs:
        f(x)
class A:
    def upd(self, x):
        def step(y):
            return g(y)  # I0
        scan(step, x)
a = A()
while True:
    env.step(a.upd(1))
""",
    "an evaluation in each round": """
def evaluate(env):
    for i in range(10):
        while True:
            env.step(act(1))
def act(x):
    return g(x)  # S0
for i in range(100):
    loss(b).backward()
    evaluate(env)
""",
    "a function by another name": """
def act(x):
    return g(x)  # S0
select = act
while True:
    env.step(select(1))
""",
    "a generator: what stands outside its loop runs once a call": """
def batches(n):
    order = shuffle(n)  # E0
    for i in order:
        yield g(i)  # U0
    g(1)  # E1
for epoch in range(9):
    for b in batches(3):
        loss(b).backward()
""",
    "a generator that is drawn from by next": """
def batches():
    while True:
        yield g(1)  # S0
source = batches()
while True:
    env.step(next(source))
""",
    "a generator in zip": """
def batches():
    while True:
        yield g(1)  # U0
for i, b in zip(y, batches()):
    loss(b).backward()
""",
    "a function that only one of the callers of its caller passes": """
def locked(f):
    return f()
def often():
    return g(1)  # S0
def seldom():
    return g(2)  # O0
while True:
    env.step(locked(often))
locked(seldom)
""",
    "callers that pass objects of different kinds": """
class Net(nn.Module):
    def forward(self, x):
        return g(x)  # S0
def act(x):
    return g(x)  # S1
def run(policy):
    while True:
        env.step(policy(1))
run(Net())
run(act)
run(unknown)
""",
    "a module with a __call__ of its own": """
class Agent(nn.Module):
    def __call__(self, x):
        return g(x)  # S0
agent = Agent()
while True:
    env.step(agent(1))
""",
    "methods by the beginning of their names": """
class Agent:
    def act(self, x, kind):
        return getattr(self, f"act_{kind}")(x)
    def act_greedy(self, x):
        return g(x)  # S0
    def other(self, x):
        return g(x)  # O0
agent = Agent()
while True:
    env.step(agent.act(1, "greedy"))
""",
    "many methods by the beginning of their names, kept in a list": """
class Walker:
    def __init__(self, scales):
        self.functions = []
        for name in scales:
            name = "_reward_" + name
            self.functions.append(getattr(self, name))
    def step(self, action):
        for i in range(len(self.functions)):
            self.total += self.functions[i]()
        return self.obs, self.total, self.done, {}
    def _reward_of_a(self):
        return f(self)
    def _reward_of_b(self):
        return f(self)
    def _reward_of_c(self):
        return f(self)
    def _reward_of_d(self):
        return f(self)
    def _reward_of_e(self):
        return f(self)
    def _reward_of_f(self):
        return f(self)
    def _reward_of_g(self):
        return f(self)
    def _reward_of_h(self):
        return f(self)
    def _reward_of_pace(self):
        return g(self)  # I0
    def reward_at_last(self):
        return g(self)  # O0
class Runner(Walker):
    def _reward_of_turns(self):
        return g(self)  # I1
env = Runner(scales)
while True:
    obs, reward, done, info = env.step(action)
""",
    "environments in a list": """
def run(envs, actions):
    while True:
        results = [e.step(a) for e, a in zip(envs, actions)]
        g(results)  # S0
""",
    "a list of other things": """
def run(clocks, actions):
    while True:
        results = [c.step(a) for c, a in zip(clocks, actions)]
        g(results)  # O0
""",
    "gradient updates every so many batches": """
for i, b in enumerate(loader):
    loss(b).backward()
    if (i + 1) % accumulate == 0:
        optimizer.step()
        g(1)  # U0
    if i % 100 == 0:
        g(2)  # O0
""",
    "a guard that asks a function": """
import os
def is_dev():
    return os.environ.get("MODE") == "dev"
def checked(f):
    def wrapper(*args):
        if not is_dev():
            return f(*args)
        g(1)  # O0
        return f(*args)
    return wrapper
@checked
def act(x):
    return g(x)  # S0
while True:
    env.step(act(1))
""",
    "a writer that is there is no guard": """
for b in loader:
    loss(b).backward()
    if writer is not None:
        g(1)  # U0
    if debugger is not None:
        g(2)  # O0
""",
    "a function named like set-up that hot code calls": """
def init_distribution(x):
    return g(x)  # S0
def init_weights(x):
    return g(x)  # O0
while True:
    env.step(init_distribution(1))
    init_weights(2)
""",
    "one of many classes that a table of keywords lists": """
from torch import nn
class Base(nn.Module):
    def __init__(self, size):
        self.size = size
class C0(Base):
    def forward(self, x):
        return g(x)  # U0
class C1(Base):
    def forward(self, x):
        return g(x)  # U1
class C2(Base):
    def forward(self, x):
        return g(x)  # U2
class C3(Base):
    def forward(self, x):
        return g(x)  # U3
class C4(Base):
    def forward(self, x):
        return g(x)  # U4
class C5(Base):
    def forward(self, x):
        return g(x)  # U5
class C6(Base):
    def forward(self, x):
        return g(x)  # U6
class C7(Base):
    def forward(self, x):
        return g(x)  # U7
class C8(Base):
    def forward(self, x):
        return g(x)  # U8
class C9(Base):
    def forward(self, x):
        return g(x)  # U9
class Agent:
    def __init__(self, cfg):
        kind = dict(c0=C0, c1=C1, c2=C2, c3=C3, c4=C4, c5=C5, c6=C6, c7=C7, c8=C8, c9=C9)[cfg.kind]
        self.net = kind(3).to("cuda")
    def update(self, batch):
        self.net(batch).backward()
        self.opt.step()
agent = Agent(cfg)
for batch in loader:
    agent.update(batch)
""",
    "an object that is said to be of a class": """
import typing as t
class Policy:
    def __init__(self, size):
        self.size = size
class Linear(Policy):
    def choose(self, x):
        return g(x)  # S0
class Other:
    def choose(self, x):
        return g(x)  # O0
class Engine:
    def __init__(self, config):
        self.policy = t.cast(Policy, config.make())
    def act(self, x):
        return self.policy.choose(x)
engine, made, other = Engine(config), Linear(3), Other(3)
while True:
    env.step(engine.act(1))
""",
    "an attribute that is declared and made from a file of settings": """
import hydra
class Linear:
    def choose(self, x):
        return g(x)  # S0
class Other:
    def choose(self, x):
        return g(x)  # O0
class Engine:
    def __init__(self, config):
        self.policy: Linear
        self.policy = hydra.utils.instantiate(config.policy)
    def act(self, x):
        return self.policy.choose(x)
engine, made, other = Engine(config), Linear(), Other()
while True:
    env.step(engine.act(1))
""",
    "a collator that a trainer hands on to its framework": """
from transformers import Trainer
class Pad:
    def __call__(self, rows):
        return self.collate(rows)
    def collate(self, rows):
        return g(rows)  # U0
class Preferences(Trainer):
    def __init__(self, model, data_collator=None):
        if data_collator is None:
            data_collator = Pad()
        super().__init__(model=model, data_collator=data_collator)
Preferences(model).train()
""",
    "a collator of a trainer of the project without a constructor": """
from transformers import Trainer
class Preferences(Trainer):
    def log(self, logs):
        super().log(logs)
def collate(rows):
    return g(rows)  # U0
Preferences(model=model, data_collator=collate).train()
""",
    "micro-batches of an update": """
for step in range(steps):
    g(0)  # U0
    for micro_start in range(0, batch, micro_batch_size):
        with accelerator.accumulate(model):
            accelerator.backward(loss(rows[micro_start]))
            optimizer.step()
            g(1)  # U1
for step in range(steps):
    g(0)  # E2
    for start in range(0, batch, mini_batch_size):
        accelerator.backward(loss(rows[start]))
        optimizer.step()
        g(1)  # U3
""",
    "a call of a property on an unknown object is not linked": """
class A:
    @property
    def state(self):
        return g(1)  # O0
def run(a):
    while True:
        env.step(a.state)
""",
}
FREQUENCIES = {
    "O": Frequency.ONCE,
    "E": Frequency.EPISODE,
    "U": Frequency.UPDATE,
    "S": Frequency.STEP,
    "I": Frequency.INNER,
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_what_runs_a_function(text: str) -> None:
    found = frequencies(text)
    assert found
    assert found == {mark: FREQUENCIES[mark[0]] for mark in found}


def test_functions_of_a_module_that_are_looked_up_by_a_name_in_the_settings() -> None:
    files = {
        "policies.py": "def greedy(x):\n    return g(x)  # S\ndef helper(x):\n    return g(x)  # O\n",
        "train.py": "import policies\nact = getattr(policies, config.policy)\nDEFAULT = 'greedy'\n"
        "while True:\n    env.step(act(1))\n",
    }
    assert frequencies(files) == {"S": Frequency.STEP, "O": Frequency.ONCE}


PACKAGE = {
    "worlds/kinds.py": "class World:\n    def turn(self, a):\n        return g(a)  # base\n"
    "class Ant(World):\n    def turn(self, a):\n        return g(a)  # ant\n"
    "class Pole(World):\n    def turn(self, a):\n        return g(a)  # pole\n",
    "worlds/__init__.py": "from worlds.kinds import Ant, Pole, World\n",
    "train.py": "import worlds\nworld = getattr(worlds, config.world)(1)\nwhile True:\n    env.step(world.turn(1))\n",
}


def test_classes_that_a_package_imports_are_looked_up_by_a_name_from_a_file_of_settings() -> None:
    """Any class that no other one of the list derives from is meant, or the one that a text names."""
    once, step = Frequency.ONCE, Frequency.STEP
    assert frequencies(PACKAGE) == {"base": once, "ant": step, "pole": step}
    named = {**PACKAGE, "train.py": PACKAGE["train.py"] + "DEFAULT = 'Ant'\n"}
    assert frequencies(named) == {"base": once, "ant": step, "pole": once}
    more = {**PACKAGE, "worlds/__init__.py": PACKAGE["worlds/__init__.py"] + "def version():\n    return 1\n"}
    assert frequencies(more) == {"base": step, "ant": step, "pole": step}  # linked by the name of the method alone


CHOSEN = {
    "players/plain/player.py": "class Player:\n    def turn(self, a):\n        return g(a)  # plain\n",
    "players/deep/player.py": "class Player:\n    def turn(self, a):\n        return g(a)  # deep\n",
    "players/deep/fitter.py": "class Fitter:\n    def turn(self, a):\n        return g(a)  # fitter\n",
    "rivals/player.py": "class Player:\n    def turn(self, a):\n        return g(a)  # rival\n",
    "choosing.py": "import importlib\nFILES = {'Player': '.player', 'Fitter': '.fitter'}\n"
    "def load(package, name):\n    path = 'players.' + package + FILES[name]\n"
    "    found = getattr(importlib.import_module(path), name)\n    return found\n",
    "train.py": "from choosing import load\nplayers = [load(each, 'Player')(config) for each in config.players]\n"
    "while True:\n    env.step(players[0].turn(1))\n",
    "fit.py": "from choosing import load\nfitter = load(config.player, 'Fitter')(config)\nfitter.turn(1)\n",
}


def test_a_class_of_any_module_of_a_package_that_settings_choose() -> None:
    """Of the classes that all calls of the function choose among, one call means those that its text names."""
    found: dict[str, Frequency] = {}
    for first in CHOSEN:
        found |= frequencies({first: CHOSEN[first], **CHOSEN})
    once, step = Frequency.ONCE, Frequency.STEP
    assert found == {"plain": step, "deep": step, "fitter": once, "rival": once}


def test_many_methods_of_one_family_are_linked_to_calls_on_unknown_objects() -> None:
    base = "class Base:\n    def choose(self, x):\n        return g(x)  # S0\n"
    classes = "".join(
        f"class A{n}(Base):\n    def choose(self, x):\n        return g(x)  # S{n}\n" for n in range(1, 10)
    )
    train = "def train(agent):\n    while True:\n        env.step(agent.choose(1))\n"
    assert set(frequencies(base + classes + train).values()) == {Frequency.STEP}


def test_a_method_that_a_module_gives_another_name() -> None:
    texts = {
        "stats.py": (
            "class Tracker:\n    def scalar(self, x):\n        return g(x)  # A\n"
            "TRACKER = Tracker()\nscalar = TRACKER.scalar\n"
        ),
        "train.py": "import stats\nwhile True:\n    loss.backward()\n    stats.scalar(loss)\n",
    }
    assert frequencies(texts) == {"A": Frequency.UPDATE}
