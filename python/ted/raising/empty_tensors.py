"""What StableHLO computes without elements, as constants, before the binding's pass to linalg.

Before: %0 = stablehlo.slice %x [2:2] : (tensor<2xf32>) -> tensor<0xf32>;  reduce(%0 init: %zero)
After:  %0 = stablehlo.constant dense<> : tensor<0xf32>;  broadcast_in_dim %zero

What changes no type is the value itself: of integers without a sign it ends the process in it.

The pass makes of such a slice, and of a pad of nothing, one that begins behind its tensor, which
MLIR refuses, and of such a reduction nothing.
"""

from __future__ import annotations

from ted.mlir import ir

_SAME = ("stablehlo.reshape", "stablehlo.convert", "stablehlo.bitcast_convert")


def drop_empty(module: ir.Module) -> None:
    """Put constants for what has no elements, and starts for reductions and pads of that.

    What changes no type goes.
    """
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("stablehlo.") and op.name != "stablehlo.constant" and op.results:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in found:
        if op.name in _SAME and op.operands[0].type == op.results[0].type:
            _replace(op, [op.operands[0]])
        elif all(_is_empty(result) for result in op.results):
            _replace(op, [_constant(op, result) for result in op.results])
        elif op.name == "stablehlo.reduce" and _is_empty(op.operands[0]):
            starts = list(op.operands)[len(op.results) :]
            _replace(op, [_spread(op, *pair) for pair in zip(starts, op.results, strict=True)])
        elif op.name == "stablehlo.pad" and _is_empty(op.operands[0]):
            _replace(op, [_spread(op, op.operands[1], op.results[0])])


def _is_empty(value: ir.Value) -> bool:
    kind = value.type.maybe_downcast()
    return isinstance(kind, ir.RankedTensorType) and 0 in kind.shape


def _constant(op: ir.Operation, result: ir.Value) -> ir.Value:
    # As text: the binding cannot hold an attribute of complex numbers.
    kind = result.type
    text = f'"stablehlo.constant"() <{{value = dense<> : {kind}}}> : () -> {kind} {op.location}'
    made = ir.Operation.parse(text, context=op.context)
    ir.InsertionPoint(op).insert(made)
    return made.operation.results[0]


def _spread(op: ir.Operation, start: ir.Value, result: ir.Value) -> ir.Value:
    dims = ir.Attribute.parse("array<i64>", op.context)
    return _made(op, "stablehlo.broadcast_in_dim", [start], result, {"broadcast_dimensions": dims})


def _made(
    op: ir.Operation, name: str, operands: list[ir.Value], result: ir.Value,
    attributes: dict[str, ir.Attribute],
) -> ir.Value:  # fmt: skip
    made = ir.Operation.create(
        name, [result.type], operands, attributes, loc=op.location, ip=ir.InsertionPoint(op)
    )
    return made.results[0]


def _replace(op: ir.Operation, values: list[ir.Value]) -> None:
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()
