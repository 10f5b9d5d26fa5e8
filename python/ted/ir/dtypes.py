"""Element types: the eight types of the language, plus `index` for iteration dims."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DType:
    """An element type: `kind` is float, int, bool or index; `name` is numpy's name for it."""

    name: str
    kind: str
    bits: int
    mlir: str
    mantissa: int = 0  # explicit mantissa bits; orders the float types

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        """Whether values of the type can have gradients."""
        return self.kind == "float"

    @property
    def exponent(self) -> int:
        """The largest exponent of a float: all are below 2 ** (exponent + 1)."""
        return 2 ** (self.bits - self.mantissa - 2) - 1

    @property
    def is_index(self) -> bool:
        """Whether this is the type of iteration dims and subscripts."""
        return self.kind == "index"


FLOAT64 = DType("float64", "float", 64, "f64", 52)
FLOAT32 = DType("float32", "float", 32, "f32", 23)
FLOAT16 = DType("float16", "float", 16, "f16", 10)
BFLOAT16 = DType("bfloat16", "float", 16, "bf16", 7)
INT64 = DType("int64", "int", 64, "i64")
INT32 = DType("int32", "int", 32, "i32")
INT8 = DType("int8", "int", 8, "i8")
BOOL = DType("bool", "bool", 1, "i1")
INDEX = DType("index", "index", 64, "index")

ELEMENT_TYPES = (FLOAT64, FLOAT32, FLOAT16, BFLOAT16, INT64, INT32, INT8, BOOL)
BY_NAME = {t.name: t for t in ELEMENT_TYPES}
BY_MLIR = {t.mlir: t for t in (*ELEMENT_TYPES, INDEX)}

# Sums and products accumulate in the wider type and are rounded once at the end.
ACCUMULATORS = {FLOAT16: FLOAT32, BFLOAT16: FLOAT32, INT8: INT32}


def accumulator(dtype: DType) -> DType:
    """The type in which sums, products and contractions of `dtype` are accumulated."""
    return ACCUMULATORS.get(dtype, dtype)


def promote(a: DType, b: DType) -> DType:
    """The common type of two operands: the wider float, else the wider integer.

    float16 with bfloat16 gives float32, as in numpy and torch; index counts as int64.
    """
    a, b = (INT64 if t.is_index else t for t in (a, b))
    if a == b:
        return a
    if {a, b} == {FLOAT16, BFLOAT16}:
        return FLOAT32
    rank = {"bool": 0, "int": 1, "float": 2}
    return max(a, b, key=lambda t: (rank[t.kind], t.bits, t.mantissa))
