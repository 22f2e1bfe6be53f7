"""Where the number ``x.item()``, or the graph of ``net(x)``, goes in small programs: all ends, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Code

from torchlint.engine.codec import from_row, to_row
from torchlint.engine.run import check
from torchlint.facts.flow.flow import Flow
from torchlint.rule import Use
from torchlint.settings.model import Settings

HEAD = """\
import logging
import math

import numpy as np
import torch
import wandb
from torch import nn

net = nn.Linear(3, 3)
table = torch.zeros(3)
array = np.zeros(3)
x = torch.ones(())
"""


def ends(text: str, expression: str = "x.item()") -> set[str]:
    code = Code(HEAD + text)
    return {use.name for use in code.analyses[Flow].uses(code.file(), code.node(expression))}


def graph_ends(text: str, expression: str = "net(x)") -> set[str]:
    code = Code(HEAD + text)
    return {use.name for use in code.analyses[Flow].graph_uses(code.file(), code.node(expression))}


ONE_EXPRESSION = {
    "x.item()": set(),
    "print(x.item())": {"LOGGED"},
    "print(f'loss {x.item():.3f}')": {"LOGGED"},
    "print('loss %f' % x.item())": {"LOGGED"},
    "print('loss {}'.format(x.item()))": {"LOGGED"},
    "logging.info('loss %f', x.item())": {"LOGGED"},
    "wandb.log({'loss': x.item()}, step=3)": {"LOGGED"},
    "writer.add_scalar('loss', x.item(), 3)": {"LOGGED"},
    "self.logger.record('loss', x.item())": {"LOGGED"},
    "bar.set_postfix(loss=x.item())": {"LOGGED"},
    "torch.save({'loss': x.item()}, 'file')": {"LOGGED"},
    "f(x.item())": {"PASSED"},
    "f(*[x.item()])": {"PASSED"},
    "f(**{'a': x.item()})": {"PASSED"},
    "table[0] = x.item()": {"TENSOR"},
    "array[0] = x.item()": {"HOST"},
    "table * x.item()": {"TENSOR"},
    "table > x.item()": {"TENSOR"},
    "array * x.item()": {"HOST"},
    "table.mul_(x.item())": {"TENSOR"},
    "table.view(x.item(), 1)": {"SIZE"},
    "torch.zeros(x.item())": {"SIZE"},
    "np.zeros(x.item())": {"SIZE"},
    "np.copyto(kept, x.item())": {"HOST"},
    "torch.arange(x.item())": {"SIZE"},
    "torch.full((3,), 0.0) + x.item()": {"TENSOR"},
    "torch.tensor(x.item())": {"TENSOR"},
    "torch.tensor([x.item()])": set(),
    "torch.tensor([x.item()], device='cuda')": {"TENSOR"},
    "print(torch.tensor([x.item()]).mean().item())": {"LOGGED"},
    "print(torch.mean(torch.tensor([x.item()])))": {"LOGGED"},
    "torch.tensor([x.item()]).mean(dim=0) * table": {"TENSOR"},
    "range(x.item())": {"SIZE"},
    "sorted([x.item(), 1])": {"HOST"},
    "print(sorted({'loss': x.item()}.items()))": {"LOGGED"},
    "print(sorted({'loss': x.item()}.items(), key=f))": {"HOST"},
    "math.sqrt(x.item())": set(),
    "print(math.sqrt(abs(-float(x.item()))))": {"LOGGED"},
    "print(np.mean([x.item(), 2]))": {"LOGGED"},
    "print(sum([x.item() for _ in range(3)]))": {"LOGGED"},
    "print(max(x.item(), 2))": {"LOGGED"},
    "print(1 if x.item() else 2)": {"LOGGED"},
    "print(x.item() if a else 2)": {"LOGGED"},
    "print(x.item() == 3)": {"LOGGED"},
    "isinstance(x.item(), float)": set(),
    "len([x.item()])": set(),
    "print(1 if bool(x.item()) else 2)": {"LOGGED"},
    "print(1 if bool([x.item()]) else 2)": set(),
    "print(any([x.item()]))": {"LOGGED"},
    "print(*(x.item(), 3))": {"LOGGED"},
    "raise ValueError(x.item())": {"LOGGED"},
    "env.step(x.item())": {"ENVIRONMENT"},
    "image, _, episode_done = house.step(x.item())": {"ENVIRONMENT"},
    "scores, indices = house.step(x.item())": {"PASSED"},
    "np.random.seed(x.item())": {"HOST"},
}


@pytest.mark.parametrize("text", ONE_EXPRESSION)
def test_one_expression(text: str) -> None:
    assert ends(text) == ONE_EXPRESSION[text]


BRANCHES = ["if x.item(): pass", "while x.item() > 2: pass", "y = 1 if x.item() else 2", "assert x.item() < 3"]


INDICES = [
    "table[x.item()]",
    "table[x.item():]",
    "table[x.item(), 0]",
    "table[int(torch.tensor([x.item()]).sum().item())]",
    "y = {x.item(): 1}",
]


def ends_in_an_update(text: str) -> set[str]:
    loop = "def f(optimizer):\n    for _ in range(9):\n        optimizer.zero_grad()\n        net(x).backward()\n"
    return ends(f"{loop}        optimizer.step()\n        {text}\nf(torch.optim.SGD(net.parameters()))\n")


@pytest.mark.parametrize("text", BRANCHES)
def test_decisions_in_code_that_often_runs(text: str) -> None:
    assert ends_in_an_update(text) == {"CONDITION"}


@pytest.mark.parametrize("text", INDICES)
def test_indices_in_code_that_often_runs(text: str) -> None:
    assert ends_in_an_update(text) == {"INDEX"}
    assert ends(text) == {"LOGGED"}  # what seldom runs needs the number as seldom as a log does


def test_numbers_that_an_update_collects_for_a_tensor() -> None:
    assert ends_in_an_update("y = [x.item(), 2]; torch.tensor(y)") == {"TENSOR", "COLLECTED"}


REPLACED = {
    "x.item() if math.isfinite(x.item()) else None": set(),
    "0.0 if math.isnan(x.item()) else x.item()": set(),
    "x.item() if not np.isinf(x.item()) else 0.0": set(),
    "1.0 if math.isfinite(x.item()) else 0.0": {"CONDITION"},
    "x.item() if math.isfinite(x.item()) else f()": {"CONDITION"},
    "x.item() if x.item() > 0.0 else 0.0": {"CONDITION"},
}


@pytest.mark.parametrize("text", REPLACED)
def test_a_literal_in_the_place_of_what_is_not_finite_decides_nothing(text: str) -> None:
    tested = text.replace("x.item()", "y")
    assert ends_in_an_update(f"y = x.item(); z = {tested}") == REPLACED[text]


def test_decisions_that_are_seldom_taken_are_like_a_log() -> None:
    assert ends("if x.item() > 3:\n    print('large')\n") == {"LOGGED"}


NAMES = {
    "rebound": ("y = x.item()\ny = 3\nprint(y)", set()),
    "arithmetic": ("y = x.item()\nz = 2 * y + 1\nprint(z)", {"LOGGED"}),
    "one of two names": ("y, z = x.item(), 3\ntable * z", set()),
    "the other": ("y, z = 3, x.item()\ntable * z", {"TENSOR"}),
    "nested unpacking": ("(a, b), c = (1, x.item()), 2\ntable * b\nprint(c)", {"TENSOR"}),
    "starred": ("a, *b = 1, 2, x.item()\nprint(b)", {"LOGGED"}),
    "augmented": ("y = 0\nfor _ in range(3):\n    y += x.item()\ny /= 3\nprint(y)", {"LOGGED"}),
    "augmented tensor": ("y = torch.zeros(3)\ny += x.item()", {"TENSOR"}),
    "walrus": ("print(y := x.item())\ntable * y", {"LOGGED", "TENSOR"}),
    "in a nested function": ("y = x.item()\ndef f():\n    print(y)", {"LOGGED"}),
    "only its length": ("y = [x.item()]\nrange(len(y))", set()),
    "only whether it is there": ("y = x.item()\nif y is None: pass", set()),
}
CONTAINERS = {
    "a list": ("y = []\ny.append(x.item())\nprint(y[0])", {"LOGGED"}),
    "a list that is not read": ("y = []\ny.append(x.item())", set()),
    "appended with +=": ("y = []\ny += [x.item()]\nprint(y)", {"LOGGED"}),
    "extended": ("y = []\ny.extend([x.item()])\nfor z in y:\n    table * z", {"TENSOR"}),
    "extended by an array": ("y = []\ny.extend(x.item())\nif y: pass\nprint(y[0])", {"LOGGED"}),
    "a key": ("d = {}\nd['a'] = x.item()\nprint(d['a'])", {"LOGGED"}),
    "another key": ("d = {}\nd['a'] = x.item()\nprint(d['b'])", set()),
    "an unknown key": ("d = {}\nd[k] = x.item()\nprint(d['b'])", {"LOGGED"}),
    "looked up": ("d = {}\nd['a'] = x.item()\nprint(d.get('a', 0))", {"LOGGED"}),
    "another looked up": ("d = {}\nd['a'] = x.item()\nprint(d.get('b', 0))", set()),
    "its keys": ("d = {'a': x.item()}\nfor k in d:\n    print(k)", set()),
    "its items": ("d = {'a': x.item()}\nfor k, v in d.items():\n    print(k)\n    table * v", {"TENSOR"}),
    "its values": ("d = {'a': x.item()}\nprint(sum(d.values()))", {"LOGGED"}),
    "membership of keys": ("d = {'a': x.item()}\nif 'a' in d: pass", set()),
    "merged": ("d, e = {}, {'a': x.item()}\nd.update(e)\nprint(d['a'])", {"LOGGED"}),
    "merged by keyword": ("d = {}\nd.update(a=x.item())\nprint(d['a'])", {"LOGGED"}),
    "spread": ("d = {'a': x.item()}\ne = {**d, 'b': 2}\nprint(e['a'])", {"LOGGED"}),
    "built by dict": ("d = dict(a=x.item(), b=2)\nprint(d['a'])", {"LOGGED"}),
    "another of dict": ("d = dict(a=x.item(), b=2)\nprint(d['b'])", set()),
    "a comprehension": ("d = {k: x.item() for k in 'ab'}\nprint([v for v in d.values()])", {"LOGGED"}),
    "lists in a dict": (
        "from collections import defaultdict\nd = defaultdict(list)\nd['a'].append(x.item())\n"
        "for k, v in d.items():\n    print(np.mean(v))",
        {"LOGGED"},
    ),
    "setdefault": ("d = {}\nd.setdefault('a', []).append(x.item())\ntable * d['a'][0]", {"TENSOR"}),
    "zipped": ("for a, b in zip([x.item()], [2]):\n    print(a)\n    table * b", {"LOGGED"}),
    "numbered": ("for a, b in enumerate([x.item()]):\n    table * a\n    print(b)", {"LOGGED"}),
    "a slice": ("y = [2, x.item()]\nprint(y[1:][0])", {"LOGGED"}),
    "an attribute of any name": ("def feed(o, k):\n    getattr(o, k).append(x.item())", {"STORED"}),
    "an attribute of any name, behind a name": (
        "def feed(o, k):\n    rows = getattr(o, k)\n    rows.append(x.item())",
        {"STORED"},
    ),
    "a slice without it": ("y = [2, x.item()]\nprint(y[1:][0])\ntable * y[:1][0]", {"LOGGED"}),
    "an alias": ("y = []\nz = y\nz.append(x.item())\nprint(y)", {"LOGGED"}),
    "another text that begins otherwise": (
        "d = {}\nd['train/' + k] = x.item()\nprint(d[f'train/{k}'])\ntable * d['weight']",
        {"LOGGED"},
    ),
    "a text of unknown beginning": ("d = {}\nd[f'{k}/loss'] = x.item()\ntable * d['big/loss']", {"TENSOR"}),
    "another text that ends otherwise": (
        "d = {}\nd[k + '/loss'] = x.item()\nprint(d[f'train/{k}'])\ntable * d['weight'] * d[f'{k}/weight']",
        {"LOGGED"},
    ),
    "a key by its name": (
        "LOSS = 'loss'\nMEAN = f'{LOSS}_mean'\ndef f():\n    return {LOSS: x.item(), MEAN: x.item()}\n"
        "m = f()\nprint(m['loss'], m['loss_mean'])\ntable * m['weight']",
        {"LOGGED"},
    ),
    "the keys of a dict": ("d = {}\nd[k] = x.item()\nfor name in d:\n    table * name", set()),
    "keys that a comprehension puts together": (
        "d = {'loss': x.item()}\ne = {f'train/{k}': v for k, v in d.items()}\nprint(e)\ntable * e['weight']",
        {"LOGGED"},
    ),
    "keys that a loop makes of those of another dict": (
        "d = {'loss': x.item()}\ne = {}\nfor k, v in d.items():\n    e[f'{unit}_{k}'] = v\n"
        "print(e['actor_loss'])\ntable * e['total_steps']",
        {"LOGGED"},
    ),
    "keys that a loop takes over from another dict": (
        "d = {'loss': x.item()}\ne = {}\nfor k, v in d.items():\n    e[k] = v\nprint(e['loss'])\ntable * e['steps']",
        {"LOGGED"},
    ),
    "keys that a comprehension takes over": (
        "d = {'loss': x.item()}\ne = {k: v for k, v in d.items() if k != 'a'}\nprint(e['loss'])\ntable * e['steps']",
        {"LOGGED"},
    ),
    "keys that a loop adds something to": (
        "d = {'loss': x.item()}\ne = {}\nfor k, v in d.items():\n    e['train/' + k] = v\n"
        "print(e['train/loss'])\ntable * e['train/steps']",
        {"LOGGED"},
    ),
    "keys of what a loop computes of another dict": (
        "d = {'loss': x.item()}\ne = {}\nfor k, v in d.items():\n    e[f'mean_{k}'] = float(v) / 2\n"
        "print(e['mean_loss'])\ntable * e['mean_steps']",
        {"LOGGED"},
    ),
    "keys of sums": (
        "d = {'loss': x.item()}\ne = {}\nfor k, v in d.items():\n    e[k] = e.get(k, 0.0) + v\n"
        "print(e['loss'])\ntable * e['steps']",
        {"LOGGED"},
    ),
    "keys of sums in a dict of dicts": (
        "d = {'loss': x.item()}\ne = {}\nfor k, v in d.items():\n    e[unit][k] += v\n"
        "for own in e.values():\n    print(own['loss'])\n    table * own['steps']",
        {"LOGGED"},
    ),
    "keys by which elements are taken": (
        "d = {'loss': x.item()}\ne = {}\nfor k in d:\n    e['train/' + k] = d[k]\n"
        "print(e['train/loss'])\ntable * e['train/steps']",
        {"LOGGED"},
    ),
    "a key that is another one in the next expression": (
        "d = {'loss': x.item()}\ne = {}\nfor k, v in d.items():\n    last = v\nfor k in names:\n    e[k] = last\n"
        "table * e['steps']",
        {"TENSOR"},
    ),
    "a key that stands for another one": (
        "d = {'loss': x.item()}\ne = {}\nfor k, v in d.items():\n    e[names[k]] = v\ntable * e['steps']",
        {"TENSOR"},
    ),
    "what a loop makes of items": (
        "d = {'loss': x.item()}\ne = {}\nfor k, v in d.items():\n    e[f'{k}_mean'] = 2 * v\n    array * v\n"
        "print(e['loss_mean'])",
        {"LOGGED", "HOST"},
    ),
    "put in when the function has returned": (
        "def f():\n    m = {}\n    for v in m.values():\n        table * v\n    return m\n"
        "m = f()\nm['loss'] = x.item()\nprint(m)",
        {"LOGGED"},
    ),
    "put into a number, which holds nothing": (
        "def f(v):\n    return {k: f(w) for k, w in v.items()} if isinstance(v, dict) else x.sum().item()\n"
        "m = f({})\nm['loss'] = x.item()\nprint(m)",
        {"LOGGED"},
    ),
    "sent to other processes": (
        "import torch.distributed as dist\nrows = [None, None]\ndist.all_gather_object(rows, {'loss': x.item()})\n"
        "print(rows)",
        {"LOGGED"},
    ),
    "sent in a list": (
        "import torch.distributed as dist\nrows = [x.item()]\ndist.broadcast_object_list(rows, src=0)\nprint(rows)",
        {"LOGGED"},
    ),
    "reduced by a function that was chosen": (
        "def f(kind):\n    join = torch.max if kind else torch.mean\n    print(join(torch.tensor([x.item()])).item())",
        {"LOGGED"},
    ),
    "an array of which there are statistics": (
        "def f(n):\n    y = np.zeros(n)\n    for i in range(n):\n        y[i] = x.item()\n"
        "    print(len(y), y[:3].mean(), np.std(y), f'{y[2]:.3f}')",
        {"LOGGED"},
    ),
    "an array of which a statistic decides": (
        "def f(n):\n    y = np.empty((n, 2))\n    for i in range(n):\n        y[i, 0] = x.item()\n"
        "        if y.max() > 3: table * y.sum()",
        {"LOGGED", "TENSOR"},
    ),
    "an array that is computed with, too": (
        "def f(n):\n    y = np.zeros(n)\n    y[0] = x.item()\n    print(y.mean())\n    return y * 2",
        {"HOST"},
    ),
    "an array that somebody has": ("def f(y: np.ndarray):\n    y[0] = x.item()\n    print(y.mean())", {"HOST"}),
    "an array that is no more than filled": ("def f(n):\n    y = np.zeros(n)\n    y[0] = x.item()", {"HOST"}),
    "someone's container": ("y = make()\ny.append(x.item())", {"PASSED"}),
    "a container from outside": ("def f(y):\n    y.append(x.item())", {"COLLECTED"}),
    "a container of a caller": ("def f(y):\n    y.append(x.item())\nz = []\nf(z)\nprint(z)", {"LOGGED"}),
    "the container of another caller": (
        "def f(y):\n    y.append(x.item())\nz, w = [], []\nf(z)\nprint(w)",
        set(),
    ),
    "a list turned into a tensor": ("y = []\ny.append(x.item())\ntorch.tensor(y)", {"TENSOR"}),
}
CALLS = {
    "returned to a caller": ("def f():\n    return x.item()\nprint(f())", {"LOGGED"}),
    "returned and dropped": ("def f():\n    return x.item()\nf()", set()),
    "returned by a function that is not called": ("def f():\n    return x.item()", {"RETURNED"}),
    "in a dict that is dropped": ("def f():\n    return {'a': x.item()}", {"RETURNED"}),
    "in a dict of an update": ("def f():\n    net(x).backward()\n    return {'a': x.item()}", {"REPORTED"}),
    "in a list of dicts of an update": (
        "def f():\n    y = []\n    for _ in z:\n        net(x).backward()\n        y.append({'a': x.item()})\n"
        "    return y",
        {"REPORTED"},
    ),
    "in a list of dicts without an update": (
        "def f():\n    y = []\n    for _ in z:\n        y.append({'a': x.item()})\n    return y",
        {"RETURNED"},
    ),
    "added up under the keys of an update": (
        "def f():\n    y = {}\n    for s in z:\n        net(x).backward()\n        s = {'a': x.item()}\n"
        "        for k, v in s.items():\n            y[k] = y.get(k, 0) + v\n    return y",
        {"REPORTED"},
    ),
    "means of lists under the keys of an update": (
        "def f():\n    y = {}\n    for k in z:\n        net(x).backward()\n"
        "        y.setdefault(k, []).append(x.item())\n"
        "    return {k: np.mean(v) for k, v in y.items()}",
        {"REPORTED"},
    ),
    "reduced over all processes by an object that is not known": (
        "def f(strategy):\n    print(strategy.all_reduce({'a': x.item()}))",
        {"LOGGED"},
    ),
    "by an update without a name": ("def f():\n    net(x).backward()\n    return x.item()", {"RETURNED"}),
    "a learning rate": (
        "o = torch.optim.SGD(net.parameters())\nfor g in o.param_groups:\n    g['lr'] = x.item()",
        {"HOST"},
    ),
    "the first of a tuple": ("def f():\n    return x.item(), 2\na, b = f()\nprint(a)\ntable * b", {"LOGGED"}),
    "a returned key": (
        "def f():\n    return {'a': x.item(), 'b': 2}\nd = f()\nprint(d['a'])\ntable * d['b']",
        {"LOGGED"},
    ),
    "through an argument": ("def f(a, b):\n    print(a)\n    table * b\nf(x.item(), 2)", {"LOGGED"}),
    "through a keyword": ("def f(a, *, b):\n    print(a)\n    table * b\nf(1, b=x.item())", {"TENSOR"}),
    "through *args": ("def f(*args):\n    print(args[0])\n    table * args[1]\nf(x.item(), 2)", {"LOGGED"}),
    "through **kwargs": ("def f(**kw):\n    print(kw['a'])\n    table * kw['b']\nf(a=1, b=x.item())", {"TENSOR"}),
    "back to the same caller": (
        "def same(a):\n    return a\nprint(same(x.item()))\ntable * same(2)",
        {"LOGGED"},
    ),
    "recursion": ("def f(a, n):\n    return a if n == 0 else f(a, n - 1)\nprint(f(x.item(), 3))", {"LOGGED"}),
    "a function that cleans a report": (
        "import json\ndef clean(x):\n    if isinstance(x, float):\n        return x if math.isfinite(x) else None\n"
        "    if isinstance(x, dict):\n        return {k: clean(v) for k, v in x.items()}\n"
        "    return [clean(v) for v in x] if isinstance(x, list) else x\n"
        "for _ in range(9):\n    net(x).backward()\n    print(json.dumps(clean({'a': [x.item()]})))",
        {"LOGGED", "PASSED"},
    ),
    "a generator": ("def f():\n    yield x.item()\nfor y in f():\n    print(y)", {"LOGGED"}),
    "a lambda": ("f = lambda a: a + 1\nprint(f(x.item()))", {"LOGGED"}),
}
OBJECTS = {
    "an attribute": (
        "class A:\n    def f(self):\n        self.a = x.item()\n    def g(self):\n"
        "        return torch.zeros(3) * self.a\n"
        "A().g()",
        {"TENSOR"},
    ),
    "an attribute that is never read": ("class A:\n    def f(self):\n        self.a = x.item()", {"STORED"}),
    "of the same name in another class": (
        "class A:\n    def f(self):\n        self.a = x.item()\nclass B:\n    def __init__(self):\n        self.a = 1\n"
        "    def g(self):\n        print(self.a)\nB().g()",
        {"STORED"},
    ),
    "read in a subclass": (
        "class A:\n    def f(self):\n        self.a = x.item()\nclass B(A):\n    def g(self):\n        print(self.a)",
        {"LOGGED"},
    ),
    "summed up in an attribute": (
        "class A:\n    def __init__(self):\n        self.a = 0\n    def f(self):\n        self.a += x.item()\n"
        "    def g(self):\n        print(self.a)",
        {"LOGGED"},
    ),
    "a list in an attribute": (
        "class A:\n    def __init__(self):\n        self.a = []\n    def f(self):\n        self.a.append(x.item())\n"
        "    def g(self):\n        print(sum(self.a) / len(self.a))",
        {"LOGGED"},
    ),
    "read by a property": (
        "class A:\n    def f(self):\n        self._a = x.item()\n    @property\n    def a(self):\n"
        "        return self._a\n"
        "b = A()\nprint(b.a)",
        {"LOGGED"},
    ),
    "given to a constructor": (
        "class A:\n    def __init__(self, a):\n        self.a = a\nb = A(x.item())\nprint(b.a)",
        {"LOGGED"},
    ),
    "a field of a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    a: float\n    b: int\n"
        "c = A(x.item(), 2)\nprint(c.a)\ntable * c.b",
        {"LOGGED"},
    ),
    "an attribute of an object that is read as a dict": (
        "def f(run):\n    losses = run.losses\n    losses.a += x.item()\n"
        "def g(run):\n    for key, value in run.losses.items():\n        print(key)\n        table * value",
        {"TENSOR", "STORED"},
    ),
    "another attribute of it": (
        "def f(run):\n    run.losses.a = x.item()\ndef g(run):\n    print(run.losses.b)\n    print(run.losses['b'])",
        {"STORED"},
    ),
    "a list of an owner": (
        "class A:\n    def __init__(self, log):\n        self.log = log\n    def f(self):\n"
        "        self.log.append(x.item())\n"
        "history = []\nA(history).f()\nprint(history)",
        {"LOGGED", "STORED"},
    ),
}


@pytest.mark.parametrize(
    ("text", "expected"), [*NAMES.values(), *CONTAINERS.values(), *CALLS.values(), *OBJECTS.values()]
)
def test_through_the_program(text: str, expected: set[str]) -> None:
    assert ends(text) == expected


def test_across_files() -> None:
    code = Code(
        {
            "agent.py": "import torch\nclass Agent:\n    def update(self, x: torch.Tensor):\n"
            "        return {'loss': x.item(), 'kl': 2}\n",
            "train.py": "from agent import Agent\nagent = Agent()\n"
            "for key, value in agent.update(1).items():\n    print(key, value)\n",
        }
    )
    assert code.analyses[Flow].uses(code.file("agent.py"), code.node("x.item()", "agent.py")) == {Use.LOGGED}


TENSORS = {
    "read back": ("y = net(x).argmax()\ny.item()", "net(x).argmax()", {"READ"}),
    "copied and read back": ("y = net(x).detach().cpu()\ny.numpy()", "net(x)", {"READ"}),
    "only its shape": ("y = net(x)\nprint(y.shape, y.dtype, len(y), y.numel())", "net(x)", set()),
    "an operand": ("y = net(x)\ny + 1", "net(x)", {"TENSOR"}),
    "differentiated": ("net(x).backward()", "net(x)", {"BACKWARD"}),
    "an array that is averaged": ("y = net(x).numpy()\nprint(y.mean())", "net(x).numpy()", {"LOGGED"}),
    "an array that is computed with": ("y = net(x).numpy()\nz = y + 1", "net(x).numpy()", {"HOST"}),
}


@pytest.mark.parametrize(("text", "expression", "expected"), TENSORS.values(), ids=TENSORS)
def test_tensors_and_arrays(text: str, expression: str, expected: set[str]) -> None:
    assert ends(text, expression) == expected


GRAPHS = {
    "nothing": ("net(x)", set()),
    "detached": ("y = net(x).detach()\nprint(y)", {"DETACHED"}),
    "its data": ("y = net(x).data", {"DETACHED"}),
    "read back": ("net(x).item()", {"DETACHED"}),
    "an index of the best": ("net(x).argmax(1)", {"DETACHED"}),
    "compared": ("y = net(x) > 3", {"DETACHED"}),
    "turned into data": ("torch.tensor(net(x))", {"DETACHED"}),
    "a tensor like it": ("torch.zeros_like(net(x))", {"DETACHED"}),
    "decided on": ("if net(x).sum(): pass", {"DETACHED"}),
    "backward": ("net(x).sum().backward()", {"BACKWARD"}),
    "backward of a sum": (
        "loss = 0\nfor _ in range(3):\n    loss = loss + net(x).mean()\nloss.backward()",
        {"BACKWARD"},
    ),
    "backward of an augmented sum": (
        "loss = 0\nfor _ in range(3):\n    loss += net(x).mean()\nloss.backward()",
        {"BACKWARD"},
    ),
    "drawn from a list": (
        "import random\ny = [net(x)]\ntorch.stack(random.sample(y, 1)).mean().backward()",
        {"BACKWARD"},
    ),
    "one of a list": ("import random\ny = [net(x)]\nrandom.choice(y).sum().backward()", {"BACKWARD"}),
    "a list in order": ("y = [net(x)]\nsorted(y, key=len)[0].sum().backward()", {"BACKWARD"}),
    "a list in another order": (
        "import random\ny = [net(x)]\nrandom.shuffle(y)\ny[0].sum().backward()",
        {"BACKWARD"},
    ),
    "a number of rows": ("import random\nrandom.sample([1, 2], net(x))", {"DETACHED"}),
    "rows to columns": (
        "y = [[net(x), 1], [2, 3]]\nfor a, b in zip(*y):\n    a.sum().backward()",
        {"BACKWARD"},
    ),
    "rows to other columns": (
        "y = [[net(x), 1], [2, 3]]\nfor a, b in zip(*y):\n    b.sum().backward()",
        set(),
    ),
    "backward of a list": ("y = []\ny.append(net(x))\ntorch.stack(y).mean().backward()", {"BACKWARD"}),
    "autograd.grad": ("torch.autograd.grad(net(x).sum(), x)", {"BACKWARD"}),
    "scaled": ("scaler.scale(net(x).mean()).backward()", {"BACKWARD"}),
    "accelerator": ("accelerator.backward(net(x).mean())", {"BACKWARD"}),
    "a maximum by its name": ("y = net(x).max(1)\ny.values.sum().backward()", {"BACKWARD"}),
    "the places of a maximum": ("y = net(x).max(1)\nprint(y.indices)", set()),
    "an item of unknown name": ("y = (net(x), x)\nprint(y.first)", {"PASSED"}),
    "the values of a maximum": ("y, i = net(x).max(1)\ny.sum().backward()", {"BACKWARD"}),
    "the positions of a maximum": ("y, i = net(x).max(1)\ni.sum().backward()", set()),
    "another network": ("other = nn.Linear(3, 1)\nother(net(x)).sum().backward()", {"BACKWARD"}),
    "an operation of its own": (
        "class Scaled(torch.autograd.Function):\n    pass\nScaled.apply(net(x), 2).mean().backward()",
        {"BACKWARD"},
    ),
    "applied by something else": ("class Scaled:\n    pass\nScaled.apply(net(x)).mean().backward()", {"PASSED"}),
    "log_prob of a distribution": (
        "dist = torch.distributions.Normal(net(x), 1)\n(-dist.log_prob(x)).mean().backward()",
        {"BACKWARD"},
    ),
    "sample of a distribution": ("a = torch.distributions.Normal(net(x), 1).sample()\nprint(a)", {"DETACHED"}),
    "log_prob of it": (
        "dist = torch.distributions.Normal(table, 1)\ndist.log_prob(net(x)).sum().backward()",
        {"BACKWARD"},
    ),
    "written into a tensor": ("y = torch.zeros(3)\ny[0] = net(x)\ny.sum().backward()", {"BACKWARD"}),
    "written into whole numbers": (
        "y = torch.zeros(3).long()\ny[0] = net(x)\n(y * table).sum().backward()",
        {"DETACHED"},
    ),
    "copied into a tensor": ("y = torch.zeros(3)\ny.copy_(net(x))\ny.sum().backward()", {"BACKWARD"}),
    "copied into its data": ("table.data.copy_(net(x))\ntable.sum().backward()", set()),
    "written into an array": ("array[0] = net(x)", {"DETACHED"}),
    "printed": ("print(net(x))", {"LOGGED"}),
    "returned to a loss": ("def f():\n    return net(x)\nf().mean().backward()", {"BACKWARD"}),
    "returned and dropped": ("def f():\n    return net(x)", {"RETURNED"}),
    "kept": ("class A:\n    def f(self):\n        self.y = net(x)", {"STORED"}),
    "passed": ("unknown(net(x))", {"PASSED"}),
    "only its shape": ("print(net(x).shape[0], net(x).size(0))", set()),
}


@pytest.mark.parametrize(("text", "expected"), GRAPHS.values(), ids=GRAPHS)
def test_graphs(text: str, expected: set[str]) -> None:
    assert graph_ends(text) == expected


WORLD = """\
class WorldEnv:
    def reset(self):
        return table
    def step(self, action):
        self.speed = {kept}
        return self.speed * 2, self.speed.sum(), table > 1, {{}}
