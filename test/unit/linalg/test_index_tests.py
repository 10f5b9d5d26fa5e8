"""Indices of data that are tested ahead of their use: when, and which is reported first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import ted
from ted.api.compiling import compile_system
from ted.api.host import host_cpu
from ted.api.options import compile_options
from ted.errors import ExecutionError
from ted.frontend.tensors import Tensor

ROWS, COLUMNS, POINTS = 9, 5, 6000  # more points than a block


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = ted.get_num_threads()
    yield
    ted.set_num_threads(before)


def rows(table: Tensor, at: Tensor, other: Tensor) -> Tensor:
    del other
    return ted.compute((POINTS, COLUMNS), lambda i, j: table[at[i], j])


def columns(table: Tensor, at: Tensor, other: Tensor) -> Tensor:
    del at
    return ted.compute((ROWS, POINTS), lambda i, k: table[i, other[k]])


def elements(table: Tensor, at: Tensor, other: Tensor) -> Tensor:
    return ted.compute((POINTS,), lambda i: table[at[i], other[i]])


def much_work(table: Tensor, at: Tensor, other: Tensor) -> Tensor:
    return ted.compute((POINTS,), lambda i: ted.exp(table[at[i], other[i]]))


def under_a_guard(table: Tensor, at: Tensor, other: Tensor) -> Tensor:
    return ted.compute(
        (POINTS, COLUMNS), lambda i, j: ted.where(other[i] > j, table[at[i], j], 0.0)
    )


def added(table: Tensor, at: Tensor, other: Tensor) -> Tensor:
    del other
    values = ted.compute((POINTS, COLUMNS), lambda i, j: 1.0 * (i + j))
    return ted.index_add(table, 0, at, values)


def gradient(table: Tensor, at: Tensor, other: Tensor) -> Tensor:
    return ted.grad(lambda t: ted.sum(rows(t, at, other) ** 2))(table)


PROGRAMS = (rows, columns, elements, much_work, under_a_guard, added, gradient)


@cache
def compiled(program: Any) -> Any:
    """With a unit of work for each bit of a program."""
    options = replace(compile_options(), machine=host_cpu().with_grain(1))
    return compile_system(ted.function(program).trace(*arrays()).system(), options=options)


def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    table = random.normal(size=(ROWS, COLUMNS)).astype("f4")
    return table, random.integers(0, ROWS, POINTS), random.integers(0, COLUMNS, POINTS)


def is_ahead(program: Any) -> bool:
    return "arith.minui" in compiled(program).ir("linalg")


def test_indices_are_tested_ahead_where_that_saves_or_vectorises() -> None:
    assert [p for p in PROGRAMS if not is_ahead(p)] == [elements]


def expected(program: Any, table: Any, at: Any, other: Any) -> np.ndarray:
    if program is added:
        result = table.copy()
        np.add.at(result, at, np.add.outer(np.arange(POINTS), np.arange(COLUMNS)).astype("f4"))
        return result
    if program is gradient:
        return 2 * table * np.bincount(at, minlength=ROWS)[:, None]
    if program is columns:
        return table[:, other]
    if program is rows:
        return table[at]
    if program is under_a_guard:
        return np.where(other[:, None] > np.arange(COLUMNS), table[at], 0)
    picked = table[at, other]
    return np.exp(picked) if program is much_work else picked


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_those_of_numpy(program: Any) -> None:
    given = arrays()
    (found,) = compiled(program)(*given)
    np.testing.assert_allclose(found, expected(program, *given), rtol=1e-4)


BAD = {"first": [0], "last": [POINTS - 1], "middle": [POINTS // 2], "some": [5000, 4097, 4095, 17]}


@pytest.mark.parametrize("where", BAD)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_first_index_outside_is_reported_on_any_number_of_threads(
    program: Any, where: str
) -> None:
    table, at, other = arrays()
    run = compiled(program)
    wrong, dim, extent = (other, 1, COLUMNS) if program is columns else (at, 0, ROWS)
    for k, place in enumerate(BAD[where]):
        wrong[place] = (extent, -1, 2**40, -(2**63))[k]
        if program is under_a_guard:
            other[place] = 1
    value = wrong[min(BAD[where])]
    for count in (1, 2, 3):
        ted.set_num_threads(count)
        with pytest.raises(ExecutionError) as error:
            run(table, at, other)
        assert f"has extent {extent} in dim {dim}, got index {value}, at " in error.value.message


def test_nobody_asks_for_an_index_where_the_guard_is_false() -> None:
    table, at, other = arrays()
    at[[0, 4096, POINTS - 1]], other[[0, 4096, POINTS - 1]] = 99, 0
    (found,) = compiled(under_a_guard)(table, at, other)
    assert not found[[0, 4096, POINTS - 1]].any()


def test_of_two_indices_the_one_that_loops_meet_first_is_reported() -> None:
    table, at, other = arrays()
    run = compiled(much_work)
    at[30], other[20], other[30] = -5, 77, 78
    with pytest.raises(ExecutionError, match="got index 77"):
        run(table, at, other)
    other[20] = 0
    with pytest.raises(ExecutionError, match="got index -5"):
        run(table, at, other)
