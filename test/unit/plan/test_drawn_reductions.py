"""Drawn reductions of computed products, in blocks: values and slopes are those of JAX."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from drawn_reductions import Drawn, drawn, names_of

import ted
from ted.plan import block_choices

BLOCK = 2
ROWS, COLUMNS = 23, 19


def results(t: Any, one: Drawn, order: int, *arrays: Any) -> tuple[Any, ...]:
    """The value, the gradients, and of order 2 those of a number that depends on all of these."""
    function = one.program(t)

    def number(*x: Any) -> Any:
        _, slopes = function(*x)
        return sum(t.sum(t.sin(g) * g) for g in slopes)

    value, slopes = function(*arrays)
    second = t.grad(number, argnums=(0, 1, 2, 3))(*arrays) if order > 1 else ()
    return (value, *slopes, *second)


def check(seed: int, order: int, loops: list[block_choices.Choice]) -> int:
    """How many loops over blocks there are."""
    (one,) = drawn(seed, ROWS, COLUMNS, 1, "float64")
    jax = pytest.importorskip("jax")
    found = ted.function(partial(results, names_of(ted, ted.nn), one, order))(*one.arrays)
    of_jax = names_of(jax.numpy, jax, jax.nn, jax.scipy.special)
    expected = results(of_jax, one, order, *one.arrays)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, np.asarray(other), rtol=1e-9, atol=1e-9)
    return sum(choice.loop is not None for choice in loops)


@pytest.mark.fast(2)
@pytest.mark.parametrize("seed", range(4))
def test_values_and_slopes_are_those_of_jax(
    seed: int, loops: list[block_choices.Choice], float64_in_jax: None
) -> None:
    assert check(seed, 1, loops) > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4, 12, BLOCK))
def test_slopes_of_slopes_are_those_of_jax(
    first: int, loops: list[block_choices.Choice], float64_in_jax: None
) -> None:
    for seed in range(first, first + BLOCK):
        assert check(seed, 2, loops) > 0, seed
