"""Contractions of 16-bit factors that sum in f32: `out + extf(a) * extf(b)`."""

from __future__ import annotations

from ted.linalg.contractions import (
    LinalgContraction,
    added_value,
    extents,
    indexing_maps,
    linear_map,
    producer,
    recognise,
    reductions,
)
from ted.mlir import ir

NARROW = ("f16", "bf16")


def is_wide_product(op: ir.Operation) -> bool:
    """Whether an operation has this form."""
    return wide_product(op) is not None


def contraction_of(op: ir.Operation) -> LinalgContraction | None:
    """The operation as a contraction of factors of any type; None if it is none."""
    return recognise(op) or wide_product(op)


def wide_product(op: ir.Operation) -> LinalgContraction | None:
    """The operation as a contraction of two 16-bit factors of one type; None if it is none."""
    if op.name != "linalg.generic" or not any(reductions(op)):
        return None
    block = op.regions[0].blocks[0]
    if len(block.operations) != 5 or len(block.operations[-1].operands) != 1:
        return None
    places, found = _factors(block), extents(op)
    if places is None or found is None:
        return None
    maps = [linear_map(m) for m in indexing_maps(op)]
    a, b, c = maps[places[0]], maps[places[1]], maps[-1]
    if a is None or b is None or c is None:
        return None
    values = (op.operands[places[0]], op.operands[places[1]], op.operands[len(maps) - 1])
    kinds = [str(ir.ShapedType(v.type).element_type) for v in values]
    if kinds[0] != kinds[1] or kinds[0] not in NARROW or kinds[2] != "f32":
        return None
    element = ir.ShapedType(values[2].type).element_type
    return LinalgContraction(values, (a, b, c), found, reductions(op), element)


def _factors(block: ir.Block) -> tuple[int, int] | None:
    """Which inputs are extended and multiplied."""
    added = added_value(block)
    product = None if added is None else producer(added)
    if product is None or product.name != "arith.mulf":
        return None
    wide = [producer(v) for v in product.operands]
    arguments: list[ir.Value] = list(block.arguments)
    found = [
        arguments.index(op.operands[0])
        for op in wide
        if op is not None and op.name == "arith.extf" and op.operands[0] in arguments
    ]
    return (found[0], found[1]) if len(found) == 2 else None
