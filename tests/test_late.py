"""Classes with late methods are data classes in all respects, and so are the nodes of LibCST."""

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, field
from operator import ge, gt, le, lt
from typing import ClassVar

import pytest

from torchlint import late

pytestmark = pytest.mark.versions

OPTIONS = [{}, {"frozen": True}, {"eq": False}, {"slots": True}, {"frozen": True, "slots": True}, {"order": True}]
LEFT_TO_THE_STANDARD_LIBRARY = [
    {"order": True, "unsafe_hash": True},
    {"frozen": True, "unsafe_hash": True},
    {"kw_only": True},
]
BOTH = [dataclasses.dataclass, late.dataclass]


def made(dataclass, **options):
    """A class as any in torchlint may be."""

    @dataclass(**options)
    class Made:
        """What it is."""

        name: str
        size: int = 3
        many: list[int] = field(default_factory=list)
        quiet: int = field(default=0, repr=False, compare=False)
        last: int = field(default=1, kw_only=True)
        own: str = field(init=False)
        number: int = field(default=7, init=False)
        kept: dict[str, int] = field(default_factory=dict, init=False)
        COUNT: ClassVar[int] = 5

        def __post_init__(self):
            object.__setattr__(self, "own", self.name.upper())

    return Made


def outcome(call, *given, **named):
    """What a call gives, or how it fails."""
    try:
        return call(*given, **named)
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def behaviour(cls):
    """What a class of ``made`` and its objects do."""
    one, same, other = (cls(name=name, many=[1], quiet=quiet) for name, quiet in (("a", 0), ("a", 9), ("b", 0)))
    return [
        [(each.name, each.default, each.init, each.kw_only) for each in dataclasses.fields(cls)],
        (cls.__match_args__, cls.__doc__, cls.__dataclass_params__.frozen, cls.COUNT, "__slots__" in vars(cls)),
        [repr(each) for each in (one, same, other, cls(name="c").many is cls(name="c").many)],
        [one == same, one == other, one != same, one == 3],
        outcome(setattr, one, "size", 8),
        outcome(delattr, one, "size"),
        outcome(getattr, one, "size"),
        outcome(setattr, other, "new", 8) is None,
        outcome(cls),
        repr(outcome(cls, "a", 1, [2])),
        outcome(cls, "a", 1, [2], 3, 4),
        [outcome(compare, one, than) for compare in (lt, le, gt, ge) for than in (one, same, other, 3)],
        repr(dataclasses.replace(other, name="c")),
        dataclasses.asdict(other),
        repr(copy.deepcopy(other)),
    ]


@pytest.mark.parametrize("options", [*OPTIONS, *LEFT_TO_THE_STANDARD_LIBRARY], ids=str)
def test_it_does_what_the_standard_library_does(options):
    theirs, ours = (behaviour(made(dataclass, **options)) for dataclass in BOTH)
    for expected, found in zip(theirs, ours, strict=True):
        assert found == expected


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_objects_are_hashed_as_theirs(options):
    @late.dataclass(**options)
    class Ours:
        x: int
        y: int = field(default=2, compare=False)

    @dataclasses.dataclass(**options)
    class Theirs:
        x: int
        y: int = field(default=2, compare=False)

    if options.get("eq", True) and not options.get("frozen"):
        assert Ours.__hash__ is None and Theirs.__hash__ is None
    elif options.get("eq", True):
        assert hash(Ours(1)) == hash(Ours(1, 3)) == hash(Theirs(1))
    else:
        assert Ours.__hash__ is Theirs.__hash__ is object.__hash__


def test_a_signature_reads_as_theirs():
    theirs, ours = (inspect.signature(made(dataclass)) for dataclass in BOTH)
    assert [(each.name, each.kind, repr(each.default)) for each in ours.parameters.values()] == [
        (each.name, each.kind, repr(each.default)) for each in theirs.parameters.values()
    ]


@pytest.mark.parametrize("dataclass", BOTH)
def test_methods_of_a_class_stay(dataclass):
    @dataclass(frozen=True)
    class Own:
        x: int

        def __init__(self, x):
            object.__setattr__(self, "x", x + 1)

        def __repr__(self):
            return "own"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 4

    assert (Own(1).x, repr(Own(1)), Own(1) == 3, hash(Own(1))) == (2, "own", True, 4)


@pytest.mark.parametrize("dataclass", BOTH)
def test_classes_can_be_derived(dataclass):
    @dataclass(frozen=True)
    class Base:
        x: int = 1

    class Plain(Base):
        def __init__(self):
            super().__init__(5)
            self.more = 2

    plain = Plain()
    assert (plain.x, plain.more, plain == Plain(), plain == Base(5)) == (5, 2, True, False)
    with pytest.raises(FrozenInstanceError):
        plain.x = 3
    for derive in BOTH:

        @derive(frozen=True)
        class More(Base):
            y: int = 2

        assert repr(More(4)).endswith("More(x=4, y=2)") and More(4) == More(4, 2) and hash(More(4)) == hash(More(4))
    with pytest.raises(TypeError, match="frozen"):
        dataclass(type("Loose", (Base,), {}))


