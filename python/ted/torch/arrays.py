"""Tensors of torch <-> arrays that a compiled function takes and gives, sharing their memory.

On a CPU those are arrays of NumPy, on a GPU tensors go in as they are and come out of DLPack.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch

# What takes and makes tensors without a function of Python: `runtime/python/exchange.c`.
EXCHANGE: Any = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
UNKNOWN = (TypeError, RuntimeError, BufferError)  # what numpy raises for a type or a layout
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def to_array(tensor: torch.Tensor) -> Any:
    """The array of a tensor, which is one itself on a GPU; torch knows the bits of bfloat16.

    `tensor.numpy()` would fix the size of its storage for good, and shards of parameters change it.
    """
    if not tensor.is_cpu:
        return tensor.detach().contiguous()  # a program for a GPU takes no strides
    if tensor.dtype is torch.bfloat16:
        return np.from_dlpack(tensor.detach().resolve_neg().view(torch.int16)).view(_BFLOAT16)
    return np.from_dlpack(tensor.detach().resolve_neg())


def from_array(array: Any) -> torch.Tensor:
    """The tensor of a result."""
    if type(array) is not np.ndarray:
        return torch.from_dlpack(array)
    if array.dtype == _BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_arrays(tensors: Sequence[torch.Tensor]) -> list[Any]:
    """The arrays of tensors that all lie on one device."""
    return list(map(to_array, tensors))


def dense(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors without strides; those of other layouts stay, for others to refuse."""
    return [t.contiguous() if t.layout is torch.strided else t for t in tensors]


def from_arrays(arrays: Iterable[Any]) -> list[torch.Tensor]:
    """The tensors of all results."""
    try:
        return list(map(torch.from_numpy, arrays))
    except TypeError:
        return list(map(from_array, arrays))
