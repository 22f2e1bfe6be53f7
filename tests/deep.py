"""Ordinary code that depends on itself in long chains: one dimension of depth each, by name.

Each is a project of files by name, given how long its chain is. It ends in the same agent, whose value depends on the
whole chain, and in the loop that makes the chain hot.
"""

from __future__ import annotations

from collections.abc import Callable

Project = Callable[[int], dict[str, str]]

IMPORTS = "import torch\nfrom torch import nn\n"
# What may be asked of a value: whether it is a tensor, where it is, what it depends on, who else holds it.
SINK = """
def train(env, model, optimizer, memory, obs):
    losses = []
    while True:
        obs, reward, done, info = env.step(model(obs))
        value = {value}
        loss = (model(obs) - value).pow(2).mean()
        losses.append(loss)
        memory.append(value)
        if value > 0:
            print(value.item(), float(value), value.cpu().numpy())
        with torch.no_grad():
            target = value.detach().clone().to(obs.device)
        for row in value:
            memory.append(torch.tensor([row, value]))
        optimizer.zero_grad()
        (loss + target.sum()).backward()
        optimizer.step()
        total = torch.stack(losses).sum() + torch.FloatTensor(obs)
"""


def _rows(row: str, count: int, start: int = 1) -> str:
    """Rows of code, each numbered: ``{n}`` is its number, ``{m}`` the one before, ``{p}`` the one after."""
    return "".join(row.format(n=n, m=n - 1, p=n + 1) for n in range(start, start + count))


def _one(row: str, value: str, first: str = "", last: str = "") -> Project:
    """A module of rows and the agent, in one file; ``{n}`` in ``value`` and ``last`` is the number of the last row."""

    def project(count: int) -> dict[str, str]:
        end = last.format(n=count, p=count + 1) + SINK.format(value=value.format(n=count))
        return {"agent.py": IMPORTS + first + _rows(row, count) + end}

    return project


def _hot(row: str, value: str, first: str = "x0 = torch.zeros(3)") -> Project:
    """Rows in the body of the loop that trains, before what asks about the last of them."""

    def project(count: int) -> dict[str, str]:
        head, middle, tail = SINK.partition("        value = {value}\n")
        body = f"        {first}\n" + _rows(f"        {row}\n", count) + middle.format(value=value.format(n=count))
        return {"agent.py": IMPORTS + head + body + tail}

    return project


def _many(text: str, value: str, last: str = "", use: str = "") -> Project:
    """A file for each link, and the agent, which imports the last one."""

    def project(count: int) -> dict[str, str]:
        files = {f"m{n}.py": IMPORTS + text.format(n=n, m=n - 1, p=n + 1) for n in range(1, count + 1)}
        files["m0.py"] = IMPORTS + (last.format(n=count) or text.format(n=0, m=count, p=1))
        files["agent.py"] = f"{IMPORTS}{use.format(n=count)}\n{SINK.format(value=value.format(n=count))}"
        return files

    return project


