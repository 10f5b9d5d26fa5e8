"""Equal values: which are, and what becomes of the slopes of their vectors."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.spectral.equal_values import equal_pairs, joined, reported, shared_values, with_own

VALUES = np.array([0.0, 1.0, 1.0 + 2.0**-51, 4.0, 4.0 - 1e-10])  # 5 roundings of 4 are 4.4e-15
PAIRS = np.zeros((5, 5), bool)
PAIRS[1, 2] = PAIRS[2, 1] = True


def test_values_are_equal_within_roundings_of_the_greatest() -> None:
    np.testing.assert_array_equal(ted.function(equal_pairs)(VALUES), PAIRS)
    shared = [False, True, True, False, False]
    np.testing.assert_array_equal(ted.function(shared_values)(VALUES), shared)
    own = ted.function(lambda x: with_own(equal_pairs(x)))(VALUES)
    np.testing.assert_array_equal(own, PAIRS | np.diag(shared))


def test_what_is_hidden_is_nothing_where_it_is_roundings_and_else_no_number() -> None:
    x = np.array([[1.0, 1e-17], [0.5, 2.0]])
    hidden = np.array([[False, True], [True, False]])
    found = ted.function(reported)(x, hidden)
    np.testing.assert_array_equal(found, [[1.0, 0.0], [np.nan, 2.0]])


@pytest.mark.parametrize(("of_values", "of_vectors"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_shared_values_have_a_slope_beside_vectors_that_have_none(
    of_values: float, of_vectors: float
) -> None:
    shared = np.array([False, True])

    def value(w, v):
        values, vectors = joined(w, [v], ted.constant(shared))
        return of_values * ted.sum(values) + of_vectors * ted.sum(vectors)

    slopes = ted.grad(value, (0, 1))(np.ones(2), np.ones((2, 2)))
    both = of_values and of_vectors
    np.testing.assert_array_equal(slopes[0], [of_values, np.nan if both else of_values])
    np.testing.assert_array_equal(slopes[1], np.full((2, 2), of_vectors))
