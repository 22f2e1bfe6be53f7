"""What operators and runtime calls do besides computing: which copy, which make the host wait, which launch kernels."""

from __future__ import annotations

from torchlint.late import regex
from torchlint.profile.model import Effect

_COPIES = frozenset({"aten::_to_copy", "aten::copy_", "aten::clone"})
# What code calls to copy. Other operators copy too, a bias into the result of a product say; that is their own affair.
_ASKED_COPIES = _COPIES | {"aten::to", "aten::contiguous", "aten::reshape", "aten::flatten", "aten::pin_memory"}
_SYNCS = frozenset(
    {"aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::masked_select"}
)
# Names of the CUDA and HIP runtimes and of the CUDA driver. ``cudaMemcpy`` waits, ``cudaMemcpyAsync`` does not.
_RUNTIME_SYNC = regex(
    r"(cuda|hip)(Stream|Device|Event)Synchronize|cu(Stream|Ctx|Event)Synchronize|(cuda|hip)Memcpy(2D|3D|WithStream)?|cuMemcpy[^A]*"
)
_RUNTIME_LAUNCH = regex(r"(cuda|hip)(Ext)?(Module)?Launch\w*Kernel\w*|cuLaunchKernel\w*|(cuda|hip)GraphLaunch")

# Methods and functions of torch, by the name that Python code calls them by.
_CALLED_COPIES = frozenset(
    {"to", "cpu", "cuda", "clone", "contiguous", "copy_", "float", "double", "half", "long", "type"}
)
_CALLED_SYNCS = frozenset(
    {"item", "tolist", "nonzero", "synchronize", "masked_select", "__bool__", "__float__", "__int__"}
)


def effect_of_operator(name: str, outermost: str) -> Effect:
    """Return the effect of an operator of the torch profiler inside another, or inside itself, by their names."""
    if name in _COPIES and outermost in _ASKED_COPIES:
        return Effect.COPY
    return Effect.SYNC if name in _SYNCS else Effect.NONE


def effect_of_runtime(name: str) -> Effect:
    """Return the effect of a call of the CUDA or HIP runtime, or of the driver."""
    if _RUNTIME_SYNC.fullmatch(name):
        return Effect.SYNC
    return Effect.LAUNCH if _RUNTIME_LAUNCH.fullmatch(name) else Effect.NONE


def effect_of_call(name: str) -> Effect:
    """Return the effect of a method or function of torch as Python code calls it, by the last part of its name."""
    if name in _CALLED_COPIES:
        return Effect.COPY
    return Effect.SYNC if name in _CALLED_SYNCS else Effect.NONE


def is_torch_call(file: str, name: str) -> bool:
    """Return whether a frame is a built-in of torch, as cProfile names them."""
    return not file and (
        "'torch._C" in name or "method torch." in name or "of Tensor object" in name or "of type object" in name
    )
