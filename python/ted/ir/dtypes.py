"""Element types: a row for each type of the language, plus `index` for iteration dims.

What depends on a type asks its row: kind, bits, sign, range, the names that NumPy, MLIR and DLPack
have for it.  Integers without a sign are `ui8` as elements of tensors; scalars have no sign in
MLIR, there the operations say how they read their bits.
"""

from __future__ import annotations

from typing import Any

from ted.errors import FrontendError
from ted.records import dataclass


@dataclass(frozen=True, eq=False)
class DType:
    """An element type: `kind` is float, int, bool or index; `name` is numpy's name for it.

    It is what NumPy takes for a type, `np.zeros(3, x.dtype)`, and equals what names it, as types of
    NumPy do: `x.dtype == "float32"`, `x.dtype == np.float32`.  Names that two libraries read
    otherwise are refused with an error, which is no silent False.
    """

    name: str
    kind: str
    bits: int
    mlir: str  # as the element of a tensor
    mantissa: int = 0  # explicit mantissa bits; orders the float types

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and other in AMBIGUOUS:
            raise FrontendError(f"dtype: {ambiguity(other)}")
        found = other if isinstance(other, DType) else named(other)
        return NotImplemented if found is None else self.name == found.name

    def __hash__(self) -> int:
        return hash(self.name)

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

    @property
    def is_unsigned(self) -> bool:
        """Whether this is a type of integers that are not negative."""
        return self.mlir.startswith("u")

    @property
    def scalar(self) -> str:
        """MLIR's type of a scalar: `i8` for int8 and uint8."""
        return self.mlir.removeprefix("u")

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value of a type of integers, of bool or index."""
        if self.kind == "bool":
            return 0, 1
        signed = not self.is_unsigned
        return -signed << (self.bits - 1), (1 << (self.bits - signed)) - 1

    def wrapped(self, value: int) -> int:
        """The value of a type of integers that has the low bits of `value`."""
        least, most = self.range
        return (value - least) % (most - least + 1) + least

    def rounded(self, value: float) -> float:
        """The number of a type of floats that is nearest to `value`."""
        if self.bits == 64 or is_weak_type(self):
            return value
        import numpy as np

        with np.errstate(all="ignore"):
            return float(self.dtype.type(value))

    @property
    def dtype(self) -> Any:
        """The type of numpy, or of ml_dtypes, with the same values: numpy asks for it."""
        import numpy as np

        if self.name == "bfloat16":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
        return np.dtype(strong(self).name)


FLOAT64 = DType("float64", "float", 64, "f64", 52)
FLOAT32 = DType("float32", "float", 32, "f32", 23)
FLOAT16 = DType("float16", "float", 16, "f16", 10)
BFLOAT16 = DType("bfloat16", "float", 16, "bf16", 7)
INT64 = DType("int64", "int", 64, "i64")
INT32 = DType("int32", "int", 32, "i32")
INT16 = DType("int16", "int", 16, "i16")
INT8 = DType("int8", "int", 8, "i8")
UINT64 = DType("uint64", "int", 64, "ui64")
UINT32 = DType("uint32", "int", 32, "ui32")
UINT16 = DType("uint16", "int", 16, "ui16")
UINT8 = DType("uint8", "int", 8, "ui8")
BOOL = DType("bool", "bool", 1, "i1")
INDEX = DType("index", "index", 64, "index")
# Of what stands for a Python number while a program is written; none that runs has them.
WEAK_FLOAT = DType("weak_float32", "float", 64, "f64", 52)  # its range is that of Python's floats
WEAK_INT = DType("weak_int64", "int", 64, "i64")

FLOATS = (FLOAT64, FLOAT32, FLOAT16, BFLOAT16)
SIGNED, UNSIGNED = (INT64, INT32, INT16, INT8), (UINT64, UINT32, UINT16, UINT8)
ELEMENT_TYPES = (*FLOATS, *SIGNED, *UNSIGNED, BOOL)
BY_NAME = {t.name: t for t in ELEMENT_TYPES}
BY_MLIR = {t.mlir: t for t in (*ELEMENT_TYPES, INDEX)}
WHILE_WRITTEN = {**BY_NAME, **{t.name: t for t in (WEAK_FLOAT, WEAK_INT)}}

AMBIGUOUS = {"i8": (INT64, INT8), "i1": (INT8, BOOL)}  # in NumPy, and in MLIR
_SPELLED = {
    "float": FLOAT64, "double": FLOAT64, "single": FLOAT32, "half": FLOAT16, "int": INT64,
    "long": INT64, "uint": UINT64, "bool_": BOOL, "?": BOOL, "d": FLOAT64, "f": FLOAT32,
    "longlong": INT64, "ulonglong": UINT64, "intc": INT32, "uintc": UINT32,
    "f8": FLOAT64, "f4": FLOAT32, "f2": FLOAT16, "i4": INT32, "i2": INT16,
    "u8": UINT64, "u4": UINT32, "u2": UINT16, "u1": UINT8,
    **{t.mlir: t for t in ELEMENT_TYPES if t.mlir not in AMBIGUOUS}, **BY_NAME,
}  # fmt: skip


def ambiguity(name: str) -> str:
    """What an error says of a name that NumPy and MLIR read otherwise."""
    ours, theirs = AMBIGUOUS[name]
    return f"{name!r} is {ours} in NumPy and {theirs} in MLIR; write one of them"


def spelled(value: object) -> str | None:
    """The name that a value has as a type: a text, a type of Python, NumPy, JAX or torch."""
    if isinstance(value, str):
        return value
    if isinstance(value, type):
        return value.__name__
    if "dtype" not in type(value).__name__.lower():  # a tensor may have the name of a type
        return None
    return str(getattr(value, "name", value)).rpartition(".")[2]


def named(value: object) -> DType | None:
    """The element type that a value names; None for another one, or what is no type."""
    return _SPELLED.get(spelled(value) or "")


_STRONG = {WEAK_FLOAT: FLOAT32, WEAK_INT: INT64}


def is_weak_type(dtype: DType) -> bool:
    """Whether a type is one that gives way to others of its kind."""
    return dtype in _STRONG


def strong(dtype: DType) -> DType:
    """The type that a weak one is where nothing is beside it; others are what they are."""
    return _STRONG.get(dtype, dtype)


# Contractions and means accumulate in the wider type and are rounded once at the end.
ACCUMULATORS = {
    FLOAT16: FLOAT32, BFLOAT16: FLOAT32, INT16: INT32, INT8: INT32, UINT16: UINT32, UINT8: UINT32,
}  # fmt: skip


def accumulator(dtype: DType) -> DType:
    """The type in which contractions of `dtype` are accumulated."""
    return ACCUMULATORS.get(dtype, dtype)


def total(dtype: DType) -> DType:
    """The type of sums and products over elements of `dtype`: of integers 64 bits, as in numpy."""
    if dtype.is_float:
        return dtype
    return UINT64 if dtype.is_unsigned else INT64


def promote(a: DType, b: DType) -> DType:
    """The least type that holds both operands; the float where one is; as in numpy.

    float16 with bfloat16 gives float32, as in numpy and torch; index counts as int64; a weak type
    gives way to all of its kind.  No type of integers holds uint64 and negative numbers: they give
    float64, as in numpy and JAX.
    """
    a, b = (INT64 if t.is_index else t for t in (a, b))
    rank = {"bool": 0, "int": 1, "float": 2}
    if a == b:
        return a
    if a in _STRONG or b in _STRONG:  # of one kind that which is not weak
        found = max(a, b, key=lambda t: (rank[t.kind], t not in _STRONG))
        is_beside_other = a not in _STRONG or b not in _STRONG
        return strong(found) if is_beside_other else found  # a float beside integers: float32
    if {a, b} == {FLOAT16, BFLOAT16}:
        return FLOAT32
    if a.kind == b.kind == "int" and a.is_unsigned != b.is_unsigned:
        return _with_sign(*sorted((a, b), key=lambda t: t.is_unsigned))
    return max(a, b, key=lambda t: (rank[t.kind], t.bits, t.mantissa))


def _with_sign(signed: DType, unsigned: DType) -> DType:
    """The least type that holds the integers of two types."""
    if signed.bits > unsigned.bits:
        return signed
    return next((t for t in reversed(SIGNED) if t.bits > unsigned.bits), FLOAT64)


def with_sign_of(dtype: DType, other: DType) -> DType:
    """The type of integers with the bits of the first type and the sign of the second."""
    rows = UNSIGNED if other.is_unsigned else SIGNED
    return next(t for t in rows if t.bits == dtype.bits)
