"""The elimination is unimodular and its pivot rows are lower triangular."""

import itertools
import operator
import random

import pytest

from ted.domain.echelon import eliminate


def product(one: list[list[int]], other: list[list[int]]) -> list[list[int]]:
    columns = list(zip(*other, strict=True))
    return [[sum(map(operator.mul, row, column)) for column in columns] for row in one]


def determinant(matrix: list[list[int]]) -> int:
    total = 0
    for order in itertools.permutations(range(len(matrix))):
        inversions = sum(a > b for a, b in itertools.combinations(order, 2))
        term = -1 if inversions % 2 else 1
        for row, column in enumerate(order):
            term *= matrix[row][column]
        total += term
    return total


@pytest.mark.parametrize("seed", range(60))
def test_columns_are_combined_without_loss(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(1, 5)
    matrix = [[rng.randint(-4, 4) for _ in range(size)] for _ in range(rng.randint(1, 3))]
    state = eliminate(matrix, lambda unknown: (unknown is not None,))
    assert abs(determinant(state.unimodular)) == 1
    assert product(matrix, state.unimodular) == state.rows
    for k, row in enumerate(state.pivots):
        assert state.rows[row][k] != 0
        assert not any(state.rows[row][k + 1 :])
    for k, unknown in enumerate(state.unknowns):
        if unknown is not None:
            assert state.unimodular[unknown] == [int(j == k) for j in range(size)]


def test_a_unit_coefficient_of_least_cost_is_bound_first() -> None:
    state = eliminate([[2, 1, 1]], lambda unknown: (0 if unknown == 2 else 1,))
    assert state.unknowns[1:] == [1, 0] or state.unknowns[1:] == [0, 1]
    assert state.rows[0][0] == 1


def test_the_least_coefficient_is_the_first_divisor() -> None:
    state = eliminate([[-6, 4]], lambda unknown: (unknown is not None,))
    assert state.rows == [[2, 0]]
    state = eliminate([[6, -9, 4]], lambda unknown: (unknown is not None,))
    assert [abs(v) for v in state.rows[0]] == [1, 0, 0]
