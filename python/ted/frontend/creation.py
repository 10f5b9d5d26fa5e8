"""Tensors from nothing: constants, ranges and the identity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ted.domain.sizes import Extent, is_symbolic
from ted.frontend import checks
from ted.frontend.arithmetic import constant
from ted.frontend.captures import is_array
from ted.frontend.compute import compute
from ted.frontend.elementwise import cast, to_tensor, where
from ted.frontend.locations import fail, here
from ted.frontend.scalars import operand
from ted.frontend.tensors import Tensor, wrap
from ted.frontend.tensors import constant as constant_of
from ted.ir import equations
from ted.ir.dtypes import DType
from ted.ir.expressions import Expr

_TYPES = {bool: "bool", int: "int64", float: "float32"}


def full(
    shape: checks.Shape, fill_value: Any, dtype: Any = None, name: str | None = None
) -> Tensor:
    """A tensor with the same Python number everywhere: float32, int64 or bool unless said.

    Raises: FrontendError when `fill_value` is no number or does not fit `dtype`.
    """
    number = operand(fill_value)
    if number is None or isinstance(number, Expr):
        fail(f"full: the value must be a Python number, got {fill_value!r}")
    element = checks.dtype_of(_TYPES[type(number)] if dtype is None else dtype, "full")
    fill = constant(number, element, "full").attr
    extents = checks.shape_of(shape, element, "full")
    hint = checks.name_of(name, "full") or "full"
    return wrap(equations.Tensor(hint, extents, element, fill, location=here()))


def zeros(shape: checks.Shape, dtype: Any = "float32") -> Tensor:
    """A tensor of zeros."""
    return full(shape, 0.0, dtype, "zeros")


def ones(shape: checks.Shape, dtype: Any = "float32") -> Tensor:
    """A tensor of ones."""
    return full(shape, 1.0, dtype, "ones")


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """The same number everywhere, with the shape of x and its type unless said.

    Raises: FrontendError as `full`.
    """
    x = to_tensor(x, "full_like")
    return full(x.shape, fill_value, x.dtype if dtype is None else dtype)


def zeros_like(x: Any, dtype: Any = None) -> Tensor:
    """Zeros with the shape of x, and its type unless said."""
    return full_like(to_tensor(x, "zeros_like"), 0, dtype)


def ones_like(x: Any, dtype: Any = None) -> Tensor:
    """Ones with the shape of x, and its type unless said."""
    return full_like(to_tensor(x, "ones_like"), 1, dtype)


empty, empty_like = zeros, zeros_like  # an element that nothing sets is 0


def _says_type(value: Any) -> bool:
    """Whether a value stands for an element type, as in `ted.eye(3, "float64")`."""
    return isinstance(value, (str, DType, type, np.dtype))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """start, start + step, ... up to `stop`, which is left out; 0, 1, ... below one number alone.

    int64 for integers, float32 for floats unless said; a type may come second.
    Raises: FrontendError for a step of 0, sizes with a step, or a number that does not fit `dtype`.
    """
    if _says_type(stop):
        stop, dtype = None, stop
    start, stop = (0, start) if stop is None else (start, stop)
    floating = any(isinstance(operand(v), float) for v in (start, stop, step))
    default = "float32" if floating else "int64"
    element = checks.dtype_of(default if dtype is None else dtype, "arange")
    extent = _count(start, stop, step, floating)
    if isinstance(extent, int) and not floating and isinstance(start, int):
        for end in (start, start + step * max(extent - 1, 0)):
            constant(end, element, "arange")
    wide = "float64" if floating else "int64"

    def value(i: Any) -> Any:
        if floating:
            return cast(cast(i, wide) * step + start, element)
        return cast(i if (start, step) == (0, 1) else i * step + start, element)

    return compute((extent,), value, name="arange")


def _count(start: Any, stop: Any, step: Any, floating: bool) -> Extent:
    if floating:
        rule = "arange: bounds and step"
        numbers = [
            float(checks.number(v, rule, "must be finite numbers", math.isfinite))
            for v in (start, stop, step)
        ]
        if not numbers[2]:
            fail("arange: the step must not be 0, got 0.0")
        return max(math.ceil((numbers[1] - numbers[0]) / numbers[2]), 0)
    first, last, by = (checks.extent(v, "arange: bound") for v in (start, stop, step))
    if by == 0:
        fail("arange: the step must not be 0, got 0")
    if is_symbolic((first, last, by)):
        if by != 1:
            fail(f"arange: between sizes the step must be 1, got {by}")
        return last - first
    return max(-((first - last) // by), 0)  # type: ignore[operator]


def linspace(
    start: float, stop: float, num: int, dtype: Any = None, endpoint: bool = True
) -> Tensor:
    """`num` numbers from `start` to `stop` in equal steps, `stop` left out without `endpoint`.

    Raises: FrontendError for a negative number of them, or bounds that are no Python numbers.
    """
    element = checks.dtype_of("float32" if dtype is None else dtype, "linspace")
    count = checks.shape_of((num,), element, "linspace: num")[0]
    ends = [operand(v) for v in (start, stop)]
    if not all(isinstance(v, (int, float)) for v in ends) or not isinstance(count, int):
        fail(f"linspace: bounds and num are Python numbers, got {start!r}, {stop!r} and {num!r}")
    if any(isinstance(v, int) and v.bit_length() > checks.FLOAT_BITS for v in ends):
        fail("linspace: bounds must fit float64, got an integer beyond it")
    first, last = map(float, ends)
    parts = count - 1 if checks.flag(endpoint, "linspace: endpoint") else count
    step = (last - first) / max(parts, 1)

    def value(i: Any) -> Any:
        inner = cast(i, "float64") * step + first
        return cast(where(i == parts, last, inner) if endpoint and count > 1 else inner, element)

    return compute((count,), value, name="linspace")


def eye(rows: Extent, columns: Any = None, k: int = 0, dtype: Any = "float32") -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere; square unless said; a type may come second.

    Raises: FrontendError for what is no extent or no element type.
    """
    if _says_type(columns):
        columns, dtype = None, columns
    element = checks.dtype_of("float32" if dtype is None else dtype, "eye")
    shift = checks.integer(k, "eye: k")
    shape = (rows, rows if columns is None else columns)
    return compute(shape, lambda i, j: cast(where(j - i == shift, 1, 0), element), name="eye")


