"""Whether a subdomain adds nothing: a sum whose body is 0 as reads outside their guard are."""

from __future__ import annotations

from ted.linalg.subdomain import Subdomain
from ted.mlir import ir

# Operation -> how the zeros of its operands decide the result.
_RULES = {
    "arith.mulf": any, "arith.muli": any, "arith.andi": any,
    "arith.addf": all, "arith.addi": all, "arith.subf": all, "arith.subi": all,
    "arith.negf": all, "arith.extf": all, "arith.truncf": all, "arith.extsi": all,
    "arith.extui": all, "arith.trunci": all, "ted.stop_gradient": all,
}  # fmt: skip


def is_zero_without(subdomain: Subdomain) -> bool:
    """Whether the subdomain can be left out of a sum."""
    if subdomain.combiner != "add" or len(subdomain.inits) != 1:
        return False
    zeros: set[ir.Value] = set()
    zeros.update(
        a for a, r in zip(subdomain.body.arguments, subdomain.reads, strict=True) if r is None
    )
    if not zeros:
        return False
    *operations, terminator = list(subdomain.body.operations)
    for op in operations:
        if _is_zero(op.operation, zeros):
            zeros.add(op.operation.results[0])
    return terminator.operation.operands[0] in zeros


def _is_zero(op: ir.Operation, zeros: set[ir.Value]) -> bool:
    if op.name == "arith.select":
        return op.operands[1] in zeros and op.operands[2] in zeros
    if op.name == "arith.constant":
        return str(op.attributes["value"]).split(" ")[0] in ("0", "0.000000e+00", "false")
    if op.name in ("arith.divf",):
        return op.operands[0] in zeros
    rule = _RULES.get(op.name)
    return rule is not None and rule(v in zeros for v in op.operands)
