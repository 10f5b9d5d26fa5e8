"""Zeros, sums and products of vectors, of floats and of integers."""

from __future__ import annotations

import pytest

from ted.dialects import session
from ted.mlir import ir
from ted.mlir.semiring import add, is_float, multiply, multiply_add, zero

KINDS = {
    "f32": (True, "dense<0.000000e+00>", "addf", "mulf", "vector.fma"),
    "bf16": (True, "dense<0.000000e+00>", "addf", "mulf", "vector.fma"),
    "i32": (False, "dense<0>", "addi", "muli", "arith.addi"),
}


@pytest.mark.parametrize("element", KINDS)
def test_operations_are_those_of_the_type(element: str) -> None:
    floats, zeros, sums, products, joint = KINDS[element]
    with session(), ir.Location.unknown():
        module = ir.Module.create()
        kind = ir.VectorType(ir.Type.parse(f"vector<4x{element}>"))
        with ir.InsertionPoint(module.body):
            none = zero(kind)
            made = [add(none, none), multiply(none, none), multiply_add(none, none, none)]
        assert is_float(kind) == is_float(kind.element_type) == floats
        assert str(none.owner) == f"%cst = arith.constant {zeros} : vector<4x{element}>"
        names = [f"arith.{sums}", f"arith.{products}", joint]
        assert [value.owner.name for value in made] == names
        for value in made[:2]:
            flags = value.owner.attributes
            assert ("fastmath" in flags) == floats
            assert not floats or str(flags["fastmath"]) == "#arith.fastmath<reassoc,contract>"