def meshgrid(*xs: Any, indexing: str = "xy") -> list[Tensor]:
    """Each vector stretched over the grid of all, the first along dim 1 for "xy", 0 for "ij".

    Shapes: xs (n0), (n1), ...; results (n1, n0, ...) for "xy", (n0, n1, ...) for "ij"; a scalar is
    a vector of one element.
    Raises: FrontendError for more than one dim, or another `indexing`.
    """
    vectors = [_operand(x, f"meshgrid: operand {k}") for k, x in enumerate(xs)]
    checks.one_of(indexing, ("xy", "ij"), "meshgrid: indexing")
    for x in vectors:
        if x.ndim > 1:
            fail(f"meshgrid: takes vectors, got shape {x.shape} ({x.name})")
    place = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        place[0], place[1] = 1, 0
    shape = tuple(vectors[k].shape[0] if vectors[k].ndim else 1 for k in place)
    return [_along(x, place[k], shape) for k, x in enumerate(vectors)]


def _operand(x: Any, what: str) -> Tensor:
    """A tensor, an array as a constant, a number as a scalar."""
    return full((), x) if isinstance(x, (bool, int, float)) else to_tensor(x, what)


def _along(x: Tensor, dim: int, shape: Sequence[Extent]) -> Tensor:
    return compute(tuple(shape), lambda *i: x[i[dim]] if x.ndim else x[()], name="meshgrid")


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


def from_dlpack(x: Any) -> Tensor:
    """An array of another library on the host as a constant.

    Raises: FrontendError for what is no array of numbers.
    """
    if is_array(x):
        return constant_of(x)
    try:
        return constant_of(np.from_dlpack(x))
    except (AttributeError, BufferError, TypeError):
        return fail(f"from_dlpack: takes an array with __dlpack__, got {x!r}")
