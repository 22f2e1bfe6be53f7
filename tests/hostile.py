"""Hostile texts by name: nesting of every construct, long chains, and sheer size.

Each text ends with an ordinary agent whose one smell must be found and fixed as if nothing stood above it, wherever
Python itself can read the text.
"""

from __future__ import annotations

from collections.abc import Callable

DEEP = 5000
"""How deep, or how long, each construct is."""

AGENT = """
import torch


class Agent:
    def act(self, obs):
        return torch.FloatTensor(obs)


def train(env, agent, obs):
    while True:
        obs, reward, done, info = env.step(agent.act(obs))
"""
SMELL = "torch.FloatTensor(obs)"
NEIGHBOUR = AGENT.replace("act", "choose").replace("Agent", "Other").replace("train", "learn")
"""An agent for another file, which nothing in the hostile one may touch."""

Text = Callable[[int], str]


def _around(before: str, inner: str, after: str) -> Text:
    """An expression in many others: assigned in the body of a hot loop."""
    return lambda deep: f"x = {before * deep}{inner}{after * deep}\n"


def _chain(first: str, more: str) -> Text:
    return lambda deep: f"x = {first}{more * deep}\n"


def _blocks(header: str, end: str = "pass", tail: str = "") -> Text:
    """Statements in statements; Python allows 99 of them."""

    def text(deep: int) -> str:
        rows = [f"{' ' * level}{header}" for level in range(deep)]
        rows.append(f"{' ' * deep}{end}")
        if tail:
            rows += [f"{' ' * level}{tail}" for level in reversed(range(deep))]
        return "\n".join(rows) + "\n"

    return text


def _rows(row: str, first: str = "", last: str = "") -> Text:
    """Many rows, each numbered: ``{n}`` is its number and ``{m}`` the one before."""
    return lambda deep: first + "".join(row.format(n=n, m=n - 1) for n in range(1, deep + 1)) + last


def _hot(row: str) -> Text:
    """Many rows in the body of a hot loop."""
    first = "import torch, gym\nenv = gym.make('x')\nx0 = torch.zeros(3)\nwhile True:\n    env.step(x0)\n"
    return _rows(f"    {row}\n", first)


