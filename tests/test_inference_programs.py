"""Programs that act under ``no_grad`` and learn: where ``inference_mode`` would raise later, TL301 is silent.

Each program runs twice, as it is and with ``inference_mode``. What that breaks must not be found, and what is found
must give the same in both.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from typing import Any

import numpy as np
import pytest

from torchlint.testing.linting import fixed, found

pytestmark = pytest.mark.torch

_NET = "self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))"
_ACT = "return self.net(torch.as_tensor(obs)).argmax().item()"
_LEARN = "self.net(torch.as_tensor(obs)).square().sum().backward()"

_MATCH = "match self.noted:\n    case Noted(1):\n        pass"

# A module that keeps what it computes in its first pass.
_SCALING = """
class Scaling(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.scale = None

    def forward(self, x):
        if self.scale is None:
            self.scale = torch.arange(1.0, 5.0)
        return x * self.weight * self.scale
"""


def program(
    head: str = "", setup: str = _NET, act: str = _ACT, learn: str = _LEARN, before: str = "", methods: str = ""
) -> str:
    """An agent that acts in a block under ``no_grad``, learns after each step, and is given any module."""

    def indented(text: str, by: int) -> str:
        return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * by)

    return f"""\
import functools
from collections import defaultdict

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical, Independent, Normal
from torch.nn import functional as F

{textwrap.dedent(head)}

class Agent:
    def __init__(self, given: nn.Module):
        self.given = given
{indented(setup, 8)}

    def act(self, obs):
{indented(before or "pass", 8)}
        with torch.no_grad():
{indented(act, 12)}

    def learn(self, obs):
{indented(learn, 8)}

{indented(methods, 4)}


def main(env, steps, given: nn.Module):
    agent = Agent(given)
    obs, _ = env.reset()
    for _ in range(steps):
        action = agent.act(obs)
        agent.learn(obs)
        obs, reward, terminated, truncated, _ = env.step(action)
"""


_CACHE_LEARN = "(self.net(torch.as_tensor(obs)) * {}).square().sum().backward()"

BREAKS = {
    "lazy layers in a sequence": program(setup="self.net = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d())"),
    "a lazy layer": program(
        setup="self.first = nn.Linear(4, 4)\nself.last = nn.LazyLinear(2)",
        act="return self.last(self.first(torch.as_tensor(obs))).argmax().item()",
        learn="self.last(self.first(torch.as_tensor(obs))).square().sum().backward()",
    ),
    "a caching module in a sequence": program(_SCALING, "self.net = nn.Sequential(Scaling(), nn.Linear(4, 2))"),
    "a caching module in a list": program(
        _SCALING,
        "self.layers = nn.ModuleList([Scaling(), nn.Linear(4, 2)])",
        "x = torch.as_tensor(obs)\nfor layer in self.layers:\n    x = layer(x)\nreturn x.argmax().item()",
        "x = torch.as_tensor(obs)\nfor layer in self.layers:\n    x = layer(x)\nx.sum().backward()",
    ),
    "a caching module in an enumerated list": program(
        _SCALING,
        "self.layers = nn.ModuleList([Scaling(), nn.Linear(4, 2)])",
        "x = torch.as_tensor(obs)\nfor i, layer in enumerate(self.layers):\n    x = layer(x)\nreturn x.argmax().item()",
        "x = torch.as_tensor(obs)\nfor layer in self.layers:\n    x = layer(x)\nx.sum().backward()",
    ),
    "a caching module in a module dict": program(
        _SCALING,
        "self.nets = nn.ModuleDict({'actor': Scaling()})",
        "return self.nets['actor'](torch.as_tensor(obs)).argmax().item()",
        "self.nets['actor'](torch.as_tensor(obs)).sum().backward()",
    ),
    "a caching module in a dict": program(
        _SCALING,
        "self.nets = {'actor': Scaling(), 'critic': nn.Linear(4, 1)}",
        "return self.nets['actor'](torch.as_tensor(obs)).argmax().item()",
        "self.nets['actor'](torch.as_tensor(obs)).sum().backward()",
    ),
    "a caching module appended later": program(
        _SCALING,
        "self.layers = nn.ModuleList()\nself.layers.append(nn.Linear(4, 4))\nself.grow()",
        "x = torch.as_tensor(obs)\nfor layer in self.layers:\n    x = layer(x)\nreturn x.argmax().item()",
        "x = torch.as_tensor(obs)\nfor layer in self.layers:\n    x = layer(x)\nx.sum().backward()",
        methods="def grow(self):\n    self.layers.append(Scaling())",
    ),
    "a caching module set from outside": program(
        _SCALING + "\n\ndef change(agent):\n    agent.net = nn.Sequential(Scaling(), nn.Linear(4, 2))\n",
        f"{_NET}\nchange(self)",
    ),
    "a caching module put in by its number": program(
        _SCALING, f"{_NET}\nself.net[1] = nn.Linear(8, 4)\nself.net[2] = Scaling()"
    ),
    "a caching module added by name": program(
        _SCALING, "self.net = nn.Sequential()\nself.net.add_module('a', Scaling())"
    ),
    "a caching subclass of a layer": program(
        """
        class Remembering(nn.Linear):
            def forward(self, x):
                self.last = nn.Linear.forward(self, x)
                return self.last
        """,
        "self.net = nn.Sequential(Remembering(4, 2))",
        learn="(self.net[0].last * self.net[0].weight.sum()).sum().backward()",
    ),
    "a module that is given": program(
        setup="pass",
        act="return self.given(torch.as_tensor(obs)).argmax().item()",
        learn="self.given(torch.as_tensor(obs)).sum().backward()",
    ),
    "a module that is given, in a sequence": program(
        setup="self.net = nn.Sequential(self.given, nn.Linear(4, 2))",
    ),
    "a dict of the module": program(
        "_CACHE = {}\n",
        act="_CACHE['t'] = self.net(torch.as_tensor(obs))\nreturn _CACHE['t'].argmax().item()",
        learn=_CACHE_LEARN.format("_CACHE['t']"),
    ),
    "setdefault in a dict of the module": program(
        "_CACHE = {}\n",
        act="q = _CACHE.setdefault('t', self.net(torch.as_tensor(obs)))\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("_CACHE['t']"),
    ),
    "a function that keeps in a dict of the module": program(
        """
        _CACHE = {}

        def positions(n):
            if n not in _CACHE:
                _CACHE[n] = torch.linspace(-1.0, 1.0, n)
            return _CACHE[n]
        """,
        act="return (self.net(torch.as_tensor(obs)) * positions(2)).argmax().item()",
        learn=_CACHE_LEARN.format("positions(2)"),
    ),
    "a function with lru_cache": program(
        """
        @functools.lru_cache
        def positions(n):
            return torch.linspace(-1.0, 1.0, n)
        """,
        act="return (self.net(torch.as_tensor(obs)) * positions(2)).argmax().item()",
        learn=_CACHE_LEARN.format("positions(2)"),
    ),
    "a method with cache": program(
        act="return (self.net(torch.as_tensor(obs)) * self.positions(2)).argmax().item()",
        learn=_CACHE_LEARN.format("self.positions(2)"),
        methods="@functools.cache\ndef positions(self, n):\n    return torch.linspace(-1.0, 1.0, n)",
    ),
    "a function with a decorator that remembers": program(
        """
        def remembered(function):
            known = {}

            def inner(n):
                if n not in known:
                    known[n] = function(n)
                return known[n]

            return inner

        @remembered
        def positions(n):
            return torch.linspace(-1.0, 1.0, n)
        """,
        act="return (self.net(torch.as_tensor(obs)) * positions(2)).argmax().item()",
        learn=_CACHE_LEARN.format("positions(2)"),
    ),
    "a function wrapped in lru_cache": program(
        """
        def line(n):
            return torch.linspace(-1.0, 1.0, n)

        positions = functools.lru_cache(None)(line)
        """,
        act="return (self.net(torch.as_tensor(obs)) * positions(2)).argmax().item()",
        learn=_CACHE_LEARN.format("positions(2)"),
    ),
    "a cached property": program(
        act="return (self.net(torch.as_tensor(obs)) * self.positions).argmax().item()",
        learn=_CACHE_LEARN.format("self.positions"),
        methods="@functools.cached_property\ndef positions(self):\n    return torch.linspace(-1.0, 1.0, 2)",
    ),
    "a mutable default": program(
        """
        def positions(n, known={}):
            if n not in known:
                known[n] = torch.linspace(-1.0, 1.0, n)
            return known[n]
        """,
        act="return (self.net(torch.as_tensor(obs)) * positions(2)).argmax().item()",
        learn=_CACHE_LEARN.format("positions(2)"),
    ),
    "a global name of the method": program(
        "last = None\n",
        before="global last",
        act="last = self.net(torch.as_tensor(obs))\nreturn last.argmax().item()",
        learn=_CACHE_LEARN.format("last"),
    ),
    "a global name of a function": program(
        """
        last = None

        def note(x):
            global last
            last = x * 2
            return last.argmax().item()
        """,
        act="return note(self.net(torch.as_tensor(obs)))",
        learn=_CACHE_LEARN.format("last"),
    ),
    "a nonlocal name": program(
        """
        def counted(net):
            last = torch.zeros(2)

            def act(obs):
                nonlocal last
                last = net(torch.as_tensor(obs)) + last
                return last.argmax().item()

            def learn(obs):
                (net(torch.as_tensor(obs)) * last).sum().backward()

            return act, learn
        """,
        f"{_NET}\nself.choose, self.improve = counted(self.net)",
        "return int(self.choose(obs))",
        "self.improve(obs)",
    ),
    "a name that a nested function reads": program(
        before="def again():\n    return q\n\nself.again = again",
        act="q = self.net(torch.as_tensor(obs))\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.again()"),
    ),
    "a list from before the block": program(
        before="kept = []\nself.kept = kept",
        act="kept.append(self.net(torch.as_tensor(obs)))\nreturn kept[0].argmax().item()",
        learn=_CACHE_LEARN.format("self.kept[0]"),
    ),
    "a class attribute": program(
        act="q = self.net(torch.as_tensor(obs))\nAgent.last = q\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("Agent.last"),
    ),
    "setattr": program(
        act="q = self.net(torch.as_tensor(obs))\nsetattr(self, 'last', q)\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.last"),
    ),
    "the dict of an object": program(
        act="q = self.net(torch.as_tensor(obs))\nself.__dict__['last'] = q\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.last"),
    ),
    "vars of an object": program(
        act="q = self.net(torch.as_tensor(obs))\nvars(self).update(last=q)\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.last"),
    ),
    "the setter of object": program(
        act="q = self.net(torch.as_tensor(obs))\nobject.__setattr__(self, 'last', q)\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.last"),
    ),
    "a method of dict": program(
        setup=f"{_NET}\nself.store = {{}}",
        act="q = self.net(torch.as_tensor(obs))\ndict.update(self.store, last=q)\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.store['last']"),
    ),
    "a default dict": program(
        setup=f"{_NET}\nself.store = defaultdict(list)",
        act="q = self.net(torch.as_tensor(obs))\nself.store['q'].append(q)\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.store['q'][0]"),
    ),
    "a buffer that is registered in the pass": program(
        """
        class Positions(nn.Module):
            def forward(self, x):
                if not hasattr(self, "positions"):
                    self.register_buffer("positions", torch.arange(1.0, 5.0))
                return x * self.positions
        """,
        "self.net = nn.Sequential(Positions(), nn.Linear(4, 2))\nself.first = nn.Linear(4, 4)",
        "return self.net(self.first(torch.as_tensor(obs))).argmax().item()",
        "self.net(self.first(torch.as_tensor(obs))).sum().backward()",
    ),
    "a buffer that is registered with a layer of torch": program(
        act="q = self.net(torch.as_tensor(obs))\nself.net.register_buffer('last', q)\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.net.last"),
    ),
    "a hook that stores": program(
        setup=f"{_NET}\nself.seen = []\nself.net[0].register_forward_hook(lambda m, i, o: self.seen.append(o))",
        learn="(self.seen[0] * self.net[0](torch.as_tensor(obs))).sum().backward()",
    ),
    "weights that a hook sets": program(
        setup="self.net = nn.Linear(4, 2)\nnn.utils.weight_norm(self.net)",
        learn="(self.net.weight * self.net.bias[:, None]).sum().backward()",
    ),
    "a distribution from before": program(
        before="self.dist = Categorical(logits=self.net(torch.as_tensor(obs)))",
        act="return int(self.dist.sample()[0])",
        learn="self.dist.entropy().sum().backward()",
    ),
    "a distribution from before, in another": program(
        before="dist = Categorical(logits=self.net(torch.as_tensor(obs)))\nself.dist = dist",
        act="return int(Independent(dist, 1).sample()[0])",
        learn="self.dist.entropy().sum().backward()",
    ),
    "the divergence of distributions from before": program(
        before="dist = Categorical(logits=self.net(torch.as_tensor(obs)))\nself.dist = dist",
        act="return int(torch.distributions.kl_divergence(dist, dist).sum() > 1)",
        learn="self.dist.entropy().sum().backward()",
    ),
    "an optimizer that steps": program(
        setup=f"{_NET}\nself.optimizer = torch.optim.Adam(self.net.parameters())",
        before="self.net(torch.as_tensor(obs)).sum().backward()",
        act="self.optimizer.step()\nreturn self.net(torch.as_tensor(obs)).argmax().item()",
        learn=f"{_LEARN}\nself.optimizer.step()",
    ),
    "an item that is kept when read": program(
        """
        class Scales:
            def __init__(self):
                self.known = {}

            def __getitem__(self, n):
                if n not in self.known:
                    self.known[n] = torch.linspace(-1.0, 1.0, n)
                return self.known[n]
        """,
        f"{_NET}\nself.scales = Scales()",
        "return (self.net(torch.as_tensor(obs)) * self.scales[2]).argmax().item()",
        _CACHE_LEARN.format("self.scales[2]"),
    ),
    "an operator that keeps": program(
        """
        class Sum:
            def __init__(self):
                self.last = None

            def __add__(self, x):
                self.last = x * 2
                return x
        """,
        f"{_NET}\nself.sum = Sum()",
        "return (self.sum + self.net(torch.as_tensor(obs))).argmax().item()",
        _CACHE_LEARN.format("self.sum.last"),
    ),
    "a context manager that keeps": program(
        """
        class Timed:
            def __enter__(self):
                self.noise = torch.randn(2)
                return self

            def __exit__(self, *_):
                pass
        """,
        f"{_NET}\nself.timed = Timed()",
        "with self.timed:\n    return self.net(torch.as_tensor(obs)).argmax().item()",
        _CACHE_LEARN.format("self.timed.noise"),
    ),
    "a generator that goes on": program(
        """
        def noises():
            noise = torch.ones(2)
            while True:
                yield noise
        """,
        f"{_NET}\nself.noise = noises()",
        "return (self.net(torch.as_tensor(obs)) + next(self.noise)).argmax().item()",
        _CACHE_LEARN.format("next(self.noise)"),
    ),
    "a generator in a loop": program(
        """
        def noises():
            noise = torch.ones(2)
            while True:
                yield noise
        """,
        f"{_NET}\nself.noise = noises()",
        "for noise in self.noise:\n    return (self.net(torch.as_tensor(obs)) + noise).argmax().item()\nreturn 0",
        _CACHE_LEARN.format("next(self.noise)"),
    ),
    "a callback from a table": program(
        """
        KEPT = []

        def keep(x):
            KEPT.append(x)
            return x

        ACTIVATIONS = {"keep": keep}
        """,
        f"{_NET}\nself.activation = ACTIVATIONS['keep']",
        "return self.activation(self.net(torch.as_tensor(obs))).argmax().item()",
        _CACHE_LEARN.format("KEPT[0]"),
    ),
    "a callback that is mapped": program(
        setup=f"{_NET}\nself.kept = []",
        act="q = self.net(torch.tensor(obs))\nlist(map(lambda x: self.kept.append(x), [q]))\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.kept[0]"),
    ),
    "a method that is mapped": program(
        setup=f"{_NET}\nself.kept = []",
        act="q = self.net(torch.as_tensor(obs))\nlist(map(self.keep, [q]))\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.kept[0]"),
        methods="def keep(self, x):\n    self.kept.append(x)",
    ),
    "a partial function": program(
        """
        def keep(kept, x):
            kept.append(x)
            return x
        """,
        f"{_NET}\nself.kept = []\nself.keep = functools.partial(keep, self.kept)",
        "return self.keep(self.net(torch.as_tensor(obs))).argmax().item()",
        _CACHE_LEARN.format("self.kept[0]"),
    ),
    "a version that is read": program(
        act="q = self.net(torch.as_tensor(obs))\nreturn q.argmax().item() + q._version",
    ),
    "an array of objects": program(
        setup=f"{_NET}\nself.kept = np.empty(1, dtype=object)",
        act="q = self.net(torch.as_tensor(obs))\nself.kept[0] = q\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.kept[0]"),
    ),
    "an array that is made of objects": program(
        act="""
        q = self.net(torch.as_tensor(obs))
        self.kept = np.array([None, q], dtype=object)
        return q.argmax().item()
        """,
        learn=_CACHE_LEARN.format("self.kept[1]"),
    ),
    "an array whose dtype others choose": program(
        setup=f"{_NET}\nself.fill(np.empty(1, object))",
        act="q = self.net(torch.as_tensor(obs))\nself.kept[0] = q\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("self.kept[0]"),
        methods="def fill(self, kept: np.ndarray):\n    self.kept = kept",
    ),
    "a key of a dict": program(
        setup=f"{_NET}\nself.kept = {{}}",
        act="q = self.net(torch.as_tensor(obs))\nself.kept[q] = 1\nreturn q.argmax().item()",
        learn=_CACHE_LEARN.format("next(iter(self.kept))"),
    ),
    "a dict that is told what is missing": program(
        "TABLE = defaultdict(lambda: torch.linspace(-1.0, 1.0, 2))\n",
        act="return (self.net(torch.as_tensor(obs)) * TABLE[2]).argmax().item()",
        learn=_CACHE_LEARN.format("TABLE[2]"),
    ),
    "a dict that makes what is missing": program(
        """
        class Table(dict):
            def __missing__(self, n):
                self[n] = torch.linspace(-1.0, 1.0, n)
                return self[n]

        TABLE = Table()
        """,
        act="return (self.net(torch.as_tensor(obs)) * TABLE[2]).argmax().item()",
        learn=_CACHE_LEARN.format("TABLE[2]"),
    ),
    "an exception that takes a tensor along": program(
        before="""
        try:
            return self.go(obs)
        except ValueError as error:
            self.last = error.args[1]
            return 0
        """,
        act="pass",
        learn=_CACHE_LEARN.format("self.last"),
        methods="""
        def go(self, obs):
            with torch.no_grad():
                q = self.net(torch.as_tensor(obs))
                if q.isfinite().all():
                    raise ValueError("finite", q)
                return q.argmax().item()
        """,
    ),
    "a module put among the parts of another": program(
        _SCALING, "self.net = nn.Sequential(nn.Linear(4, 4))\nself.net._modules['1'] = Scaling()"
    ),
    "a module that setattr puts into another": program(
        _SCALING, "self.net = nn.Sequential(nn.Linear(4, 4), nn.Identity())\nsetattr(self.net, '1', Scaling())"
    ),
    "a weight with a parametrization": program(
        """
        from torch.nn.utils.parametrize import register_parametrization

        class Doubled(nn.Module):
            def forward(self, weight):
                self.weight = weight * 2
                return self.weight
        """,
        f"{_NET}\nregister_parametrization(self.net[0], 'weight', Doubled())",
        learn="(self.net[0].parametrizations.weight[0].weight * self.net[0].bias[:, None]).sum().backward()",
    ),
    "a forward that is replaced": program(
        setup=f"{_NET}\nself.inner = self.net.forward\nself.net.forward = self.keep",
        learn="last = self.last\n(self.net(torch.as_tensor(obs)) * last).sum().backward()",
        methods="def keep(self, x):\n    self.last = self.inner(x)\n    return self.last",
    ),
    "a class that is replaced": program(
        _SCALING,
        """
        self.net = nn.Sequential(nn.Linear(4, 4))
        self.other = Scaling()
        self.net[0].__class__ = type(self.other)
        self.net[0].scale = None
        self.net[0].weight = nn.Parameter(torch.ones(4))
        """,
    ),
    "a hook under another name": program(
        setup=f"""{_NET}
self.seen = {{}}
for layer in self.net:
    hook = layer.register_forward_hook
    hook(self.note)""",
        learn="last = self.seen['o']\n(self.net(torch.as_tensor(obs)) * last).sum().backward()",
        methods="def note(self, module, given, output):\n    self.seen['o'] = output",
    ),
    "a hook by its name in quotes": program(
        setup=f"{_NET}\nself.seen = {{}}\ngetattr(self.net, 'register_forward_hook')(self.note)",
        learn="last = self.seen['o']\n(self.net(torch.as_tensor(obs)) * last).sum().backward()",
        methods="def note(self, module, given, output):\n    self.seen['o'] = output",
    ),
    "a default of a function that is defined there": program(
        """
        KEPT = []

        def keep(q):
            KEPT.append(q)
            return 1
        """,
        act="""
        q = self.net(torch.as_tensor(obs))

        def nothing(x=keep(q)):
            pass

        return q.argmax().item()
        """,
        learn=_CACHE_LEARN.format("KEPT[0]"),
    ),
    "a decorator of a function that is defined there": program(
        """
        KEPT = []

        def noted(function):
            KEPT.append(torch.ones(2))
            return function
        """,
        act="""
        q = self.net(torch.as_tensor(obs))

        @noted
        def nothing():
            pass

        return q.argmax().item()
        """,
        learn=_CACHE_LEARN.format("KEPT[0]"),
    ),
    **{
        f"an object that keeps behind {method.split('(')[0]}": program(
            f"""
            class Noted:
                __match_args__ = ("one",)

                {method}
                    object.__setattr__(self, "kept", torch.ones(2))
                    return {result}
            """,
            f"{_NET}\nself.noted = Noted()",
            f"{used}\nreturn self.net(torch.as_tensor(obs)).argmax().item()",
            _CACHE_LEARN.format("self.noted.kept"),
        )
        for method, result, used in (
            ("def __format__(self, spec):", "'a'", "text = f'{self.noted}'"),
            ("def __bool__(self):", "True", "if self.noted:\n    pass"),
            ("def __float__(self):", "1.0", "number = float(self.noted)"),
            ("def __delitem__(self, key):", "None", "del self.noted[0]"),
            ("def __setattr__(self, name, value):", "None", "self.noted.name = 1"),
            ("def __iter__(self):", "iter((1, 2))", "a, b = self.noted"),
            ("one = property(lambda self: self.asked())\n\n                def asked(self):", "1", _MATCH),
        )
    },
    "an object that others keep": program(
        """
        class Memory:
            def __init__(self):
                self.rows = []

            def note(self, row):
                self.rows = [*self.rows, row]
        """,
        f"{_NET}\nself.memory = Memory()",
        "q = self.net(torch.as_tensor(obs))\nself.memory.note(q)\nreturn q.argmax().item()",
        _CACHE_LEARN.format("self.memory.rows[0]"),
    ),
}

SOUND = {
    "layers of torch": program(),
    "one layer": program(setup="self.net = nn.Linear(4, 2)"),
    "layers that keep averages": program(
        setup="self.net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 2))"
    ),
    "a list of layers": program(
        setup="self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 2)])",
        act="x = torch.as_tensor(obs)\nfor layer in self.layers:\n    x = F.relu(layer(x))\nreturn x.argmax().item()",
        learn="x = torch.as_tensor(obs)\nfor layer in self.layers:\n    x = layer(x)\nx.sum().backward()",
    ),
    "modules of the project in a sequence": program(
        """
        class Scaled(nn.Module):
            def __init__(self, size, activation=nn.Tanh):
                super().__init__()
                self.layer = nn.Linear(size, size)
                self.activation = activation()
                self.register_buffer("noise", torch.zeros(size))

            def forward(self, x):
                if self.training:
                    self.noise.copy_(torch.randn_like(self.noise))
                return self.activation(self.layer(x)) + 0.1 * self.noise
        """,
        "self.net = nn.Sequential(Scaled(4), nn.Linear(4, 2))",
    ),
    "a module of the project": program(
        """
        class Network(nn.Module):
            def __init__(self, width=8):
                super().__init__()
                layers = [nn.Linear(4, width), nn.ReLU()]
                layers += [nn.Linear(width, 2)]
                self.body = nn.Sequential(*layers)

            def forward(self, x):
                return self.body(x)

            def logits(self, x):
                return self(x).log_softmax(dim=-1)
        """,
        "self.net = Network().to('cpu')",
        "return self.net.logits(torch.from_numpy(obs)).argmax().item()",
    ),
    "a distribution of its own": program(
        act="""
        dist = Categorical(logits=self.net(torch.as_tensor(obs)))
        action = dist.sample()
        return int(action[0]) + int(dist.log_prob(action).sum().item() > 0)
        """,
    ),
    "a list of its own": program(
        act="kept = []\nkept.append(self.net(torch.as_tensor(obs)))\nreturn torch.cat(kept).argmax().item()",
    ),
    "numbers in a list from before": program(
        setup=f"{_NET}\nself.kept = []",
        act="q = self.net(torch.as_tensor(obs))\nself.kept.append(q.max().item())\nreturn q.argmax().item()",
    ),
    "functions of the project": program(
        """
        def prepared(obs):
            return torch.as_tensor(obs, dtype=torch.float32)

        @functools.lru_cache
        def count(n):
            return n * 2
        """,
        act="return self.net(prepared(obs)).argmax().item() + 0 * count(2)",
    ),
    "a dict of observations": program(
        act="batch = {'obs': torch.as_tensor(obs)}\nreturn self.net(batch['obs']).argmax().item()",
    ),
    "a recurrent layer": program(
        setup="self.cell = nn.GRU(4, 8)\nself.head = nn.Linear(8, 2)",
        act="x, _ = self.cell(torch.as_tensor(obs))\nreturn self.head(x).argmax().item()",
        learn="self.head(self.cell(torch.as_tensor(obs))[0]).sum().backward()",
    ),
}


class Env:
    """Batches of observations."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def reset(self) -> tuple[Any, dict[str, Any]]:
        return self._seen(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._seen(), float(action), False, False, {}

    def _seen(self) -> Any:
        return self.random.random((5, 4), dtype=np.float32)


def run(text: str) -> Any:
    """The actions of a program, or the message of what it raises."""
    import torch

    names: dict[str, Any] = {"__name__": "program"}
    torch.manual_seed(0)
    exec(compile(_SCALING, "given", "exec"), given := {"torch": torch, "nn": torch.nn})
    taken: list[int] = []
    env = Env()
    env.step = lambda action: (taken.append(action), Env.step(env, action))[1]  # type: ignore[method-assign]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "program", "exec"), names)
        try:
            names["main"](env, 3, given["Scaling"]())
        except RuntimeError as error:
            return str(error)
    return taken


def in_inference_mode(text: str) -> str:
    return text.replace("torch.no_grad()", "torch.inference_mode()")


@pytest.mark.parametrize("text", BREAKS.values(), ids=BREAKS)
def test_nothing_is_said_where_inference_mode_breaks_the_program(text: str) -> None:
    assert isinstance(run(text), list)
    assert "nference" in run(in_inference_mode(text))
    assert not found(text, ["TL301"], [])


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_the_fix_of_a_block_that_keeps_nothing_changes_nothing(text: str) -> None:
    after = fixed(text, ["TL301"], [], unsafe=False)
    assert after == in_inference_mode(text)
    assert run(after) == run(text)


def stored_by(cls: type) -> set[str]:
    """The attributes of itself that a layer assigns in its forward pass, also in methods that it calls there."""
    todo, seen, stored = ["forward"], set[str](), set[str]()
    while todo:
        name = todo.pop()
        method = inspect.getattr_static(cls, name, None)
        if name in seen or not inspect.isfunction(method) or method.__qualname__.startswith("Module."):
            continue
        seen.add(name)
        for part in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(method)))):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
                todo.append(part.attr)
                stored |= {part.attr} if isinstance(part.ctx, ast.Store) else set()
    return stored


def test_no_layer_of_torch_keeps_what_it_computes_but_lazy_ones() -> None:
    from torch import nn

    layers = {name: cls for name, cls in vars(nn).items() if isinstance(cls, type) and issubclass(cls, nn.Module)}
    assert len(layers) > 100
    keeping = {name: stored for name, cls in layers.items() if (stored := stored_by(cls))}
    # Recurrent layers list their own parameters again.
    assert set().union(*keeping.values()) <= {"_flat_weights", "_flat_weight_refs"}
