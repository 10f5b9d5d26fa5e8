"""Where elements lie in memory, against positions in an array laid out as the type says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from ted.dialects import session
from ted.linalg.contractions import address_in
from ted.mlir import ir

CASES = {
    ("tensor<4x5x6xf32>", "(i, j, k)"): lambda i, j, k: 30 * i + 6 * j + k,
    ("memref<4x5x6xf32>", "(i, k, j)"): lambda i, j, k: 30 * i + 6 * k + j,
    ("memref<9x9xf32>", "(2 * i + j + 1, 8 - k)"): lambda i, j, k: 9 * (2 * i + j + 1) + 8 - k,
    ("memref<4x5xf32, strided<[40, 3], offset: 7>>", "(i, j)"): lambda i, j, k: 40 * i + 3 * j,
    ("memref<4x5xf32, strided<[40, 3], offset: ?>>", "(3, j)"): lambda i, j, k: 120 + 3 * j,
    ("memref<f32>", "()"): lambda i, j, k: 0,
}


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with session():
        yield


def parsed(kind: str, results: str) -> tuple[ir.Type, ir.AffineMap]:
    text = f"affine_map<(i, j, k) -> {results}>"
    return ir.Type.parse(kind), ir.AffineMapAttr(ir.Attribute.parse(text)).value


@pytest.mark.parametrize("case", CASES)
def test_an_address_is_the_sum_of_strides(case: tuple[str, str]) -> None:
    address = address_in(*parsed(*case))
    assert address is not None
    for point in product(range(3), repeat=3):
        found = address.constant + sum(point[dim] * step for dim, step in address.terms)
        assert found == CASES[case](*point)


@pytest.mark.parametrize(
    ("kind", "results"),
    [("memref<4x5xf32>", "(i mod 2, j)"), ("memref<4x5xf32, strided<[?, 1]>>", "(i, j)")],
)
def test_what_depends_on_more_has_no_address(kind: str, results: str) -> None:
    assert address_in(*parsed(kind, results)) is None
