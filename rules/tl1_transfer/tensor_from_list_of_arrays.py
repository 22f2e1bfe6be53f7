"""TL104: tensors made from Python lists of arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from torchlint import cst
from torchlint.rule import Call, Change, Device, Example, Fix, Frequency, Input, Kind, Report, Rule
from torchlint.rule.build import call_of, expression, in_place_of, keyword_of, module_for, on_top, source, with_keyword
from torchlint.rule.convert import FLOATING, LEGACY_CONSTRUCTORS, legacy_dtype, move_after

from ._defaults import home_of
from ._observations import CalledObservations

if TYPE_CHECKING:
    from collections.abc import Set

    from torchlint.rule import Site, Value
    from torchlint.rule.convert import Move

_KEYWORDS = frozenset({"data", "dtype", "device"})
_PLACED = frozenset({"dtype", "device"})
_CONSTRUCTORS = frozenset({"torch.tensor", "torch.as_tensor", *LEGACY_CONSTRUCTORS})
_ITEM_CONSTRUCTORS = _CONSTRUCTORS | {"torch.from_numpy"}
_READ = "{name}(...) reads each tensor of a list back, one after the other: `torch.stack` joins them where they are"
_CURE = "Make one array of the list first"
_WHOLE = "{name}(...) converts a list of arrays element by element"
_EACH = "{name}(...) makes a tensor of each array, and torch.stack copies all of them again"
_BETTER = "make one array first, torch.as_tensor(np.array(...))"
_SEQUENCES = frozenset({Kind.LIST, Kind.TUPLE})
# What examples were measured for: how many rows there are, and how long they are, is not known of any code.
_ROWS = ("batch-of-20x4", "batch-of-64x11", "batch-of-256x17")
_FRAMES = "frames-8x84x84"

_COLLATE = """\
import numpy as np
import torch
from torch import nn


def collate(states: list[np.ndarray]):
    return {line}


def train(policy, optimizer, replay, updates):
    for _ in range(updates):
        states = collate(replay.sample(256))
        loss = policy(states).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

_TOTALS = """\
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(17, 4) for _ in range(8)).to(device)

    def update(self, obs, optimizer):
        outputs = [head(obs) for head in self.heads]
        loss = sum(output.square().mean() for output in outputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return means([output.detach() for output in outputs])


def means(outputs: list[torch.Tensor]):
    return {line}


def train(policy, optimizer, batches):
    for obs in batches:
        policy.update(obs, optimizer)
"""


@dataclass(frozen=True, slots=True)
class _Arrays:
    """What is known of the arrays in a list: their dtype if it is one, and that there are some with a dimension."""

    dtype: str | None
    rows: bool


@dataclass(frozen=True, slots=True)
class _Case:
    """What is to be replaced, the constructor call that says dtype and device, and the list that becomes an array."""

    call: cst.Call
    constructor: cst.Call
    name: str
    data: cst.BaseExpression
    arrays: _Arrays
    fixable: bool
    assumes: str = ""

    @property
    def stacked(self) -> bool:
        """Whether the constructor makes the items of a ``torch.stack``."""
        return self.call is not self.constructor

    @property
    def legacy(self) -> bool:
        """Whether the constructor's name says the dtype."""
        return self.name in LEGACY_CONSTRUCTORS


def _batch(rows: int, columns: int) -> Example:
    return Example(
        name=f"batch-of-{rows}x{columns}",
        source=_COLLATE.format(line="torch.tensor(states, dtype=torch.float32)"),
        fixed=_COLLATE.format(line="torch.as_tensor(np.array(states), dtype=torch.float32)"),
        setup="states = list(rows)",
        workload="collate(states)",
        inputs=(Input("rows", Kind.NDARRAY, (rows, columns)),),
    )