env = WorldEnv()
"""
ROLLOUT = "seen, gain, done, _ = env.step(net(x))\n"


@pytest.mark.parametrize(
    ("world", "learning", "expected"),
    [
        (WORLD.format(kept="torch.tanh(action)"), "gain.backward()", {"BACKWARD", "ENVIRONMENT"}),
        (WORLD.format(kept="torch.tanh(action)"), "print(done)", {"ENVIRONMENT"}),
        (WORLD.format(kept="action.detach()"), "gain.backward()", {"ENVIRONMENT"}),
        ("", "(0 - gain).sum().backward()", {"BACKWARD", "ENVIRONMENT"}),
        ("", "(gain * net(table)).sum().backward()", {"ENVIRONMENT"}),
        ("", "print(gain)", {"ENVIRONMENT"}),
        ("import gymnasium\nenv = gymnasium.make('Ant-v5')\n", "gain.backward()", {"ENVIRONMENT"}),
    ],
)
def test_a_graph_goes_through_environments_that_compute_with_tensors(
    world: str, learning: str, expected: set[str]
) -> None:
    """One of the project that does, or an unknown one where ``backward`` runs through what it gives alone."""
    assert graph_ends(f"{world}{ROLLOUT}{learning}\n") == expected


def test_an_operation_without_autograd_ends_the_graph() -> None:
    text = "def f():\n    y = net(x)\n    with torch.no_grad():\n        z = y * 2\n    z.mean().backward()\nf()\n"
    assert graph_ends(text) == {"DETACHED"}


def test_a_graph_leaves_functions_by_the_calls_that_it_came_through() -> None:
    """A state that goes through five functions comes back to its own caller, not to one that learns."""
    inner = "\n".join(f"def f{n}(h):\n    return f{n - 1}(h)" for n in range(1, 5))
    text = f"def f0(h):\n    return h * 2\n{inner}\n"
    learning = "def learn(h):\n    f4(h).sum().backward()\n"
    assert graph_ends(f"{text}{learning}print(f4(net(x)).argmax())") == {"DETACHED"}


def test_a_container_filled_without_autograd_keeps_the_graph() -> None:
    text = (
        "def put(y, rows):\n    rows.append(y)\n"
        "def f():\n    rows = []\n    y = net(x)\n    with torch.no_grad():\n        put(y, rows)\n"
        "    torch.stack(rows).mean().backward()\nf()\n"
    )
    assert graph_ends(text) == {"BACKWARD"}


DIFFERENTIATED = {
    "in a sum": "def f(a, b):\n    loss = a + b\n    show(a)\n    loss.backward()\nf(1, 2)",
    "by a caller": "def f(a):\n    show(a)\n    return a\ndef g(a):\n    (2 * f(a)).backward()\n",
    "an attribute": "class A:\n    def __init__(self, a):\n        self.a = a\n    def f(self):\n"
    "        (self.a * 2).backward()\n"
    "        show(self.a)",
}


@pytest.mark.parametrize("text", DIFFERENTIATED.values(), ids=DIFFERENTIATED)
def test_backward_runs_through_a_name(text: str) -> None:
    code = Code(HEAD + text)
    assert code.analyses[Flow].differentiated(code.file(), code.shown())


def test_backward_through_another_name_says_nothing() -> None:
    code = Code(HEAD + "def f(a, b):\n    b.backward()\n    show(a)\n    a = b\nf(1, 2)")
    assert not code.analyses[Flow].differentiated(code.file(), code.shown())


@pytest.mark.parametrize(
    "made", ["torch.Tensor(a)", "torch.cuda.FloatTensor(a)", "torch.as_tensor(a)", "torch.tensor(a)"]
)
def test_backward_through_what_a_constructor_makes_says_nothing(made: str) -> None:
    code = Code(HEAD + f"def f(a):\n    show(a)\n    a = {made}\n    (net(x) * a).mean().backward()\nf(1)")
    assert not code.analyses[Flow].differentiated(code.file(), code.shown())


def test_the_way_of_a_value_that_grows_for_ever_ends() -> None:
    text = "d = {}\ny = x.item()\nwhile True:\n    y = [y]\n    d = {'a': y, 'b': d}\nprint(y)\n"
    assert ends(text) == {"LOGGED", "COLLECTED"}


WINDOW = """\
class Window:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)

    @property
    def mean(self):
        return np.mean(self.items)

