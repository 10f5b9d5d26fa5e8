"""Reads at data under a condition: gradients write nowhere that the program did not read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.autodiff.data_writes import guarded_writes
from ted.domain.sets import box
from ted.errors import ExecutionError
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import FLOAT64, INDEX, INT64
from ted.ir.equations import Equation
from ted.ir.equations import Tensor as Node
from ted.ir.expressions import Expr
from ted.ir.scalar import (
    apply,
    cast,
    compare,
    const,
    dim,
    index,
    is_trusted,
    load,
    select,
    unchecked,
)
from ted.testing import check_grads
from ted.testing.tracing import interpreted

TABLE = np.random.default_rng(4).normal(size=(7, 5)) + 3.0
PLACES = np.array([-1, 0, 1, 1, 5, 9, 6])  # the first and the sixth are nowhere
COLUMNS = np.array([2, 0, -7, 1, 4, 4, 99])
INSIDE = (PLACES >= 0) & (PLACES < 7)


def inside(place: ted.Scalar) -> ted.Scalar:
    return (place >= 0) & (place < 7)


def branch(table: Tensor, places: Tensor, columns: Tensor) -> Tensor:
    del columns
    return ted.compute(
        (7, 5), lambda i, j: ted.where(inside(places[i]), table[places[i], j] ** 2, 0.5)
    )


def two_indices(table: Tensor, places: Tensor, columns: Tensor) -> Tensor:
    def element(i: ted.Scalar) -> ted.Scalar:
        known = inside(places[i]) & (columns[i] >= 0) & (columns[i] < 5)
        return ted.where(known, table[places[i], columns[i]] ** 3, 0.0)

    return ted.compute((7,), element)


def masked_sum(table: Tensor, places: Tensor, columns: Tensor) -> Tensor:
    del columns
    k = ted.reduce_axis(7, name="k")
    return ted.compute(
        (5,),
        lambda j: ted.sum(table[places[k], j] ** 2, axis=k, where=inside(places[k])),
    )


def masked_maximum(table: Tensor, places: Tensor, columns: Tensor) -> Tensor:
    del columns
    k = ted.reduce_axis(7, name="k")
    return ted.compute(
        (5,),
        lambda j: ted.max(table[places[k], j] * 2.0, axis=k, where=inside(places[k])),
    )


def of_a_producer(table: Tensor, places: Tensor, columns: Tensor) -> Tensor:
    """The root may have an infinite slope, so that it has a mask, written at data too."""
    del columns
    root, k = ted.sqrt(table), ted.reduce_axis(7, name="k")
    return ted.compute(
        (5, 4),
        lambda j, m: ted.sum(root[places[k], j] * (m + 1.0), axis=k, where=inside(places[k])),
    )


def many_uses(table: Tensor, places: Tensor, columns: Tensor) -> Tensor:
    """One read on more paths than are told apart."""

    def element(i: ted.Scalar, j: ted.Scalar) -> ted.Scalar:
        value = table[places[i], j]
        total = ted.where(inside(places[i]), value, 0.0)
        for k in range(12):
            chosen = inside(places[i]) & (columns[i] > k)
            total = total + ted.where(chosen, value * value, 0.0)
        return total

    return ted.compute((7, 5), element)


def recurrence(table: Tensor, places: Tensor, columns: Tensor) -> Tensor:
    """Element places[t] of the state before."""
    del columns
    return ted.recurrence(
        (5, 7),
        lambda h, t, i: ted.where(
            t == 0, table[i, 0], ted.where(inside(places[i]), h[t - 1, places[i]] * 0.5, 1.0)
        ),
        "float64",
    )


PROGRAMS = [
    branch, two_indices, masked_sum, masked_maximum, of_a_producer, many_uses, recurrence
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_obey_the_guard_of_a_read(program: Callable[..., Tensor]) -> None:
    check_grads(program, (TABLE, PLACES, COLUMNS), order=2)


@pytest.mark.fast(1)
@pytest.mark.parametrize("program", PROGRAMS)
def test_machine_code_obeys_it_too(program: Callable[..., Tensor]) -> None:
    check_grads(program, (TABLE, PLACES, COLUMNS), order=1, evaluate=ted.compile)


def placeholders() -> tuple[Tensor, Tensor]:
    return ted.placeholder((7,), "float64", name="t"), ted.placeholder((3,), "int64", name="p")


def first_gradient(y: Tensor, t: Tensor) -> str:
    return str(ted.differentiate(y, [t], head=ted.placeholder(y.shape, "float64", name="dy")))


def test_only_an_index_that_can_be_outside_is_guarded() -> None:
    t, p = placeholders()
    y = ted.compute((3,), lambda i: ted.where(p[i] > 0, t[p[i]], 0.0), name="y")
    assert "dt[where(0 < p[i], index(p[i]), 0)] += where(0 < p[i], dy[i], 0)" in first_gradient(
        y, t
    )
    clipped = ted.compute((3,), lambda i: ted.where(p[i] > 0, t[ted.clip(p[i], 0, 6)], 0.0))
    assert "dt[where" not in first_gradient(clipped, t)
    always = ted.compute((3,), lambda i: t[p[i]] + ted.where(p[i] > 0, t[p[i]], 0.0))
    assert "dt[index(p[i])] +=" in first_gradient(always, t)


def test_what_is_trusted_stays_trusted() -> None:
    t, p = placeholders()
    taken = ted.take(t, p, mode="unchecked")
    y = ted.where(p > 0, ted.exp(taken), 0.0)
    f = ted.compile([t, p], list(ted.differentiate(ted.sum(y), [t])))
    assert "ted_index_error" not in f.ir("linalg")
    (slopes,) = f(np.arange(7.0), np.array([0, 3, 3]))
    np.testing.assert_allclose(slopes, np.where(np.arange(7) == 3, 2 * np.exp(3.0), 0.0))


def test_where_the_guard_holds_an_index_outside_is_an_error() -> None:
    t, p = placeholders()
    y = ted.compute((3,), lambda i: ted.where(p[i] > 0, t[p[i]], 0.0))
    (dt,) = ted.differentiate(ted.sum(y), [t])
    for evaluate in (ted.compile, interpreted):
        with pytest.raises(ExecutionError, match=r"got index \[?7"):
            evaluate([p], [dt])(np.array([0, 7, -1]))


@pytest.mark.parametrize("evaluate", [interpreted, ted.compile])
@pytest.mark.parametrize("backward", [False, True])
def test_a_product_of_indices_is_checked(evaluate: Callable[..., Any], backward: bool) -> None:
    """Read at i*j, beyond the last element at i=2, j=3."""
    t, dy = (ted.placeholder(shape, "float64", name="t") for shape in ((6,), (3, 4)))
    y = ted.compute((3, 4), lambda i, j: t[i * j] * 2.0)
    results = list(ted.differentiate(y, [t], head=dy)) if backward else [y]
    with pytest.raises(ExecutionError, match=r"got index \[?6"):
        evaluate([t, dy], results)(np.ones(6), np.ones((3, 4)))


def test_a_product_of_indices_inside_has_a_gradient() -> None:
    check_grads(lambda t: ted.compute((3, 4), lambda i, j: t[i * j] ** 2), (TABLE[:, 0],), order=2)


def test_a_table_without_rows_is_never_written() -> None:
    t, p = ted.placeholder((0,), "float64", name="t"), placeholders()[1]
    y = ted.compute((3,), lambda i: ted.where(p[i] > 5, t[p[i]], 1.0))
    f = ted.compile([t, p], [y, *ted.differentiate(ted.sum(y), [t])])
    values, slopes = f(np.zeros(0), np.arange(3))
    assert values.tolist() == [1.0] * 3
    assert slopes.shape == (0,)


def clipped(lowest: int, highest: int) -> list[Expr]:
    """Where the adjoint of `x[clip(n[i], lowest, highest)]` is written, under a condition."""
    n, x = Node("n", (4,), INT64), Node("x", (5,), FLOAT64)
    at = cast(load(n, [dim(0)]), INDEX)
    at = apply("minimum", apply("maximum", at, index(lowest)), index(highest))
    read = load(x, [at])
    known = compare("lt", const(0, INT64), load(n, [dim(0)]))
    body = select(known, read, const(0, FLOAT64))
    found = guarded_writes(Equation((4,), 1, box((4,)), (dim(0),), "set", body), [read])
    (((write,)),) = found
    return [write, at, select(known, at, index(0))]


@pytest.mark.parametrize(
    ("lowest", "highest", "inside"), [(0, 4, True), (-1, 4, False), (0, 5, False), (1, 3, True)]
)
def test_an_index_is_guarded_unless_it_is_inside_whatever_the_data_is(
    lowest: int, highest: int, inside: bool
) -> None:
    write, plain, guarded = clipped(lowest, highest)
    assert write == (plain if inside else guarded)


def test_an_index_that_is_trusted_stays_trusted() -> None:
    n, x = Node("n", (4,), INT64), Node("x", (5,), FLOAT64)
    at = unchecked(cast(load(n, [dim(0)]), INDEX))
    known = compare("lt", const(0, INT64), load(n, [dim(0)]))
    body = select(known, load(x, [at]), const(0, FLOAT64))
    ((write,),) = guarded_writes(
        Equation((4,), 1, box((4,)), (dim(0),), "set", body), [load(x, [at])]
    )
    assert is_trusted(write)
    assert write != at