DEEP: dict[str, Project] = {
    "names": _hot("x{n} = x{m}", "x{n}"),
    "names in a circle": _hot("x{n} = x{m}", "x{n}", "x0 = x1 if done else torch.zeros(3)"),
    "sums": _hot("x{n} = x{m} + 1", "x{n}"),
    "sums with each other": _hot("x{n} = x{m} + x{m}", "x{n}"),
    "one name": _hot("x0 = x0 + 1", "x0"),
    "calls of torch": _hot("x{n} = torch.relu(x{m})", "x{n}"),
    "methods": _hot("x{n} = x{m}.detach().to(x{m}.device)", "x{n}"),
    "conditions": _hot("x{n} = x{m} if done else obs", "x{n}"),
    "two arms": _hot("x{n} = x{m} if done else x{m}.float()", "x{n}"),
    "branches": lambda count: _hot("if done: x{n} = x{m}\n        else: x{n} = x{m}.float()", "x{n}")(count // 3),
    "tuples": _hot("x{n}, y{n} = x{m}, obs", "x{n}"),
    "lists": _hot("x{n} = [x{m}]", "x{n}"),
    "elements": _hot("x{n} = x{m}[0]", "x{n}"),
    "dicts": _hot("x{n} = {{'a': x{m}}}['a']", "x{n}"),
    "loops": lambda count: _hot("for x{n} in x{m}: pass", "x{n}")(count // 2),
    "comprehensions": _hot("x{n} = [y for y in x{m}]", "x{n}"),
    "in place": _hot("x0 += x0", "x0"),
    "appended": _hot("x{n} = []; x{n}.append(x{m})", "x{n}"),
    "attributes": _hot("model.x{n} = model.x{m}", "model.x{n}", "model.x0 = torch.zeros(3)"),
    "devices": _hot("d{n} = d{m}", "obs.to(d{n})", "d0 = torch.device('cuda')"),
    "flags": _hot("f{n} = f{m} and done", "obs if f{n} else obs.cpu()", "f0 = done"),
    "numbers": _hot("k{n} = k{m} + 1", "obs[k{n}]", "k0 = 0"),
    "shapes": _hot("k{n} = k{m}", "torch.zeros(k{n}, *obs.shape)", "k0 = (3, 4)"),
    "modules": _hot("n{n} = n{m}", "n{n}(obs)", "n0 = model"),
    "losses": _hot("loss{n} = loss{m} + model(obs).mean()", "loss{n}", "loss0 = 0"),
    "arrays": _hot("x{n} = x{m}.copy()", "torch.as_tensor(x{n})", "import numpy as np; x0 = np.zeros(3)"),
    "aliases of functions": _one("f{n} = f{m}\n", "f{n}(obs)", "f0 = torch.relu\n"),
    "aliases of classes": _one("A{n} = A{m}\n", "A{n}()(obs)", "A0 = nn.ReLU\n"),
    "functions": _one("def f{n}(x):\n    return f{m}(x)\n", "f{n}(obs)", "def f0(x): return torch.relu(x)\n"),
    "functions with names": _one(
        "def f{n}(x, y=None):\n    z = f{m}(x, y=y)\n    return z\n", "f{n}(obs)", "def f0(x, y): return x\n"
    ),
    "functions in a circle": _one("def f{n}(x):\n    return f{p}(x)\n", "f1(obs)", "", "def f{p}(x): return f1(x)\n"),
    "functions that call two": _one(
        "def f{n}(x):\n    return f{m}(x) + f{m}(-x)\n", "f{n}(obs)", "def f0(x): return torch.relu(x)\n"
    ),
    "functions that call several in a circle": _one(
        "def f{n}(x):\n    return f{m}(x) if x.sum() else f{p}(x)\n",
        "f1(obs)",
        "def f0(x): return f1(x)\n",
        "def f{p}(x): return f{n}(x)\n",
    ),
    "lambdas": _one("f{n} = lambda x: f{m}(x)\n", "f{n}(obs)", "f0 = torch.relu\n"),
    "partials": _one(
        "f{n} = functools.partial(f{m}, 1)\n", "f{n}(obs)", "import functools\ndef f0(*x): return x[-1]\n"
    ),
    "generators": _one("def f{n}(x):\n    yield from f{m}(x)\n", "next(f{n}(obs))", "def f0(x): yield x\n"),
    "callbacks handed on": _one(
        "def f{n}(call, x):\n    return f{m}(call, x)\n", "f{n}(torch.relu, obs)", "def f0(call, x): return call(x)\n"
    ),
    "callbacks in a list": _one(
        "def f{n}(x):\n    return x + {n}\nCALLS.append(f{n})\n",
        "[call(obs) for call in CALLS][0]",
        "CALLS = []\n",
    ),
    "decorators": _one(
        "def d{n}(call):\n    def wrapper(x):\n        return d{m}(call)(x)\n    return wrapper\n",
        "f(obs)",
        "def d0(call): return call\n",
        "@d{n}\ndef f(x): return torch.relu(x)\n",
    ),
    "decorators of one function": lambda count: _one(
        "@d\n", "f(obs)", "def d(call): return call\n", "def f(x): return torch.relu(x)\n"
    )(min(count, 190)),
    "globals": _one("X{n} = X{m}\n", "X{n}", "X0 = torch.zeros(3)\n"),
    "global statements": _one("def f{n}():\n    global X{n}\n    X{n} = X{m}\n", "X{n}", "X0 = torch.zeros(3)\n"),
    "annotations": _one("T{n} = list[T{m}]\n", "f(obs)", "T0 = torch.Tensor\n", "def f(x: T{n}) -> T{n}: return x\n"),
    "classes": _one(
        "class A{n}(A{m}):\n    def f{n}(self, x): return self.f{m}(x)\n",
        "A{n}().f{n}(obs)",
        "class A0(nn.Module):\n    def f0(self, x): return torch.relu(x)\n",
    ),
    "classes that say super": _one(
        "class A{n}(A{m}):\n    def __init__(self):\n        super().__init__()\n        self.x{n} = self.x{m}\n"
        "    def forward(self, x): return super().forward(x)\n",
        "A{n}()(obs)",
        "class A0(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.x0 = nn.Linear(1, 1)\n"
        "    def forward(self, x): return torch.relu(x)\n",
    ),
    "classes in a circle": _one(
        "class A{n}(A{p}):\n    def f{n}(self, x): return self.f{p}(x)\n", "A1().f1(obs)", "", "class A{p}(A1): ...\n"
    ),
    "classes with two bases": _one(
        "class A{n}(A{m}, B{m}): ...\nclass B{n}(A{m}, B{m}): ...\n",
        "A{n}().f(obs)",
        "class A0(nn.Module):\n    def f(self, x): return x\nclass B0: ...\n",
    ),
    "modules in modules": _one(
        "class A{n}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.inner = A{m}()\n"
        "    def forward(self, x): return self.inner(x)\n",
        "A{n}()(obs)",
        "class A0(nn.Module):\n    def forward(self, x): return torch.relu(x)\n",
    ),
    "parts of what calls itself": _one(
        "    encode(x.part{n})\n    encode(x[{n}])\n",
        "encode(model)(obs)",
        "def encode(x):\n    torch.optim.Adam(x.parameters()).step()\n",
        "    return x\n",
    ),
    "attributes of one class": _one(
        "        self.x{n} = self.x{m}\n",
        "A().x{n}(obs)",
        "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.x0 = nn.Linear(1, 1)\n",
    ),
    "methods of one class": _one(
        "    def f{n}(self, x):\n        self.x{n} = self.f{m}(x)\n        return self.x{n}\n",
        "A().f{n}(obs)",
        "class A(nn.Module):\n    def f0(self, x): return torch.relu(x)\n",
    ),
    "properties": _one(
        "    @property\n    def x{n}(self): return self.x{m}\n",
        "A().x{n}",
        "class A(nn.Module):\n    @property\n    def x0(self): return torch.zeros(3)\n",
    ),
    "closures": lambda count: {
        "agent.py": IMPORTS
        + "".join(f"{' ' * n}def f{n}(x{n}):\n" for n in range(min(count, 90)))
        + f"{' ' * min(count, 90)}return x0\n"
        + "".join(f"{' ' * n}return f{n}(x{n - 1})\n" for n in reversed(range(1, min(count, 90))))
        + SINK.format(value="f0(obs)")
    },
    "functions of many files": _many(
        "from m{m} import f{m}\ndef f{n}(x):\n    return f{m}(x)\n",
        "f{n}(obs)",
        "def f0(x): return torch.relu(x)\n",
        "from m{n} import f{n}\n",
    ),
    "names of many files": _many("from m{m} import X\n", "X", "X = torch.zeros(3)\n", "from m{n} import X\n"),
    "stars of many files": _many("from m{m} import *\n", "X", "X = torch.zeros(3)\n", "from m{n} import *\n"),
    "stars in a circle": _many("from m{m} import *\nX{n} = 1\n", "X", "", "from m{n} import *\n"),
    "files of many files": _many("import m{m}\nX = m{m}.X\n", "X", "X = torch.zeros(3)\n", "from m{n} import X\n"),
    "names of many files in a circle": _many("from m{m} import X\n", "X", "", "from m{n} import X\n"),
    "classes of many files": _many(
        "from m{m} import A{m}\nclass A{n}(A{m}):\n    def f{n}(self, x):\n        return self.f{m}(x)\n",
        "A{n}().f{n}(obs)",
        "class A0(nn.Module):\n    def f0(self, x): return torch.relu(x)\n",
        "from m{n} import A{n}\n",
    ),
    "classes of many files in a circle": _many(
        "from m{m} import A{m}\nclass A{n}(A{m}):\n    def f{n}(self, x):\n        return self.f{m}(x)\n",
        "A{n}().f{n}(obs)",
        "",
        "from m{n} import A{n}\n",
    ),
    "classes of many files in two circles": _many(
        "from m{m} import A{m}\nfrom m0 import A0\nclass A{n}(A{m}, A0):\n"
        "    def f{n}(self, x):\n        return self.f{m}(x)\n",
        "A{n}().f{n}(obs)",
        "",
        "from m{n} import A{n}\n",
    ),
    "modules of many files": _many(
        "from m{m} import A{m}\nclass A{n}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.inner = A{m}()\n    def forward(self, x):\n        return self.inner(x)\n",
        "A{n}()(obs)",
        "class A0(nn.Module):\n    def forward(self, x): return torch.relu(x)\n",
        "from m{n} import A{n}\n",
    ),
}
"""Chains by what they are made of; a few are shorter than asked for, where Python or a limit ends them."""
