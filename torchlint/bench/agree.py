"""Says whether two results are the same: types, containers, values, and of tensors dtype, device and flags."""

from __future__ import annotations

import enum

import numpy as np
import torch

# Of half precision a hundred units in the last place would be as much as the value itself.
_MOST = 0.02


class Difference(enum.IntEnum):
    """How far two results are apart: the same, the same but for the sign of zeros or for rounding, or different."""

    NONE = 0
    ZERO = 1
    ROUNDING = 2
    OTHER = 3


def difference(before: object, after: object, *, layout_only: bool = False) -> Difference:
    """Compare two results. NaNs at the same places count as equal.

    ``layout_only``: of tensors and arrays only shape, dtype and strides count, not the values (``torch.empty``).
    """
    if type(before) is not type(after):
        return Difference.OTHER
    if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor):
        return _of_tensors(before, after, layout_only)
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        if layout_only:
            return _of_layouts(before, after)
        return _of_arrays(before, after)
    if isinstance(before, dict) and isinstance(after, dict):
        if list(before) != list(after):
            return Difference.OTHER
        return _of_parts(list(before.values()), list(after.values()), layout_only)
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        return _of_parts(list(before), list(after), layout_only)
    if isinstance(before, (float, np.floating)) and isinstance(after, (float, np.floating)):
        return _of_arrays(np.asarray(before), np.asarray(after))
    return Difference.NONE if before == after else Difference.OTHER


def _of_parts(before: list[object], after: list[object], layout_only: bool) -> Difference:
    if len(before) != len(after):
        return Difference.OTHER
    pairs = zip(before, after, strict=True)
    return max((difference(*pair, layout_only=layout_only) for pair in pairs), default=Difference.NONE)


def _of_tensors(before: torch.Tensor, after: torch.Tensor, layout_only: bool) -> Difference:
    for name in ("shape", "dtype", "device", "requires_grad"):
        if getattr(before, name) != getattr(after, name):
            return Difference.OTHER
    if layout_only:
        return Difference.NONE if before.stride() == after.stride() else Difference.OTHER
    return _of_arrays(_array(before), _array(after), _eps(before.dtype))


def _of_layouts(before: np.ndarray, after: np.ndarray) -> Difference:
    same = (before.shape, before.dtype, before.strides) == (after.shape, after.dtype, after.strides)
    return Difference.NONE if same else Difference.OTHER


def _array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor's values as an array; of a dtype that NumPy lacks, as float32, which holds them all."""
    values = tensor.detach().cpu()
    return (values.float() if values.dtype is torch.bfloat16 else values).numpy()


def _eps(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps if dtype.is_floating_point else 0.0


def _of_arrays(before: np.ndarray, after: np.ndarray, eps: float = 0.0) -> Difference:
    if before.shape != after.shape or before.dtype != after.dtype:
        return Difference.OTHER
    floating = np.issubdtype(before.dtype, np.floating)
    if np.array_equal(before, after, equal_nan=bool(floating)):
        signs = not floating or np.array_equal(np.signbit(before[before == 0]), np.signbit(after[after == 0]))
        return Difference.NONE if signs else Difference.ZERO
    if not floating:
        return Difference.OTHER
    tolerance = min(100 * (eps or float(np.finfo(before.dtype).eps)), _MOST)
    near = np.allclose(before, after, rtol=tolerance, atol=tolerance, equal_nan=True)
    return Difference.ROUNDING if near else Difference.OTHER
