"""Operations of StableHLO on integers that a pass of MLIR reads otherwise or takes apart.

Before: %0 = stablehlo.power %a, %b : tensor<4xi32>    After: a call of ted.integer_power
Before: stablehlo.gather at tensor<4xui64>             After: at the least of these and 2 ** 63 - 1
"""

from __future__ import annotations

from ted.mlir import ir
from ted.mlir.queries import operations

_CALL = {"call_target_name": '"ted.integer_power"', "mhlo.backend_config": '{given = "{}"}'}
# The operand from which on there are positions, which are moved inside, read with a sign.
_POSITIONS = {
    "stablehlo.gather": 1, "stablehlo.dynamic_slice": 1, "stablehlo.dynamic_update_slice": 2,
}  # fmt: skip
_MOST = 2**63 - 1


def spell_integers(module: ir.Module) -> None:
    """Write operations of integers as others; powers in bodies of reductions stay."""
    _limit_positions(module)
    for op in operations(module.operation, "stablehlo.power"):
        if not _is_of_integers(op) or _is_in_body(op):
            continue
        given = {key: ir.Attribute.parse(text, op.context) for key, text in _CALL.items()}
        made = ir.Operation.create(
            "stablehlo.custom_call", [op.results[0].type], list(op.operands), given,
            loc=op.location, ip=ir.InsertionPoint(op),
        )  # fmt: skip
        op.results[0].replace_all_uses_with(made.results[0])
        op.erase()


def _limit_positions(module: ir.Module) -> None:
    """Make positions of 64 bits without a sign such that they have none with one."""
    for op in operations(module.operation, *_POSITIONS):
        for k in range(_POSITIONS[op.name], len(op.operands)):
            if "ui64" in str(op.operands[k].type):
                op.operands[k] = _at_most(op, op.operands[k])


def _at_most(op: ir.Operation, value: ir.Value) -> ir.Value:
    place = {"loc": op.location, "ip": ir.InsertionPoint(op)}
    dense = ir.Attribute.parse(f"dense<{_MOST}> : {value.type}", op.context)
    most = ir.Operation.create("stablehlo.constant", [value.type], [], {"value": dense}, **place)
    operands = [value, most.results[0]]
    return ir.Operation.create("stablehlo.minimum", [value.type], operands, **place).results[0]


def _is_of_integers(op: ir.Operation) -> bool:
    return isinstance(ir.RankedTensorType(op.results[0].type).element_type, ir.IntegerType)


def _is_in_body(op: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        if parent.name not in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
            return True
        parent = parent.parent
    return False
