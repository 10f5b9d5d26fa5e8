"""How operands move in memory along the dims of a box."""

from __future__ import annotations

from ted.gpu.bodies import Operand
from ted.mlir import ir

FAR = 1 << 30  # a step that is not known, or not the same everywhere


def byte_width(element: ir.Type) -> int:
    """Bytes of an element in memory."""
    return max(1, getattr(element, "width", 64) // 8)


def steps_along(operand: Operand, dim: int) -> int:
    """By how many elements an access moves when a dim advances; FAR when it depends."""
    address = operand.address
    return FAR if address is None else address[dim]
