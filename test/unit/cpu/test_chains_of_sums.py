"""How many terms a total takes one after another, for every way in which CPUs add.

A total that is large already loses each term of half a unit in its last place, and a total of such
terms by itself loses none: so what is missing in the end counts the terms that met the large one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
from sweeps import swept
from ted.cpu.blocked_sums import MOST_TERMS
from ted.cpu.contraction_plan import REDUCTION_CHAIN

# A large number, half a unit of it in the type of totals, and that type.
TERMS = {
    "float32": (2.0**24, 1.0, "float32"),
    "float64": (2.0**53, 1.0, "float64"),
    "float16": (2.0**15, 2.0**-9, "float32"),
    "bfloat16": (2.0**24, 1.0, "float32"),
}
Program = Callable[[Any, str], Any]


def _sum(axis: int | tuple[int, ...]) -> Program:
    return lambda x, total: ted.sum(x, axis=axis, dtype=total)


def _of_rows(x: Any, total: str) -> Any:
    """A sum over rows in the loop that makes them."""
    rows = ted.cast(x, total) - 0.0 * ted.max(x, axis=1, keepdims=True)
    rows = rows - 0.0 * ted.sum(rows, axis=1, keepdims=True)
    return ted.sum(rows, axis=0), rows


# Shapes, and what sums them; the large number is the first one of each sum.
PROGRAMS: dict[str, tuple[tuple[int, ...], Program]] = {
    "a row": ((1 << 18,), _sum(0)),
    "long rows": ((3, 70_003), _sum(1)),
    "columns": ((5000, 48), _sum(0)),
    "many columns": ((509, 5000), _sum(0)),
    "columns of all threads": ((40_000, 64), _sum(0)),
    "statistics of a batch": ((4, 32, 32, 64), _sum((0, 1, 2))),
    "statistics of channels": ((9, 5, 20, 31), _sum((0, 2, 3))),
    "first and last": ((3000, 5, 7), _sum((0, 2))),
    "in the middle": ((3, 4999, 20), _sum(1)),
    "few columns": ((30_011, 3), _sum(0)),
    "columns of a register": ((20_000, 8), _sum(0)),
    "columns of a register and a rest": ((20_000, 9), _sum(0)),
    "every second row": ((8000, 40), lambda x, total: ted.sum(x[::2], axis=0, dtype=total)),
    "turned": ((5000, 48), lambda x, total: ted.sum(x.T, axis=1, dtype=total)),
    "sums of rows": ((6000, 24), _of_rows),
    "mean": ((5000, 48), lambda x, total: ted.mean(ted.cast(x, total), axis=0) * 5000.0),
    "vector times matrix": ((5000, 48), lambda x, total: ted.ones((5000,), total)
                            @ ted.cast(x, total)),
}  # fmt: skip

# Products, whose sums are joined in registers; their factors are the terms and ones.
PRODUCTS = {
    "one block": ((7, 1000), (1000, 24)),
    "several blocks": ((5, 4998), (4998, 24)),
    "turned": ((24, 3000), (3000, 3)),
    "image": ((1, 9, 9, 80), (3, 3, 80, 8)),
}


def lost(name: str, kind: str) -> float:
    """How many terms are missing."""
    shape, program = PROGRAMS[name]
    large, small, total = TERMS[kind]
    element = ml_dtypes.bfloat16 if kind == "bfloat16" else np.dtype(kind)
    compiled = ted.function(lambda x: program(x, total))

    def first_sum(x: np.ndarray) -> float:
        found = compiled(x.astype(element))
        sums = found[0] if isinstance(found, tuple) else found
        return float(np.asarray(sums, np.float64).flat[0]) / small

    terms = np.full(shape, small)
    count = first_sum(terms)
    terms[(0,) * len(shape)] = large
    return count - 1 + large / small - first_sum(terms)


@pytest.mark.fast(4)
@swept(
    ("name", "kind"),
    [(name, kind) for name in PROGRAMS for kind in TERMS],
    [(name, "float32") for name in PROGRAMS]
    + [(name, kind) for name in ("columns", "long rows") for kind in TERMS if kind != "float32"],
)
def test_totals_take_few_terms_one_after_another(name: str, kind: str) -> None:
    missing = abs(lost(name, kind))  # a total of several terms may be rounded up
    assert missing <= 1.6 * MOST_TERMS, f"{missing:.0f} terms met the large one"


@swept("name", PRODUCTS, ["several blocks", "image"])
def test_products_take_few_terms_one_after_another(name: str) -> None:
    shape, weights = PRODUCTS[name]
    product = ted.function(ted.nn.conv2d if len(shape) == 4 else lambda x, w: x @ w)
    terms, ones = np.ones(shape, np.float32), np.ones(weights, np.float32)
    count = float(product(terms, ones).flat[0])
    terms.flat[0] = 2.0**24
    missing = count - 1 + 2.0**24 - float(product(terms, ones).flat[0])
    assert 0 <= missing <= 2 * REDUCTION_CHAIN


def test_errors_are_those_of_short_chains() -> None:
    """Of 8192 positive numbers in one chain they are 20 units of 2**-24 in the mean."""
    x = np.random.default_rng(3).random((8192, 64)).astype(np.float32)
    exact = x.astype(np.float64).sum(axis=0)
    found = ted.function(lambda x: ted.sum(x, axis=0))(x)
    errors = (found - exact) / exact * 2.0**24
    assert np.sqrt(np.mean(errors**2)) < 4
    assert np.abs(errors).max() < 16
