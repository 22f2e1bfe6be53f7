"""Where the lines that a fix needs go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from linting import lint
from projects import source_of

from torchlint.engine.analysis import parse
from torchlint.engine.fix_checks import check, read
from torchlint.engine.insertion import with_lines
from torchlint.rule import Edit, Fix
from torchlint.sources.edits import apply_edits
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

pytestmark = pytest.mark.versions

CASES = {
    "sorted among its like": (
        "import abc\n\nimport matplotlib\nimport torch\n\nx = 1\n",
        ("numpy as np",),
        (),
        "import abc\n\nimport matplotlib\nimport numpy as np\nimport torch\n\nx = 1\n",
    ),
    "the standard library first": ("import torch\n\nx = 1\n", ("math",), (), "import math\n\nimport torch\n\nx = 1\n"),
    "third parties after": ("import os\n\nx = 1\n", ("torch",), (), "import os\n\nimport torch\n\nx = 1\n"),
    "before from-imports of its kind": (
        "from torch import nn\n\nx = 1\n",
        ("torch",),
        (),
        "import torch\nfrom torch import nn\n\nx = 1\n",
    ),
    "there already": ("import numpy as np\n", ("numpy as np",), (), "import numpy as np\n"),
    "there by another name": ("import numpy\n", ("numpy as np",), (), "import numpy\nimport numpy as np\n"),
    "no imports": ("x = 1\n", ("torch",), (), "import torch\n\nx = 1\n"),
    "after the docstring": ('"""Doc."""\nx = 1\n', ("torch",), (), '"""Doc."""\nimport torch\n\nx = 1\n'),
    "after from __future__": (
        '"""Doc."""\n\nfrom __future__ import annotations\n\nimport torch\n',
        ("math",),
        (),
        '"""Doc."""\n\nfrom __future__ import annotations\n\nimport math\n\nimport torch\n',
    ),
    "a guarded import in between": (
        "import abc\ntry:\n    import jax\nexcept ImportError:\n    pass\nimport os\n\nx = 1\n",
        ("math",),
        (),
        "import abc\nimport math\ntry:\n    import jax\nexcept ImportError:\n    pass\nimport os\n\nx = 1\n",
    ),
    "a definition after the imports": (
        "import torch\n\nx = 1\n",
        (),
        ("_INF = 1.0",),
        "import torch\n\n_INF = 1.0\n\nx = 1\n",
    ),
    "a definition that is there": ("import torch\n\n_INF = 1.0\n", (), ("_INF = 1.0",), "import torch\n\n_INF = 1.0\n"),
    "a definition without imports": ("x = 1\n", (), ("_INF = 1.0",), "_INF = 1.0\n\nx = 1\n"),
    "before a decorated function": (
        "@decorate\ndef f():\n    pass\n",
        ("torch",),
        (),
        "import torch\n\n@decorate\ndef f():\n    pass\n",
    ),
    "an import over several rows": (
        "from torch import (\n    nn,\n)\nx = 1\n",
        (),
        ("_INF = 1.0",),
        "from torch import (\n    nn,\n)\n\n_INF = 1.0\nx = 1\n",
    ),
    "without a newline at the end": ("import abc", ("math",), (), "import abc\nimport math\n"),
    "a row of two statements": ("import abc; x = 1\ny = 2\n", ("math",), (), "import abc; x = 1\nimport math\ny = 2\n"),
    "a shebang": ("#!/usr/bin/python\nx = 1\n", ("math",), (), "#!/usr/bin/python\nimport math\n\nx = 1\n"),
}


@pytest.mark.parametrize(("text", "imports", "definitions", "expected"), CASES.values(), ids=CASES)
def test_inserted_lines(text: str, imports: tuple[str, ...], definitions: tuple[str, ...], expected: str) -> None:
    source = source_of("code.py", text)
    [facts], _ = parse({"code.py": source})
    edits = with_lines(
        facts, LineTable(source.utf8), facts.tree, Fix("", (), imports=imports, definitions=definitions), []
    )
    assert edits is not None
    after = apply_edits(source, edits).text
    ast.parse(after)
    assert after == expected


def test_the_file_s_own_line_ends_are_used() -> None:
    source = source_of("code.py", "import abc\r\n\r\nx = 1\r\n")
    [facts], _ = parse({"code.py": source})
    fix = Fix("", (), imports=("math",), definitions=("_INF = 1.0",))
    edits = with_lines(facts, LineTable(source.utf8), facts.tree, fix, [])
    assert edits is not None
    expected = "import abc\r\nimport math\r\n\r\n_INF = 1.0\r\n\r\nx = 1\r\n"
    assert apply_edits(source, edits).text == expected


def site(text: str, fix: Fix, mark: str = "net(x)") -> tuple[Source, list[Edit] | None]:
    """The edits of a fix at the first expression, or else statement, that reads ``mark``."""
    source = source_of("code.py", text)
    [facts], _ = parse({"code.py": source})
    nodes = [node for node in ast.walk(facts.tree) if isinstance(node, (ast.expr, ast.stmt))]
    node = next(node for node in nodes if ast.unparse(node).partition("\n")[0] == mark)
    return source, with_lines(facts, LineTable(source.utf8), node, fix, [])


def made(text: str, fix: Fix, mark: str = "net(x)") -> str | None:
    """The text after a fix that passed all checks, ``None`` where it has no place."""
    source, edits = site(text, fix, mark)
    if edits is None:
        return None
    before = read(source)
    assert before is not None
    after = apply_edits(source, edits)
    check(before, after)
    return after.text


INIT = """\
class Net(Module):
    def __init__(self):
        super().__init__()
        self.a = 1{last}

    def forward(self, x):
        return net(x)
