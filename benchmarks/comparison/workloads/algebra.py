"""Factorisations of matrices, written as loops and as operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..workload import Input, Workload, both, gradient


def _lu_ted(k: Any, a: Any) -> Any:
    """By a recurrence over the pivots: step t subtracts a row times a column from what is left."""
    n = a.shape[0]

    def element(held: Any, t: Any, i: Any, j: Any) -> Any:
        before, pivot = held[t - 1, i, j], held[t - 1, t - 1, t - 1]
        factor = held[t - 1, i, t - 1] / pivot
        left = k.where(j >= t, before - factor * held[t - 1, t - 1, j], before)
        left = k.where(j < t - 1, before, k.where(j < t, factor, left))
        return k.where(t > 0, k.where(i >= t, left, before), a[i, j])

    return k.recurrence((n, n, n), element, "float64")[n - 1]


def _lu_torch(k: Any, a: Any) -> Any:
    """Column by column, without writing in place."""
    n, rows, rest = a.shape[0], [], a
    columns = []
    for _ in range(n):
        rows.append(rest[0])
        columns.append(rest[1:, 0] / rest[0, 0])
        rest = rest[1:, 1:] - columns[-1][:, None] * rest[0, 1:][None, :]
    upper = k.stack([k.concatenate((a.new_zeros(i), row)) for i, row in enumerate(rows)])
    lower = k.stack([k.concatenate((a.new_zeros(i + 1), c)) for i, c in enumerate(columns)])
    return upper + lower.T


def _lu_jax(k: Any, a: Any) -> Any:
    """By a scan over the pivots, with masks."""
    n = a.shape[0]
    places = k.arange(n)

    def step(a: Any, t: Any) -> Any:
        below, right = places > t, places > t
        factor = k.where(below, a[:, t] / a[t, t], 0.0)
        a = a - factor[:, None] * k.where(right, a[t], 0.0)[None, :]
        return k.where(below[:, None] & (places == t)[None, :], factor[:, None], a), None

    return k.scan(step, a, places[:-1])[0]


LU = {"ted": _lu_ted, "torch": _lu_torch, "jax": _lu_jax, "others": _lu_torch}


def symmetric(k: Any, a: Any) -> Any:
    """The factor of the symmetric part: peers read one triangle of a gradient or both."""
    return k.cholesky(0.5 * (a + k.transpose(a, (1, 0))))


def _triangular_jax(k: Any, a: Any, b: Any) -> Any:
    from jax.scipy.linalg import solve_triangular

    return solve_triangular(a, b, lower=True)


TRIANGULAR = {
    "ted": lambda k, a, b: k.linalg.solve_triangular(a, b),
    "torch": lambda k, a, b: k.linalg.solve_triangular(a, b, upper=False),
    "jax": _triangular_jax,
    "others": lambda k, a, b: k.linalg.solve(k.tril(a), b),
}


def systems() -> Iterator[Workload]:
    """Systems of equations with as many right sides as rows."""
    inputs = (Input((300, 300), "dominant"), Input((300, 300)))
    yield from both(
        Workload(
            "solve 300", lambda k, a, b: k.linalg.solve(a, b), inputs, "algebra", "compute",
            dtype="float64", flops=8 / 3 * 300**3, tolerance=1e-8, without=("inductor",),
        )
    )  # fmt: skip
    yield from both(
        Workload(
            "triangular system 300", TRIANGULAR, inputs, "algebra", "compute", dtype="float64",
            flops=300**3, tolerance=1e-8, without=("inductor",),
        )
    )  # fmt: skip


def workloads() -> Iterator[Workload]:
    """The rows."""
    yield from both(
        Workload(
            "lu 128, written out", LU, (Input((128, 128), "dominant"),), "algebra", "compute",
            dtype="float64", flops=2 / 3 * 128**3, without=("inductor",),
        )
    )  # fmt: skip
    plain = Workload(
        "cholesky 300", lambda k, a: k.cholesky(a), (Input((300, 300), "dominant"),), "algebra",
        "compute", dtype="float64", flops=300**3 / 3, tolerance=1e-8,
    )  # fmt: skip
    yield plain
    yield from gradient(replace(plain, program=symmetric))
    yield from systems()
