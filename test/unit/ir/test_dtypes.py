"""The table of element types: sums, two operands, and every other place that lists types."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

import ted
from ted.codegen.manifest import ITEM_SIZES
from ted.dialects.ted import ELEMENT_TYPES as IN_THE_DIALECT
from ted.errors import FrontendError
from ted.frontend.checks import dtype_of
from ted.frontend.complex_pairs import COMPLEX64, COMPLEX128, ComplexType
from ted.ir.dtypes import (
    AMBIGUOUS,
    BFLOAT16,
    BOOL,
    ELEMENT_TYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT32,
    UINT64,
    DType,
    accumulator,
    named,
    promote,
    total,
)  # fmt: skip
from ted.runtime import dlpack
from ted.runtime.cuda import arguments, prototypes
from ted.testing.interpreter_scalars import COMPUTED_IN, NUMPY_TYPES


def test_types_of_sums_and_of_two_operands() -> None:
    wide = [
        (FLOAT16, FLOAT32),
        (BFLOAT16, FLOAT32),
        (INT8, INT32),
        (UINT8, UINT32),
        (FLOAT64, FLOAT64),
        (BOOL, BOOL),
    ]
    assert all(accumulator(a) == b for a, b in wide)
    assert [total(t) for t in (BOOL, INT32, UINT8, FLOAT16)] == [INT64, INT64, UINT64, FLOAT16]
    for a, b, common in (
        (FLOAT16, BFLOAT16, FLOAT32), (FLOAT32, INT64, FLOAT32), (INT8, INT32, INT32),
        (BOOL, INT8, INT8), (INDEX, INT32, INT64), (INDEX, INDEX, INT64),
        (FLOAT16, FLOAT32, FLOAT32), (UINT8, INT8, INT16), (UINT32, INDEX, INT64),
        (UINT64, INT8, FLOAT64), (UINT64, FLOAT32, FLOAT32),
        (BFLOAT16, BFLOAT16, BFLOAT16), (FLOAT64, BFLOAT16, FLOAT64),
    ):  # fmt: skip
        assert promote(a, b) == promote(b, a) == common


def test_every_place_that_lists_types_has_all_of_them() -> None:
    names, spelled = {t.name for t in ELEMENT_TYPES}, {t.mlir for t in ELEMENT_TYPES}
    assert set(IN_THE_DIALECT) == spelled
    assert set(NUMPY_TYPES) == spelled | {"index"}
    assert {t.mlir: t.scalar for t in ELEMENT_TYPES if t.is_unsigned}.items() <= COMPUTED_IN.items()
    assert {t.name: t.dtype.itemsize for t in ELEMENT_TYPES} == ITEM_SIZES
    assert set(prototypes.TENSOR_MAP_TYPES) == names
    assert set(dlpack._CODES) == names
    assert set(arguments._FORMATS) == names - {"bfloat16"}
    assert all(dtype_of(t.dtype, "test") == t for t in ELEMENT_TYPES)
    assert all(dtype_of(t.mlir, "test") == t for t in ELEMENT_TYPES if t.mlir not in AMBIGUOUS)


def test_integers_have_the_ends_and_the_wrapping_of_numpy() -> None:
    for t in ELEMENT_TYPES:
        if t.kind == "int":
            ends = np.iinfo(t.name)
            assert t.range == (ends.min, ends.max)
            for value in (-1, 2**70 + 5, int(ends.max) + 1, int(ends.min) - 1):
                bits = value % 2**t.bits
                assert t.wrapped(value) == np.array(bits, f"uint{t.bits}").view(t.name)
    assert BOOL.range == (0, 1)


@pytest.mark.parametrize("dtype", [*ELEMENT_TYPES, COMPLEX64, COMPLEX128], ids=str)
def test_a_type_equals_what_names_it_and_nothing_else(dtype: DType | ComplexType) -> None:
    own = dtype.dtype
    same = [dtype.name, own, own.type, pickle.loads(pickle.dumps(dtype))]
    same += [getattr(torch, dtype.name)] if hasattr(torch, dtype.name) else []
    assert all(dtype == other and other == dtype for other in same)
    assert dtype in {dtype.name}
    others = [t for t in (*ELEMENT_TYPES, COMPLEX64, COMPLEX128) if t is not dtype]
    others = [*others, *(t.name for t in others), *(t.dtype.type for t in others), "e5", None, 64]
    assert not any(dtype == other for other in others)
    assert named(ted.placeholder((), name=dtype.name)) is None


def test_short_names_of_numpy_are_its_types_but_those_that_mlir_reads_otherwise() -> None:
    codes = ("f8", "f4", "f2", "i4", "i2", "u8", "u4", "u2", "u1", "?", "d", "f")
    for code in (*codes, np.longlong, np.ulonglong, np.intc, np.uintc):
        assert dtype_of(code, "zeros") == np.dtype(code)
    with pytest.raises(FrontendError, match="dtype 'i8' is int64 in NumPy and int8 in MLIR"):
        dtype_of("i8", "zeros")
    with pytest.raises(FrontendError, match="dtype: 'i1' is int8 in NumPy and bool in MLIR"):
        _ = BOOL == "i1"
    assert (dtype_of("f32", "zeros"), dtype_of("ui8", "zeros")) == (FLOAT32, UINT8)
