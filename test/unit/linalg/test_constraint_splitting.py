"""Borders cut off where constraints couple dims: how many operations that makes, and values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

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


def torus(numpy: Any) -> Callable[[Any], Any]:
    """A function of neighbours in both dims."""
    roll = numpy.roll
    return lambda x: roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) - roll(x, -1, 1)


MAPS: dict[str, tuple[int, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "roll": (2, lambda x: ted.roll(x, 3, 1), lambda a: np.roll(a, 3, 1)),
    "roll of both": (4, lambda x: ted.roll(x, 3, (0, 1)), lambda a: np.roll(a, 3, (0, 1))),
    "roll of flip": (2, lambda x: ted.roll(ted.flip(x), 4, 0), lambda a: np.roll(np.flip(a), 4, 0)),
    "roll as a row": (4, lambda x: ted.roll(x, 3), lambda a: np.roll(a, 3)),
    "torus": (9, torus(ted), torus(np)),
    **{mode: (9, partial(ted.pad, pad_width=3, mode=mode), partial(np.pad, pad_width=3, mode=mode))
       for mode in ("wrap", "reflect", "symmetric", "edge")},
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_an_index_that_turns_at_a_few_points_is_cut_there(name: str) -> None:
    count, program, oracle = MAPS[name]
    x = ted.placeholder((8, 10), "float64", name="x")
    y = program(x)
    assert operations([x], y) == (count, 0)
    values = np.random.default_rng(3).normal(size=(8, 10))
    np.testing.assert_array_equal(ted.compile([x], y)(values), oracle(values))


@pytest.mark.parametrize("name", ["roll", "roll as a row", "torus", "wrap"])
def test_in_what_is_cut_nothing_is_divided(name: str) -> None:
    x = ted.placeholder((8, 10), "float64", name="x")
    text = ted.compile([x], MAPS[name][1](x)).ir("linalg")
    assert "mod" not in text.replace("module", "")
    assert "floordiv" not in text


@pytest.mark.parametrize(("extent", "expected"), [(7, 3), (12, 1), (1 << 20, 1)])
def test_a_remainder_that_turns_often_is_computed_at_each_point(extent: int, expected: int) -> None:
    x = ted.placeholder((5,), "float64", name="x")
    assert operations([x], ted.compute((extent,), lambda i: x[(i + 3) % 5])) == (expected, 0)


def test_borders_of_an_index_in_many_dims_are_slabs() -> None:
    x = ted.placeholder((16, 17, 18), "float64", name="x")
    assert operations([x], ted.pad(x, 2, "reflect")) == (7, 0)
    values = np.random.default_rng(3).normal(size=(16, 17, 18))
    found = ted.compile([x], ted.pad(x, 2, "reflect"))(values)
    np.testing.assert_array_equal(found, np.pad(values, 2, "reflect"))