@late.dataclass(frozen=True, slots=True)
class Kept:
    x: int
    y: str = "y"


def test_objects_can_be_pickled():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)


def test_methods_are_compiled_when_they_are_used():
    cls = made(late.dataclass)
    assert not isinstance(vars(cls)["__init__"], type(made))
    assert cls("a") is not None
    assert isinstance(vars(cls)["__init__"], type(made)) and not isinstance(vars(cls)["__eq__"], type(made))
    assert cls.__eq__ is vars(cls)["__eq__"] and cls.__eq__.__qualname__ == "made.<locals>.Made.__eq__"


def test_a_thread_that_comes_late_gets_an_equal_method():
    cls = made(late.dataclass)
    waiting = vars(cls)["__eq__"]
    assert waiting.__get__(None, cls)(cls("a"), cls("a")) and waiting.__get__(None, cls)(cls("a"), cls("a"))


LOOK = """
import dataclasses, inspect, sys
if sys.argv[1] == "load":
    from torchlint.cst import load
    load()
import libcst
from libcst.metadata import MetadataWrapper, ScopeProvider
assert dataclasses.dataclass.__module__ == "dataclasses"
loaded = sorted(sys.modules.items())
modules = [module for name, module in loaded if name.partition(".")[0] == "libcst"]
classes = ((f"{module.__name__}.{name}", cls) for module in modules for name, cls in sorted(vars(module).items()))
for name, cls in classes:
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
        continue
    parameters = inspect.signature(cls).parameters.values()
    print(name, [str(each) for each in cls.__mro__], [(each.name, each.kind, each.default) for each in parameters])
    print([(each.name, each.type, each.init) for each in dataclasses.fields(cls)], cls.__match_args__)
    print(sorted(vars(cls).keys() - {"__annotations__"}), cls.__dataclass_params__.frozen)
module = libcst.parse_module(sys.stdin.read())
print(module.code, module, module.deep_clone().deep_equals(module))
print(len(MetadataWrapper(module).resolve(ScopeProvider)))
try:
    module.body = []
except dataclasses.FrozenInstanceError as error:
    print(error)

@dataclasses.dataclass(frozen=True)
class Mine(libcst.Name):
    more: int = 0

print(Mine("x", more=3), Mine("x").with_changes(value="y"), Mine("x") == Mine("x"), hash(Mine("x")) is None)
"""


def test_libcst_is_the_same_however_it_is_imported(root):
    """All classes of nodes, what the parser makes of code, and what others do with libcst in the same process."""
    text = (root / "torchlint" / "late.py").read_text(encoding="utf-8")
    plain, loaded = (
        subprocess.run(
            [sys.executable, "-c", LOOK, how], input=text, capture_output=True, text=True, cwd=root, check=True
        )
        for how in ("import", "load")
    )
    assert "class Mine" not in plain.stdout and "Mine(" in plain.stdout
    assert loaded.stdout == plain.stdout


LOAD = """
import sys
from torchlint import cst
if sys.argv[1] == "unknown":
    cst._SAME = ("0.",)
assert "libcst" not in sys.modules
print(cst.Name("x").value, type(vars(cst.Name)["__eq__"]).__name__, type(vars(cst.Call)["__init__"]).__name__)
"""


@pytest.mark.parametrize(("release", "method"), [("known", "_Late"), ("unknown", "function")])
def test_only_known_releases_of_libcst_are_imported_in_our_way(root, release, method):
    done = subprocess.run([sys.executable, "-c", LOAD, release], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout == f"x function {method}\n"


def test_this_release_of_libcst_is_known():
    from torchlint import cst

    assert cst._version().startswith(cst._SAME)


@pytest.mark.parametrize(("pattern", "text"), [(r"(a+)(?P<last>b)", "xAAb"), (rb"(a+)(?P<last>b)", b"xAAb")])
def test_a_regular_expression_does_what_that_of_the_standard_library_does(pattern, text):
    ours, theirs = late.regex(pattern, re.IGNORECASE), re.compile(pattern, re.IGNORECASE)
    assert ours.search(text).groups() == theirs.search(text).groups()
    assert ours.sub(text, text) == theirs.sub(text, text)
    assert [each.span() for each in ours.finditer(text)] == [each.span() for each in theirs.finditer(text)]
    assert (ours.pattern, ours.flags, ours.groups, ours.groupindex) == (pattern, theirs.flags, 2, theirs.groupindex)
    assert ours.match(text) is None


def test_a_regular_expression_is_compiled_at_its_first_use(monkeypatch):
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given))
    assert not hasattr(late.regex("a"), "__wrapped__")  # as ``inspect`` asks whatever it meets
    assert compiled == []
