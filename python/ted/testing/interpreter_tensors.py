"""What the whole-tensor ops around `ted.compute` do: allocate, fill, reshape, slice, pad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ted.errors import ExecutionError
from ted.mlir import ir
from ted.testing.interpreter_values import Cells, empty, place_of, shape_and_type
from ted.testing.scalar_domains import ScalarDomain


def _empty(op: ir.Operation, _: list[Any], domain: ScalarDomain) -> Cells:
    return empty(op.results[0].type, domain)


def _fill(op: ir.Operation, operands: list[Any], domain: ScalarDomain) -> Cells:
    shape, dtype = shape_and_type(op.results[0].type, domain)
    return Cells(np.full(shape, operands[0], dtype))


def _reshape(op: ir.Operation, operands: list[Any], domain: ScalarDomain) -> Cells:
    shape, _ = shape_and_type(op.results[0].type, domain)
    return operands[0].like(lambda array: array.reshape(shape))


def _identity(_: ir.Operation, operands: list[Any], domain: ScalarDomain) -> Any:
    return operands[0]


def _static(op: ir.Operation, name: str) -> list[int]:
    values = list(ir.DenseI64ArrayAttr(op.attributes[name]))
    if any(v < -(2**62) for v in values):
        raise ExecutionError(f"{op.name}: static {name}, got a dynamic one", place_of(op.location))
    return values


def _window(op: ir.Operation) -> tuple[slice, ...]:
    parts = [_static(op, f"static_{n}") for n in ("offsets", "sizes", "strides")]
    return tuple(
        slice(o, o + s * t, t) if s else slice(0, 0) for o, s, t in zip(*parts, strict=True)
    )


def _extract_slice(op: ir.Operation, operands: list[Any], domain: ScalarDomain) -> Cells:
    shape, _ = shape_and_type(op.results[0].type, domain)
    window = _window(op)
    return operands[0].like(lambda array: array[window].reshape(shape))


def _insert_slice(op: ir.Operation, operands: list[Any], domain: ScalarDomain) -> Cells:
    source, destination = operands[:2]
    window = _window(op)
    data = destination.data.copy()
    data[window] = source.data.reshape(data[window].shape)
    undefined = _marks(destination).copy()
    undefined[window] = _marks(source).reshape(undefined[window].shape)
    return Cells(data, undefined if undefined.any() else None)


def _marks(cells: Cells) -> np.ndarray[Any, Any]:
    return np.zeros(cells.data.shape, np.bool_) if cells.undefined is None else cells.undefined


def _pad(op: ir.Operation, operands: list[Any], domain: ScalarDomain) -> Cells:
    widths = list(zip(_static(op, "static_low"), _static(op, "static_high"), strict=True))
    yielded = list(op.regions[0].blocks[0].operations)[-1].operation.operands[0]
    if isinstance(yielded, ir.BlockArgument) or yielded.owner.name != "arith.constant":
        raise ExecutionError("tensor.pad: a constant, got a computed value", place_of(op.location))
    value = domain.function(yielded.owner)()
    source = operands[0]
    marks = None if source.undefined is None else np.pad(source.undefined, widths)
    return Cells(np.pad(source.data, widths, constant_values=value), marks)


def _constant(op: ir.Operation, _: list[Any], domain: ScalarDomain) -> Cells | None:
    if not isinstance(op.results[0].type, ir.RankedTensorType):
        return None
    shape, dtype = shape_and_type(op.results[0].type, domain)
    element = str(ir.RankedTensorType(op.results[0].type).element_type)
    attribute = ir.DenseElementsAttr(op.attributes["value"])
    if attribute.is_splat:
        value = attribute.get_splat_value()
        return Cells(np.full(shape, domain.number(element, getattr(value, "value", value)), dtype))
    data = np.empty(shape, dtype)
    data.ravel()[:] = [domain.number(element, v) for v in np.array(attribute).ravel().tolist()]
    return Cells(data)


def _extract(op: ir.Operation, operands: list[Any], domain: ScalarDomain) -> Any:
    cells, *indices = operands
    return cells.data[tuple(indices)]


TENSOR_OPS: dict[str, Callable[[ir.Operation, list[Any], ScalarDomain], Any]] = {
    "arith.constant": _constant,
    "linalg.fill": _fill,
    "ted.stop_gradient": _identity,
    "tensor.cast": _identity,
    "tensor.collapse_shape": _reshape,
    "tensor.empty": _empty,
    "tensor.expand_shape": _reshape,
    "tensor.extract": _extract,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
    "tensor.pad": _pad,
    "tensor.reshape": _reshape,
    "tensor.splat": _fill,
}
