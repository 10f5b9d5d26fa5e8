"""Indices computed in floats become divisions of integers exactly where rounding cannot matter."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import ted
from ted.ir.affine_attributes import expr_to_aff
from ted.ir.dtypes import BY_NAME, INDEX, INT8, INT32, INT64, DType
from ted.ir.exact_indices import exact_indices
from ted.ir.expressions import Expr
from ted.ir.scalar import add, apply, cast, const, dim, div, index, mul, neg, sub

TYPES = {
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32,
    "float64": np.float64,
}  # fmt: skip
PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
FLOAT32 = BY_NAME["float32"]
ROUNDINGS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


def as_index(value: Expr, extent: int, through: DType = INT64) -> Expr:
    (found,) = exact_indices([cast(cast(value, through), INDEX)], (extent,))
    return found


def values(found: Expr, points: range) -> list[int] | None:
    """The index at some points, None where it is not one of integers."""
    function = expr_to_aff(found)
    return None if function is None else [function.evaluate([i]) for i in points]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("divisor", [1, 2, 3, 5, 7, 24, 25, 2.5, 0.75, -3])
def test_a_rounded_quotient_up_to_the_precision_is_a_division(name, rounding, divisor) -> None:
    dtype, limit = BY_NAME[name], 2 ** PRECISION[name]
    extent = limit // float(divisor).as_integer_ratio()[1] + 1
    for shift in (0, -extent // 2):
        value = div(cast(add(dim(0), index(shift)), dtype), const(divisor, dtype))
        found = as_index(apply(rounding, value), extent)
        tested = range(max(0, extent - 3000), extent)
        at = np.array([i + shift for i in tested], np.int64).astype(TYPES[name])
        with np.errstate(all="ignore"):
            quotients = (at / TYPES[name](divisor)).astype(TYPES[name])
            wanted = ROUNDINGS[rounding](quotients.astype(np.float64)).astype(np.int64)
        points = values(found, tested)
        if points is not None:  # where the sign is not known, trunc is a choice
            assert points == wanted.tolist()
        else:
            assert (rounding, shift < 0) == ("trunc", True)


@pytest.mark.parametrize("name", TYPES)
def test_an_index_beyond_the_precision_stays_in_floats(name) -> None:
    dtype, limit = BY_NAME[name], 2 ** PRECISION[name]
    for start, divisor, is_exact in (
        (limit, 3, True), (limit + 1, 3, False), (limit, 4, True), (limit + 1, 4, False),
    ):  # fmt: skip
        value = apply("floor", div(cast(dim(0), dtype), const(divisor, dtype)))
        assert (values(as_index(value, start + 1), range(1)) is not None) == is_exact


@pytest.mark.parametrize("parts", [1, 2])
def test_a_quotient_crosses_an_integer_beyond_the_precision_only(parts) -> None:
    """Of numerators n * parts: all quotients of half precision, by integers and by halves."""
    n = np.arange(2049)
    crossed = []
    for m in range(1, 2048):
        with np.errstate(all="ignore"):
            rounded = np.floor(n.astype(np.float16) / np.float16(m / parts))
        crossed += [int(k) * parts for k in n[np.isfinite(rounded) & (rounded != n * parts // m)]]
    assert bool(crossed) == (parts > 1)
    assert min(crossed, default=4096) > 2048


REWRITTEN = {
    "a product with a power of two": (lambda x: mul(x, const(0.25, FLOAT32)), lambda i: i // 4),
    "a sum in between": (lambda x: add(x, const(3, FLOAT32)), lambda i: i + 3),
    "a half": (
        lambda x: apply("floor", div(add(x, const(0.5, FLOAT32)), const(2.5, FLOAT32))),
        lambda i: (2 * i + 1) // 5,
    ),
    "nested": (
        lambda x: mul(apply("floor", div(x, const(3, FLOAT32))), const(2, FLOAT32)),
        lambda i: i // 3 * 2,
    ),
    "negative": (
        lambda x: apply("ceil", div(neg(sub(x, const(1, FLOAT32))), const(3, FLOAT32))),
        lambda i: -((i - 1) // 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REWRITTEN)
def test_exact_steps_are_followed(case) -> None:
    fn, wanted = REWRITTEN[case]
    found = values(as_index(fn(cast(dim(0), FLOAT32)), 40, INT32), range(40))
    assert found == [wanted(i) for i in range(40)]


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: mul(x, const(1 / 3, FLOAT32)),
        lambda x: div(x, const(0.1, FLOAT32)),
        lambda x: apply("sqrt", x),
        lambda x: mul(x, x),
        lambda x: div(const(12, FLOAT32), x),
        lambda x: mul(div(x, const(3, FLOAT32)), const(3, FLOAT32)),
        lambda x: div(x, const(0, FLOAT32)),
        lambda x: add(x, const(float("nan"), FLOAT32)),
    ],
)
def test_what_may_round_is_left_alone(fn) -> None:
    before = cast(cast(apply("floor", fn(cast(dim(0), FLOAT32))), INT32), INDEX)
    assert exact_indices([before], (40,)) == [before]


@pytest.mark.parametrize(("extent", "is_exact"), [(128, True), (129, False)])
def test_an_integer_that_may_wrap_is_left_alone(extent, is_exact) -> None:
    found = as_index(cast(dim(0), INT8), extent, INT8)
    assert (found is dim(0)) == is_exact
    sums = as_index(add(cast(dim(0), INT8), cast(dim(0), INT8)), (extent + 1) // 2, INT8)
    assert (values(sums, range(1)) is not None) == is_exact


def test_data_is_left_alone() -> None:
    k = ted.placeholder((9,), "int64", name="k")
    x = ted.placeholder((9,), name="x")
    y = ted.compute(
        (9,), lambda i: x[ted.cast(ted.floor(ted.cast(k[i], "float64") / 4.0), "int64")]
    )
    f = ted.compile([x, k], y)
    assert f(np.arange(9, dtype="f4"), np.arange(9)).tolist() == [0] * 4 + [1] * 4 + [2]


@pytest.mark.parametrize("rounding", ["floor", "ceil", "trunc"])
def test_a_gradient_through_a_quotient_in_floats_is_a_gather(rounding) -> None:
    x = ted.placeholder((20,), "float64", name="x")
    fn = getattr(ted, rounding)
    y = ted.compute((30,), lambda i: x[ted.cast(fn((i - 10) / 4.0), "int32") + 5])
    gradients = ted.differentiate(ted.sum(y * y), [x])
    assert all(e.form == "gather" for e in gradients.report().equations)
    ted.testing.check_grads((y, [x]), [np.random.default_rng(0).normal(size=20)])


def test_a_scatter_that_stays_says_to_write_the_quotient() -> None:
    x = ted.placeholder((20,), "float64", name="x")
    y = ted.compute((30,), lambda i: x[ted.cast(ted.floor(i * (1 / 3)), "int32")])
    report = ted.differentiate(ted.sum(y), [x]).report()
    assert any("write // for the quotient of an index" in remark for remark in report.remarks)