NESTED: dict[str, Text] = {
    "parentheses": _around("(", "1", ")"),
    "lists": _around("[", "1", "]"),
    "tuples": _around("(", "1", ",)"),
    "sets": _around("{", "1", "}"),
    "dicts": _around("{1: ", "1", "}"),
    "calls": _around("f(", "1", ")"),
    "tensor calls": _around("torch.tensor(", "1", ")"),
    "keyword arguments": _around("f(a=", "1", ")"),
    "starred": _around("f(*", "1", ")"),
    "subscripts": _around("x[", "1", "]"),
    "comprehensions": _around("[y for y in ", "[1]", "]"),
    "walrus": _around("(y := ", "1", ")"),
    "lambdas": _around("lambda: ", "1", ""),
    "lambdas with defaults": _around("lambda y=", "1", ": 1"),
    "not": _around("not ", "1", ""),
    "minus": _around("-", "1", ""),
    "invert": _around("~", "1", ""),
    "powers": _chain("1", "**1"),
    "ternaries": _chain("1", " if 1 else 1"),
    "sums": _chain("1", " + 1"),
    "sums of names": _chain("y", " + y"),
    "products on rows": lambda deep: "x = (y\n" + "    * y\n" * deep + ")\n",
    "attributes": _chain("y", ".y"),
    "chained calls": _chain("y", "()"),
    "chained methods": _chain("y", ".cpu()"),
    "chained subscripts": _chain("y", "[0]"),
    "comparisons": _chain("1", " < 1"),
    "and": _chain("y", " and y"),
    "and or": _chain("y", " and y or y"),
    "joined strings": _chain("''", " 'a'"),
    "joined f-strings": _chain("f''", " f'{y}'"),
    "f-strings": lambda deep: "x = " + "f'{" * deep + "1" + "}'" * deep + "\n",
    "await": lambda deep: "async def f():\n    " + "await (" * deep + "g()" + ")" * deep + "\n",
    "yield": lambda deep: "def f():\n    " + "(yield " * deep + "1" + ")" * deep + "\n",
    "targets": lambda deep: "x = " * deep + "1\n",
    "unpacked": lambda deep: "(" * deep + "x" + ",)" * deep + " = 1\n",
    "annotation": lambda deep: "x: " + "list[" * deep + "int" + "]" * deep + "\n",
    "union annotation": lambda deep: "def f(x: int" + " | int" * deep + "): ...\n",
    "deleted": lambda deep: "del " + "(" * deep + "x" + ")" * deep + "\n",
    "decorators": lambda deep: "@f\n" * deep + "def g(): ...\n",
    "nested decorators": lambda deep: "@" + "f(" * deep + ")" * deep + "\ndef g(): ...\n",
    "bases": lambda deep: "class A(" + "f(" * deep + ")" * deep + "): ...\n",
    "elif": lambda deep: "if x:\n    pass\n" + "elif x:\n    pass\n" * deep,
    "elif with else": lambda deep: (
        "if x:\n    y = 1\n" + "elif x:\n    y = 1\n" * deep + "else:\n    y = 2\nprint(y)\n"
    ),
    "except": lambda deep: "try:\n    pass\n" + "except E:\n    pass\n" * deep,
    "with items": lambda deep: "with " + ", ".join(["f() as x"] * deep) + ":\n    pass\n",
    "cases": lambda deep: "match x:\n" + "    case 1:\n        pass\n" * deep,
    "nested patterns": lambda deep: "match x:\n    case " + "[" * deep + "1" + "]" * deep + ":\n        pass\n",
    "or patterns": lambda deep: "match x:\n    case 1" + " | 1" * deep + ":\n        pass\n",
    "class patterns": lambda deep: "match x:\n    case " + "A(" * deep + ")" * deep + ":\n        pass\n",
    "if": _blocks("if x:"),
    "while": _blocks("while x:"),
    "for": _blocks("for x in y:"),
    "with": _blocks("with x:"),
    "def": _blocks("def f():"),
    "class": _blocks("class A:"),
    "try": _blocks("try:", tail="finally: pass"),
    "match": lambda deep: (
        "".join(f"{'  ' * n}match x:\n{'  ' * n} case 1:\n" for n in range(deep)) + "  " * deep + "pass\n"
    ),
    "else if": lambda deep: (
        "".join(f"{' ' * n}if x: pass\n{' ' * n}else:\n" for n in range(deep)) + " " * deep + "pass\n"
    ),
    "mixed blocks": lambda deep: (
        "".join(
            " " * n + ("def f(x):", "for x in x:", "if x:", "with x as x:", "class A:")[n % 5] + "\n"
            for n in range(deep)
        )
        + " " * deep
        + "x = x\n"
    ),
    "one line": lambda deep: "x = 1; " * deep + "\n",
}
"""Nesting, and chains that are nested in the tree, of one statement."""

_TORCH = "import torch\n"
_GYM = "import torch, gym\nenv = gym.make('x')\n"

