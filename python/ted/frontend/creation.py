"""Tensors from nothing: constants, ranges and the identity."""

from __future__ import annotations

from typing import Any

from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.arithmetic import constant
from ted.frontend.compute import compute
from ted.frontend.elementwise import cast, to_tensor, where
from ted.frontend.locations import fail, here
from ted.frontend.scalars import operand
from ted.frontend.tensors import Tensor, wrap
from ted.ir import equations
from ted.ir.expressions import Expr


def full(
    shape: checks.Shape, value: Any, dtype: Any = "float32", name: str | None = None
) -> Tensor:
    """A tensor with the same Python number everywhere.

    Raises: FrontendError when `value` is no number or does not fit `dtype`.
    """
    element = checks.dtype_of(dtype, "full")
    number = operand(value)
    if number is None or isinstance(number, Expr):
        fail(f"full: the value must be a Python number, got {value!r}")
    fill = constant(number, element, "full").attr
    extents = checks.shape_of(shape, element, "full")
    hint = checks.name_of(name, "full") or "full"
    return wrap(equations.Tensor(hint, extents, element, fill, location=here()))


def zeros(shape: checks.Shape, dtype: Any = "float32") -> Tensor:
    """A tensor of zeros."""
    return full(shape, 0, dtype, "zeros")


def ones(shape: checks.Shape, dtype: Any = "float32") -> Tensor:
    """A tensor of ones."""
    return full(shape, 1, dtype, "ones")


def zeros_like(x: Any) -> Tensor:
    """Zeros with the shape and type of x."""
    return zeros(to_tensor(x, "zeros_like").shape, x.dtype)


def ones_like(x: Any) -> Tensor:
    """Ones with the shape and type of x."""
    return ones(to_tensor(x, "ones_like").shape, x.dtype)


def arange(extent: Extent, dtype: Any = "int64") -> Tensor:
    """0, 1, ..., extent - 1.

    Raises: FrontendError when the last one does not fit `dtype`.
    """
    element = checks.dtype_of(dtype, "arange")
    if isinstance(extent, int):
        constant(max(extent - 1, 0), element, "arange")
    return compute((extent,), lambda i: cast(i, element), name="arange")


def eye(extent: Extent, dtype: Any = "float32") -> Tensor:
    """The identity matrix."""
    return compute((extent, extent), lambda i, j: cast(where(i == j, 1, 0), dtype), name="eye")


def one_hot(labels: Any, depth: int, dtype: Any = "float32") -> Tensor:
    """1 where the last index equals the label, else 0; a label outside [0, depth) gives zeros.

    Shapes: labels (...), result (..., depth).
    Raises: FrontendError for labels that are no integers.
    """
    labels = to_tensor(labels, "one_hot")
    if labels.dtype.kind != "int":
        fail(f"one_hot: labels must be integers, got {labels.dtype}")
    return compute(
        (*labels.shape, checks.extent(depth, "one_hot: depth")),
        lambda *i: cast(where(labels[i[:-1]] == i[-1], 1, 0), dtype),
        name="one_hot",
    )