class TensorFromListOfArrays(Rule):
    """A tensor constructor gets a list of NumPy arrays.

    ## What it does
    Finds `torch.tensor(arrays)`, `torch.as_tensor(arrays)` and `torch.FloatTensor(arrays)` on a list or comprehension
    that is proven to hold arrays, or, for a floating dtype, whose elements are all called observations
    (`states.append(step.state)`), and `torch.stack([torch.tensor(a) for a in arrays])`. Also `torch.tensor(numbers)` on
    a list of tensors, which hold one number each, where these may be on an accelerator.

    ## Why is this slow
    PyTorch reads a list element by element, each number as a Python object. NumPy copies whole arrays. A tensor in the
    list is read back like with `item()`, and the host waits for the accelerator each time; `torch.stack` does not.

    ## Example
    ```python
    states = torch.tensor(states, dtype=torch.float32)
    ```

    ## Use instead
    ```python
    states = torch.as_tensor(np.array(states), dtype=torch.float32)
    ```

    ## What the fix may change
    Nothing, where a floating dtype is given, or where all elements are proven to be arrays of one dtype in a list that
    is not empty. With an integer dtype `torch.tensor` refuses numbers that do not fit, and `torch.stack` refuses an
    empty list: these checks are lost (`validation`). Where the dtype of the arrays is not known, the fix is unsafe:
    NumPy and PyTorch promote mixed dtypes differently, and an empty list becomes float64. It is not offered with
    `requires_grad=` or `pin_memory=`. Four kinds of arrays are no input for a network in either form, but are treated
    otherwise: arrays with an axis of length zero keep their shape, which PyTorch cuts short, and are refused beside
    arrays of another shape, of which PyTorch drops all elements; arrays of objects are refused; a single array of a
    foreign byte order is refused; and integers above 2**53 are rounded to a floating dtype once, which PyTorch does by
    way of float64. Where only their names say that the elements are observations, the fix is unsafe and says so. There
    is no fix for lists of tensors: `torch.stack` keeps their device and their graph.

    ## When to ignore it
    For a handful of short arrays in code that runs seldom. Lists of numbers are not reported. The fix
    writes `np.array`, for `np.stack` is slower on short rows.

    ## Measured
    On lists of observations and of image frames; `torchlint rule TL104` prints the figures.

    ## References
    The warning of PyTorch itself: creating a tensor from a list of arrays is extremely slow.
    """

    code = "TL104"
    name = "tensor-from-list-of-arrays"
    summary = "a tensor is built from a Python list of arrays, element by element"
    trigger = Call(*_CONSTRUCTORS, "torch.stack")
    least = Frequency.EPISODE  # one batch of a rollout costs as much as many steps of a policy
    fixable = True
    may_change = (Change.VALIDATION,)
    exceptions: ClassVar[Mapping[str, str]] = {
        "empty rows": "arrays with an axis of length zero keep their shape",
        "objects": "arrays of objects are refused",
        "one row of foreign byte order": "a single array of a foreign byte order is refused",
        "large integers": "integers above 2**53 are rounded to a floating dtype once",
    }
    examples = (
        _batch(256, 17),
        _batch(64, 11),
        _batch(20, 4),
        Example(
            name="stack-of-256x17",
            source=_COLLATE.format(line="torch.stack([torch.tensor(state) for state in states])"),
            fixed=_COLLATE.format(line="torch.as_tensor(np.array(states))"),
            setup="states = list(rows)",
            workload="collate(states)",
            inputs=(Input("rows", Kind.NDARRAY, (256, 17)),),
        ),
        Example(
            name="frames-8x84x84",
            source=_COLLATE.format(line="torch.FloatTensor(states).unsqueeze(1)"),
            fixed=_COLLATE.format(
                line="torch.as_tensor(np.array(states), dtype=torch.float32).unsqueeze(1)",
            ),
            setup="states = list(frames)",
            workload="collate(states)",
            inputs=(Input("frames", Kind.NDARRAY, (8, 84, 84), "uint8"),),
        ),
        Example(
            name="means-of-8",
            source=_TOTALS.format(line="torch.tensor([output.mean() for output in outputs])"),
            fixed=_TOTALS.format(line="torch.stack([output.mean() for output in outputs])"),
            setup="outputs = list(rows.to(device))",
            workload="means(outputs)",
            inputs=(Input("rows", Kind.TENSOR, (8, 256, 4)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a constructor on a list of arrays, or of tensors of one number, and a stack of tensors of arrays."""
        call = site.node
        if not isinstance(call, cst.Call) or not call.args or not site.calls.is_plain(call):
            return
        named = site.names.of(call.func) or ""
        name = named or min(site.names.alternatives(call.func), default="")
        if _reads_each(site, call, name):
            yield Report(call, _READ.format(name=name), figure="means-of-8")
            return
        case = _stack(site, call) if name == "torch.stack" else _sequence(site, call, name)
        if case is None:
            return
        torch, missing_torch = module_for(site, "torch", "torch")
        placed = keyword_of(case.constructor, "device") is not None
        move = None if placed else move_after(site, site.calls.chain(call), torch)
        old = move.end if move else call
        fix = None
        if case.fixable and named and not site.compiling.scripted():
            numpy, missing_numpy = module_for(site, "numpy", "np")
            new = in_place_of(old, _rewritten(site, case, torch, numpy, move))
            change, doubt = _risk(site, case, move)
            doubt = "; ".join(filter(None, (case.assumes, doubt)))
            fix = Fix(_CURE, ((old, new),), change, doubt, missing_torch + missing_numpy)
        what = _EACH if case.stacked else _WHOLE
        shown = case.name if named else source(call.func)
        yield Report(old, f"{what.format(name=shown)}: {_BETTER}", fix, figure=_figure(case))


def _reads_each(site: Site, call: cst.Call, name: str) -> bool:
    """Whether a constructor is given a list of tensors that may be on an accelerator, and reads one after the other."""
    data = site.calls.argument(call, 0, "data")
    if name not in _CONSTRUCTORS or data is None or not site.device.may_be_cuda():
        return False
    if isinstance(data, cst.List) and len(data.elements) == 1:
        return False  # one number that is read (TL203)
    value = site.values.of(data)
    if value.kind is not Kind.LIST:
        return False
    held = value.element
    while held.kind is Kind.LIST:
        held = held.element
    # Tensors without or with one dimension are of one element, or it raises.
    return held.kind is Kind.TENSOR and held.rank in (None, 0, 1) and held.device is not Device.CPU


def _figure(case: _Case) -> str | tuple[str, ...]:
    """The examples that fit: frames where they are known to be some, and where nothing is known both."""
    if case.stacked:
        return "stack-of-256x17"
    if case.arrays.dtype == "uint8":
        return _FRAMES
    return _ROWS if case.arrays.dtype else (*_ROWS, _FRAMES)


def _sequence(site: Site, call: cst.Call, name: str) -> _Case | None:
    """``torch.tensor(arrays)`` and the like."""
    data = site.calls.argument(call, 0, "data")
    if name not in _CONSTRUCTORS or data is None or (name in LEGACY_CONSTRUCTORS and len(call.args) > 1):
        return None
    value = site.values.of(data)
    arrays = _arrays_in(value) if value.kind in _SEQUENCES else None
    assumes = ""
    if arrays is None and _is_floating(site, call, name) and _observed(site, data):
        arrays, assumes = _Arrays(None, rows=False), f"the elements of `{source(data)}` are arrays of one shape"
    fixable = _has_only(call, _KEYWORDS)
    return None if arrays is None else _Case(call, call, name, data, arrays, fixable, assumes)


def _is_floating(site: Site, call: cst.Call, name: str) -> bool:
    """Whether a constructor makes numbers that no tabular state is given as."""
    dtype = keyword_of(call, "dtype")
    if name in LEGACY_CONSTRUCTORS:
        return LEGACY_CONSTRUCTORS[name] in (*FLOATING, "")
    return dtype is not None and site.values.of(dtype).dtype in FLOATING


def _observed(site: Site, data: cst.BaseExpression) -> bool:
    """Whether all elements of a list are called observations."""
    twin = site.expression(data)
    return twin is not None and site.fact(CalledObservations).in_list(site.file, twin)


def _stack(site: Site, call: cst.Call) -> _Case | None:
    """``torch.stack([torch.tensor(a) for a in arrays])``."""
    match site.calls.argument(call, 0, "tensors"):
        case cst.ListComp(elt=cst.Call() as item) as comprehension if site.calls.is_plain(item):
            name, array = site.names.of(item.func) or "", site.calls.argument(item, 0, "data")
        case _:
            return None
    if array is None or name not in _ITEM_CONSTRUCTORS or site.values.of(array).kind is not Kind.NDARRAY:
        return None
    dim = site.calls.argument(call, 1, "dim")
    along_first = dim is None or site.values.of(dim).literal == 0
    told = " ".join(source(arg.value) for arg in item.args[1:])
    targets = source(comprehension.for_in.target)
    independent = set(re.findall(r"\w+", told)).isdisjoint(re.findall(r"\w+", targets))
    fixable = along_first and independent and _has_only(call, {"tensors", "dim"}) and _has_only(item, _KEYWORDS)
    data = _list_of(site, comprehension, array)
    return _Case(call, item, name, data, _Arrays(site.values.of(array).dtype, rows=True), fixable)


def _has_only(call: cst.Call, words: Set[str]) -> bool:
    """Whether the call has no keyword but these."""
    return all(arg.keyword is None or arg.keyword.value in words for arg in call.args)


def _arrays_in(value: Value) -> _Arrays | None:
    """The arrays at the bottom of lists and tuples, ``None`` when anything else may be there."""
    if value.kind is Kind.NDARRAY:
        return _Arrays(value.dtype, rows=value.has_axes)
    inner = [_arrays_in(item) for item in value.items] if value.kind in _SEQUENCES else []
    found = [arrays for arrays in inner if arrays is not None]
    if not found or len(found) < len(inner):
        return None
    dtypes = {arrays.dtype for arrays in found}
    nonempty = value.nonempty or value.kind is Kind.TUPLE
    return _Arrays(dtypes.pop() if len(dtypes) == 1 else None, nonempty and all(arrays.rows for arrays in found))


def _list_of(site: Site, comprehension: cst.ListComp, array: cst.BaseExpression) -> cst.BaseExpression:
    """The arrays that a comprehension makes tensors of, without the comprehension where it only walks a list."""
    match comprehension.for_in:
        case cst.CompFor(target=target, iter=arrays, ifs=[], inner_for_in=None, asynchronous=None):
            if array.deep_equals(target):
                walks_list = site.values.of(arrays).kind in (*_SEQUENCES, Kind.NDARRAY)
                return arrays if walks_list else call_of("list", arrays)
    return comprehension.with_changes(elt=array)


def _rewritten(site: Site, case: _Case, torch: str, numpy: str, move: Move | None) -> cst.BaseExpression:
    """``torch.as_tensor(np.array(x), dtype=..., device=...)``, with the views that stood before a move."""
    first = case.call.args[0]
    kept = [] if case.stacked else [arg for arg in case.call.args[1:] if arg.keyword and arg.keyword.value in _PLACED]
    last = first if kept else case.call.args[-1]
    array = first.with_changes(
        value=call_of(f"{numpy}.array", case.data),
        keyword=None,
        equal=cst.MaybeSentinel.DEFAULT,
        comma=last.comma,
        whitespace_after_arg=last.whitespace_after_arg,
    )
    new = case.call.with_changes(func=expression(f"{torch}.as_tensor"), args=[array, *kept])
    dtype = legacy_dtype(case.name, torch) if case.legacy else keyword_of(case.constructor, "dtype")
    home = home_of(site, case.name) if case.legacy else keyword_of(case.constructor, "device")
    device = move.device if move else home
    if dtype is not None:
        new = with_keyword(new, "dtype", dtype)
    if device is not None:
        new = with_keyword(new, "device", device)
    return on_top(new, move.views if move else ())


def _risk(site: Site, case: _Case, move: Move | None) -> tuple[tuple[Change, ...], str]:
    """What the fix may change, and what it has to assume."""
    change = (Change.VALIDATION,) if case.stacked else ()
    if case.name == "torch.Tensor":
        return change, "" if move else "the default tensor type lives on the CPU"
    dtype = keyword_of(case.constructor, "dtype")
    if dtype is None and not case.legacy:
        known = case.arrays.dtype is not None and case.arrays.rows
        return change, "" if known else "the arrays have one dtype, and there is at least one"
    target = LEGACY_CONSTRUCTORS[case.name] if case.legacy else dtype and site.values.of(dtype).dtype
    if target not in FLOATING and (target is None or target != case.arrays.dtype):
        change = (Change.VALIDATION,)
    return change, ""
