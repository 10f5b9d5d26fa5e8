"""Programs that are the same function are found equal, others differ by a counterexample."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.errors import ExecutionError, FrontendError
from ted.testing import equivalent, interpret
from ted.testing.equivalence import Counterexample, Equivalence

MATRIX = np.zeros((3, 4))
PAIR = [MATRIX, MATRIX]


def where(found: Equivalence) -> Counterexample:
    assert found.counterexample is not None
    return found.counterexample


def shown(found: Equivalence, f, args) -> None:
    """The counterexample is one: the first program has the value that it says, there."""
    example = where(found)
    x = [ted.placeholder(np.shape(a), "float64") for a in args]
    (value, *_) = interpret(str(ted.module([f(*x)])), example.inputs)
    assert example.result == 0
    assert value[example.index] == pytest.approx(example.values[0], nan_ok=True)
    assert example.values[0] != pytest.approx(example.values[1], abs=1e-12, nan_ok=True)


def test_regrouped_polynomials_are_equal_and_the_chance_of_an_error_is_said() -> None:
    found = equivalent(lambda x, y: (x + y) ** 2, lambda x, y: x * x + 2 * x * y + y * y, PAIR)
    assert found
    assert found.counterexample is None
    assert found.meaning == (
        "as polynomials, at 2 points of the field of 2305843009213693951 elements, "
        "by chance at most (2 / 2305843009213693951)**2"
    )


def test_a_reduction_equals_its_sum_by_hand() -> None:
    assert equivalent(
        lambda x: ted.sum(x, 1), lambda x: x[:, 0] + x[:, 1] + (x[:, 2] + x[:, 3]), [MATRIX]
    )


def test_one_element_that_differs_is_named() -> None:
    def f(x):
        return x * x

    def g(x):
        return ted.compute(
            (3, 4), lambda i, j: ted.where((i == 2) & (j == 1), 3.0 * x[i, j], x[i, j] * x[i, j])
        )

    found = equivalent(f, g, [MATRIX])
    assert not found
    assert where(found).index == (2, 1)
    shown(found, f, [MATRIX])


def test_what_no_float_shows_the_field_shows() -> None:
    found = equivalent(lambda x: x, lambda x: x + 2.0**-60, [MATRIX])
    assert not found
    assert str(where(found).values[0]) != str(where(found).values[1])


TIES = [
    (lambda x, y: ted.where(x >= y, x * y, y * y + 1),
     lambda x, y: ted.where(x > y, x * y, y * y + 1)),
    (lambda x, y: (x == y).astype("float64") * x, lambda x, y: 0.0 * x),
    (lambda x, y: ted.grad(lambda a, b: ted.sum(ted.maximum(a, b)))(x, y),
     lambda x, y: ted.where(x > y, 1.0, 0.0)),
]  # fmt: skip


@pytest.mark.parametrize(("f", "g"), TIES)
def test_programs_that_differ_at_ties_differ(f, g) -> None:
    found = equivalent(f, g, PAIR)
    assert not found
    x, y = where(found).inputs
    assert x[where(found).index] == y[where(found).index]
    shown(found, f, PAIR)


EDGES = [
    (lambda x: ted.where(x < 0.3, x, 0.0), lambda x: ted.where(x <= 0.3, x, 0.0), 0.3),
    (lambda x: ted.relu(x) + (x == 0).astype("float64"), ted.relu, 0.0),
    (lambda x: ted.abs(x), lambda x: x * x / ted.abs(x), 0.0),
    (lambda x: x / x, lambda x: x * 0.0 + 1.0, 0.0),
]


@pytest.mark.parametrize(("f", "g", "edge"), EDGES)
def test_programs_that_differ_at_an_edge_alone_differ(f, g, edge: float) -> None:
    found = equivalent(f, g, [MATRIX])
    assert not found
    assert where(found).inputs[0][where(found).index] == edge
    shown(found, f, [MATRIX])


@pytest.mark.parametrize(
    "far",
    [
        lambda x: x[0, 0] > 1e10,
        lambda x: (x[0, 0] > 1000.0) & (x[1, 0] < -1000.0),
        lambda x: (x[0, 0] > 3.0) & (x[0, 0] < 5.0),
    ],
)
def test_programs_that_differ_beyond_or_between_constants_differ(far) -> None:
    found = equivalent(lambda x: ted.where(far(x), 1.0, 0.0), lambda x: 0.0 * x[0, 0], [MATRIX])
    assert not found
    shown(found, lambda x: ted.where(far(x), 1.0, 0.0), [MATRIX])


def test_integers_are_compared_at_the_ends_of_their_type() -> None:
    whole = np.zeros(3, np.int32)
    found = equivalent(lambda n: ted.abs(n) >= 0, lambda n: n == n, [whole])
    assert not found
    assert (where(found).inputs[0] == np.iinfo(np.int32).min).any()


def test_programs_that_differ_in_the_last_row_alone_differ() -> None:
    def shifted(last: int):
        return lambda x: ted.compute(
            (3,), lambda i: ted.where(i < last, x[ted.minimum(i + 1, 2), 0], 0.0)
        )

    assert equivalent(shifted(2), shifted(2), [MATRIX])
    found = equivalent(shifted(2), shifted(3), [MATRIX])
    assert not found
    assert where(found).index == (2,)


def test_identities_of_functions_hold_at_floats_and_that_is_said() -> None:
    found = equivalent(
        lambda x: ted.sin(x) ** 2 + ted.cos(x) ** 2, lambda x: 0.0 * x + 1.0, [MATRIX]
    )
    assert found
    assert found.meaning == "at 36 points of floats, to a relative 1e-09"
    found = equivalent(lambda x: ted.sin(x + x), lambda x: ted.sin(2.0 * x), [MATRIX])
    assert found
    assert found.meaning.startswith("as expressions of formal functions, at 2 points")


def test_quotients_are_compared_exactly_and_where_denominators_are_zero() -> None:
    assert not equivalent(lambda x, y: x / y, lambda x, y: x * x / (x * y), PAIR)  # at x = 0
    assert equivalent(lambda x, y: x / y + 1.0, lambda x, y: (x + y) / y, PAIR)


def test_types_of_floats_do_not_matter() -> None:
    single = np.zeros((3, 4), np.float32)
    assert equivalent(lambda x: 0.1 * x, lambda x: x / 10.0, [single])


def test_integers_are_compared_exactly() -> None:
    numbers = np.zeros(5, np.int64)
    assert equivalent(lambda n: n * 2, lambda n: n + n, [numbers])
    assert not equivalent(lambda n: n * 2, lambda n: n * n + n, [numbers])  # but at 0 and 1
    assert not equivalent(lambda n: n * 2, lambda n: n * 3, [numbers])


def test_programs_are_pairs_of_tensors_or_modules_too() -> None:
    x = ted.placeholder((3,), "float64", name="x")
    one, other = ted.module([x + x]), ([2.0 * x], [x])
    assert equivalent(str(one), other)
    assert equivalent(one, other)


def test_symbolic_programs_are_compared_at_some_sizes() -> None:
    n = ted.size("n", min=2)
    x = ted.placeholder((n,), "float64", name="x")
    found = equivalent(([x + x], [x]), ([2.0 * x], [x]))
    assert found
    assert "sizes [{'n': 2}, {'n': 4}]" in found.meaning


REFUSED = [
    (lambda x: x, lambda x: ted.sum(x), "two programs of one type"),
    (lambda x: x[0] * ted.sum(ted.ones((600, 600))), lambda x: x[0], "more than 262144 points"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "g", "reason"), REFUSED)
def test_what_cannot_be_validated_is_refused(f, g, reason: str) -> None:
    with pytest.raises(ExecutionError, match=reason):
        equivalent(f, g, [MATRIX])
    with pytest.raises(ExecutionError, match="functions are traced on args"):
        equivalent(f, g)


def test_arguments_are_a_list_with_one_array_each() -> None:
    with pytest.raises(ExecutionError, match=r"^equivalent: .* got ndarray; for one argument"):
        equivalent(lambda x: x, lambda x: x, MATRIX)
    with pytest.raises(FrontendError, match=r"^equivalent: "):
        equivalent(lambda x: "text", lambda x: x, [MATRIX])


def test_a_program_that_fails_where_another_does_not_differs() -> None:
    numbers = np.zeros(2, np.int64)
    found = equivalent(lambda n, x: x[n], lambda n, x: x[ted.minimum(n, 0)], [numbers, np.zeros(1)])
    assert not found
    assert "stays inside" in where(found).values[0]
    assert where(found).values[1] == "no error"
