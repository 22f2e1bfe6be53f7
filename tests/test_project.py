"""Files linked: what imports mean, where names lead, who inherits from whom."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from linting import lint
from projects import Code

from torchlint.facts.code.exporting import exported
from torchlint.facts.code.linking import connected, module_name

NET = "class Net:\n    def forward(self):\n        return 1\n\ndef head():\n    return 2\n"

# The files of a project, one of which shows a name, and the qualified name that it leads to.
IMPORTS: dict[str, tuple[Mapping[str, str], str | None]] = {
    "absolute": ({"a.py": "from lib.net import Net\nshow(Net)", "lib/net.py": NET}, "lib.net.Net"),
    "a library, next to a file of its name": (
        {"lib/a.py": "from lib.torch import *\nshow(torch.no_grad)", "lib/torch.py": "import torch"},
        "torch.no_grad",
    ),
    "a library, in a package of its name that lacks the module": (
        {
            "ours/lib/a.py": "from lib.core import run\nshow(run)",
            "ours/lib/__init__.py": "from .a import *",
            "ours/__init__.py": "",
        },
        "lib.core.run",
    ),
    "a package in another, by the end of its name": (
        {
            "ours/lib/a.py": "from lib.net import Net\nshow(Net)",
            "ours/lib/__init__.py": "",
            "ours/lib/net.py": NET,
            "ours/__init__.py": "",
        },
        "ours.lib.net.Net",
    ),
    "a module": ({"a.py": "import lib.net\nshow(lib.net.Net)", "lib/net.py": NET}, "lib.net.Net"),
    "a module by another name": ({"a.py": "import lib.net as n\nshow(n.Net)", "lib/net.py": NET}, "lib.net.Net"),
    "a module from its package": ({"a.py": "from lib import net\nshow(net.Net)", "lib/net.py": NET}, "lib.net.Net"),
    "by another name": ({"a.py": "from lib.net import Net as N\nshow(N)", "lib/net.py": NET}, "lib.net.Net"),
    "relative": ({"lib/a.py": "from .net import Net\nshow(Net)", "lib/net.py": NET}, "lib.net.Net"),
    "relative, the module": ({"lib/a.py": "from . import net\nshow(net.Net)", "lib/net.py": NET}, "lib.net.Net"),
    "relative, two up": ({"lib/sub/a.py": "from ..net import Net\nshow(Net)", "lib/net.py": NET}, "lib.net.Net"),
    "relative, in a package's own file": (
        {"lib/__init__.py": "from .net import Net\nshow(Net)", "lib/net.py": NET},
        "lib.net.Net",
    ),
    "through a package": (
        {"a.py": "from lib import Net\nshow(Net)", "lib/__init__.py": "from .net import Net", "lib/net.py": NET},
        "lib.net.Net",
    ),
    "through a package, of a module that is named as what it holds": (
        {
            "a.py": "from lib import Net\nshow(Net)",
            "lib/__init__.py": "from .Net import Net",
            "lib/Net.py": NET,
        },
        "lib.Net.Net",
    ),
    "through a package in a folder, of a module that is named as what it holds": (
        {
            "src/a.py": "from lib import Net\nshow(Net)",
            "src/lib/__init__.py": "from lib.Net import Net",
            "src/lib/Net.py": NET,
        },
        "src.lib.Net.Net",
    ),
    "through a package that takes all of a module, which is named as a part of it": (
        {
            "a.py": "from lib import Net\nshow(Net)",
            "lib/__init__.py": "from .Net import *",
            "lib/Net.py": NET,
        },
        "lib.Net.Net",
    ),
    "from a module that is named as what it holds": (
        {
            "a.py": "from lib.Net import head\nshow(head)",
            "lib/__init__.py": "from .Net import Net",
            "lib/Net.py": NET,
        },
        "lib.Net.head",
    ),
    "beside a module that is named as what it holds": (
        {
            "lib/a.py": "from lib import Net\nclass Wide(Net):\n    pass\nshow(Net)",
            "lib/__init__.py": "from .Net import Net\nfrom .a import Wide",
            "lib/Net.py": NET,
        },
        "lib.Net.Net",
    ),
    "through a package that imports the module, which is named as what it holds": (
        {
            "a.py": "from lib import Net\nshow(Net.Net)",
            "lib/__init__.py": "from . import Net",
            "lib/Net.py": NET,
        },
        "lib.Net.Net",
    ),
    "through two packages, under other names": (
        {
            "a.py": "import lib\nshow(lib.Best)",
            "lib/__init__.py": "from .sub import Good as Best",
            "lib/sub/__init__.py": "from lib.sub.net import Net as Good",
            "lib/sub/net.py": NET,
        },
        "lib.sub.net.Net",
    ),
    "through a star": (
        {"a.py": "from lib import Net\nshow(Net)", "lib/__init__.py": "from .net import *", "lib/net.py": NET},
        "lib.net.Net",
    ),
    "a star": ({"a.py": "from lib.net import *\nshow(Net)", "lib/net.py": NET}, "lib.net.Net"),
    "a star in a function's file does not hide its own": (
        {"a.py": "from lib.net import *\ndef head():\n    pass\nshow(head)", "lib/net.py": NET},
        "a.head",
    ),
    "two stars": (
        {
            "a.py": "from lib.other import *\nfrom lib.net import *\nshow(Net)",
            "lib/net.py": NET,
            "lib/other.py": "x = 1",
        },
        "lib.net.Net",
    ),
    "a circle of stars": ({"a.py": "from b import *\nshow(Net)", "b.py": "from a import *"}, None),
    "a circle of imports": ({"a.py": "from b import Net\nshow(Net)", "b.py": "from a import Net"}, "b.Net"),
    "a sibling script": ({"run/a.py": "from net import Net\nshow(Net)", "run/net.py": NET}, "run.net.Net"),
    "the file above the package, not the sibling": (
        {"lib/a.py": "from net import Net\nshow(Net)", "lib/__init__.py": "", "lib/net.py": NET, "net.py": NET},
        "net.Net",
    ),
    "the sibling, not another of that name": (
        {"run/a.py": "from net import Net\nshow(Net)", "run/net.py": NET, "other/net.py": NET},
        "run.net.Net",
    ),
    "a script's import of what lies above it": (
        {"run/sub/a.py": "from net import Net\nshow(Net)", "run/net.py": NET},
        "run.net.Net",
    ),
    "someone else's module that is called like a file elsewhere": (
        {"run/a.py": "from net import Net\nshow(Net)", "other/net.py": NET},
        "net.Net",
    ),
    "a folder above the package": (
        {"src/lib/a.py": "from lib.net import Net\nshow(Net)", "src/lib/net.py": NET},
        "src.lib.net.Net",
    ),
    "a file in a folder with a dot": (
        {"v1.0/a.py": "from net import Net\nshow(Net)", "v1.0/net.py": NET},
        "v1·0.net.Net",
    ),
    "a package that a source folder holds, from another folder": (
        {
            "scripts/a.py": "from lib import Net\nshow(Net)",
            "src/lib/__init__.py": "from .net import Net",
            "src/lib/lib.py": "x = 1",
            "src/lib/net.py": NET,
        },
        "src.lib.net.Net",
    ),
    "one of two packages in other folders": (
        {
            "scripts/a.py": "from lib import Net\nshow(Net)",
            "src/lib/__init__.py": NET,
            "old/lib/__init__.py": NET,
        },
        "lib.Net",
    ),
    "a package inside of a package": (
        {
            "scripts/a.py": "from lib import Net\nshow(Net)",
            "src/__init__.py": "",
            "src/lib/__init__.py": NET,
        },
        "lib.Net",
    ),
    "a module beside the file, named as a package and a module in it": (
        {
            "train/a.py": "from Scorer import Scorer\nshow(Scorer)",
            "train/Scorer.py": "class Scorer: pass",
            "Scorer/__init__.py": "from .Scorer import Scorer",
            "Scorer/Scorer.py": "class Scorer: pass",
        },
        "train.Scorer.Scorer",
    ),
    "what a package of the root has and the module of that name beside the file has not": (
        {
            "agent/a.py": "from utils import Net\nshow(Net)",
            "agent/utils.py": "x = 1",
            "utils/__init__.py": "from .net import *",
            "utils/net.py": NET,
        },
        "utils.net.Net",
    ),
    "what neither a module beside the file nor one of the root of that name has": (
        {
            "agent/a.py": "from utils import Net\nshow(Net)",
            "agent/utils.py": "x = 1",
            "utils/__init__.py": "y = 1",
        },
        "agent.utils.Net",
    ),
    "a library": ({"a.py": "import torch.nn as nn\nshow(nn.Linear)"}, "torch.nn.Linear"),
    "a library's submodule": ({"a.py": "import torch.nn\nshow(torch.zeros)"}, "torch.zeros"),
    "a library's function": (
        {"a.py": "from torch.nn import functional as F\nshow(F.relu)"},
        "torch.nn.functional.relu",
    ),
    "an alias of another file": (
        {"a.py": "from b import zeros\nshow(zeros)", "b.py": "import torch\nzeros = torch.zeros"},
        "torch.zeros",
    ),
    "an alias of another file through two stars": (
        {
            "a.py": "from lib import *\nshow(zeros)",
            "lib/__init__.py": "from lib.torch import *",
            "lib/torch.py": "import torch\nzeros = torch.zeros",
        },
        "torch.zeros",
    ),
    "a file beside that is named as a library": (
        {"lib/a.py": "import torch\nshow(torch.zeros)", "lib/torch.py": "def zeros(): pass"},
        "torch.zeros",
    ),
    "a name that is bound twice is no alias": (
        {"a.py": "from b import zeros\nshow(zeros)", "b.py": "import torch\nzeros = torch.zeros\nzeros = 3"},
        "b.zeros",
    ),
    "a plain alias": ({"a.py": "import torch\nzeros = torch.zeros\nshow(zeros)"}, "torch.zeros"),
    "an import in a function": ({"a.py": "def f():\n    import torch\n    show(torch.zeros)"}, "torch.zeros"),
    "an import in another function": (
        {"a.py": "def f():\n    import torch\ndef g():\n    show(torch)"},
        None,
    ),
    "a builtin": ({"a.py": "show(len)"}, "builtins.len"),
    "a parameter": ({"a.py": "def f(torch):\n    show(torch.zeros)"}, None),
    "one of two": ({"a.py": "if x:\n    import a1 as m\nelse:\n    import a2 as m\nshow(m.f)"}, None),
    "a name defined by itself": ({"a.py": "x = x\nshow(x)"}, None),
    "a call's attribute": ({"a.py": "show(f().g)"}, None),
}


@pytest.mark.parametrize(("files", "expected"), IMPORTS.values(), ids=IMPORTS)
def test_names_through_imports(files: Mapping[str, str], expected: str | None) -> None:
    code = Code(files)
    assert code.project.qualified(code.file(), code.shown()) == expected


def test_modules_are_named_by_their_paths() -> None:
    assert module_name("a.py") == ("a", False)
    assert module_name("lib/net.py") == ("lib.net", False)
    assert module_name("lib/__init__.py") == ("lib", True)
    assert module_name("__init__.py") == ("__init__", False)
    assert module_name("v1.0/a.py") == ("v1·0.a", False)


FAMILY = Code(
    {
        "base.py": """
            import torch

            class Base(torch.nn.Module):
                def act(self): ...
                def learn(self): ...

            class Mixin:
                def learn(self): ...
        """,
        "agent.py": """
            import base

            class Agent(base.Mixin, base.Base):
                pass

            class Deep(Agent):
                def act(self): ...
        """,
        "circle.py": """
            class A(B): ...
            class B(A):
                def f(self): ...
        """,
    }
)


def test_ancestry_is_nearest_first() -> None:
    expected = ("agent.Deep", "agent.Agent", "base.Mixin", "base.Base", "torch.nn.Module")
    assert FAMILY.project.ancestry("agent.Deep") == expected


def test_descendants_at_any_depth() -> None:
    assert [cls.dotted for cls in FAMILY.project.descendants("torch.nn.Module")] == [
        "base.Base",
        "agent.Agent",
        "agent.Deep",
    ]


def test_methods_are_found_in_the_nearest_class() -> None:
    def method(cls: str, name: str) -> str | None:
        found = FAMILY.project.method(cls, name)
        return found.dotted if found is not None else None

    assert method("agent.Deep", "act") == "agent.Deep.act"
    assert method("agent.Deep", "learn") == "base.Mixin.learn"
    assert method("agent.Agent", "act") == "base.Base.act"
    assert method("agent.Deep", "absent") is None


def test_implementations_are_the_method_and_what_overrides_it() -> None:
    found = FAMILY.project.implementations("base.Base", "act")
    assert [scope.dotted for scope in found] == ["base.Base.act", "agent.Deep.act"]
    assert FAMILY.project.implementations("torch.nn.Module", "act") == []


def test_circular_bases_are_not_known() -> None:
    """Python can make no such class, so the names do not mean what they seem to."""
    assert FAMILY.project.ancestry("circle.A") == ("circle.A",)
    assert FAMILY.project.ancestry("circle.B") == ("circle.B",)
    assert FAMILY.project.descendants("circle.A") == ()


def test_the_last_definition_of_a_method_counts() -> None:
    code = Code("class A:\n    def f(self):\n        return 1\n    def f(self):\n        return 'a'\nshow(A().f())")
    assert code.value().kind.value == "string"


def test_modules_and_strangers() -> None:
    project = FAMILY.project
    assert project.is_module("agent.Deep")
    assert not project.is_module("base.Mixin")
    assert project.is_ours("base.Mixin")
    assert not project.is_ours("agent.Deep")


CALLED = """\
from torch import nn

