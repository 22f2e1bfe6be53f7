"""Values of calls into libraries, by qualified name."""

from __future__ import annotations

import ast

from torchlint.facts.values import graphs, options, signatures, spaces, tensordicts
from torchlint.facts.values.arrays import numpy_call
from torchlint.facts.values.containers import builtin_call, element_of, named_tuple
from torchlint.facts.values.creation import meeting
from torchlint.facts.values.join import FLOAT, NDARRAY, NONE, NUMBER, TENSOR, join, list_of
from torchlint.facts.values.operators import gathered
from torchlint.facts.values.tensors import torch_call
from torchlint.facts.values.torch_objects import distribution
from torchlint.rule import UNKNOWN, Kind, Value

_GATHERING = frozenset({"broadcast", "gather", "pad_across_processes", "reduce"})
_READERS = frozenset(
    {
        *("torch.load", "numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "numpy.memmap"),
        *("builtins.open", "pickle.load", "pickle.loads", "json.load", "json.loads", "joblib.load"),
    }
)
_FIELDS = ("observations", "actions", "next_observations", "rewards", "terminals")
_DATASET = Value(Kind.DICT, items=(NDARRAY,) * len(_FIELDS), keys=_FIELDS)
"""Transitions of an environment, as arrays."""
_DTYPES = {"tensor": None, "mask": "bool", "indices": "int64"}
"""The dtypes of the tensors that functions of a group of the table give."""
_READING_LIBRARIES = ("pandas.", "h5py.", "zarr.", "datasets.", "PIL.", "imageio.", "cv2.imread")


def reads_files(name: str) -> bool:
    """Return whether a function of a library reads a file."""
    return name in _READERS or name.startswith(_READING_LIBRARIES)


def library_call(name: str, node: ast.Call, of: signatures.Of) -> Value | None:
    """Return the value of a call of a library's function, ``None`` when it is not known."""
    head, _, last = name.partition(".")
    rule = signatures.rules("libraries").get(name)
    if rule is not None:
        return _by_rule(rule, node, of)
    if head == "torch":
        if ".distributions" in name:
            kind = name.rpartition(".")[2]
            if kind == "kl_divergence":
                return Value(Kind.TENSOR, device=distribution(kind, node, of).device, inexact=True)
            return distribution(kind, node, of) if kind in signatures.table()["distributions"] else None
        return torch_call(name, node, of)
    if head == "numpy":
        return numpy_call(name, node, of)
    if head == "builtins":
        if last == "super":
            return UNKNOWN
        return builtin_call(last, node, of)
    if head == "accelerate" and last.startswith("utils.") and last.rpartition(".")[2] in _GATHERING and node.args:
        return gathered(of(node.args[0]))
    if name == "collections.deque":
        return builtin_call("deque", node, of)
    if name in ("random.sample", "random.choices"):
        source = of(node.args[0]) if node.args else UNKNOWN
        return list_of(element_of(source))
    if name == "random.choice":
        return element_of(of(node.args[0])) if node.args else UNKNOWN
    if head in ("random", "math", "time"):
        return FLOAT if last in ("random", "uniform", "time", "perf_counter", "sqrt", "exp", "log") else NUMBER
    if name == "copy.deepcopy" and node.args:
        return of(node.args[0])
    if name == "logging.getLogger":
        return Value(Kind.INSTANCE, name="logging.Logger")
    if name in ("collections.namedtuple", "typing.NamedTuple"):
        return named_tuple(node, of)
    if name == "collections.defaultdict":
        made = _made_by(node.args[0], of) if node.args else UNKNOWN
        begun = of(node.args[1]).items if len(node.args) > 1 and made.known else ()
        held = join([made, *begun]) or UNKNOWN
        return Value(Kind.DICT, items=(held,) if held.known else ())
    if name in ("itertools.chain", "itertools.chain.from_iterable") and len(node.args) >= 1:
        return _chained(name, node, of)
    if name in ("collections.OrderedDict",):
        return builtin_call("dict", node, of)
    if (graph := graphs.made(name)) is not None:
        return graph
    return spaces.made(name, node, of) or tensordicts.made(name, node, of) or options.made(name, node, of)


def _made_by(factory: ast.expr, of: signatures.Of) -> Value:
    """What a table makes where it has no entry: ``defaultdict(list)``, ``defaultdict(lambda: Meter())``."""
    if isinstance(factory, ast.Lambda):
        made = of(factory.body)
        return made if made.kind is Kind.INSTANCE else UNKNOWN
    value = of(factory)
    if value.name == "builtins.list":
        return Value(Kind.LIST)
    own = value.kind is Kind.CLASS and not value.name.startswith("builtins.")
    return Value(Kind.INSTANCE, name=value.name) if own else UNKNOWN


def _chained(name: str, node: ast.Call, of: signatures.Of) -> Value:
    """``chain(a, b)`` gives what each gives; ``chain(*rows)``, ``chain.from_iterable(rows)`` what each row gives."""
    first = node.args[0]
    if name.endswith("from_iterable") or isinstance(first, ast.Starred):
        rows = of(first.value if isinstance(first, ast.Starred) else first)
        return list_of(element_of(element_of(rows))) if len(node.args) == 1 else list_of(UNKNOWN)
    if any(isinstance(each, ast.Starred) for each in node.args):
        return list_of(UNKNOWN)
    return list_of(join(element_of(of(each)) for each in node.args) or UNKNOWN)


def library_method(source: Value, name: str, near: options.Near) -> Value | None:
    """Return what a method of a library's object gives, ``None`` where it is not known.

    ``near`` gives the files that imports connect with the one that calls it, by path.
    """
    if spaces.is_space(source):
        return spaces.sample(source) if name == "sample" else UNKNOWN
    return options.parsed(source, name, near)


def _by_rule(rule: str, node: ast.Call, of: signatures.Of) -> Value:
    """The value of a function of the group ``libraries`` of the table."""
    if rule == "tensors":  # of gradients: what they are of is not asked, or networks become one circle of questions
        return list_of(TENSOR)
    if rule == "dataset":
        return _DATASET
    if rule == "array":
        return NDARRAY
    given = signatures.operands(node, of)
    if rule in _DTYPES:
        return Value(Kind.TENSOR, dtype=_DTYPES[rule], device=meeting(given))
    first = given[0] if given else UNKNOWN
    if first.kind in (Kind.LIST, Kind.TUPLE):
        first = first.element
    if first.kind in (Kind.TENSOR, Kind.NDARRAY):  # the same elements in another shape
        return Value(first.kind, dtype=first.dtype, device=first.device, inexact=first.inexact)
    return NDARRAY if rule == "like_array" else UNKNOWN


def library_name(name: str, near: options.Near) -> Value | None:
    """Return the value of a library's constant: a dtype, infinity, ``newaxis``; ``None`` when it is not known.

    ``near`` gives the files that imports connect with the one that reads the constant, by path.
    """
    module, _, last = name.rpartition(".")
    if module == "torch" and last in signatures.table()["dtypes"]:
        return Value(Kind.DTYPE, dtype=signatures.table()["dtypes"][last])
    if module == "numpy" and last in signatures.table()["numpy_dtypes"]:
        return Value(Kind.DTYPE, dtype=signatures.table()["numpy_dtypes"][last])
    if name in ("torch.inf", "torch.nan", "torch.pi", "math.inf", "math.pi", "math.nan", "math.e"):
        return FLOAT
    if name in ("numpy.inf", "numpy.nan", "numpy.pi", "numpy.Inf", "numpy.NaN", "numpy.e"):
        return FLOAT
    if name in ("numpy.newaxis", "builtins.None"):
        return NONE
    return options.namespace(near()) if name == options.FLAGS else None
