"""Whether what leaves the first ``with`` block of a program, or its function ``f``, is proven to hold no tensor."""

from __future__ import annotations

import ast

import pytest
from projects import Code

from torchlint.facts.state.escape import Escapes, Stores

HEAD = "import torch\nimport numpy as np\nnet = torch.nn.Linear(3, 4)\n"


def leaves_as_data(text: str) -> bool:
    code = Code(HEAD + text)
    nodes = list(ast.walk(code.file().tree))
    places = [node for node in nodes if isinstance(node, (ast.With, ast.AsyncWith))]
    places = places or [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == "f"]
    return code.analyses[Escapes].leaves_as_data(code.file(), places[0])


def block(inside: str, after: str = "pass", more: str = "") -> str:
    """A block in a function of a class, what comes after it, and other methods."""
    rows = [f"            {line}" for line in inside.splitlines()]
    rows += [f"        {line}" for line in after.splitlines()]
    rows += [f"    {line}" for line in more.splitlines()]
    body = "\n".join(rows)
    return f"class A:\n    def f(self, x, store):\n        y = 0\n        with torch.no_grad():\n{body}\n"


DATA = {
    "returned as an array": block("return net(x).numpy()"),
    "returned as a number": block("return net(x).argmax().item()"),
    "returned as a tuple of data": block("y = net(x)\nreturn y.numpy(), y.sum().item()"),
    "turned into data after the block": block("y = net(x)", "return y.cpu().numpy()"),
    "turned into a number after the block": block("y = net(x)", "return int(y[0])"),
    "rebound after the block": block("y = net(x)", "z = y.numpy()\ny = torch.zeros(3)\nreturn y"),
    "in a dict of arrays": block("return {'mean': net(x).numpy(), 'n': 1}"),
    "a tensor of another shape": block("y = net(x.unsqueeze_(0))\nreturn y.numpy()"),
    "cast for a type checker": "import typing\n" + block("return typing.cast('Array', net(x)).numpy()"),
    "stored as data": block("self.y = net(x).numpy()\nreturn self.y"),
    "appended as data": block("store.append(net(x).item())\nreturn 1"),
    "a list of the block's own": block("z = []\nz.append(net(x))\nreturn z[0].numpy()"),
    "a callee that keeps nothing": block("return self.g(x).numpy()", more="def g(self, x):\n    return net(x)"),
    "a number in a dict of the module": "D = {}\n" + block("D['y'] = net(x).item()\nreturn 1"),
    "a callee with a cache of data": "import functools\n"
    + block("return self.g(2) * net(x).item()", more="@functools.lru_cache\ndef g(self, n):\n    return n * 2"),
    "a global name that is a number": block("y = net(x)", "global z\nz = 1\nreturn y.numpy()"),
    "a recursive callee": block(
        "return self.g(x).numpy()", more="def g(self, x):\n    return self.g(x) if x else net(x)"
    ),
    "a distribution": block("return torch.distributions.Normal(net(x), 1).sample().numpy()"),
    "a function": "@torch.no_grad()\ndef f(x):\n    return net(x).numpy()\n",
}
TENSORS = {
    "nothing leaves at all": block("net(x)"),
    "in a dict of several things": block("y = net(x)\nreturn {'mean': y, 'n': 1}"),
    "returned": block("return net(x)"),
    "returned in a tuple": block("y = net(x)\nreturn y, y.numpy()"),
    "returned in one of two places": block("if x:\n    return net(x)\nreturn net(x).numpy()"),
    "returned after the block": block("y = net(x)", "return y"),
    "returned in a list after the block": block("y = net(x)", "return [y]"),
    "used by an unknown function after the block": block("y = net(x)", "return g(y)"),
    "used in a nested function after the block": block("y = net(x)", "def h():\n    return y\nreturn h"),
    "stored on self": block("self.y = net(x)\nreturn 1"),
    "stored on self in a tuple": block("self.y, z = net(x), 1\nreturn 1"),
    "stored on self by a for loop": block("for self.y in net(x):\n    pass\nreturn 1"),
    "stored on self by with": block("with net(x) as self.y:\n    pass\nreturn 1"),
    "stored in an item": block("store['y'] = net(x)\nreturn 1"),
    "stored in a callee": block("self.g(net(x))\nreturn 1", more="def g(self, x):\n    self.y = x"),
    "stored in a callee's callee": block(
        "self.g(net(x))\nreturn 1", more="def g(self, x):\n    self.h(x)\ndef h(self, x):\n    self.y = x"
    ),
    "appended": block("store.append(net(x))\nreturn 1"),
    "stored in a dict of the module": "D = {}\n" + block("D['y'] = net(x)\nreturn 1"),
    "a default in a dict of the module": "D = {}\n" + block("D.setdefault('y', net(x))\nreturn 1"),
    "stored in a dict of the module by a callee": "D = {}\n"
    + block("self.g(x)\nreturn 1", more="def g(self, x):\n    D['y'] = net(x)"),
    "stored in a mutable default": block(
        "self.g(x)\nreturn 1", more="def g(self, x, known={}):\n    known['y'] = net(x)"
    ),
    "kept by a cache of a callee": "import functools\n"
    + block("return self.g(2).numpy()", more="@functools.cache\ndef g(self, n):\n    return torch.ones(n)"),
    "a global name of a callee": block(
        "self.g(x)\nreturn 1", more="def g(self, x):\n    global last\n    last = net(x)"
    ),
    "a global name declared before": "def f(x):\n    global y\n    with torch.no_grad():\n        y = net(x)\n"
    "        return 1\n",
    "a list from before the block": "def f(x):\n    z = []\n    with torch.no_grad():\n        z.append(net(x))\n"
    "        y = 1\n    print(y)\n    return z\n",
    "read by a function from before": "def f(x):\n    def h():\n        return y\n    with torch.no_grad():\n"
    "        y = net(x)\n    print(y.item())\n    return h\n",
    "set by the method of object": block("object.__setattr__(self, 'y', net(x))\nreturn 1"),
    "set by name": block("setattr(self, 'y', net(x))\nreturn 1"),
    "appended to a list that was there": block("z = self.z\nz.append(net(x))\nreturn 1")
    + "    def g(self):\n        self.z = []\n",
    "appended by keyword": block("store.insert(index=0, object=net(x))\nreturn 1"),
    "appended behind a star": block("store.extend(*[net(x)])\nreturn 1"),
    "appended to an attribute": block("self.store.append(net(x))\nreturn 1"),
    "passed to an unknown function": block("g(net(x))\nreturn 1"),
    "passed by keyword": block("g(y=net(x))\nreturn 1"),
    "passed behind a star": block("g(*net(x))\nreturn 1"),
    "passed to a function that was passed in": block("x(net(x))\nreturn 1"),
    "yielded": block("yield net(x)"),
    "yielded as data": block("yield net(x).numpy()"),
    "a global": "def f(x):\n    global y\n    y = net(x)\n    return 1\n",
    "a nonlocal name": "def g():\n    y = 1\n    def f(x):\n        nonlocal y\n        y = net(x)\n        return 1\n",
    "a nested function that keeps": block("def h(z):\n    self.y = z\nh(net(x))\nreturn 1"),
    "a nested function that is returned": block("z = net(x)\nreturn lambda: z"),
    "a lambda that keeps": block("h = lambda z: store.append(z)\nh(net(x))\nreturn 1"),
    "gradients are wanted": block("net(x).backward()\nreturn 1"),
    "gradients are switched on": block("with torch.enable_grad():\n    y = net(x)\nreturn 1"),
    "a tensor that was there is written": block("y = net(x)\nx.copy_(y)\nreturn y.numpy()"),
    "unknown data": block("return g()"),
    "a dict": block("return {'y': net(x)}"),
    "a function of tensors": "@torch.no_grad()\ndef f(x):\n    return net(x)\n",
}


