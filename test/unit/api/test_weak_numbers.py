"""Python numbers in carries and branches against JAX, whose weak types do the same."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import ted
from ted.api.weak_numbers import beside, is_weak
from ted.errors import FrontendError
from ted.ir.dtypes import (
    BOOL,
    FLOAT16,
    FLOAT32,
    INDEX,
    INT8,
    INT64,
    UINT8,
    WEAK_FLOAT,
    WEAK_INT,
    promote,
)
from ted.testing import check_grads

pytestmark = pytest.mark.usefixtures("float64_in_jax")
X = np.array([0.7, 1.3, 0.9])


def bounded(going, body, init):
    return ted.while_loop(going, body, init, max_steps=5)


TED = (ted, ted.scan, ted.cond, bounded, ted.fori_loop)
JAX = (jnp, jax.lax.scan, jax.lax.cond, jax.lax.while_loop, jax.lax.fori_loop)


def carried(lib, scan, cond, loop, count, x):
    def turn(val):
        return val[0] + 1, val[1] + x[0], val[2] * val[1] + x[1]

    sums = scan(lambda c, v: (c + v, c), 0, x)
    return (
        sums,
        loop(lambda val: val[0] < 3, turn, (0, 0, 1)),
        count(0, 2, lambda i, v: v + x[i], 0),
    )


TYPES = (
    "int8",
    "uint8",
    "int32",
    "float16",
    ml_dtypes.bfloat16,
    "float64",
    "complex64",
    "complex128",
)


@pytest.mark.fast(5)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_a_number_in_a_carry_has_the_type_of_what_is_beside_it(dtype: Any) -> None:
    x = np.arange(1, 4).astype(dtype)
    found = ted.function(lambda x: carried(*TED, x))(x)
    alike(found, carried(*JAX, jnp.asarray(x)))


def alike(found: Any, wanted: Any) -> None:
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    for a, b in pairs:
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a, "c16"), np.asarray(b, "c16"), rtol=1e-6)


def weakly(lib, scan, cond, loop, count, x):
    """What has the kind of a number only stays as weak as it is."""
    half = scan(lambda c, v: (c * 0.5 + v, None), 0, x)[0]
    ratio = scan(lambda c, v: (c / 2 + v, None), 1, x)[0]
    two = (lambda c: 2.0) if lib is ted else (lambda c: jnp.full_like(c, 2))  # it takes no number
    at = lib.arange(3)
    chosen = scan(lambda c, i: (cond(i > 1, lambda: c, lambda: two(c)) + x[i], None), 0.0, at)[0]
    return half, ratio, chosen, scan(lambda c, v: (lib.maximum(c, v), None), -1, x)[0]


def test_what_is_made_of_numbers_alone_is_as_weak() -> None:
    x = X.astype("float16")
    alike(ted.function(lambda x: weakly(*TED, x))(x), weakly(*JAX, jnp.asarray(x)))


def of_loops(lib, scan, cond, loop, count, x):
    return scan(lambda c, v: (loop(lambda a: a < 2, lambda a: a + a * v + v, c), None), 0.0, x)[0]


def of_scans(lib, scan, cond, loop, count, x):
    inner = lambda c, v: scan(lambda a, w: (a * v + lib.sin(w), a), c, x)  # noqa: E731
    carry, ys = scan(inner, 0, x)
    return carry + lib.sum(ys**2)


def of_branches(lib, scan, cond, loop, count, x):
    return scan(lambda c, v: (cond(v > 0.8, lambda: c * v + v**2, lambda: 1.0), None), 0, x)[0]


def of_pairs(lib, scan, cond, loop, count, x):
    z = scan(lambda c, v: (c * (v + 1j * v * v) + v, None), 0.0 if lib is ted else 0j, x)[0]
    y = scan(lambda c, v: (c * (1j * v) + 1, None), 1j, x)[0]
    return lib.abs(z + y) ** 2


@pytest.mark.fast(2)
@pytest.mark.parametrize("program", [of_scans, of_loops, of_branches, of_pairs])
def test_derivatives_through_a_carry_that_begins_as_a_number(program: Any) -> None:
    def of_ted(x):
        return program(*TED, x)

    def of_jax(x):
        return program(*JAX, x)

    value, slope = ted.value_and_grad(of_ted)(X)
    assert value.dtype == "float64"
    np.testing.assert_allclose(value, of_jax(X), rtol=1e-12)
    unrolled = of_jax if program is not of_loops else loops_of_numpy
    np.testing.assert_allclose(slope, jax.grad(unrolled)(X), rtol=1e-12)
    np.testing.assert_allclose(
        ted.hessian(of_ted)(X), jax.hessian(unrolled)(X), rtol=1e-11, atol=1e-12
    )
    check_grads(of_ted, (X,), order=2)


def loops_of_numpy(x):
    """JAX differentiates no while_loop backwards; its steps do not change near X."""
    c, value = 0.0, 0.0
    for v, number in zip(x, X, strict=True):
        while value < 2:
            c, value = c + c * v + v, value + value * number + number
    return c


def test_branches_of_numbers() -> None:
    def chosen(p, z):
        small = ted.cond(p, lambda: 1, lambda: 2.0), ted.cond(p, lambda: 1, lambda: 2)
        pairs = ted.cond(p, lambda: z, lambda: 0.5), ted.cond(p, lambda: 2j, lambda: z)
        return small, pairs, ted.cond(p, lambda: (z, 1j), lambda: (1, 1.0))

    for p in (True, False):
        (a, b), (c, d), (e, f) = ted.function(chosen)(np.array(p), np.array(3 + 4j))
        types = [str(value.dtype) for value in (a, b, c, d, e, f)]
        assert types == ["float32", "int64", "complex128", "complex128", "complex128", "complex64"]
        wanted = [1, 1, 3 + 4j, 2j, 3 + 4j, 1j] if p else [2, 2, 0.5, 3 + 4j, 1, 1]
        assert [a, b, c, d, e, f] == wanted
    several = ted.function(lambda p, z: ted.cond(p, lambda: z, lambda: 0))
    np.testing.assert_array_equal(several(np.array([True, False]), np.array([1j, 2j])), [1j, 0])


def test_a_chain_of_numbers_is_followed() -> None:
    def swapped(x):
        return ted.scan(lambda c, v: ((c[1], c[2], c[0] + v), None), (0, 0, 0.0), x)[0]

    found = ted.function(swapped)(X.astype("float16"))
    assert [str(value.dtype) for value in found] == ["float16"] * 3


def test_a_number_that_the_type_beside_it_does_not_hold_is_refused() -> None:
    x = ted.placeholder((3,), "int8")
    with pytest.raises(FrontendError, match="fit the type int8, got 300"):
        ted.scan(lambda c, v: (c + v, None), 300, x)


@pytest.mark.parametrize("depth", [1, 6])
def test_a_step_is_traced_once_more_for_each_loop_that_it_is_in(depth: int) -> None:
    turns = []

    def nested(level, carry, x):
        if not level:
            turns.append(carry)
            return carry + x[0]
        return ted.scan(lambda c, v: (nested(level - 1, c, x) + carry, None), 0, x)[0]

    assert nested(depth, 0, ted.placeholder((2,), "float64")).dtype == "float64"
    assert len(turns) == depth + 1


def test_weak_types_give_way_to_others_of_their_kind() -> None:
    rows = (
        (WEAK_INT, INT8, INT8), (WEAK_INT, UINT8, UINT8), (WEAK_INT, BOOL, INT64),
        (WEAK_INT, INDEX, INT64), (WEAK_INT, WEAK_FLOAT, WEAK_FLOAT), (WEAK_INT, FLOAT16, FLOAT16),
        (WEAK_FLOAT, INT8, FLOAT32), (WEAK_FLOAT, FLOAT16, FLOAT16),
        (WEAK_FLOAT, FLOAT32, FLOAT32),
    )  # fmt: skip
    for a, b, wanted in rows:
        assert promote(a, b) == promote(b, a) == wanted


def test_numbers_have_the_types_of_what_is_beside_them() -> None:
    x, n = ted.placeholder((), "float16"), ted.placeholder((), "int8")
    found = beside({"x": 1.5, "n": 2, "k": 3}, {"x": x, "n": n, "k": x})
    assert {k: v.dtype.name for k, v in found.items()} == {
        "x": "float16",
        "n": "int8",
        "k": "float16",
    }
    assert [is_weak(v) for v in (1, 1.5, 1j, np.float32(1), True, x)] == [*[True] * 4, False, False]