window = Window()
window.add(x.item())
print(window.mean)

def norm(obs, rms):
    {body}
"""
OTHERS = {
    "what the class lacks is asked for": "return table * int(rms.mean) / rms.var",
    "the same, of an attribute": "return table * int(obs.rms.mean) / obs.rms.count",
    "a method of the name": "return table * int(rms.mean())",
    "a method of the name of a list": "return [table * key for key, value in rms.items()]",
    "the limits of a type": "return table * int(np.finfo(np.float32).mean)",
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_number_is_not_read_from_an_object_that_is_asked_for_what_its_class_lacks(name: str) -> None:
    assert ends(WINDOW.format(body=OTHERS[name])) == {"LOGGED"}


def test_an_object_that_may_be_of_the_class_may_hold_the_number() -> None:
    assert ends(WINDOW.format(body="return table * int(rms.mean)")) >= {"LOGGED", "TENSOR"}
    doubted = "return table * int(rms.mean) / rms.var if hasattr(rms, 'var') else 0"
    assert "TENSOR" in ends(WINDOW.format(body=doubted))


def test_a_number_is_not_given_by_a_row_of_a_table_that_becomes_a_dict() -> None:
    text = "class Losses:\n    def to_dict(self):\n        return {'loss': x.item()}\nprint(Losses().to_dict())\n"
    row = "def newest(table):\n    return sorted(table.iloc[-1].to_dict().values())\n"
    assert ends(text + row) == {"LOGGED"}


UPDATE = """\
import torch

