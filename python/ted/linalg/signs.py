"""Tensors of integers without sign -> tensors of MLIR's integers, which have none of either kind.

Before: "max" into tensor<4xui8>      After: the same into tensor<4xi8>, with `ted.unsigned`

What lies below ted knows `i8` alone, and how to read its bits from the operations. Bodies say it
already; the combiners that compare get an attribute.
"""

from __future__ import annotations

from collections.abc import Iterator

from ted.dialects.ted.attributes import scalar_type
from ted.linalg.subdomain import UNSIGNED
from ted.mlir import ir
from ted.mlir.queries import functions, operations, replace_op

_COMPARING = ("max", "min", "argmax", "argmin")


def drop_signs(module: ir.Module) -> None:
    """Retype every tensor of a module, and note which combiners compare without sign."""
    for op in operations(module.operation, "ted.compute"):
        combiner = ir.StringAttr(op.attributes["combiner"]).value
        if combiner in _COMPARING and _plain(op.results[0].type) != op.results[0].type:
            op.attributes[UNSIGNED] = ir.UnitAttr.get(op.context)
    for value in _values(module):
        plain = _plain(value.type)
        if plain != value.type:
            value.set_type(plain)
    for function in functions(module):
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        plain = ir.FunctionType.get(
            [_plain(t) for t in kind.inputs], [_plain(t) for t in kind.results], module.context
        )
        function.attributes["function_type"] = ir.TypeAttr.get(plain)
    for op in operations(module.operation, "tensor.bitcast"):
        if op.operands[0].type == op.results[0].type:
            replace_op(op, list(op.operands))


def _values(module: ir.Module) -> Iterator[ir.Value]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in found:
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.arguments


def _plain(kind: ir.Type) -> ir.Type:
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    element = scalar_type(kind.element_type)
    if element == kind.element_type:
        return kind
    return ir.RankedTensorType.get(kind.shape, element, kind.encoding)