@pytest.mark.parametrize("text", DATA.values(), ids=DATA)
def test_data_leaves(text: str) -> None:
    assert leaves_as_data(text)


@pytest.mark.parametrize("text", TENSORS.values(), ids=TENSORS)
def test_tensors_may_leave(text: str) -> None:
    assert not leaves_as_data(text)


_OBJECTS = """
class Kept:
    all = []

    def __init__(self, mean):
        self.mean = mean
        {constructor}

    def sample(self):
        {method}
        return self.mean.detach()


def f(x, old):
    {body}
    return 0
"""


@pytest.mark.parametrize(
    ("constructor", "method", "body", "expected"),
    [
        ("pass", "pass", "Kept(net(x))", True),
        ("self.twice = mean + mean", "pass", "Kept(net(x)).sample()", True),
        ("self.all.append(self)", "pass", "Kept(net(x))", False),
        ("pass", "self.last = self.mean", "Kept(net(x))", False),
        ("pass", "self.all.append(self.mean)", "Kept(net(x))", False),
        ("pass", "pass", "old.kept = Kept(net(x))", False),
        ("pass", "pass", "old.__init__(net(x))", False),
    ],
)
def test_a_new_object_keeps_no_tensor_unless_something_keeps_the_object(constructor, method, body, expected):
    assert leaves_as_data(_OBJECTS.format(constructor=constructor, method=method, body=body)) is expected


@pytest.mark.parametrize(
    ("forward", "keeps", "stores"),
    [
        ("return self.net(x)", False, False),
        ("raise ValueError(self.net(x))", True, False),
        ("self.last = self.net(x)", True, True),
        ("self.rows.append(self.net(x))", True, True),
        ("self.unknown.append(self.net(x))", True, True),
        ("register(self.net(x))", True, False),
    ],
)
def test_unknown_code_may_keep_a_tensor_but_only_what_is_seen_stores_one(forward, keeps, stores):
    code = Code(
        HEAD
        + "class Net(torch.nn.Module):\n    def __init__(self, activation, unknown):\n        super().__init__()\n"
        + "        self.net, self.rows = torch.nn.Linear(3, 4), []\n"
        + "        self.activation, self.unknown = activation, unknown\n"
        + f"    def forward(self, x):\n        {forward}\n"
        + "def main(activation, unknown, x):\n    mine = Net(activation, unknown)\n    mine(x)\n"
    )
    call = code.node("mine(x)")
    assert isinstance(call, ast.Call)
    found = [code.analyses[fact].run_keeps(code.file(), call) for fact in (Escapes, Stores)]
    assert found == [keeps, stores]