class Learner:
    def update(self, x):
        loss = (x * self.weight).sum()
        {backward}
        return {given}

    def forget(self):
        pass
"""


@pytest.mark.parametrize(
    ("backward", "given", "caller", "expected"),
    [
        ("loss.backward()", "loss.item(), 1", "loss, n = learner.update(y)", {"REPORTED"}),
        ("loss.backward()", "loss.item()", "print(learner.update(y))", {"REPORTED", "LOGGED"}),
        ("loss.backward()", "loss.item()", "", {"RETURNED"}),
        ("pass", "loss.item()", "print(learner.update(y))", {"RETURNED", "LOGGED"}),
    ],
)
def test_an_update_of_a_library_reports_its_losses(backward: str, given: str, caller: str, expected: set[str]) -> None:
    code = Code(
        {
            "lib/__init__.py": "from lib.learner import Learner",
            "lib/learner.py": UPDATE.format(backward=backward, given=given),
            "main.py": f"from lib import Learner\nlearner = Learner()\n{caller}\n",
        }
    )
    node = code.node("loss.item()", "lib/learner.py")
    found = code.analyses[Flow].uses(code.file("lib/learner.py"), node)
    assert {use.name for use in found} == expected


def test_what_a_library_makes_of_a_number_for_a_log() -> None:
    assert ends("from board import ScalarSummary\nrows = [ScalarSummary('loss', x.item())]\n") == {"LOGGED"}
    own = "class ScalarSummary:\n    def __init__(self, name, value):\n        table * value\n"
    assert ends(f"{own}rows = [ScalarSummary('loss', x.item())]\n") == {"TENSOR"}


# ways -----------------------------------------------------------------------------------------------------------------

AGENT = """\
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.net = nn.Linear(3, 1).cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def learn(self, batch):
        loss = self.net(batch.cuda()).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        return {
            "loss": value,  # of one batch
            "size": len(batch),
        }
"""
TRAIN = """\
from agent import Agent


def train(loader, writer):
    agent = Agent()
    for step, batch in enumerate(loader):
        info = agent.learn(batch)
        writer.add_scalar("loss",
                          info["loss"], step)
"""


def test_a_finding_shows_the_statements_by_which_its_number_comes_to_the_log(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "train.py").write_text(TRAIN)
    settings = Settings(root=tmp_path, isolated=True, select=("TL203",))
    (found,) = check([tmp_path], settings).findings
    assert found.start.row == 15
    assert [(hop.path, hop.row, hop.name) for hop in found.flow] == [
        ("agent.py", 16, "return {'loss': value, 'size': len(batch)}"),
        ("train.py", 7, "info = agent.learn(batch)"),
        ("train.py", 8, "writer.add_scalar('loss', info['loss'], step)"),
    ]
    assert from_row(to_row(found)) == found


def test_a_number_that_its_own_statement_uses_has_no_way(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.replace("value = loss.item()", "print(loss.item())").replace("value", "0"))
    (tmp_path / "train.py").write_text(TRAIN)
    (found,) = check([tmp_path], Settings(root=tmp_path, isolated=True, select=("TL203",))).findings
    assert found.flow == ()
