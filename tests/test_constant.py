"""Whether the expression that a small program shows has the same value on every call."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.facts.state.constant import Constants

pytestmark = pytest.mark.versions

HEAD = "import math\nimport random\nimport numpy as np\nimport torch\n"


def constant(text: str) -> bool:
    code = Code(HEAD + text)
    return code.analyses[Constants].of(code.file(), code.shown())


CONSTANT = {
    "a literal": "show(1)",
    "arithmetic of literals": "show(-1 * 2 + 3)",
    "a list of literals": "show([1, (2, 'a')])",
    "a comprehension over literals": "show([i for i in range(3)])",
    "a builtin": "show(float(max(1, 2)))",
    "mathematics": "show(math.log(2) / np.sqrt(2))",
    "a dtype": "show(torch.float32)",
    "a device": "show(torch.device('cpu'))",
    "a module's constant": "SIZE = 3\ndef f():\n    show(SIZE)",
    "a local of a constant": "def f():\n    x = 3\n    show(x)",
    "a local that a setting chooses": "def f(cfg):\n    x = 1\n    if cfg.short:\n        x = 2\n    show(x)",
    "a local of one value on all ways": "def f(c):\n    x = 1\n    if c:\n        x = 1\n    show(x)",
    "a parameter that all callers give": "def f(x):\n    show(x)\nf(1)\nf(2)",
    "a parameter left out": "def f(x=1):\n    show(x)\nf()",
    "a parameter handed on": "def g(y):\n    f(y)\ndef f(x):\n    show(x)\ng(1)",
    "settings": "def f(args):\n    show(args.gamma)",
    "settings of settings": "def f(cfg):\n    show(cfg.agent.gamma)",
    "an attribute set in __init__": (
        "class A:\n    def __init__(self):\n        self.x = 1\n    def f(self):\n        show(self.x)"
    ),
    "an attribute of the class": "class A:\n    x = 1\n    def f(self):\n        show(self.x)",
    "an attribute of a base class": (
        "class B:\n    def __init__(self, x):\n        self.x = x\nclass A(B):\n    def f(self):\n        show(self.x)"
    ),
    "a parameter called device": "def f(device):\n    show(device)",
    "a long chain": "".join(f"X{i + 1} = X{i}\n" for i in range(60)).replace("X0\n", "1\n", 1) + "show(X60)",
}
CHANGING = {
    "a parameter of no known caller": "def f(x):\n    show(x)",
    "a parameter left out that is None then": "def f(x=None):\n    show(x)\nf()",
    "a parameter of a method that an unknown object has too": (
        "class A:\n    def act(self, x):\n        show(x)\n"
        + "".join(f"class B{i}:\n    def act(self, x):\n        pass\n" for i in range(8))
        + "A().act(1)\ndef g(o):\n    o.act(random.random())\n"
    ),
    "a parameter that a caller gives as something else": "def f(x):\n    show(x)\nf(1)\nf(random.random())",
    "a parameter behind a star": "def f(x):\n    show(x)\nf(*y)",
    "a random number": "show(random.random())",
    "an unknown function": "show(f(1))",
    "a builtin that the file replaces": "def float(x):\n    return x\nshow(float(1))",
    "star arguments": "show(max(*[1, 2]))",
    "an unknown name": "show(x)",
    "a loop's target": "for i in range(3):\n    show(i)",
    "a counter": "x = 0\nfor i in y:\n    x += 1\n    show(x)",
    "a local of one of two constants": "def f(c):\n    x = 1\n    if c:\n        x = 2\n    show(x)",
    "a local that each round gives another constant": (
        "def f():\n    x = 1\n    for i in y:\n        show(x)\n        x = 2"
    ),
    "a flag": "def f():\n    stop = False\n    if g():\n        stop = True\n    show(stop)",
    "a module's name bound twice": "SIZE = 3\nSIZE = 4\ndef f():\n    show(SIZE)",
    "a parameter counted down": "def f(n):\n    show(n)\n    f(n - 1)\nf(2)",
    "a module's name rebound by a function": "X = 3\ndef f():\n    global X\n    X = g()\ndef h():\n    show(X)",
    "a tensor": "x = torch.zeros(3)\nshow(x)",
    "a list that grows": "def f():\n    x = [1]\n    x.append(2)\n    show(x)",
    "a list that changes": "def f():\n    x = [1]\n    x[0] = 2\n    show(x)",
    "a module's list that grows elsewhere": "X = [1]\ndef f():\n    X.append(2)\ndef g():\n    show(X)",
    "a list of a comprehension over something unknown": "show([i for i in x])",
    "an attribute set again": (
        "class A:\n    def __init__(self):\n        self.x = 1\n    def g(self):\n        self.x = 2\n"
        "    def f(self):\n        show(self.x)"
    ),
    "an attribute set again by a derived class": (
        "class A:\n    def __init__(self):\n        self.x = 1\n    def f(self):\n        show(self.x)\n"
        "class B(A):\n    def g(self):\n        self.x = 2"
    ),
    "an attribute set from outside": (
        "class A:\n    def __init__(self):\n        self.x = 1\n    def f(self):\n        show(self.x)\n"
        "a = A()\na.x = 2"
    ),
    "an attribute counted up": (
        "class A:\n    def __init__(self):\n        self.x = 1\n"
        "    def f(self):\n        self.x += 1\n        show(self.x)"
    ),
    "an attribute that grows": (
        "class A:\n    def __init__(self):\n        self.x = [1]\n    def g(self):\n        self.x.append(2)\n"
        "    def f(self):\n        show(self.x)"
    ),
    "an attribute that grows in a derived class": (
        "class A:\n    def __init__(self):\n        self.x = [1]\n    def f(self):\n        show(self.x)\n"
        "class B(A):\n    def g(self):\n        self.x.append(2)"
    ),
    "an attribute never set": "class A:\n    def f(self):\n        show(self.x)",
    "an attribute of anything": "def f(x):\n    show(x.y)",
    "a shape": "def f(args):\n    show(args.shape)",
    "itself": "x = x\nshow(x)",
}


@pytest.mark.parametrize("text", CONSTANT.values(), ids=CONSTANT)
def test_constant(text: str) -> None:
    assert constant(text)


@pytest.mark.parametrize("text", CHANGING.values(), ids=CHANGING)
def test_not_constant(text: str) -> None:
    assert not constant(text)


def test_a_constant_of_another_file() -> None:
    texts = {"a.py": "from config import SIZE\nshow(SIZE)", "config.py": "SIZE = 3"}
    code = Code(texts)
    assert code.analyses[Constants].of(code.file(), code.shown())
    code = Code({**texts, "config.py": "SIZE = 3\nSIZE = 4"})
    assert not code.analyses[Constants].of(code.file(), code.shown())


@pytest.mark.parametrize(
    ("sizes", "other", "fixed"),
    [
        ("import math\nSIZE = 2 * math.pi", "", True),
        ("SIZE = 3\nSIZE = 4", "", False),
        ("SIZE = 3\ndef grow():\n    global SIZE\n    SIZE = 4", "", False),
        ("SIZE = made()", "", False),
        ("SIZE = [3]\nSIZE.append(4)", "", False),
        ("SIZE = 3", "from package import sizes\nsizes.SIZE = 5", False),
        ("SIZE = 3", "import package.sizes\nprint(package.sizes.SIZE)", True),
    ],
)
def test_a_constant_of_a_module_is_one_by_its_attribute(sizes: str, other: str, fixed: bool) -> None:
    shown = "from package import sizes\ndef f():\n    show(sizes.SIZE)"
    code = Code(
        {"a.py": shown, "b.py": f"import package\n{other}", "package/__init__.py": "", "package/sizes.py": sizes}
    )
    assert code.analyses[Constants].of(code.file(), code.shown()) is fixed
