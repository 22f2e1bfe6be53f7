"""What torch computes has the dtype that values claim: every operation of the table, on tensors of several dtypes."""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from types import CodeType

import pytest
from projects import Code

from torchlint.facts.values.dtypes import is_inexact
from torchlint.facts.values.signatures import table
from torchlint.facts.values.values import Values
from torchlint.rule import Kind, Value

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

_MOST = 500  # calls in one function; code with many more is not read
HEAD = "import torch\nfrom torch.nn import functional as F\n"
DTYPES = ("bool", "uint8", "int64", "float32", "complex64")
# What a loss, an operation or a method may be given behind its first tensor.
ARGUMENTS = (
    "",
    "y",
    "y, y",
    "2",
    "0.5",
    "0",
    "0, i",
    "(2, 2)",
    "dtype=torch.int64",
    "y, rounding_mode='floor'",
    "[2, 2]",
)


def calls() -> Iterator[str]:
    """Calls of all operations and losses of the table, most of which torch refuses for some dtypes."""
    operations = [(group, name) for group, names in table()["operations"].items() for name in names]
    for _, name in operations:
        for given in ARGUMENTS:
            if name == "einsum" or (name in ("add", "sub") and given == "0, i"):
                continue  # an equation comes first; the third argument is a factor
            if hasattr(torch, name):
                yield f"torch.{name}({', '.join(filter(None, ('x', given)))})"
            if hasattr(torch.Tensor, name):
                yield f"x.{name}({given})"
    for name in {name for names in table()["linalg"].values() for name in names}:
        yield from (f"torch.linalg.{name}(x{given})" for given in ("", ", y", ", 2", ", dim=0"))
    for name in table()["functional"]["loss"]:
        yield from (f"F.{name}(x, y, reduction={reduction!r})" for reduction in ("mean", "sum", "none"))
    yield from (f"F.{name}(x{given})" for name in table()["functional"]["same"] for given in ("", ", y", ", 1"))
    yield from (f"x.new_tensor({given})" for given in ("[1, 2]", "[0.5]", "1"))
    yield from (f"x {sign} {other}" for sign in "+ - * / // % ** @".split() for other in ("y", "2", "0.5", "n"))
    yield from ("-x", "~x", "x < y", "x.to(y)", "x.type_as(y)", "torch.cat([x, y])", "torch.where(x > 0, x, y)")


def claims(every: list[str], dtypes: tuple[str, str] | None) -> list[Value]:
    """What is known of calls, of two tensors of these dtypes, or of unknown ones."""
    parameters, made = "x: torch.Tensor, y: torch.Tensor, i, n", "pass"
    if dtypes is not None:
        parameters = "i, n"
        made = "; ".join(
            f"{name} = torch.ones(2, 2, dtype=torch.{dtype})" for name, dtype in zip("xy", dtypes, strict=True)
        )
    return shown(every, parameters, made, HEAD)


def shown(every: list[str], parameters: str, made: str, head: str) -> list[Value]:
    """What is known of calls in functions with these parameters, behind a statement that makes what they are given."""
    functions = []
    for start in range(0, len(every), _MOST):
        shows = "\n    ".join(f"show({call})" for call in every[start : start + _MOST])
        functions.append(f"def use_{start}({parameters}):\n    {made}\n    {shows}\n")
    found: list[Value] = []
    for function in functions:
        code = Code(f"{head}\n{function}")
        file, values = code.file(), code.analyses[Values].proven(())
        given = [call.args[0] for call in file.scopes[1].calls if ast.unparse(call.func) == "show"]
        found += [values.of(file, node) for node in sorted(given, key=lambda node: node.lineno)]
    return found


def result(call: CodeType, dtypes: tuple[str, str]) -> object:
    """What a call gives, ``None`` where torch refuses it."""
    x, y = (torch.ones(2, 2, dtype=getattr(torch, dtype)) for dtype in dtypes)
    names = {
        "torch": torch,
        "F": torch.nn.functional,
        "x": x,
        "y": y,
        "i": torch.zeros(2, 2, dtype=torch.int64),
        "n": 3,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(call, names)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError, AssertionError):
            return None


def agrees(known: Value, found: object) -> bool:
    if known.kind is Kind.TUPLE and isinstance(found, (tuple, list)):
        return len(known.items) == len(found) and all(map(agrees, known.items, found))
    if known.kind is not Kind.TENSOR or not isinstance(found, torch.Tensor):
        return True
    if known.rank is not None and found.dim() != known.rank:
        return False
    if known.dtype is not None and str(found.dtype) != f"torch.{known.dtype}":
        return False
    return not is_inexact(known) or found.is_floating_point() or found.is_complex()


@pytest.mark.third
def test_a_claimed_dtype_is_that_of_the_result() -> None:
    """Where the dtypes of the tensors are known and where they are not; what torch computes is the same for both."""
    every = [*dict.fromkeys(calls())]
    unknown = claims(every, None)
    assert not [value for value in unknown if value.dtype is not None and value.inexact]
    codes = [compile(call, call, "eval") for call in every]
    wrong, compared = [], Counter[bool]()
    for dtypes in itertools.product(DTYPES, repeat=2):
        # What torch refuses has no result to compare; of most calls that is so for most dtypes.
        results = ((call, value, result(code, dtypes)) for call, value, code in zip(every, unknown, codes, strict=True))
        given = [(call, value, made) for call, value, made in results if isinstance(made, (torch.Tensor, tuple, list))]
        proven = claims([call for call, _, _ in given], dtypes)
        for (call, value, made), other in zip(given, proven, strict=True):
            for known, claimed in ((False, value), (True, other)):
                compared[known] += isinstance(made, torch.Tensor) and (claimed.dtype is not None or claimed.inexact)
                if not agrees(claimed, made):
                    wrong.append((call, dtypes, claimed.dtype, claimed.inexact))
    assert min(compared[False], compared[True]) > len(every)
    assert wrong == []


