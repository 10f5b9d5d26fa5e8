"""Powers of integers of StableHLO as calls of ted's, before a pass makes loops of them.

Before: %0 = stablehlo.power %a, %b : tensor<4xi32>
After:  %0 = stablehlo.custom_call @ted.integer_power(%a, %b)
"""

from __future__ import annotations

from ted.mlir import ir

_CALL = {"call_target_name": '"ted.integer_power"', "mhlo.backend_config": '{given = "{}"}'}


def call_integer_powers(module: ir.Module) -> None:
    """Put calls for powers of integers; those in bodies of reductions stay."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "stablehlo.power" and _is_of_integers(op) and not _is_in_body(op):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in found:
        given = {name: ir.Attribute.parse(text, op.context) for name, text in _CALL.items()}
        made = ir.Operation.create(
            "stablehlo.custom_call", [op.results[0].type], list(op.operands), given,
            loc=op.location, ip=ir.InsertionPoint(op),
        )  # fmt: skip
        op.results[0].replace_all_uses_with(made.results[0])
        op.erase()


def _is_of_integers(op: ir.Operation) -> bool:
    return isinstance(ir.RankedTensorType(op.results[0].type).element_type, ir.IntegerType)


def _is_in_body(op: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        if parent.name not in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
            return True
        parent = parent.parent
    return False
