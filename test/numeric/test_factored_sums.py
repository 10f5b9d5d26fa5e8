"""Products of many factors and sums of products, compiled, at orders 0, 1 and 2, against numpy.

An einsum is linear in each operand, so its derivatives are einsums of numpy in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ted

Array = np.ndarray[Any, Any]
EXTENTS = dict(zip("ijklmb", (5, 9, 8, 7, 6, 3), strict=True))
FORMULAS = (
    "ij,jk,kl->il",
    "ij,jk,kl,lm->im",
    "ij,jk,ik->i",
    "bij,bjk,bkl->bil",
    "ijk,jl,kl->il",
    "ij,kl,jk->",
    "ij,j,jk->ik",
    "ij,kl->i",
    "i,j,k->ijk",
    "ii,ij,jj->j",
)


def operands(formula: str, seed: int) -> list[Array]:
    random = np.random.default_rng(seed)
    terms = formula.partition("->")[0].split(",")
    extents = {**EXTENTS, **({"j": 5} if "ii" in formula else {})}
    return [random.normal(size=[extents[c] for c in term]) for term in terms]


def gradient(formula: str, xs: Sequence[Array], k: int, head: Array) -> Array:
    """The derivative of the product of head and einsum by operand k, diagonals put back."""
    left, _, result = formula.partition("->")
    terms = left.split(",")
    others = [t for n, t in enumerate(terms) if n != k]
    given = [x for n, x in enumerate(xs) if n != k]
    own = "".join(dict.fromkeys(terms[k]))
    known = set(result).union(*others)
    lone = [c for c in own if c not in known]
    ones = [np.ones(xs[k].shape[terms[k].index(c)]) for c in lone]
    found = np.einsum(f"{','.join([*others, result, *lone])}->{own}", *given, head, *ones)
    if own == terms[k]:
        return found
    diagonal = np.zeros(xs[k].shape)
    np.einsum(f"{terms[k]}->{own}", diagonal)[...] = found
    return diagonal


@pytest.mark.parametrize("formula", FORMULAS)
def test_an_einsum_of_many_factors_has_the_values_of_numpy(formula: str) -> None:
    xs = operands(formula, 0)
    found = ted.function(lambda *a: ted.einsum(formula, *a))(*xs)
    np.testing.assert_allclose(found, np.einsum(formula, *xs), rtol=1e-12, atol=1e-12)


@pytest.mark.fast(1)
@pytest.mark.parametrize("formula", FORMULAS)
def test_the_derivatives_of_an_einsum_have_the_values_of_numpy(formula: str) -> None:
    xs, moved = operands(formula, 0), operands(formula, 1)
    head = np.einsum(formula, *operands(formula, 2))
    count = len(xs)

    def pulled(*args: Any) -> Any:
        *primals, cotangent = args
        return ted.vjp(lambda *a: ted.einsum(formula, *a), *primals)[1](cotangent)

    def both(*args: Any) -> Any:
        primals, tangents, cotangent = args[:count], args[count:-1], args[-1]
        return ted.jvp(lambda *a: pulled(*a, cotangent), primals, tangents)

    found, turned = ted.function(both)(*xs, *moved, head)
    for k in range(count):
        np.testing.assert_allclose(found[k], gradient(formula, xs, k, head), rtol=1e-11, atol=1e-11)
        want = np.zeros(xs[k].shape)
        for n in range(count):
            if n != k:
                want += gradient(formula, [*xs[:n], moved[n], *xs[n + 1 :]], k, head)
        np.testing.assert_allclose(turned[k], want, rtol=1e-10, atol=1e-10)


def covariance(x: Any) -> Any:
    centred = x - ted.mean(x, 0)
    return centred.T @ centred / (x.shape[0] - 1.0)


def masked(x: Any) -> Any:
    """A product over a triangle, with a factor that the sum does not depend on."""
    r = ted.reduce_axis(12)

    def element(i: Any, j: Any) -> Any:
        return ted.sum(x[i, r] * x[r, j] * x[j, j], axis=r, where=r <= i)

    return ted.compute((12, 12), element)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "sum of a product": lambda x: ted.sum(x @ x.T),
    "covariance": lambda x: ted.sum(ted.tanh(covariance(x))),
    "sum of a covariance": lambda x: ted.sum(covariance(x)),
    "masked": lambda x: ted.sum(masked(x) ** 2),
    "checkpoint": lambda x: ted.sum(
        ted.checkpoint(lambda y: ted.einsum("ij,jk,kl->il", y, y, ted.tanh(y)))(x)
    ),
    "batch": lambda x: ted.sum(ted.vmap(lambda v: ted.einsum("i,ij,j,jk->k", v, x, v, x))(x)),
}


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_factored_sums_have_right_derivatives(name: str) -> None:
    x = np.random.default_rng(3).normal(size=(12, 12)) / 4
    ted.testing.check_grads(PROGRAMS[name], (x,), order=2)


@pytest.mark.parametrize("name", ["float32", "int32", "int64", "float16", "bfloat16"])
def test_every_type_has_its_sums(name: str) -> None:
    random = np.random.default_rng(0)
    a, b, c = (random.integers(-2, 3, (9, 9)) for _ in range(3))
    given = [x.astype("float32") if name == "bfloat16" else x.astype(name) for x in (a, b, c)]

    def chain(x: Any, y: Any, z: Any) -> Any:
        x, y, z = (v.astype(name) for v in (x, y, z))
        return ted.einsum("ij,jk,kl->il", x, y, z).astype("float32")

    found = ted.function(chain)(*given)
    np.testing.assert_allclose(found, a @ b @ c, rtol=2.0**-7)


def test_an_einsum_of_symbolic_sizes_is_taken_in_pairs() -> None:
    n = ted.size("n")
    x = ted.placeholder((n, n), "float64", name="x")
    y = ted.einsum("ij,jk,kl->il", x, x, x)
    f = ted.compile([x], y)
    for extent in (3, 17):
        a = np.random.default_rng(extent).normal(size=(extent, extent))
        np.testing.assert_allclose(f(a), a @ a @ a, rtol=1e-12, atol=1e-12)


def test_a_part_of_symbolic_points_is_divided_between_steps() -> None:
    n = ted.size("n", min=2)
    x = ted.placeholder((n, n), "float64", name="x")
    r = ted.reduce_axis(n, "r")

    def element(i: Any, j: Any) -> Any:
        return ted.sum(x[i, r] * x[j, j] * x[0, j], axis=r, where=r <= i)

    f = ted.compile([x], ted.compute((n, n), element))
    for extent in (3, 17):
        a = np.random.default_rng(extent).normal(size=(extent, extent))
        want = np.tril(a).sum(1)[:, None] * np.diag(a) * a[0]
        np.testing.assert_allclose(f(a), want, rtol=1e-12, atol=1e-12)
