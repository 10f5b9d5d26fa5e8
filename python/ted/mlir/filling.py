"""`linalg.fill` without the binding's module of `linalg`, which takes 60 ms to import.

Whoever writes a program of ted ops needs nothing else of that dialect.
"""

from __future__ import annotations

from ted.mlir import ir


def build_fill(value: ir.Value, out: ir.Value) -> ir.Value | None:
    """Give every element of a tensor or of memory one value; the new tensor, None for memory."""
    kind = ir.ShapedType(out.type)
    results = [out.type] if isinstance(out.type, ir.RankedTensorType) else []
    sizes: dict[str, ir.Attribute] = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])}
    made = ir.Operation.create(
        "linalg.fill", results=results, operands=[value, out], attributes=sizes, regions=1
    )
    body = made.regions[0].blocks.append(value.type, kind.element_type)
    ir.Operation.create("linalg.yield", operands=[body.arguments[0]], ip=ir.InsertionPoint(body))
    return made.results[0] if results else None