"""
ADD = Fix("", (), setup=("self.b = 2",))


@pytest.mark.parametrize(
    ("last", "after"),
    [
        pytest.param("", "\n        self.b = 2", id="the last statement"),
        pytest.param("  # one", "  # one\n        self.b = 2", id="a comment behind it"),
        pytest.param("; self.c = 3", "; self.c = 3\n        self.b = 2", id="two on a row"),
        pytest.param("\n        # off", "\n        self.b = 2\n        # off", id="a comment below"),
        pytest.param(
            "\n        if x:\n            y()\n            # z()\n\n            # why",
            "\n        if x:\n            y()\n            # z()\n\n            # why\n        self.b = 2",
            id="a comment that belongs to the last body",
        ),
        pytest.param("\n        self.b = 2", "\n        self.b = 2", id="there already"),
        pytest.param("\n        self.d = f(\n            1,\n        )", None, id="over several rows"),
        pytest.param("\n        self.d = '''\nd'''", None, id="a string over several rows"),
    ],
)
def test_setup_goes_to_the_end_of_init(last: str, after: str | None) -> None:
    expected = f"{last}\n        self.b = 2" if after is None else after
    assert made(INIT.format(last=last), ADD) == INIT.format(last=expected)


@pytest.mark.parametrize(
    "last",
    [
        pytest.param("\n        if x:\n            return\n        y()", id="may end early"),
        pytest.param("\n        raise ValueError", id="never ends"),
        pytest.param("\n\n    def __init__(self, a):\n        pass", id="two of them"),
    ],
)
def test_setup_has_no_place_where_init_may_not_reach_its_end(last: str) -> None:
    assert made(INIT.format(last=last), ADD) is None


def test_setup_has_no_place_without_an_init_of_its_own() -> None:
    assert made("class Net(Base):\n    def forward(self, x):\n        return net(x)\n", ADD) is None
    assert made("def forward(x):\n    return net(x)\n", ADD) is None
    assert made("class Net:\n    def __init__(self): pass\n    def f(self, x): net(x)\n", ADD) is None
    nested = "class Net:\n    if x:\n        def __init__(self):\n            pass\n    def f(self, x): net(x)\n"
    assert made(nested, ADD) == nested.replace("pass\n", "pass\n            self.b = 2\n")


def test_setup_of_several_rows_and_statements() -> None:
    fix = Fix("", (), setup=("self.b = int(\n    1,\n)", "self.a = 1", "self.c = 3"))
    expected = INIT.format(last="\n        self.b = int(\n            1,\n        )\n        self.c = 3")
    assert made(INIT.format(last=""), fix) == expected


def test_setup_of_a_nested_function_and_of_tabs() -> None:
    text = "class A:\n\tdef f(self):\n\t\tdef g(x):\n\t\t\treturn net(x)\n\tdef __init__(self):\n\t\tself.a = 1"
    assert made(text, ADD) == f"{text}\n\t\tself.b = 2\n"


def test_setup_keeps_line_ends() -> None:
    text = INIT.format(last="").replace("\n", "\r\n")
    assert made(text, ADD) == INIT.format(last="\n        self.b = 2").replace("\n", "\r\n")


GUARD = Fix("", (), decorators=("torch.no_grad()",), imports=("torch",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    return net(x)\n", "@torch.no_grad()\ndef f(x):\n    return net(x)\n"),
        (
            "class A:\n    # about f\n    @staticmethod  # s\n    # above\n    def f(x):\n        return net(x)\n",
            "class A:\n    # about f\n    @staticmethod  # s\n    # above\n    @torch.no_grad()\n    def f(x):\n"
            "        return net(x)\n",
        ),
        (
            "class A:\n\t@property\n\tdef f(x): return net(x)\n",
            "class A:\n\t@property\n\t@torch.no_grad()\n\tdef f(x): return net(x)\n",
        ),
        (
            "def f(x):\n    def g():\n        return [net(x) for x in y]\n",
            "def f(x):\n    @torch.no_grad()\n    def g():\n        return [net(x) for x in y]\n",
        ),
    ],
)
def test_decorators_go_right_above_the_function(text: str, expected: str) -> None:
    assert made(f"import torch\n\n{text}", GUARD) == f"import torch\n\n{expected}"


def test_a_decorator_for_the_function_itself_and_its_import() -> None:
    text = "def f(x):\n    return net(x)\n"
    assert made(text, GUARD, "def f(x):") == f"import torch\n\n@torch.no_grad()\n{text}"


def test_decorators_are_not_doubled_and_keep_their_order() -> None:
    text = "import torch\n@torch.no_grad()\ndef f(x):\n    net(x)\n"
    assert made(text, GUARD) == text
    fix = Fix("", (), decorators=("a", "torch.no_grad()", "b"))
    assert made(f"a = b = c\n{text}", fix) == f"a = b = c\n{text}".replace("def", "@a\n@b\ndef")


@pytest.mark.parametrize("text", ["net(x)\n", "async def f(x):\n    net(x)\n", "f = lambda x: net(x)\n"])
def test_what_is_no_plain_function_gets_no_decorator(text: str) -> None:
    assert made(text, GUARD) is None


WITHIN = Fix("", (), within="guard()")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = net(x)\n", "with guard():\n    y = net(x)\n"),
        ("def f():\n  return net(x)  # why\n", "def f():\n  with guard():\n    return net(x)  # why\n"),
        ("def f():\n\tnet(x)", "def f():\n\twith guard():\n\t\tnet(x)"),
        ("if a:\n\tb\ny = net(x)\n", "if a:\n\tb\nwith guard():\n\ty = net(x)\n"),
        ("if a:\n  b\nelif c:\n  net(x)\n", "if a:\n  b\nelif c:\n  with guard():\n    net(x)\n"),
        ("try:\n   a\nexcept B:\n   net(x)\n", "try:\n   a\nexcept B:\n   with guard():\n      net(x)\n"),
        ("match a:\n  case b:\n    net(x)\n", "match a:\n  case b:\n    with guard():\n      net(x)\n"),
        (
            "# above\ny = f(  # one\n    net(x),\n\n    # two\n    'z',\n)  # three\n# below\n",
            "# above\nwith guard():\n    y = f(  # one\n        net(x),\n\n        # two\n        'z',\n"
            "    )  # three\n# below\n",
        ),
        ("y = net(x) + \\\n  1\n", "with guard():\n    y = net(x) + \\\n      1\n"),
        ("y = net(x), 'a' \\\n  'b'\n", "with guard():\n    y = net(x), 'a' \\\n      'b'\n"),
        ("é = 'ü', net(x)\r\nz\r\n", "with guard():\r\n    é = 'ü', net(x)\r\nz\r\n"),
    ],
)
def test_a_statement_is_put_within(text: str, expected: str) -> None:
    newline = "\r\n" if "\r" in text else "\n"
    assert made(f"guard = 1{newline}{text}", WITHIN) == f"guard = 1{newline}{expected}"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a; y = net(x)\n", id="second on its row"),
        pytest.param("y = net(x); a\n", id="first on its row"),
        pytest.param("a; \\\ny = net(x)\n", id="on a continued row"),
        pytest.param("if a: y = net(x)\n", id="body on one row"),
        pytest.param("if net(x):\n    y\n", id="header"),
        pytest.param("for y in net(x):\n    y\n", id="header of a loop"),
        pytest.param("def f():\n    yield net(x)\n", id="yield"),
        pytest.param("async def f():\n    y = await net(x)\n", id="await"),
        pytest.param("y = f(net(x), '''a\n  b''')\n", id="string over rows"),
        pytest.param("y = f(net(x), f'''a\n  {b}''')\n", id="f-string over rows"),
        pytest.param("y = f(net(x), 'a\\\n  b')\n", id="continued string"),
    ],
)
def test_a_statement_that_cannot_be_put_within(text: str) -> None:
    assert made(text, WITHIN) is None


def test_rows_of_what_is_replaced_are_indented_too() -> None:
    source = source_of("code.py", "if a:\n  y = f(g(\n    x\n  ),\n    b)\n")
    [facts], _ = parse({"code.py": source})
    node = next(node for node in ast.walk(facts.tree) if isinstance(node, ast.Call))
    start, end = source.text.index("g("), source.text.index(",")
    edits = with_lines(facts, LineTable(source.utf8), node, WITHIN, [Edit(start, end, "h(\n    z\n\n  )")])
    assert edits is not None
    expected = "if a:\n  with guard():\n    y = f(h(\n      z\n\n    ),\n      b)\n"
    assert apply_edits(source, edits).text == expected


def test_what_starts_at_one_place_is_one_insertion() -> None:
    fix = Fix("", (), imports=("torch",), definitions=("A = 1",), within="torch.no_grad()")
    assert made("net(x)\n", fix) == "import torch\n\nA = 1\n\nwith torch.no_grad():\n    net(x)\n"
    text = "class A:\n    def __init__(self):\n        pass\n    def f(self, x):\n        net(x)\n"
    both = Fix("", (), setup=("self.b = 1",), decorators=("property",), within="self.b")
    assert made(text, both) == (
        "class A:\n    def __init__(self):\n        pass\n        self.b = 1\n    @property\n    def f(self, x):\n"
        "        with self.b:\n            net(x)\n"
    )


LOOP = """
def act(env, policy, obs):
    while True:
        obs, reward, terminated, truncated, info = env.step(policy({torch}.FloatTensor([0.5, 2.0])))
