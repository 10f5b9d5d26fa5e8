"""Tensors of torch <-> arrays that a compiled function takes and gives, sharing their memory.

On a CPU those are arrays of NumPy, on a GPU tensors go in as they are and come out of DLPack.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import methodcaller
from typing import Any

import ml_dtypes
import numpy as np
import torch

# What takes and makes tensors without a function of Python: `runtime/python/exchange.c`.
EXCHANGE: Any = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
_to_numpy = methodcaller("numpy", force=True)
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def to_array(tensor: torch.Tensor) -> Any:
    """The array of a tensor, which is one itself on a GPU; torch knows the bits of bfloat16."""
    if not tensor.is_cpu:
        return tensor.detach().contiguous()  # a program for a GPU takes no strides
    if tensor.dtype is torch.bfloat16:
        return tensor.detach().view(torch.int16).numpy().view(_BFLOAT16)
    return tensor.numpy(force=True)


def from_array(array: Any) -> torch.Tensor:
    """The tensor of a result."""
    if type(array) is not np.ndarray:
        return torch.from_dlpack(array)
    if array.dtype == _BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_arrays(tensors: Sequence[torch.Tensor]) -> list[Any]:
    """The arrays of tensors that all lie on one device."""
    if tensors and not tensors[0].is_cpu:
        return list(map(to_array, tensors))
    try:
        return list(map(_to_numpy, tensors))  # which calls no function of Python
    except TypeError:
        return list(map(to_array, tensors))


def from_arrays(arrays: Iterable[Any]) -> list[torch.Tensor]:
    """The tensors of all results."""
    try:
        return list(map(torch.from_numpy, arrays))
    except TypeError:
        return list(map(from_array, arrays))
