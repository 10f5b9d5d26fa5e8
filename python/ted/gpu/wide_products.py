"""Contractions of 16-bit factors that sum in f32: `out + extf(a) * extf(b)`."""

from __future__ import annotations

from ted.linalg.contractions import (
    LinalgContraction,
    added_value,
    contraction_of_factors,
    recognise,
)
from ted.mlir import ir
from ted.mlir.generic import generic_of
from ted.mlir.queries import defining
from ted.mlir.scalars import element_type

NARROW = ("f16", "bf16")


def is_wide_product(op: ir.Operation) -> bool:
    """Whether an operation has this form."""
    return wide_product(op) is not None


def contraction_of(op: ir.Operation) -> LinalgContraction | None:
    """The operation as a contraction of factors of any type; None if it is none."""
    return recognise(op) or wide_product(op)


def wide_product(op: ir.Operation) -> LinalgContraction | None:
    """The operation as a contraction of two 16-bit factors of one type; None if it is none."""
    generic = generic_of(op)
    if generic is None or generic.is_map or len(generic.code) != 5 or len(generic.yielded) != 1:
        return None
    factors = _factors(generic.body)
    found = None if factors is None else contraction_of_factors(generic, *factors)
    if found is None:
        return None
    left, right, total = (str(element_type(value)) for value in found.values)
    return found if left == right and left in NARROW and total == "f32" else None


def _factors(block: ir.Block) -> tuple[int, int] | None:
    """Which inputs are extended and multiplied."""
    added = added_value(block)
    product = None if added is None else defining(added, "arith.mulf")
    if product is None:
        return None
    wide = [defining(v, "arith.extf") for v in product.operands]
    arguments: list[ir.Value] = list(block.arguments)
    found = [
        arguments.index(op.operands[0])
        for op in wide
        if op is not None and op.operands[0] in arguments
    ]
    return (found[0], found[1]) if len(found) == 2 else None
