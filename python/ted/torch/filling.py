"""Results written into tensors of the caller: `f.out(x, out=y)`, and in place `f.out(x, out=x)`.

Before: y = f(x), a tensor of its own      After: y has the numbers, and torch knows that it changed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.graph import increment_version

from ted.errors import ExecutionError
from ted.torch.arrays import to_array
from ted.torch.flat_operators import FlatOperator
from ted.torch.registering import registered_out

Tensors = Sequence[torch.Tensor]
_torch: Any = torch  # which says no types of what is used here
_overlap = _torch._debug_has_internal_overlap


class Filling:
    """An operator that writes its results into tensors; it takes no part in gradients."""

    def __init__(self, flat: FlatOperator) -> None:
        self._flat = flat
        self._overload: Any = None
        self._latest: Any = ((), None, None)  # kinds of arguments, their trace and their program

    def __call__(self, tensors: Tensors, targets: Tensors, whole: Tensors) -> None:
        """Compute into the targets, which make up the tensors that the caller gave.

        Raises: ExecutionError for tensors that require gradients, or targets that do not fit.
        """
        given = [*tensors, *whole]
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*given):
            raise ExecutionError(
                f"{self._flat.name}: what is written with out= has no gradient, got a tensor that "
                "requires one; write under torch.no_grad(), or use the result"
            )
        if any(_overlap(target) == 1 for target in whole):  # which torch knows of some alone
            raise ExecutionError(
                f"{self._flat.name}: each element of out= has memory of its own, got an expanded "
                "tensor; write out=y.clone()"
            )
        if self._flat.is_plain([*tensors, *targets]):
            return self._computed(tensors, targets)
        if self._overload is None:
            self._overload = registered_out(f"{self._flat.name}_out", self._computed, self._fake)
        return self._overload(list(tensors), list(targets))

    def _computed(self, tensors: Tensors, targets: Tensors) -> None:
        arrays = self._flat.arrays(tensors)
        kinds = [(t.shape, t.dtype) for t in tensors]
        latest = self._latest
        if kinds != latest[0]:
            function = self._flat.function
            latest = self._latest = kinds, function.trace(*arrays), function.compiled(*arrays)
        _, traced, compiled = latest
        self._check_count(traced.output_tree.size, targets)
        notes = [None] * (len(traced.outputs) - len(targets))
        values = compiled(*arrays, out=[*map(_target, targets), *notes])
        increment_version(list(targets))
        traced.results(values)  # which says what there is to say

    def _fake(self, tensors: Tensors, targets: Tensors) -> None:
        results = self._flat.fake(*tensors)
        self._check_count(len(results), targets)
        for k, (result, target) in enumerate(zip(results, targets, strict=True)):
            if (result.shape, result.dtype) != (target.shape, target.dtype):
                raise ExecutionError(
                    f"{self._flat.name}: out={k}: expected {result.dtype}{list(result.shape)}, got "
                    f"{target.dtype}{list(target.shape)}"
                )

    def _check_count(self, count: int, targets: Tensors) -> None:
        if count != len(targets):
            raise ExecutionError(
                f"{self._flat.name}: out= has a tensor for each of {count} results, got "
                f"{len(targets)}"
            )


def _target(tensor: torch.Tensor) -> Any:
    """The memory of a tensor itself, with its strides."""
    return to_array(tensor) if tensor.is_cpu else tensor.detach()
