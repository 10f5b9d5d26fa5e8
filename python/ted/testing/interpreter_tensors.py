"""What the whole-tensor ops around `ted.compute` do: allocate, fill, reshape, slice, pad.

A row makes the function of an op's operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ted.errors import ExecutionError
from ted.mlir import ir
from ted.mlir.dense_elements import numbers_of
from ted.testing.interpreter_values import Cells, empty, place_of, shape_and_type, spend
from ted.testing.scalar_domains import ScalarDomain

Function = Callable[..., Any]
_DYNAMIC = -(2**62)  # MLIR's mark of an index that is an operand lies below


def static_or_operands(
    op: ir.Operation, names: Sequence[str], first: int
) -> list[list[int | ir.Value]]:
    """Attributes of indices, with the operand for each that is dynamic, from number `first` on."""
    operands = iter(list(op.operands)[first:])
    return [
        [int(n) if n > _DYNAMIC else next(operands) for n in ir.DenseI64ArrayAttr(op.attributes[a])]
        for a in names
    ]


def _empty(op: ir.Operation, domain: ScalarDomain) -> Function:
    return lambda *_: empty(op.results[0].type, domain)


def _fill(op: ir.Operation, domain: ScalarDomain) -> Function:
    shape, dtype = shape_and_type(op.results[0].type, domain)

    def fill(value: Any, *_: Any) -> Cells:
        spend(math.prod(shape))
        return Cells(np.full(shape, value, dtype))

    return fill


def _reshape(op: ir.Operation, domain: ScalarDomain) -> Function:
    shape, _ = shape_and_type(op.results[0].type, domain)
    return lambda cells, *_: cells.like(lambda array: array.reshape(shape))


def _identity(op: ir.Operation, domain: ScalarDomain) -> Function:
    del op, domain
    return lambda cells: cells


def _bitcast(op: ir.Operation, domain: ScalarDomain) -> Function:
    _, dtype = shape_and_type(op.results[0].type, domain)
    return lambda cells: Cells(cells.data.view(dtype), cells.undefined)


def _first(op: ir.Operation, domain: ScalarDomain) -> Function:
    """The tensor that is put elsewhere: that is the same tensor."""
    del op, domain
    return lambda cells, *_: cells


def _elementwise(op: ir.Operation, domain: ScalarDomain) -> Function:
    """A scalar function of each element; types stay."""
    function = domain.function(op)

    def each(cells: Cells) -> Cells:
        data = np.empty_like(cells.data)
        data.ravel()[:] = [function(x) for x in cells.data.ravel()]
        return Cells(data, cells.undefined)

    return each


def _pad(op: ir.Operation, domain: ScalarDomain) -> Function:
    low, high = (
        [n for n in part if isinstance(n, int)]
        for part in static_or_operands(op, ("static_low", "static_high"), 1)
    )
    yielded = list(op.regions[0].blocks[0].operations)[-1].operation.operands[0]
    static = all(isinstance(n, int) for n in (*low, *high))
    if (
        not static
        or isinstance(yielded, ir.BlockArgument)
        or yielded.owner.name != "arith.constant"
    ):
        raise ExecutionError(
            "tensor.pad: a constant and static widths, got computed ones", place_of(op.location)
        )
    value, widths = domain.function(yielded.owner)(), list(zip(low, high, strict=True))

    def pad(cells: Cells) -> Cells:
        marks = None if cells.undefined is None else np.pad(cells.undefined, widths)
        return Cells(np.pad(cells.data, widths, constant_values=value), marks)

    return pad


def _constant(op: ir.Operation, domain: ScalarDomain) -> Function:
    value = ir.DenseElementsAttr(op.attributes["value"])
    data = dense_elements(value, op.results[0].type, domain)
    return lambda: Cells(data)


def dense_elements(
    attribute: ir.DenseElementsAttr, kind: ir.Type, domain: ScalarDomain
) -> np.ndarray[Any, Any]:
    """The elements of a constant, of a type of tensors or of memory."""
    shape, dtype = shape_and_type(kind, domain)
    element = str(ir.ShapedType(kind).element_type)
    spend(math.prod(shape))
    if attribute.is_splat:
        value = attribute.get_splat_value()
        return np.full(shape, domain.number(element, getattr(value, "value", value)), dtype)
    data = np.empty(shape, dtype)
    data.ravel()[:] = [domain.number(element, v) for v in numbers_of(attribute).ravel().tolist()]
    return data


def _marks(cells: Cells) -> np.ndarray[Any, Any]:
    return np.zeros(cells.data.shape, np.bool_) if cells.undefined is None else cells.undefined


TENSOR_OPS: dict[str, Callable[[ir.Operation, ScalarDomain], Function]] = {
    "tensor.bitcast": _bitcast,
    "arith.constant": _constant,
    "bufferization.materialize_in_destination": _first,
    "bufferization.to_tensor": _identity,
    "linalg.fill": _fill,
    "ted.stop_gradient": _elementwise,
    "tensor.cast": _identity,
    "tensor.collapse_shape": _reshape,
    "tensor.empty": _empty,
    "tensor.expand_shape": _reshape,
    "tensor.pad": _pad,
    "tensor.reshape": _reshape,
    "tensor.splat": _fill,
}

# ------------------------------------------------------------------ elements and slices


def copied(value: Any) -> Any:
    """A tensor of its own; a scalar as it is."""
    if not isinstance(value, Cells):
        return value
    spend(1 + value.data.size // 16)
    return value.like(np.copy)


def unmarked(cells: Cells) -> Cells:
    """A copy in which everything counts as written: what was not is NaN."""
    return Cells(copied(cells).data)


def stored(cells: Cells, memory: Cells) -> None:
    """Write a tensor to memory."""
    memory.data[...] = cells.data
    if memory.undefined is not None:
        memory.undefined[...] = _marks(cells)


def within(position: int, extent: int) -> int:
    """An index that is no offset from the end.

    Raises: IndexError outside of the extent.
    """
    if not 0 <= position < extent:
        raise IndexError(f"an index in [0, {extent}), got {position}")
    return position


def element(cells: Cells, at: tuple[int, ...]) -> Any:
    """One element."""
    return cells.data[tuple(map(within, at, cells.data.shape))]


def inserted(value: Any, cells: Cells, at: tuple[int, ...]) -> Cells:
    """The tensor with another value at one place, in the memory of the old one."""
    cells.data[tuple(map(within, at, cells.data.shape))] = value
    if cells.undefined is not None:
        cells.undefined[at] = False
    return cells


def window(cells: Cells, offsets: Any, sizes: Any, strides: Any, shape: tuple[int, ...]) -> Cells:
    """A slice, in the memory of the whole; its shape may lack dims of extent 1.

    Raises: IndexError for a slice that leaves the tensor.
    """
    chosen = _slices(offsets, sizes, strides, cells.data.shape)
    wanted = sizes if len(shape) == len(sizes) else shape
    return cells.like(lambda array: array[chosen].reshape(wanted))


def laid(source: Cells, target: Cells, offsets: Any, sizes: Any, strides: Any) -> Cells:
    """The target with a slice replaced, in its memory.

    Raises: IndexError for a slice that leaves the target.
    """
    chosen = _slices(offsets, sizes, strides, target.data.shape)
    target.data[chosen] = source.data.reshape(sizes)
    if source.undefined is None and target.undefined is None:
        return target
    marks = _marks(target)
    marks[chosen] = _marks(source).reshape(sizes)
    return Cells(target.data, marks if marks.any() else None)


def _slices(offsets: Any, sizes: Any, strides: Any, shape: tuple[int, ...]) -> tuple[slice, ...]:
    for o, s, t, n in zip(offsets, sizes, strides, shape, strict=True):
        if s and not (0 <= o < n and 0 <= o + (s - 1) * t < n):
            raise IndexError(f"a slice in [0, {n}), got {s} elements from {o} in steps of {t}")
    return tuple(
        slice(o, o + (s - 1) * t + 1, t) if s else slice(0, 0)
        for o, s, t in zip(offsets, sizes, strides, strict=True)
    )