LONG: dict[str, Text] = {
    "bound by the one before": _hot("x{n} = x{m} + 1"),
    "rebound": _hot("x0 = x0 + 1"),
    "rebound by calls": _hot("x0 = torch.relu(x0)"),
    "rebound in place": _hot("x0 += x0"),
    "rebound under conditions": _hot("if x0.sum(): x0 = x0.cpu()"),
    "attributes of attributes": _hot("env.x{n} = env.x{m}"),
    "appends": _hot("x0.append(x0)"),
    "unpacked": _hot("x{n}, y = x{m}, x0"),
    "smells": _hot("y = torch.FloatTensor([x0, x{n}])"),
    "syncs": _hot("print(x0.item(), x0.cpu().numpy())"),
    "creations": _hot("y{n} = torch.zeros(3).to('cuda')"),
    "loops one after the other": _rows("for x in x:\n    env.step(x)\n", _GYM),
    "functions that call the one before": _rows("def f{n}(x):\n    return f{m}(x)\n", _TORCH),
    "functions that call the one before in a loop": _rows(
        "def f{n}(x):\n    while True:\n        env.step(f{m}(x))\n    return x\n", _GYM
    ),
    "functions that hand themselves around": _rows("def f{n}(f):\n    return f{m}(f{n})\n", _TORCH),
    "lambdas": _rows("f{n} = lambda x: f{m}(x)\n", _TORCH),
    "aliases": _rows("f{n} = f{m}\n", _TORCH + "f0 = torch.relu\n"),
    "globals": _rows("def f{n}():\n    global x\n    x = f{m}()\n", _TORCH),
    "classes that inherit the one before": _rows(
        "class A{n}(A{m}):\n    def go(self, x): return super().go(x)\n", _TORCH + "class A0: ...\n"
    ),
    "classes that hold the one before": _rows(
        "class A{n}:\n    def __init__(self): self.x = A{m}()\n    def go(self, x): return self.x.go(x)\n", _TORCH
    ),
    "methods of one class": _rows(
        "    def f{n}(self, x):\n        self.x{n} = self.f{m}(self.x{m})\n        return self.x{n}\n",
        _TORCH + "class A:\n",
    ),
    "imports": _rows("import m{n}\nfrom m{n} import f{n}\n", _TORCH),
    "parameters": lambda deep: "def f({}):\n    return f({})\n".format(
        ", ".join(f"x{n}=1" for n in range(deep)), ", ".join(f"x{n}" for n in range(deep))
    ),
    "keys": _rows("    'k{n}': x['k{m}'],\n", _TORCH + "x = {\n", "}\n"),
    "comments": _rows("# noqa: TL101 {n}\n", _TORCH),
    "blank rows": lambda deep: "\n" * deep,
}
"""Many statements that depend on each other."""


def _of_calls(rows: int) -> str:
    return _TORCH + "".join(f"x{n} = torch.tensor([{n}]).to('cuda')\n" for n in range(rows))


def _of_functions(rows: int) -> str:
    return _TORCH + "".join(f"def f{n}(x):\n    return torch.FloatTensor(x)\n" for n in range(rows // 2))


HUGE: dict[str, Callable[[], str]] = {
    "60,000 calls": lambda: _of_calls(60_000),
    "60,000 rows of functions": lambda: _of_functions(60_000),
    "60,000 rows in one loop": lambda: LONG["syncs"](60_000),
    "60,000 blank rows": lambda: "\n" * 60_000,
    "60,000 comments": lambda: "# torch noqa: TL101 torchlint: ignore[TL101]\n" * 60_000,
    "60,000 rows of one string": lambda: 'x = """' + "torch # noqa\n" * 60_000 + '"""\n',
    "60,000 rows of one dict": lambda: "x = {" + "".join(f"{n}: [{n}],\n" for n in range(60_000)) + "}\n",
    "60,000 times else if": lambda: "if x:\n    pass\n" + "elif x:\n    pass\n" * 60_000,
    "a million elements in a row": lambda: "x = [" + "0," * 1_000_000 + "]\n",
    "a million statements in a row": lambda: "x;" * 1_000_000 + "\n",
    "a million brackets": lambda: "x = " + "(" * 1_000_000 + ")" * 1_000_000 + "\n",
    "a million sums": lambda: "x = 1" + "+1" * 1_000_000 + "\n",
    "a million attributes": lambda: "x = y" + ".y" * 900_000 + "\n",
    "a million calls": lambda: "x = y" + "()" * 900_000 + "\n",
    "a million strings": lambda: "x = " + "''" * 900_000 + "\n",
    "a million backslashes": lambda: "x = 1 +" + "\\\n" * 600_000 + "1\n",
    "a million spaces": lambda: "import torch" + " " * 1_000_000 + "\n",
    "a million times import": lambda: "import (" * 240_000 + "\n",
    "a million times noqa": lambda: "# noqa: TL101" * 150_000 + "\n",
    "a million times ignore": lambda: "# torchlint: ignore[" * 90_000 + "\n",
    "a million dots": lambda: "from " + "." * 1_000_000 + " import x\n",
    "a long name": lambda: "x" * 1_900_000 + " = 1\n",
    "a long number": lambda: "x = " + "9" * 1_900_000 + "\n",
    "a string of megabytes": lambda: "x = '" + "torch" * 380_000 + "'\n",
    "a comment of megabytes": lambda: "# " + "torch " * 310_000 + "\n",
    "more than is parsed": lambda: "x = 1  # torch\n" * 400_000,
}
"""Texts whose size is the problem."""
