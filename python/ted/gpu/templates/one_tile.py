"""What the templates share in which a block makes one tile: their launch and their operands."""

from __future__ import annotations

from ted.gpu.templates.kernels import operand_type
from ted.gpu.templates.schedule import Plan
from ted.mlir import ir


def arguments(plan: Plan) -> tuple[str, str]:
    """What the host passes for A and B: the problem's own names, exchanged if they are."""
    return ("b", "a") if plan.gemm.swapped else ("a", "b")


def argument_types(plan: Plan) -> list[ir.Type]:
    """How the kernel sees A and B."""
    return [operand_type(plan.gemm.a), operand_type(plan.gemm.b)]


def threads(plan: Plan) -> int:
    """Threads of a block."""
    return plan.tiling.threads


def grid(plan: Plan, processors: int) -> int:
    """Blocks: one per tile."""
    return plan.blocks
