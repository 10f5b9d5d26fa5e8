"""How long operations on memory take, roughly: what decides whether threads share them.

Before: `linalg.generic` over 4096 x 1024 points with an exponential in its body
After: some 6 million cycles of one core

Only the order of magnitude has to be right: a unit of work is worth a thread from some ten thousand
cycles on, and what is taken for half or for twice as long is cut into other pieces, no more.
"""

from __future__ import annotations

from math import ceil, prod

from ted.ir.operations import ROOT, TRANSCENDENTAL
from ted.linalg.contractions import MARK
from ted.linalg.data_reads import reports
from ted.machine import Cpu
from ted.mlir import ir
from ted.mlir.generic import generic_of
from ted.mlir.index_values import range_of
from ted.mlir.queries import constant_of, defining, trip_count
from ted.mlir.queries import operations as named

# Times that a loop runs whose bounds are known at run time only.
UNKNOWN_TRIPS = 16
# Bytes that one core moves in a cycle, from memory that no cache holds.
STREAM_BYTES = 4.0
# Cycles of an operation on one register beside arithmetic; of a library call on one element.
ACCESS_CYCLES, CALL_CYCLES = 0.5, 20.0
_ROOTS = ("arith.divf", "math.sqrt", "arith.divsi", "arith.remsi", "arith.floordivsi")
_ON_FLOATS = tuple(
    f"arith.{name}f" for name in ("add", "sub", "mul", "div", "neg", "maximum", "minimum", "maxnum")
)
_FREE = ("arith.constant", "linalg.yield", "linalg.index", "scf.yield")


def cycles(op: ir.Operation, cpu: Cpu) -> float:
    """Cycles of one core of a machine for an operation with all that is in it."""
    generic = generic_of(op)
    if generic is not None:
        points = prod(generic.extents or (UNKNOWN_TRIPS,) * generic.rank)
        moved = sum(bytes_of(v.type) for v in generic.operands) / STREAM_BYTES
        return max(points * _point(op, cpu), moved)
    if op.name in ("linalg.fill", "linalg.copy", "memref.copy"):
        return sum(bytes_of(v.type) for v in op.operands) / STREAM_BYTES
    inside = sum(
        cycles(inner.operation, cpu)
        for region in op.regions
        for block in region.blocks
        if op.name != "scf.if" or not _only_reports(block)
        for inner in block.operations
    )
    return trips(op) * inside if op.name == "scf.for" else inside + _scalar(op)


def _only_reports(block: ir.Block) -> bool:
    """Whether a branch does nothing but look for an index that is outside, which ends the call."""
    *ops, end = [o.operation for o in block.operations]
    writes = [store for op in ops for store in named(op, "memref.store")]
    return not len(end.operands) and not writes and any(map(reports, ops))


def operations(op: ir.Operation) -> int:
    """How many operations on floats an operation takes with all that is in it."""
    generic = generic_of(op)
    inside = sum(
        operations(inner.operation)
        for region in op.regions
        for block in region.blocks
        for inner in block.operations
    )
    if generic is not None:
        return inside * prod(generic.extents or (UNKNOWN_TRIPS,) * generic.rank)
    if op.name == "scf.for":
        return trips(op) * inside
    computes = op.name.startswith("math.") or op.name in _ON_FLOATS
    return inside + (2 if op.name == "math.fma" else int(computes))


def trips(loop: ir.Operation) -> int:
    """How often a loop runs; half of the most, or a guess, where only the run knows."""
    known = trip_count(loop)
    if known is not None:
        return known
    distance, most = _distance(loop.operands[0], loop.operands[1]), most_trips(loop)
    if distance or most is None:
        return distance or UNKNOWN_TRIPS
    return ceil(most / 2)


def most_trips(loop: ir.Operation) -> int | None:
    """How often a loop runs at most, by the ranges of its bounds."""
    first, last = (range_of(bound) for bound in list(loop.operands)[:2])
    step = constant_of(loop.operands[2])
    if first is None or last is None or step is None or step <= 0:
        return None
    return max(0, -(-(last[1] - first[0]) // step))


def _distance(lower: ir.Value, upper: ir.Value) -> int | None:
    """How far a bound `lower + c`, or the least of that and an end, is from the other one."""
    least = defining(upper, "arith.minsi")
    end = defining(upper if least is None else least.operands[0], "arith.addi")
    return None if end is None or end.operands[0] != lower else constant_of(end.operands[1])


def _point(op: ir.Operation, cpu: Cpu) -> float:
    """Cycles of a point, in registers of the widest element that the body computes with."""
    code = [o.operation for o in op.regions[0].blocks[0].operations]
    width = max((_width(v.type) for o in code for v in o.operands), default=32)
    lanes = max(1, 8 * cpu.vector_bytes // width)
    if MARK in op.attributes:
        return 1 / (2 * lanes)
    return (ACCESS_CYCLES * len(op.operands) + sum(map(_scalar, code))) / lanes


def _scalar(op: ir.Operation) -> float:
    """Cycles of an operation on a register."""
    if op.name in _FREE or not op.name.startswith(("arith.", "math.", "memref.", "vector.")):
        return CALL_CYCLES if op.name == "func.call" else 0.0
    if op.name in _ROOTS:
        return float(ROOT)
    return TRANSCENDENTAL if op.name.startswith("math.") else ACCESS_CYCLES


def _width(kind: ir.Type) -> int:
    """Bits of a number; of an index those of an address."""
    return getattr(kind, "width", 64)


def number_bytes(kind: ir.Type) -> int:
    """Bytes of a number, or of one in memory."""
    return -(-_width(kind.element_type if isinstance(kind, ir.MemRefType) else kind) // 8)


def bytes_of(kind: ir.Type) -> int:
    """Bytes of memory, 0 of anything else, or where the shape is not known."""
    if not isinstance(kind, ir.MemRefType) or not kind.has_static_shape:
        return 0
    return prod(kind.shape) * max(8, _width(kind.element_type)) // 8