"""
BINDINGS = {
    "another name": ("import torch as th\n", "th"),
    "a star import": ("from base import *\n", "th"),
    "an import that may fail": ("try:\n    import torch as th\nexcept ImportError:\n    th = None\n", "th"),
    "an import in the function": ("", "th"),
}


@pytest.mark.parametrize(("head", "name"), BINDINGS.values(), ids=BINDINGS)
def test_torch_is_imported_only_where_no_name_is_bound_to_it(tmp_path: Path, head: str, name: str) -> None:
    text = head + LOOP.format(torch=name)
    text = text if head else text.replace("    while", "    import torch as th\n    while")
    texts = {"act.py": text, "base.py": "import torch as th\n"}
    fixed = lint(tmp_path, texts, fix=True, select=("TL101",)).fixed["act.py"].after.text
    assert f"{name}.as_tensor([0.5, 2.0], dtype={name}.float32" in fixed
    assert fixed.count("import") == text.count("import")


def test_torch_is_imported_where_a_star_import_keeps_it_back(tmp_path: Path) -> None:
    text = "from base import *\nfrom torch import FloatTensor\n" + LOOP.format(torch="x").replace("x.F", "F")
    texts = {"act.py": text, "base.py": "import torch as th\n__all__ = ['run']\n"}
    fixed = lint(tmp_path, texts, fix=True, select=("TL101",)).fixed["act.py"].after.text
    assert "import torch\n" in fixed
    assert "torch.as_tensor([0.5, 2.0], dtype=torch.float32" in fixed


SUMMED = """\
def f(rows):
    total = 0.0  # the sum
    # all rows
    for row in rows:
        total += net(x)
        # the last comment
    return total
