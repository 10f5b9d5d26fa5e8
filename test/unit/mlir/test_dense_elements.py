"""The numbers of dense attributes, of every element type and in every spelling."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ted import dialects
from ted.mlir import ir
from ted.mlir.dense_elements import numbers_of

MANY = np.arange(-60.0, 60.0)


def parsed(text: str) -> np.ndarray:
    with dialects.make_context():
        return numbers_of(ir.DenseElementsAttr(ir.Attribute.parse(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>", np.array([[1, -2], [3, 4]], np.int8)),
        ("dense<[true, false]> : tensor<2xi1>", np.array([True, False])),
        ("dense<1.5> : tensor<2x2xf16>", np.full((2, 2), 1.5, np.float16)),
        ("dense<1.5> : tensor<2x2xbf16>", np.full((2, 2), 1.5, ml_dtypes.bfloat16)),
        ("dense<> : tensor<0x2xbf16>", np.zeros((0, 2), ml_dtypes.bfloat16)),
        (
            "dense<[[1.0, 0x7FC0], [-0.0, 0xFF80]]> : tensor<2x2xbf16>",
            np.array([[1.0, np.nan], [-0.0, -np.inf]], ml_dtypes.bfloat16),
        ),
    ],
)
def test_they_are_those_of_the_text(text: str, expected: np.ndarray) -> None:
    found = parsed(text)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.astype("f8"), expected.astype("f8"))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("name", ["bf16", "f16", "f64"])
def test_many_are_read_from_bytes(name: str) -> None:
    dtype = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f64": np.float64}[name]
    array = MANY.astype(dtype)
    text = f'dense<"0x{array.tobytes().hex().upper()}"> : tensor<{len(array)}x{name}>'
    found = parsed(text)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, array)
