"""Least squares, chains of products and systems of tensors against NumPy, with their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.testing import check_grads
from unit.frontend.tracing import run

RNG = np.random.default_rng(1)
TALL, WIDE, B = RNG.normal(size=(5, 2)), RNG.normal(size=(2, 5)), RNG.normal(size=(5, 3))
DEPENDENT = np.concatenate([TALL, TALL[:, :1] + TALL[:, 1:]], 1)
CHAIN = [RNG.normal(size=shape) for shape in ((3,), (3, 4), (4, 2), (2, 3), (3,))]
CUBE = RNG.normal(size=(2, 3, 6))


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(DEPENDENT, B), (TALL, B[:, 0]), (WIDE, B[:2])])
def test_least_squares_are_those_of_numpy(a: np.ndarray, b: np.ndarray) -> None:
    x, left, rank, s = ted.function(ted.linalg.lstsq)(a, b)
    expected = np.linalg.lstsq(a, b)
    np.testing.assert_allclose(x, expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(left, np.square(a @ x - b).sum(0), rtol=1e-12, atol=1e-12)
    assert rank == expected[2]
    np.testing.assert_allclose(s, expected[3], rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_least_squares_have_slopes() -> None:
    check_grads(lambda a, b: ted.linalg.lstsq(a, b)[0] ** 2, (TALL[:3], B[:3, 0]), order=2)


Case = tuple[Callable[..., Any], tuple[np.ndarray, ...]]
CASES: dict[str, Case] = {
    "matrices": (lambda la, *m: la.multi_dot(m), tuple(CHAIN[1:4])),
    "vectors at the ends": (lambda la, *m: la.multi_dot(m), tuple(CHAIN)),
    "two vectors": (lambda la, *m: la.multi_dot(m), (CHAIN[0], CHAIN[0])),
    "unknowns": (lambda la, a, b: la.tensorsolve(a, b), (CUBE, RNG.normal(size=(2, 3)))),
    "other dims": (lambda la, a, b: la.tensorsolve(a, b, (0,)),
                   (CUBE.transpose(2, 0, 1), RNG.normal(size=(2, 3)))),
    "inverse": (lambda la, a: la.tensorinv(a), (CUBE,)),
    "inverse of one dim": (lambda la, a: la.tensorinv(a, 1), (CUBE.transpose(2, 1, 0),)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_products_and_systems_are_those_of_numpy(name: str) -> None:
    function, arrays = CASES[name]
    found = run(lambda *given: function(ted.linalg, *given), *arrays)
    np.testing.assert_allclose(found, function(np.linalg, *arrays), rtol=1e-9, atol=1e-12)


def test_a_chain_may_be_longer_than_an_alphabet() -> None:
    m = np.eye(2) + 0.1
    found = ted.function(lambda m: ted.linalg.multi_dot(27 * [m]))(m)
    np.testing.assert_allclose(found, np.linalg.matrix_power(m, 27), rtol=1e-13)


REFUSED = {
    r"lstsq: takes a \(m, n\) and b": lambda: ted.linalg.lstsq(TALL, B[:3]),
    "multi_dot: takes at most 51 matrices, got 60": lambda: ted.linalg.multi_dot(60 * [CUBE[0]]),
    "multi_dot: takes at least two matrices": lambda: ted.linalg.multi_dot([TALL]),
    "got shapes .*3, 4.*2, 3, 6": lambda: ted.linalg.multi_dot([CHAIN[1], CUBE, CHAIN[1]]),
    r"then dims of 6 elements, got \(2, 3, 6\)": lambda: ted.linalg.tensorsolve(CUBE, B[:2].T),
    "tensorinv: dims before and from ind=1": lambda: ted.linalg.tensorinv(CUBE, 1),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(FrontendError, match=text):
        REFUSED[text]()


@pytest.mark.parametrize(
    "a", [np.ones((3, 3)), TALL @ WIDE, np.eye(3, k=1)], ids=["ones", "2", "0"]
)
def test_columns_that_depend_on_others_have_no_basis_of_roundings(a: np.ndarray) -> None:
    q, r = ted.function(ted.linalg.qr)(a)
    assert np.isnan(q).any()
    assert np.isnan(r).any()
