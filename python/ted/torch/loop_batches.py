"""Batches of cotangents as `torch.autograd.grad(is_grads_batched=True)` makes them.

Before: one cotangent, of shape (2,) to whoever looks, which has a hidden dim of 3 examples
After:  the tensor of shape (3, 2), for the operator that ted makes for all examples

Those of `torch.autograd.functional` with `vectorize=True` and of `gradcheck` are such. They are
older than `torch.func`, and its `vmap` does not know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ted.errors import ExecutionError

_torch: Any = torch  # which says no types of what is used here
_LEVELS = range(1, 64)  # of which torch's own functions use the first
_mode = torch._C._dispatch_key_parse("VmapMode")
_is_included = torch._C._dispatch_tls_is_dispatch_key_included
_has_hidden = _torch._C._functorch.is_legacy_batchedtensor


def is_batching() -> bool:
    """Whether tensors may have a hidden dim."""
    return _is_included(_mode)


def has_batches(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether one of them has a hidden dim."""
    return is_batching() and any(map(_has_hidden, tensors))


def of_all_examples(operator: Any, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The results with a hidden dim again, by the operator for all examples.

    Raises: ExecutionError for a batch of batches.
    """
    level = next((k for k in _LEVELS if not any(map(_has_hidden, _opened(tensors, k)))), None)
    if level is None:
        raise ExecutionError(
            f"{operator.name}: an operator takes one batch of torch.autograd.grad("
            "is_grads_batched=True), got one inside of another; write torch.func.vmap"
        )
    axes = tuple([0 if _has_hidden(tensor) else None for tensor in tensors])
    results = operator.batched(axes)(*_opened(tensors, level))
    return [_torch._add_batch_dim(result, 0, level) for result in results]


def _opened(tensors: Sequence[torch.Tensor], level: int) -> list[torch.Tensor]:
    """The tensors with the hidden dim of a level as their first one."""
    return [_torch._remove_batch_dim(t, level, 1, 0) if _has_hidden(t) else t for t in tensors]
