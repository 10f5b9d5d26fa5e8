"""Sizes of functions in MLIR: malformed attributes and encodings are refused with the rule."""

import numpy as np
import pytest

import ted
from ted import dialects
from ted.errors import VerifyError
from ted.frontend.systems import system_of
from ted.ir.from_ops import from_module
from ted.ir.pass_driver import run_pipeline
from ted.ir.to_ops import to_module
from ted.mlir import ir
from ted.testing.interpreter import interpret


def _function(sizes: str, extent: str = "s0") -> str:
    kind = f"tensor<?xf64, affine_map<()[s0] -> ({extent})>>"
    return (
        f"func.func @f(%x: {kind}) -> {kind} attributes {{ted.sizes = [{sizes}]}} {{\n"
        f"  return %x : {kind}\n}}"
    )


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ('{name = "n", min = "1", multiple_of = 1 : i64}', "must list sizes as"),
        ("{name = 3, min = 1 : i64, multiple_of = 1 : i64}", "must list sizes as"),
        ('{name = "n", min = 1 : i64}', "must list sizes as"),
        ('{name = "n", min = -1 : i64, multiple_of = 1 : i64}', "a min of at least 0"),
        ('{name = "n", min = 1 : i64, multiple_of = 0 : i64}', "a multiple_of of at least 1"),
        ('{name = "a b", min = 1 : i64, multiple_of = 1 : i64}', "an identifier as name"),
        (", ".join(['{name = "n", min = 1 : i64, multiple_of = 1 : i64}'] * 2), "once, got"),
    ],
)
def test_malformed_sizes_are_refused(sizes: str, message: str) -> None:
    with dialects.session(), pytest.raises(VerifyError, match=message):
        from_module(ir.Module.parse(_function(sizes)))


@pytest.mark.parametrize(
    ("extent", "found"),
    [("s0 ceildiv 2", "(n + 1)//2"), ("s0 mod 4 + 1", "n - 4*(n//4) + 1")],
)
def test_extents_are_read_with_every_operation(extent: str, found: str) -> None:
    size = '{name = "n", min = 1 : i64, multiple_of = 1 : i64}'
    with dialects.session():
        system = from_module(ir.Module.parse(_function(size, extent)))
    assert str(system.inputs[0].shape[0]) == found


@pytest.mark.parametrize("extent", ["3 floordiv s0", "s0 mod (s0 + 1)", "s0 floordiv -2"])
def test_a_size_divides_nothing(extent: str) -> None:
    size = '{name = "n", min = 1 : i64, multiple_of = 1 : i64}'
    with dialects.session(), pytest.raises(VerifyError, match="divided by a positive constant"):
        from_module(ir.Module.parse(_function(size, extent)))


def test_sizes_of_bodies_may_be_moved_out_of_them() -> None:
    n, m = ted.size("n"), ted.size("m")
    x = ted.placeholder((n, m), "float64", name="x")
    system = system_of([x], [ted.roll(x, 1, 0) * ted.roll(x, 1, 1)])
    values = np.arange(6.0).reshape(2, 3)
    with dialects.session():
        module = to_module(system)
        run_pipeline(module, "cse,canonicalize,ted-check-bounds")
        again = to_module(from_module(module))
        for one in (module, again):
            (found,) = interpret(one, [values])
            np.testing.assert_array_equal(found, np.roll(values, 1, 0) * np.roll(values, 1, 1))
        run_pipeline(module, "ted-specialise-sizes{values=2,3}")
        assert "ted.size" not in str(module)
