"""Concatenation and stacking: one tensor written by disjoint `set` equations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ted.domain import parameters
from ted.domain.sizes import Extent
from ted.frontend import checks
from ted.frontend.arithmetic import constant
from ted.frontend.captures import is_array
from ted.frontend.creation import full, zeros
from ted.frontend.elementwise import to_tensor
from ted.frontend.layout import flatten
from ted.frontend.locations import fail, here
from ted.frontend.scalars import operand
from ted.frontend.tensors import Tensor, wrap
from ted.frontend.tensors import constant as constant_of
from ted.frontend.trees import flatten as flatten_tree
from ted.ir import equations
from ted.ir.dtypes import DType, promote
from ted.ir.expressions import Expr
from ted.ir.scalar import add, cast, dim, index, load, mul


def _piece(x: Tensor, dtype: DType, write: Sequence[Expr]) -> equations.Equation:
    """All elements of `x` written at `write`, functions of their own indices."""
    body = cast(load(x.node, [dim(k) for k in range(x.ndim)]), dtype)
    box = parameters.box(x.shape)
    return equations.Equation(x.shape, x.ndim, box, tuple(write), "set", body, here())


def _operands(xs: Any, what: str) -> tuple[list[Tensor], DType]:
    if isinstance(xs, Tensor) or not isinstance(xs, (tuple, list)) or not xs:
        fail(f"{what}: takes a non-empty list of tensors, got {xs!r}")
    tensors = [to_tensor(x, f"{what}: operand {k}") for k, x in enumerate(xs)]
    return tensors, reduce(promote, [t.dtype for t in tensors])


def concatenate(xs: Sequence[Tensor], axis: int | None = 0) -> Tensor:
    """Tensors one after the other along `axis`, flattened where it is None.

    Shapes: equal but for `axis`.
    Raises: FrontendError for no tensors, or shapes that differ elsewhere.
    """
    tensors, dtype = _operands(xs, "concatenate")
    if axis is None:
        tensors, axis = [flatten(x) for x in tensors], 0
    first = tensors[0]
    along = checks.axis_of(axis, first.ndim, "concatenate")
    for k, t in enumerate(tensors):
        if t.ndim != first.ndim or any(
            n != m for d, (n, m) in enumerate(zip(t.shape, first.shape, strict=True)) if d != along
        ):
            fail(
                f"concatenate: shapes must agree but for axis {along}, "
                f"got {first.shape} and {t.shape} (operand {k})"
            )
    pieces, offset = [], 0
    for t in tensors:
        if t.size != 0:
            write = [add(dim(k), index(offset if k == along else 0)) for k in range(t.ndim)]
            pieces.append(_piece(t, dtype, write))
        offset += t.shape[along]
    shape = tuple(offset if k == along else n for k, n in enumerate(first.shape))
    return _joined("concatenate", shape, dtype, pieces)


def stack(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new dim `axis`.

    Raises: FrontendError for no tensors, or shapes that differ.
    """
    tensors, dtype = _operands(xs, "stack")
    first = tensors[0]
    along = checks.axis_of(axis, first.ndim + 1, "stack")
    for k, t in enumerate(tensors):
        if t.shape != first.shape:
            fail(f"stack: shapes must be equal, got {first.shape} and {t.shape} (operand {k})")
    dims = [dim(k) for k in range(first.ndim)]
    pieces = [
        _piece(t, dtype, [*dims[:along], index(n), *dims[along:]])
        for n, t in enumerate(tensors)
        if t.size != 0
    ]
    shape = (*first.shape[:along], len(tensors), *first.shape[along:])
    return _joined("stack", shape, dtype, pieces)


def asarray(x: Any, dtype: Any = None, copy: Any = None) -> Tensor:
    """A tensor as it is, an array as a constant, a Python number as a tensor of rank 0.

    What a list has are stacked where there are tensors among it: numbers get the type of those.
    Raises: FrontendError for what is none of them, or a value that `dtype` does not hold.
    """
    del copy  # a tensor is a value
    if isinstance(x, Tensor):
        return x if dtype is None else x.astype(dtype)
    if isinstance(x, (list, tuple)):
        types = [leaf.dtype for _, leaf in flatten_tree(x)[0] if isinstance(leaf, Tensor)]
        if types:
            return stack([asarray(part, dtype or reduce(promote, types)) for part in x])
    number = None if is_array(x) else operand(x)
    if number is not None and not isinstance(number, Expr):
        return full((), number, dtype)
    return to_tensor(x, "asarray") if dtype is None else constant_of(x, dtype)


def interleaved(name: str, first: Tensor, even: Tensor | None, odd: Tensor, axis: int) -> Tensor:
    """One element, then those of `odd` and of `even` (None: none) in turn along an axis.

    Raises: FrontendError for a tensor that is too large.
    """
    places = [(first, 1, 0), (odd, 2, 1), *([] if even is None else [(even, 2, 2)])]
    pieces = []
    for part, step, start in places if first.size != 0 else ():
        write = [dim(k) for k in range(part.ndim)]
        write[axis] = add(mul(write[axis], index(step)), index(start))
        pieces.append(_piece(part, first.dtype, write))
    extent = sum(part.shape[axis] for part, _, _ in places)
    shape = tuple(extent if k == axis else n for k, n in enumerate(first.shape))
    return _joined(name, shape, first.dtype, pieces)


def padded(x: Tensor, widths: Sequence[tuple[int, Extent]], value: Any = 0) -> Tensor:
    """The elements of x with so many of a number before and after each dim.

    Raises: FrontendError for what is no number, or a tensor that is too large.
    """
    if not isinstance(value, (bool, int, float)):
        fail(f"pad: the value must be a Python number, got {value!r}")
    fill = constant(value, x.dtype, "pad").attr
    shape = tuple(low + n + high for n, (low, high) in zip(x.shape, widths, strict=True))
    checks.shape_of(shape, x.dtype, "pad")
    write = [add(dim(k), index(low)) for k, (low, _) in enumerate(widths)]
    pieces = (_piece(x, x.dtype, write),) if x.size != 0 else ()
    return wrap(equations.Tensor("pad", shape, x.dtype, fill, pieces, here()))


def _joined(
    name: str, shape: tuple[Extent, ...], dtype: DType, pieces: list[equations.Equation]
) -> Tensor:
    checks.shape_of(shape, dtype, name)
    if not pieces:
        return zeros(shape, dtype)
    return wrap(equations.Tensor(name, shape, dtype, None, tuple(pieces), here()))
