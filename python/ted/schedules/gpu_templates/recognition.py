"""A `linalg.generic` on memrefs read as a `Problem`.

The body is `out + f(a) * f(b)`, where f is nothing or the widening of f16 or bf16 to the type of
the sum; the maps are linear, the memrefs have static shapes and strides. A matrix product in any
layout, a batch of them, a convolution and both of its gradients are all of that form.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.mlir import ir
from ted.schedules.gpu_templates.problem import ELEMENT_BYTES, Operand, Problem
from ted.schedules.linalg_contraction import (
    added_value,
    element_strides,
    extents,
    indexing_maps,
    linear_map,
    producer,
    reductions,
)
from ted.schedules.ring import MULTIPLICATIONS
from ted.schedules.strided_contraction import Dim

# What bufferization and the pools of the host promise for each allocation.
ALLOCATION_ALIGNMENT = 16


@dataclass(frozen=True)
class Recognised:
    """A problem with its operands: pass their base pointers, offsets are in the problem."""

    problem: Problem
    a: ir.Value
    b: ir.Value
    c: ir.Value


def recognise(op: ir.Operation, *, starts_at_zero: bool = False) -> Recognised | None:
    """The op as a contraction, or None.

    `starts_at_zero`: C is filled with zeros just before; the kernel then writes C without reading
    it, and the fill is not needed.
    """
    if op.name != "linalg.generic" or not any(reductions(op)) or len(op.results):
        return None
    factors = _factors(op.regions[0].blocks[0])
    sizes = extents(op)
    if factors is None or sizes is None:
        return None
    places = (*factors, len(op.operands) - 1)
    values = [op.operands[place] for place in places]
    sides = [_strided(op, place, sizes) for place in places]
    if any(str(ir.ShapedType(value.type).element_type) not in ELEMENT_BYTES for value in values):
        return None
    found = [side for side in sides if side is not None]
    if len(found) != len(sides):
        return None
    dims = tuple(
        Dim(extent, *(strides[d] for strides, _ in found), reduction=reduction)
        for d, (extent, reduction) in enumerate(zip(sizes, reductions(op), strict=True))
    )
    a, b, c = (operand for _, operand in found)
    problem = Problem(dims, a, b, c, c.element, not starts_at_zero)
    return Recognised(problem, values[0], values[1], values[2])


def _strided(
    op: ir.Operation, place: int, sizes: tuple[int, ...]
) -> tuple[list[int], Operand] | None:
    """Stride per dim, and the operand, of one operand of a generic."""
    value = op.operands[place]
    linear = linear_map(indexing_maps(op)[place])
    strides = element_strides(value.type)
    if linear is None or strides is None or not isinstance(value.type, ir.MemRefType):
        return None
    _, start = value.type.get_strides_and_offset()
    if start == ir.ShapedType.get_dynamic_stride_or_offset():
        return None
    offset = start + sum(x * s for x, s in zip(linear.offsets, strides, strict=True))
    steps = [
        sum(row[d] * s for row, s in zip(linear.coefficients, strides, strict=True))
        for d in range(len(sizes))
    ]
    last = start + sum((n - 1) * s for n, s in zip(value.type.shape, strides, strict=True))
    element = str(value.type.element_type)
    return steps, Operand(element, last + 1, offset, ALLOCATION_ALIGNMENT)


def _factors(block: ir.Block) -> tuple[int, int] | None:
    """Which inputs a body `out + a * b` multiplies, each maybe widened."""
    added = added_value(block)
    multiplication = None if added is None else producer(added)
    if multiplication is None or multiplication.name not in MULTIPLICATIONS:
        return None
    inputs = [_unwidened(value) for value in multiplication.operands]
    arguments: list[ir.Value] = []
    arguments += list(block.arguments)[:-1]
    if any(value not in arguments for value in inputs):
        return None
    widened = {str(producer(value)) for value in multiplication.operands if value not in arguments}
    if len(block.operations) != 3 + len(widened):
        return None
    return arguments.index(inputs[0]), arguments.index(inputs[1])


def _unwidened(value: ir.Value) -> ir.Value:
    owner = producer(value)
    return owner.operands[0] if owner is not None and owner.name == "arith.extf" else value
