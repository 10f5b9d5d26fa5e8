"""Sums in other coordinates: the same numbers, fewer dims in the subscripts."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.ir.equations import Equation
from ted.ir.expressions import Expr
from ted.ir.scalar import add, compare, dim, dims_used, index, land, load, mul, sub
from ted.transforms.counted_elements import counting_elements
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import equation, given

t, p = dim(0), dim(1)
X, Y = given("x", 5), given("y", 10)
BACKWARDS = add(sub(p, t), index(1))  # of 0 <= t < 3, 0 <= p < 5
OFFSET = add(sub(mul(p, index(2)), t), index(1))


def within(one: Expr, extent: int) -> Expr:
    return land(compare("le", index(0), one), compare("lt", one, index(extent)))


def summed(first: Expr, second: Expr, condition: Expr) -> Equation:
    """`s[t] += Y[first] * X[second]` where the condition holds."""
    body = mul(load(Y, [first]), load(X, [second]))
    return equation((3, 5), body, "add", 1, condition, (t,))


def gradient_like(second: Expr = BACKWARDS) -> Equation:
    return summed(OFFSET, second, land(within(OFFSET, 10), within(second, 5)))


def results(one: Equation) -> list[float]:
    x, y = np.arange(1.0, 6.0) ** 2, np.arange(10.0) ** 3
    return values([X, Y], [defined("s", (3,), one)], [x, y])[0].tolist()


def named(one: Equation) -> list[set[int]]:
    return sorted((set(dims_used(*r.args)) for r in one.reads), key=len)


def test_the_sum_counts_the_elements_of_the_read_that_names_fewest_dims() -> None:
    before = gradient_like()
    after = counting_elements(before)
    assert named(before) == [{0, 1}, {0, 1}]
    assert named(after) == [{1}, {0, 1}]
    assert after.extents == (3, 5)
    assert results(after) == results(before)


def test_a_dim_may_be_counted_from_its_end() -> None:
    before = gradient_like(sub(add(t, index(3)), p))
    after = counting_elements(before)
    assert named(after) == [{1}, {0, 1}]
    assert results(after) == results(before)


@pytest.mark.parametrize(
    "one",
    [
        summed(add(t, p), p, within(t, 3)),  # the subscripts would name as many dims
        summed(p, p, within(t, 3)),
        summed(mul(p, index(2)), mul(add(t, p), index(2)), within(add(t, p), 3)),  # by twos
    ],
    ids=["as many", "none to gain", "not one by one"],
)
def test_what_does_not_gain_stays_as_it_is(one: Equation) -> None:
    assert counting_elements(one) is one


def test_a_sum_does_not_get_longer() -> None:
    wide, second = given("w", 9), add(p, mul(t, index(2)))  # 0 to 8 over 5 points
    body = mul(load(wide, [second]), load(Y, [add(second, t)]))
    one = equation((3, 5), body, "add", 1, write=(t,))
    assert counting_elements(one) is one


def test_other_combiners_and_scatters_stay_as_they_are() -> None:
    one = gradient_like()
    for other in ("max", "min"):
        made = equation((3, 5), one.body, other, 1, write=(t,))
        assert counting_elements(made) is made
    scatter = equation((3, 5), one.body, "add", 1, write=(BACKWARDS,))
    assert counting_elements(scatter) is scatter


def test_the_gradient_of_a_kernel_written_from_its_results_is_a_contraction() -> None:
    def transposed(x: ted.Tensor, w: ted.Tensor) -> ted.Tensor:
        tap, c = ted.reduce_axis(3, "tap"), ted.reduce_axis(4, "c")

        def element(place: ted.Tensor) -> ted.Tensor:
            start = place + 1 - tap
            inside = (start % 2 == 0) & (start >= 0) & (start <= 14)
            return ted.sum(x[c, start // 2] * w[c, tap], axis=(tap, c), where=inside)

        return ted.compute((15,), element)

    random = np.random.default_rng(0)
    x, w, head = (random.standard_normal(s) for s in ((4, 8), (4, 3), (15,)))
    run = ted.function(lambda x, w, head: ted.vjp(transposed, x, w)[1](head))
    assert run.compiled(x, w, head).explain().count(": contraction") == 2
    dx, dw = run(x, w, head)
    wx, ww = np.zeros_like(x), np.zeros_like(w)
    for q in range(8):
        for tap in range(3):
            if 0 <= 2 * q + tap - 1 < 15:
                wx[:, q] += head[2 * q + tap - 1] * w[:, tap]
                ww[:, tap] += head[2 * q + tap - 1] * x[:, q]
    np.testing.assert_allclose(dx, wx, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dw, ww, rtol=1e-12, atol=1e-12)
