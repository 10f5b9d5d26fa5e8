"""Functions of ops as systems: what has no equations is refused."""

from __future__ import annotations

import pytest

import ted
from ted.dialects import make_context, session
from ted.errors import VerifyError
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, whole
from ted.ir.from_ops import from_module
from ted.ir.scalar import (
    dim,
    load,
)  # fmt: skip
from ted.ir.to_ops import system_to_module
from ted.mlir import ir

i, j = dim(0), dim(1)


def test_tensors_without_known_sizes_are_refused() -> None:
    text = "func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> { return %x : tensor<?xf64> }"
    scalar = "func.func @f(%x: f64) -> f64 { return %x : f64 }"
    with make_context():
        for wrong in (text, scalar):
            with pytest.raises(VerifyError, match="tensors of static or symbolic sizes"):
                from_module(ir.Module.parse(wrong))


def test_sizes_are_attributes_of_the_function() -> None:
    n = ted.size("n", min=2, multiple_of=4)
    v = Tensor("v", (n, 3), FLOAT64)
    y = Tensor("y", (n, 3), FLOAT64, 0, (whole((n, 3), load(v, [i, j]), None),))
    with session():
        module = system_to_module(System((v,), (y,)))
        back = from_module(module)
    assert '{min = 2 : i64, multiple_of = 4 : i64, name = "n"}' in str(module)
    assert back.inputs[0].shape == (n, 3)