# Of these nothing is said: sparse, quantized and foreign layouts, what torch has for its own use, and old names.
LEFT_OUT = re.compile(
    r"sparse|mkldnn|cudnn|miopen|quantize|_copy$|_meta_data|nonzero_static|^(chalf|cfloat|cdouble|as_subclass|new|smm|hspmm"
    r"|hash_tensor|int_repr|lu|set_|storage|untyped_storage|to_padded_tensor|resize_as_?|map_|map2_|apply_|index|norm_except_dim"
    r"|constant_pad_nd|frobenius_norm|nuclear_norm|native_norm|saddmm|sspaddmm|native_channel_shuffle|fbgemm\w*|stft|istft"
    r"|slice_inverse|lobpcg|sym_sum|dsmm|spmm|module_load|empty_\w+|q_per_channel\w+|from_dlpack|segment_reduce|binomial|embedding_renorm_|xpu|mtia|ipu)$"
)


@pytest.mark.third
def test_what_gives_a_tensor_is_known() -> None:
    """Every function and method of torch that takes a tensor, at least."""
    taking = torch.overrides.get_overridable_functions()
    named = [f"torch.{each.__name__}(x" for each in taking[torch] if not LEFT_OUT.search(each.__name__)]
    named += [f"x.{name}(" for name in dir(torch.Tensor) if not name.startswith("_") and not LEFT_OUT.search(name)]
    every = [f"{each}{', ' if each.endswith('x') and given else ''}{given})" for each in named for given in ARGUMENTS]
    dtypes = ("float32", "float32")
    results = [(call, result(compile(call, call, "eval"), dtypes)) for call in every]
    tensors = [call for call, made in results if isinstance(made, torch.Tensor)]
    unknown = [call for call, value in zip(tensors, claims(tensors, dtypes), strict=True) if value.kind is Kind.UNKNOWN]
    assert len(tensors) > 1000
    assert unknown == []


def test_every_distribution_of_torch_is_known() -> None:
    every = {name for name in dir(torch.distributions) if is_distribution(getattr(torch.distributions, name))}
    assert every - {"Distribution", "ExponentialFamily"} <= {*table()["distributions"]}
    assert len(every) > 30


def is_distribution(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, torch.distributions.Distribution)


ARRAY_ARGUMENTS = ("", "y", "2", "0.5", "axis=0", "keepdims=True", "dtype=np.int64", "(2, 2)", "1, 0")
ARRAYS = ("bool", "uint8", "int64", "float32", "float64")


def array_calls() -> Iterator[str]:
    """Calls of all functions and methods of NumPy in the table, most of which NumPy refuses for some arguments."""
    for name in (name for names in table()["numpy"].values() for name in names):
        if hasattr(np, name):
            given = [each for each in ARRAY_ARGUMENTS if each != "y" or getattr(getattr(np, name), "nin", 2) > 1]
            yield from (f"np.{name}({', '.join(filter(None, ('x', each)))})" for each in given)
    for name in (name for names in table()["ndarray_methods"].values() for name in names):
        yield from (f"x.{name}({given})" for given in ARRAY_ARGUMENTS)


def fits(known: Value, found: object) -> bool:
    """Whether what is known of a value holds of it, as far as NumPy goes."""
    if known.kind is Kind.NDARRAY:
        return (
            isinstance(found, np.ndarray)
            and known.dtype in (None, str(found.dtype))
            and known.rank in (None, found.ndim)
            and not (known.has_axes and not found.ndim)
        )
    if known.kind is Kind.SCALAR:
        return isinstance(found, np.generic) and known.dtype in (None, str(found.dtype))
    if known.kind is Kind.NUMBER:
        return isinstance(found, (int, float, complex, np.generic))
    if known.kind is Kind.LIST and isinstance(found, (list, tuple)):
        return known.element.kind is Kind.UNKNOWN or all(fits(known.element, part) for part in found)
    return True


@pytest.mark.third
def test_what_numpy_gives_is_what_is_claimed() -> None:
    every = [*dict.fromkeys(array_calls())]
    wrong, compared = [], 0
    for dtypes in itertools.product(ARRAYS, ("int64", "float32")):
        made = [f"{name} = np.ones((2, 2), dtype=np.{dtype}" for name, dtype in zip("xy", dtypes, strict=True)]
        claimed = shown(every, "", "; ".join(f"{each})" for each in made), "import numpy as np\n")
        for call, value in zip(every, claimed, strict=True):
            names = {name: np.ones((2, 2), dtype) for name, dtype in zip("xy", dtypes, strict=True)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = eval(call, {"np": np, **names})
                except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError, OSError):
                    continue
            compared += value.kind is not Kind.UNKNOWN
            if not fits(value, found):
                wrong.append((call, dtypes, value.kind, value.dtype, value.rank))
    assert compared > 2 * len(every)
    assert wrong == []
