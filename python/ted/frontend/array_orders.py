"""The order of dims in the memory of arrays: arrays that are dense in another order are not copied.

Before: f(x), where x is a column-major array of 2048 x 1024
After: a program with an input of 1024 x 2048, given x.T, which is in order; its x is the transpose

The transpose is a read with other subscripts, so that sets and loops see where elements are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ted.frontend.functions import ArraySpec, Input, Signature

Order = tuple[int, ...]  # dims from the slowest on; () is the order of C, or no order at all
LEAST_BYTES = 2**20  # a smaller array is copied sooner than a program is compiled for it


def may_have_order(array: Any) -> bool:
    """Whether an array is so large that calls ask for its order."""
    return _bytes_of(array) >= LEAST_BYTES


def order_of(array: Any) -> Order:
    """The order of an array of numpy or torch that is dense, but not in the order of C."""
    strides = _strides(array)
    if strides is None:
        return ()
    order = tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))
    return order if _strides(in_order(array, order)) is None else ()


def orders_of(arrays: Sequence[Any]) -> tuple[Order, ...]:
    """The order of each array, () where all are in the order of C."""
    if not any(map(_strides, arrays)):  # what nearly every call does
        return ()
    found = tuple(map(order_of, arrays))
    return found if any(found) else ()


def _strides(array: Any) -> Sequence[int] | None:
    """The strides of a large array that is not in the order of C; None for any other value."""
    if type(array) is np.ndarray:
        return None if array.nbytes < LEAST_BYTES or array.flags.c_contiguous else array.strides
    is_in_order = getattr(array, "is_contiguous", None)  # of torch
    if is_in_order is None or _bytes_of(array) < LEAST_BYTES or is_in_order():
        return None
    return array.stride()


def _bytes_of(array: Any) -> int:
    try:
        return getattr(array, "nbytes", 0)
    except RuntimeError:  # a sparse tensor of torch has none, and is refused by its name
        return 0


def in_order(array: Any, order: Order) -> Any:
    """The same memory with its slowest dim first."""
    if not order:
        return array
    return array.transpose(order) if type(array) is np.ndarray else array.permute(order)


def all_in_order(arrays: Sequence[Any], orders: Sequence[Order]) -> Sequence[Any]:
    """The arrays as a program for these orders takes them."""
    if not orders:
        return arrays
    return [in_order(array, order) for array, order in zip(arrays, orders, strict=True)]


def with_orders(signature: Signature, orders: Sequence[Order]) -> Signature:
    """The signature of calls with arrays in these orders."""
    if not orders:
        return signature
    left = iter(orders)
    leaves = []
    for leaf in signature.leaves:
        order = next(left) if isinstance(leaf, Input) else ()
        leaves.append(replace(leaf, order=order) if isinstance(leaf, ArraySpec) else leaf)
    return replace(signature, leaves=tuple(leaves))
