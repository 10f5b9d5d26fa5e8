"""Registers that hold matrices of 16 rows of 64 bytes (AMX), as operations of the LLVM dialect.

A multiplication adds to a matrix of f32 in one register the product of two others, whose elements
are pairs of bf16: `C[i, j] += high(A[i, p]) * high(B[p, j]) + low(A[i, p]) * low(B[p, j])`, and
takes subnormal numbers for zero. Each register has a shape. Source: Intel 64 and IA-32
Architectures Software Developer's Manual, volume 1, chapter 18.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ted.mlir import arith, ir, memref, vector
from ted.mlir.addresses import address_of, pointer_to
from ted.mlir.building import Index, add, constant, scale
from ted.mlir.scalars import constant_from
from ted.records import dataclass

REGISTERS = 8
SIDE = 16  # rows at most of a register, and elements of 32 bits in each
CONFIGURATION_WORDS = 16  # of 32 bits, that say all shapes
_BYTES = 4  # of an element
_PALETTE = 1  # the number of this set of registers
_ROW_BYTES_AT, _ROWS_AT = 16, 48  # in the configuration, which has 64 bytes


@dataclass(frozen=True)
class Shape:
    """What a register holds: rows, and elements of 32 bits in each."""

    rows: int
    elements: int


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory: its first element, and the distance of its rows in elements.

    Elements have 32 bits, also where the memory is of halves of them.
    """

    memory: ir.Value
    offset: Index
    rows_apart: int


def configure(shapes: Mapping[int, Shape], memory: ir.Value) -> None:
    """Give registers shapes, and zero to all; `memory` holds `CONFIGURATION_WORDS` of i32."""
    said = bytearray(CONFIGURATION_WORDS * _BYTES)
    said[0] = _PALETTE
    for register, shape in shapes.items():
        at = _ROW_BYTES_AT + 2 * register
        said[at : at + 2] = (shape.elements * _BYTES).to_bytes(2, "little")
        said[_ROWS_AT + register] = shape.rows
    word = ir.IntegerType.get_signless(32)
    parts = [said[at : at + _BYTES] for at in range(0, len(said), _BYTES)]
    words = [ir.IntegerAttr.get(word, int.from_bytes(part, "little")) for part in parts]
    kind = ir.VectorType.get([CONFIGURATION_WORDS], word)
    value = constant_from(kind, ir.DenseElementsAttr.get(words, kind))
    vector.StoreOp(value, memory, [constant(0)])
    _call("ldtilecfg", [pointer_to(_address(memory, 0))])


def clear(register: int) -> None:
    """Zero in all of a register."""
    _call("tilezero", [_immediate(register)])


def load(register: int, matrix: Matrix) -> None:
    """Read a register."""
    _call("tileloadd64", [_immediate(register), *_place(matrix)])


def store(register: int, matrix: Matrix) -> None:
    """Write a register."""
    _call("tilestored64", [_immediate(register), *_place(matrix)])


def multiply_add(total: int, left: int, right: int) -> None:
    """Add a product of matrices of pairs to a matrix of f32."""
    _call("tdpbf16ps", [_immediate(register) for register in (total, left, right)])


def release() -> None:
    """Leave all registers, so that nothing saves them."""
    _call("tilerelease", [])


def _place(matrix: Matrix) -> list[ir.Value]:
    pointer = pointer_to(_address(matrix.memory, matrix.offset))
    apart = matrix.rows_apart * _BYTES
    return [pointer, arith.ConstantOp(ir.IntegerType.get_signless(64), apart).result]


def _address(memory: ir.Value, position: Index) -> ir.Value:
    """Of an element of a memref of one dim."""
    kind = ir.MemRefType(memory.type)
    _, offset = kind.get_strides_and_offset()
    first: Index = offset
    if offset == ir.ShapedType.get_dynamic_stride_or_offset():
        first = memref.ExtractStridedMetadataOp(memory).results[1]
    parts = 2 if isinstance(kind.element_type, ir.BF16Type) else 1
    distance = constant(scale(add(first, scale(position, parts)), _BYTES // parts))
    start = address_of(memory)
    return arith.AddIOp(start, arith.IndexCastOp(start.type, distance).result).result


def _immediate(register: int) -> ir.Value:
    return arith.ConstantOp(ir.IntegerType.get_signless(8), register).result


def _call(name: str, operands: Sequence[ir.Value]) -> None:
    attributes = {
        "intrin": ir.StringAttr.get(f"llvm.x86.{name}"),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    ir.Operation.create("llvm.call_intrinsic", operands=list(operands), attributes=attributes)
