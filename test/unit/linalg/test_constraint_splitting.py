"""Borders cut off where constraints couple dims: how many operations that makes, and values."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from ted.cpu.pipeline import CPU_STAGES
from ted.frontend.tensors import Tensor
from ted.ir.pipelines import run_stages
from ted.testing.tracing import interpreted, module_of, nodes


def operations(inputs: list[Tensor], output: Tensor) -> tuple[int, int]:
    """The linalg operations and the loops at stage `linalg`."""
    module = module_of(nodes(inputs, "test"), nodes([output], "test"))
    with module.context:
        run_stages(module, CPU_STAGES, "linalg")
    text = str(module)
    return text.count("linalg.generic"), text.count("scf.for")


def window(n: int, size: int, padding: int, dilation: int = 1) -> tuple[list[Tensor], Tensor]:
    x, r = ted.placeholder((n,), "float64", name="x"), ted.reduce_axis(size, name="r")
    extent = n + 2 * padding - dilation * (size - 1)

    def element(i: ted.Scalar) -> ted.Scalar:
        at = i + dilation * r - padding
        return ted.max(x[at], axis=r, where=(at >= 0) & (at < n))

    return [x], ted.compute((extent,), element, name="y")


def square_window(n: int, size: int) -> tuple[list[Tensor], Tensor]:
    x, axes = ted.placeholder((n, n), "float64", name="x"), [ted.reduce_axis(size) for _ in "rs"]

    def element(*at: ted.Scalar) -> ted.Scalar:
        i, j = (a + r - size // 2 for a, r in zip(at, axes, strict=True))
        return ted.max(x[i, j], axis=tuple(axes),
                       where=(i >= 0) & (i < n) & (j >= 0) & (j < n))  # fmt: skip

    return [x], ted.compute((n, n), element, name="y")


def triangle(rows: int) -> tuple[list[Tensor], Tensor]:
    x, r = ted.placeholder((9, 9), "float64", name="x"), ted.reduce_axis(9, name="r")
    return [x], ted.compute((rows,), lambda i: ted.max(x[i, r], axis=r, where=r <= i), name="y")


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (window(12, 3, 1), (3, 0)), (window(12, 5, 2), (5, 0)), (window(3, 3, 1), (3, 0)),
        (window(12, 9, 4), (0, 2)), (window(12, 3, 4, 4), (0, 2)), (triangle(3), (3, 0)),
        (triangle(4), (4, 0)), (triangle(5), (0, 2)), (square_window(12, 3), (9, 0)),
        (square_window(12, 5), (1, 32)),
    ],
)  # fmt: skip
def test_thin_borders_are_points_and_wide_ones_loops(
    program: tuple[list[Tensor], Tensor], expected: tuple[int, int]
) -> None:
    assert operations(*program) == expected


def test_a_triangle_beside_a_window_has_the_right_values() -> None:
    x, r, s = ted.placeholder((9, 8), "float64", name="x"), ted.reduce_axis(9), ted.reduce_axis(3)
    y = ted.compute(
        (9, 8),
        lambda i, j: ted.max(x[r, j + s - 1], axis=(r, s),
                             where=(r <= i) & (j + s - 1 >= 0) & (j + s - 1 < 8)),
    )  # fmt: skip
    values = np.random.default_rng(3).normal(size=(9, 8))
    (found,), (expected,) = ted.compile([x], [y])(values), interpreted([x], [y])(values)
    np.testing.assert_array_equal(found, expected)


def test_borders_of_many_dims_stay_slabs() -> None:
    x, axes = ted.placeholder((7, 7, 7), "float64", name="x"), [ted.reduce_axis(5) for _ in "abc"]

    def element(*at: ted.Scalar) -> ted.Scalar:
        place = [a + r - 2 for a, r in zip(at, axes, strict=True)]
        inside = (place[0] >= 0) & (place[0] < 7)
        for p in place[1:]:
            inside = inside & (p >= 0) & (p < 7)
        return ted.max(x[tuple(place)], axis=tuple(axes), where=inside)

    y = ted.compute((7, 7, 7), element, name="y")
    values = np.random.default_rng(3).normal(size=(7, 7, 7))
    (found,) = ted.compile([x], [y])(values)
    for at in ((0, 0, 0), (3, 6, 1), (6, 6, 6), (2, 3, 4)):
        part = values[tuple(slice(max(0, a - 2), a + 3) for a in at)]
        assert found[at] == part.max()
