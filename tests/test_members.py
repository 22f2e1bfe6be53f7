"""Attributes that a module could get, and what is there when its ``__init__`` ends."""

from __future__ import annotations

import ast

import pytest
from projects import Code

from torchlint.facts.autograd.members import MODULE_NAMES, Members

HEAD = "import torch\nfrom torch import nn\nLIMIT = 3\n"
NET = """
class Net(nn.Module):
    name = "net"

    def __init__(self, size, low=0):
        super().__init__()
        self.size, self.high = size, 1
        self.low: float = low
        if size:
            self.maybe = 1
        {init}

    def forward(self, x):
        y = x
        return self.help(x), show({shown})

    def help(self, x):
        return x
"""


def net(shown: str = "x", init: str = "pass", more: str = "") -> Code:
    return Code(HEAD + NET.format(shown=shown, init=init) + more)


def free(code: Code, name: str = "support") -> str | None:
    return Members(code.project).free_attribute(code.file(), code.shown(), name)


def test_a_free_name_is_taken_as_it_is() -> None:
    assert free(net()) == "self.support"


@pytest.mark.parametrize("name", ["size", "low", "maybe", "help", "name", "Net", "train", "forward", "state_dict"])
def test_a_name_that_is_used_gets_a_number(name: str) -> None:
    expected = f"self.{name}" if name == "Net" else f"self.{name}_2"
    assert free(net(), name) == expected


@pytest.mark.parametrize(
    "more",
    [
        "class Sub(Net):\n    def f(self):\n        self.support = 1\n",
        "class Sub(Net):\n    support = 1\n",
        "def f(net):\n    net.support = 1\n",
        "class Sub(Net):\n    def f(self):\n        return hasattr(self, 'support')\n",
    ],
)
def test_relatives_and_others_use_names_too(more: str) -> None:
    assert free(net(more=more)) == "self.support_2"


@pytest.mark.parametrize(
    "init",
    [
        "return",
        "self.forward(size)",
        "self(size)",
        "self.setup()\n    def setup(self): self.forward(1)",
        "for k in size: setattr(self, k, 1)",
        "self.__dict__.update(size)",
        "raise ValueError",
    ],
)
def test_what_init_does_may_leave_no_place(init: str) -> None:
    assert free(net(init=init)) is None


def test_init_may_call_other_methods_and_set_attributes_by_name() -> None:
    assert free(net(init="self.help(setattr(self, 'a', 1))")) == "self.support"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("super().__init__()", "pass"),
        ("super().__init__()", "if size: super().__init__()"),
        ("nn.Module", "Unknown"),
        ("nn.Module", "nn.Linear"),
        ("nn.Module", "nn.Module, Unknown"),
        ("def __init__(self, size, low=0)", "def setup(self, size, low=0)"),
        ("def forward(self, x)", "@classmethod\n    def forward(self, x)"),
        ("def forward(self, x)", "@staticmethod\n    def forward(self, x)"),
        ("def forward(self, x)", "def forward(this, x)"),
        ("name = ", "__slots__ = "),
    ],
)
def test_other_classes_get_none(old: str, new: str) -> None:
    text = HEAD + NET.format(shown="x", init="pass")
    assert old in text
    assert free(Code(text.replace(old, new))) is None


def test_a_class_below_that_leaves_init_out() -> None:
    assert free(net(more="class Sub(Net):\n    def __init__(self):\n        nn.Module.__init__(self)\n")) is None
    assert free(net(more="class Sub(Net):\n    def __init__(self):\n        super().__init__(1)\n")) == "self.support"


@pytest.mark.parametrize(
    "shown",
    [
        "1.0",
        "(LIMIT, -2)",
        "self.size",
        "self.high * LIMIT",
        "self.low",
        "torch.float32",
        "[i for i in range(self.size)]",
        "self.name",
    ],
)
def test_settled(shown: str) -> None:
    code = net(shown)
    assert Members(code.project).settled(code.file(), code.shown())


@pytest.mark.parametrize("shown", ["x", "x.dtype", "y", "self.maybe", "self.other", "self", "[i for i in x]", "size"])
def test_not_settled(shown: str) -> None:
    code = net(shown)
    assert not Members(code.project).settled(code.file(), code.shown())


def test_a_name_that_init_binds_anew_is_not_settled() -> None:
    code = net("LIMIT", init="LIMIT = 4")
    assert not Members(code.project).settled(code.file(), code.shown())
    code = Code(f"{HEAD}def f(x):\n    return show(1)\n")
    assert not Members(code.project).settled(code.file(), code.shown())


@pytest.mark.parametrize(("shown", "expected"), [("x", True), ("y", False), ("self", False), ("LIMIT", False)])
def test_of_parameter(shown: str, expected: bool) -> None:
    code = net(shown)
    assert Members(code.project).of_parameter(code.file(), code.shown()) == expected


def test_of_parameter_is_about_names() -> None:
    code = net("x.size")
    assert isinstance(code.shown(), ast.Attribute)
    assert not Members(code.project).of_parameter(code.file(), code.shown())


@pytest.mark.torch
def test_the_names_of_modules_are_those_of_the_installed_torch() -> None:
    import torch

    names = {name for name in {*dir(torch.nn.Module), *vars(torch.nn.Module())} if not name.startswith("_")}
    assert names <= MODULE_NAMES.all
