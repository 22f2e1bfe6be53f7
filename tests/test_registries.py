"""Registries: what is taken out of one is what is registered in it, and nothing of another one of the same class."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.rule import Kind

TABLE = """
class Table(dict):
    def register(self, name):
        def decorator(cls):
            self[name] = cls
            return cls
        return decorator
    def build(self, name, *args):
        return self[name](*args)
    def find(self, name):
        return self.get(name)
    def size(self):
        return len(self)
"""
REGISTRY = """
class Registry:
    def __init__(self, name):
        self._parts = {}
    def get(self, key):
        return self._parts.get(key, None)
    def _add(self, cls):
        self._parts[cls.__name__] = cls
    def register(self, cls):
        self._add(cls)
        return cls
    def build(self, key, **options):
        found = self.get(key)
        return found(**options)
def build(settings, registry, others=None):
    kind = settings.pop("type")
    if isinstance(kind, str):
        made = registry.get(kind)
        if made is None:
            raise KeyError(kind)
    else:
        made = kind
    return made(**settings)
"""
PARTS = """
from tables import LOSSES, NETS
@LOSSES.register{named}
class Huber:
    pass
@LOSSES.register{named}
class Square:
    pass
@NETS.register{named}
class Net:
    pass
"""


def code(text: str, *, table: str = TABLE, made: str = "Table()", named: str = '("a")') -> Code:
    tables = f"{table}\nLOSSES = {made}\nNETS = {made}\nEMPTY = {made}\n"
    return Code({"main.py": text, "tables.py": tables, "parts.py": PARTS.replace("{named}", named)})


@pytest.mark.parametrize(
    ("taken", "kind", "names"),
    [
        ("LOSSES.build(k)", Kind.INSTANCE, {"parts.Huber", "parts.Square"}),
        ("NETS.build(k)", Kind.INSTANCE, {"parts.Net"}),
        ("NETS.find(k)", Kind.CLASS, {"parts.Net"}),
        ("NETS.size()", Kind.NUMBER, {""}),
        ("EMPTY.build(k)", Kind.UNKNOWN, {""}),
    ],
)
def test_a_dict_whose_methods_decorate_classes(taken: str, kind: Kind, names: set[str]) -> None:
    found = code(f"import parts\nfrom tables import EMPTY, LOSSES, NETS\nshow({taken})\n").value()
    assert (found.kind, set(found.name.split("|"))) == (kind, names)


@pytest.mark.parametrize(
    ("taken", "kind", "names"),
    [
        ("LOSSES.build(k)", Kind.INSTANCE, {"parts.Huber", "parts.Square"}),
        ("build(k, NETS)", Kind.INSTANCE, {"parts.Net"}),
        ("build(k, registry=LOSSES)", Kind.INSTANCE, {"parts.Huber", "parts.Square"}),
        ("build_net(k)", Kind.INSTANCE, {"parts.Net"}),
        ("NETS.get(k)", Kind.CLASS, {"parts.Net"}),
    ],
)
def test_an_object_that_keeps_a_dict(taken: str, kind: Kind, names: set[str]) -> None:
    head = "import parts\nfrom tables import LOSSES, NETS, build\ndef build_net(k):\n    return build(k, NETS)\n"
    found = code(f"{head}show({taken})\n", table=REGISTRY, made='Registry("a")', named="").value()
    assert (found.kind, set(found.name.split("|"))) == (kind, names)


def test_what_is_registered_by_a_call() -> None:
    text = "from tables import NETS\nclass Other:\n    pass\nNETS.register(Other)\nshow(NETS.build(k))\n"
    found = code(text, table=REGISTRY, made='Registry("a")', named="").value()
    assert set(found.name.split("|")) == {"parts.Net", "main.Other"}


POLICIES = """
class Still:
    pass
class Random:
    pass
def none():
    return None
def make():
    return 1
policies = dict()
policies["still"] = Still
policies["none"] = none
steps = []
"""
DEEP = """
import shelf
from shelf import policies, steps as kept
class Deep:
    pass
policies["deep_net"] = Deep
kept.append(1.0)
"""


@pytest.mark.parametrize(
    ("taken", "kind", "names"),
    [
        ('policies["deep_net"]()', Kind.INSTANCE, {"deep.Deep"}),
        ("policies[k]()", Kind.INSTANCE, {"deep.Deep", "shelf.Still"}),
        ('policies["deep_" + k]()', Kind.INSTANCE, {"deep.Deep"}),
        ('policies[f"{k}_net"]', Kind.CLASS, {"deep.Deep"}),
        ('policies["flat_" + k]()', Kind.INSTANCE, {"deep.Deep", "shelf.Still"}),
        ("steps[0]", Kind.NUMBER, {""}),
    ],
)
def test_a_dict_that_other_files_fill(taken: str, kind: Kind, names: set[str]) -> None:
    main = f"import deep\nfrom shelf import policies, steps\nshow({taken})\n"
    found = Code({"shelf.py": POLICIES, "deep.py": DEEP, "main.py": main}).value("main.py")
    assert (found.kind, set(found.name.split("|"))) == (kind, names)


@pytest.mark.parametrize(
    "filled",
    [
        "from shelf import make, policies\npolicies['made'] = make\n",
        "import shelf\nshelf.policies['made'] = shelf.make\n",
        "import shelf\nshelf.policies['made'] = unknown()\n",
    ],
)
def test_what_else_is_put_there_is_no_object_of_a_known_class(filled: str) -> None:
    main = "from shelf import policies\nshow(policies[k]())\n"
    found = Code({"shelf.py": POLICIES, "other.py": filled, "main.py": main}).value("main.py")
    assert found.kind is Kind.UNKNOWN


def test_a_variable_of_the_same_name_is_another_one() -> None:
    other = "policies = {}\ndef fill(policies):\n    policies['x'] = unknown()\npolicies['y'] = unknown()\n"
    main = "from shelf import policies\nshow(policies[k]())\n"
    found = Code({"shelf.py": POLICIES, "other.py": other, "main.py": main}).value("main.py")
    assert set(found.name.split("|")) == {"shelf.Still"}