class Base:
    def __call__(self, *args):
        raise NotImplementedError

class Callable(nn.Module):
    def __call__(self, x):
        return [x]

class Behind(nn.Module, Base):
    def forward(self, x):
        return x

class Before(Base, nn.Module):
    def forward(self, x):
        return x

class Mixed(Behind, Callable):
    pass
"""


@pytest.mark.parametrize(
    ("cls", "called"),
    [
        ("Behind", ["main.Behind.forward"]),
        ("Before", ["main.Base.__call__"]),
        ("Mixed", ["main.Callable.__call__"]),
    ],
)
def test_what_stands_behind_modules_among_the_bases_is_not_what_a_call_runs(cls: str, called: list[str]) -> None:
    project = Code({"main.py": CALLED}).project
    assert [scope.dotted for scope in project.called(f"main.{cls}", module=True)] == called


def test_a_module_beside_a_file_and_a_package_of_the_root_of_its_name_are_both_connected_with_it() -> None:
    imports = {"agent/a.py": ["utils"], "agent/utils.py": [], "utils/__init__.py": [], "other.py": []}
    assert frozenset({"agent/a.py", "agent/utils.py", "utils/__init__.py"}) in connected(imports)


def test_files_are_grouped_by_imports_in_either_direction() -> None:
    groups = FAMILY.project.groups
    assert groups["base.py"] == groups["agent.py"] == {"base.py", "agent.py"}
    assert groups["circle.py"] == {"circle.py"}


def test_a_default_of_torch_lets_no_files_call_each_other(tmp_path: Path) -> None:
    """The files that one sets a default for are read together, and no method of one is taken for that of another."""
    texts = {
        "agent.py": "import torch\n\nclass Agent:\n    def act(self, obs):\n        return torch.FloatTensor([obs])\n",
        "train.py": "import torch\n\ndef train(env, agent):\n    while True:\n        env.step(agent.act(0))\n",
        "pyproject.toml": "",
    }
    setting = {"stray.py": "import torch\n\ntorch.set_default_dtype(torch.float64)\n"}
    assert lint(tmp_path / "alone", texts).findings == []
    assert lint(tmp_path / "beside", {**texts, **setting}).findings == []
    tied = {**texts, "train.py": f"import agent as _\n{texts['train.py']}"}
    assert [each.code for each in lint(tmp_path / "tied", tied).findings] == ["TL101"]


def test_a_library_exports_what_its_package_imports() -> None:
    code = Code({"lib/__init__.py": "from lib.net import Net", "lib/net.py": NET})
    assert exported(code.project, code.project.classes["lib.net.Net"])
    assert exported(code.project, code.function("lib.net.Net.forward"))
    assert not exported(code.project, code.function("lib.net.head"))


def test_a_library_exports_what_its_package_imports_with_a_star() -> None:
    code = Code({"lib/__init__.py": "from lib.net import *", "lib/net.py": f"{NET}\ndef _own():\n    pass\n"})
    assert exported(code.project, code.project.classes["lib.net.Net"])
    assert not exported(code.project, code.function("lib.net._own"))
    elsewhere = Code({"lib/__init__.py": "from lib.other import *", "lib/net.py": NET, "lib/other.py": ""})
    assert not exported(elsewhere.project, elsewhere.project.classes["lib.net.Net"])


TWO_IMPORTS = {
    "first.py": "class Agent:\n    def act(self, obs):\n        return f(obs)  # first\n",
    "second.py": "class Agent:\n    def act(self, obs):\n        return f(obs)  # second\n",
}
LOOP = "    agent = Agent()\n    while True:\n        env.step(agent.act(1))\n"
FIRST, SECOND = "from first import Agent\n", "from second import Agent\n"


@pytest.mark.parametrize(
    ("script", "reached"),
    [
        (f"{FIRST}{SECOND}def run():\n{LOOP}", {"second"}),
        (f"{FIRST}def run():\n    {SECOND}{LOOP}", {"second"}),
        (f"{FIRST}def run():\n{LOOP}\ndef other():\n    {SECOND}", {"first"}),
        (f"if fast:\n    {FIRST}else:\n    {SECOND}def run():\n{LOOP}", {"first", "second"}),
        (f"try:\n    {FIRST}except ImportError:\n    {SECOND}def run():\n{LOOP}", {"first", "second"}),
        (f"try:\n    {FIRST}except ImportError:\n    raise\n{SECOND}def run():\n{LOOP}", {"second"}),
        # What runs in between may see the first.
        (f"def run():\n{LOOP}{FIRST}run()\n{SECOND}run()\n", {"first", "second"}),
    ],
)
def test_of_two_imports_under_one_name_those_count_that_reach_the_call(script: str, reached: set[str]) -> None:
    code = Code({"run.py": script, **TWO_IMPORTS})
    assert {name for name in ("first", "second") if code.frequency(f"# {name}", f"{name}.py")} == reached


@pytest.mark.parametrize(
    ("names", "reached"),
    [
        (f"{FIRST}{SECOND}", {"second"}),
        (f"if fast:\n    {FIRST}else:\n    {SECOND}", {"first", "second"}),
        (f"try:\n    {FIRST}except ImportError:\n    {SECOND}", {"first", "second"}),
        (f"try:\n    {FIRST}except ImportError:\n    from lib import Agent\n", {"first"}),
    ],
)
def test_a_module_that_imports_a_name_twice_hands_on_what_its_end_sees(names: str, reached: set[str]) -> None:
    code = Code({"run.py": f"from names import Agent\ndef run():\n{LOOP}", "names.py": names, **TWO_IMPORTS})
    assert {name for name in ("first", "second") if code.frequency(f"# {name}", f"{name}.py")} == reached


@pytest.mark.parametrize(
    "chosen",
    [
        "if HAS_OTHER:\n    from algorithms.other import *\nelse:\n    from algorithms.mine import *\n",
        "if HAS_OTHER:\n    from algorithms.other import DQN\nelse:\n    from algorithms.mine import DQN\n",
    ],
)
def test_of_one_class_for_several_frameworks_that_for_torch_is_meant(chosen: str) -> None:
    texts = {
        "algorithms/__init__.py": chosen,
        "algorithms/mine.py": "import torch\nclass DQN:\n    pass\n",
        "algorithms/other.py": "import paddle\nclass DQN:\n    pass\n",
        "train.py": "import torch\nfrom algorithms import DQN\nshow(DQN)\n",
    }
    code = Code(texts)
    assert code.project.qualified(code.file("train.py"), code.shown("train.py")) == "algorithms.mine.DQN"


@pytest.mark.parametrize(
    ("imported", "expected"),
    [
        ("from engine.trainer.core import lossy", "engine.trainer.core.lossy"),
        ("from .trainer import lossy", "ours.engine.trainer.lossy"),
        ("from trainer import lossy", "ours.engine.trainer.lossy"),
        ("from ours.engine.trainer import lossy", "ours.engine.trainer.lossy"),
    ],
)
def test_a_package_in_a_package_is_not_the_library_that_bears_its_name(imported: str, expected: str) -> None:
    texts = {
        "ours/__init__.py": "",
        "ours/engine/__init__.py": "",
        "ours/engine/trainer.py": "import torch\n",
        "ours/engine/loss.py": f"import torch\n{imported}\nshow(lossy)\n",
    }
    code = Code(texts)
    assert code.project.qualified(code.file("ours/engine/loss.py"), code.shown("ours/engine/loss.py")) == expected


def test_files_and_functions_print_as_their_names() -> None:
    project = Code({"agents/ppo.py": "class Agent:\n    def act(self, obs):\n        return obs\n"}).project
    method = project.functions["agents.ppo.Agent.act"]
    assert repr(method) == "<function agents.ppo.Agent.act>"
    assert repr(method.file) == "<facts of agents/ppo.py>"
