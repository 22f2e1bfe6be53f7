"""Says whether two results are the same: types, containers, values, and of tensors dtype, device and flags."""

from __future__ import annotations

import enum

import numpy as np
import torch


class Difference(enum.IntEnum):
    """How far two results are apart: the same, the same but for rounding, or different."""

    NONE = 0
    ROUNDING = 1
    OTHER = 2


def difference(before: object, after: object) -> Difference:
    """Compare two results. NaNs at the same places count as equal."""
    if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor):
        return _of_tensors(before, after)
    if type(before) is not type(after):
        return Difference.OTHER
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        return _of_arrays(before, after)
    if isinstance(before, dict) and isinstance(after, dict):
        if list(before) != list(after):
            return Difference.OTHER
        return _of_parts(list(before.values()), list(after.values()))
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        return _of_parts(list(before), list(after))
    if isinstance(before, (float, np.floating)) and isinstance(after, (float, np.floating)):
        return _of_arrays(np.asarray(before), np.asarray(after))
    return Difference.NONE if before == after else Difference.OTHER


def _of_parts(before: list[object], after: list[object]) -> Difference:
    if len(before) != len(after):
        return Difference.OTHER
    return max(map(difference, before, after), default=Difference.NONE)


def _of_tensors(before: torch.Tensor, after: torch.Tensor) -> Difference:
    for name in ("shape", "dtype", "device", "requires_grad"):
        if getattr(before, name) != getattr(after, name):
            return Difference.OTHER
    return _of_arrays(before.detach().cpu().numpy(), after.detach().cpu().numpy())


def _of_arrays(before: np.ndarray, after: np.ndarray) -> Difference:
    if before.shape != after.shape or before.dtype != after.dtype:
        return Difference.OTHER
    floating = np.issubdtype(before.dtype, np.floating)
    if np.array_equal(before, after, equal_nan=bool(floating)):
        return Difference.NONE
    if not floating:
        return Difference.OTHER
    tolerance = 100 * float(np.finfo(before.dtype).eps)
    near = np.allclose(before, after, rtol=tolerance, atol=tolerance, equal_nan=True)
    return Difference.ROUNDING if near else Difference.OTHER
