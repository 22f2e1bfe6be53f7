"""What torch computes has the dtype that values claim: every operation of the table, on tensors of several dtypes."""

from __future__ import annotations

import ast
import itertools
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
    functions = []
    for start in range(0, len(every), _MOST):
        shown = "\n    ".join(f"show({call})" for call in every[start : start + _MOST])
        functions.append(f"def use_{start}({parameters}):\n    {made}\n    {shown}\n")
    found: list[Value] = []
    for function in functions:
        code = Code(f"{HEAD}\n{function}")
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
        return all(agrees(*pair) for pair in zip(known.items, found, strict=True))
    if known.kind is not Kind.TENSOR or not isinstance(found, torch.Tensor):
        return True
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
