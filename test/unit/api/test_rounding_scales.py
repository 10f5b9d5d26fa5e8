"""How large the numbers are that results are sums of."""

from __future__ import annotations

import numpy as np
import pytest

from ted.api.rounding_scales import rounding_scales

X = np.array([3.0, -2.0, 0.5], np.float32)


def size_of(function, *arrays: np.ndarray) -> float:
    def program(*given: np.ndarray) -> list[np.ndarray]:
        return [np.asarray(function(*given))]

    (size,) = rounding_scales(program, arrays, program(*arrays))
    return float(size)


def test_a_difference_of_equal_numbers_has_their_size() -> None:
    assert 1 < size_of(lambda x, y: x - y, X, X.copy()) < 13


def test_a_number_is_a_sum_of_itself_alone() -> None:
    assert size_of(lambda x: x, X) == 3.0
    assert size_of(lambda x: -x[1:], X) == 2.0


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_a_product_has_its_own_size_however_small_it_is(scale) -> None:
    size = size_of(lambda x: x * np.float32(scale), X)
    np.testing.assert_allclose(size, 3 * scale, rtol=0.5)


def test_a_function_that_jumps_at_an_input_counts_without_the_jump() -> None:
    assert size_of(np.floor, X) == 0.0
    assert size_of(lambda x: (x > X).astype(np.float32), X) == 0.0


def test_a_coarser_result_counts_without_its_rounding() -> None:
    x = np.linspace(0.5, 1, 1000, dtype=np.float32)
    assert size_of(lambda x: x.astype(np.float16), x) < 2


def test_integers_have_no_summands() -> None:
    assert size_of(lambda x: x.astype(np.int32), X) == 0.0
    assert size_of(lambda x: x * 2, X.astype(np.int64)) == 0.0


def test_what_is_not_finite_counts_not() -> None:
    assert size_of(lambda x: np.where(x > 2, np.inf, np.nan), X) == 0.0