"""


def beside(text: str, kind: str, row: str, where: type[ast.stmt] = ast.For) -> str | None:
    """The text after a fix that puts a row before or after the first statement of a class."""
    source = source_of("code.py", text)
    [facts], _ = parse({"code.py": source})
    stmt = next(node for node in ast.walk(facts.tree) if isinstance(node, where))
    fix = Fix("", (), **{kind: ((stmt, row),)})
    edits = with_lines(facts, LineTable(source.utf8), stmt, fix, [])
    return None if edits is None else apply_edits(source, edits).text


def test_rows_go_before_and_after_a_statement_as_far_indented() -> None:
    ahead = beside(SUMMED, "ahead", "parts = []\nseen = 0")
    assert ahead == SUMMED.replace("    for", "    parts = []\n    seen = 0\n    for")
    behind = beside(SUMMED, "behind", "total = float(total)")
    assert behind == SUMMED.replace("net(x)\n", "net(x)\n    total = float(total)\n")


def test_a_row_behind_the_last_statement_of_a_file_without_a_newline() -> None:
    assert beside("for row in rows:\n    f()", "behind", "g()") == "for row in rows:\n    f()\ng()\n"


@pytest.mark.parametrize(("kind", "text"), [("ahead", "a = 1; b = 2\n"), ("behind", "a = 1; b = 2\n")])
def test_a_statement_that_shares_its_row_gets_none_where_it_would_part_them(kind: str, text: str) -> None:
    expected = "c\na = 1; b = 2\n" if kind == "ahead" else None
    assert beside(text, kind, "c", ast.Assign) == expected
    assert beside("if a: b = 1\n", kind, "c", ast.Assign) is None
