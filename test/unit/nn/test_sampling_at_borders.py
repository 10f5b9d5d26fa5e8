"""Images and lines read at exactly their ends: values, slopes and second slopes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import ted
from sweeps import swept
from ted import nn
from unit.frontend.tracing import compiled

RNG = np.random.default_rng(2)
EXACT = (-3.0, -2.0, -1.6, -1.0, -0.8, -0.5, 0.0, 0.25, 0.8, 1.0, 1.2, 2.0, 3.0)
CASES = [
    (rank, mode, outside, corners)
    for rank, mode in ((2, "bilinear"), (2, "bicubic"), (2, "nearest"), (3, "bilinear"))
    for outside in ("zeros", "border", "reflection")
    for corners in (False, True)
]


def sampled(x: Any, grid: Any, case: tuple[int, str, str, bool]) -> Any:
    layout = "NCHW" if case[0] == 2 else "NCDHW"
    options = {"mode": case[1], "padding_mode": case[2], "align_corners": case[3]}
    return nn.grid_sample(x, grid, layout=layout, **options)


@swept(
    ("rank", "mode", "outside", "corners"), CASES,
    [(2, "bilinear", "border", True), (2, "bilinear", "reflection", False)],
)  # fmt: skip
def test_slopes_at_exact_places_are_those_of_torch(
    rank: int, mode: str, outside: str, corners: bool
) -> None:
    case = rank, mode, outside, corners
    x = RNG.integers(-9, 9, (1, 1, 5, 4, 2)[: rank + 2]).astype(float)
    places = np.array(list(itertools.product(EXACT, (*EXACT[:5], *EXACT[-5:]))))
    third = RNG.choice(EXACT, (len(places), rank - 2))
    grid = np.concatenate([places, third], 1).reshape(1, -1, *(1,) * (rank - 1), rank)
    weights = RNG.standard_normal((1, 1, *grid.shape[1:-1]))

    def both(x: Any, grid: Any) -> Any:
        def loss(x: Any, grid: Any) -> Any:
            return ted.sum(sampled(x, grid, case) * weights)

        return sampled(x, grid, case), *ted.grad(loss, argnums=(0, 1))(x, grid)

    y, at = torch.tensor(x, requires_grad=True), torch.tensor(grid, requires_grad=True)
    value = F.grid_sample(y, at, mode, outside, corners)
    expected = [value, *torch.autograd.grad((value * torch.tensor(weights)).sum(), (y, at))]
    for mine, other in zip(compiled(both, x, grid), expected, strict=True):
        np.testing.assert_allclose(mine, other.detach().numpy(), rtol=1e-12, atol=1e-12)


def test_slopes_of_an_image_at_its_last_element_are_one_sided_or_none() -> None:
    x = np.array([0.0, 1, 4, 9, 16]).reshape(1, 1, 1, 5)

    def value(g: Any, outside: str, corners: bool) -> Any:
        grid = ted.stack([g, g * 0], -1).reshape(1, 1, -1, 2)
        return ted.sum(sampled(x, grid, (2, "bilinear", outside, corners)))

    def slopes(g: Any, outside: str, corners: bool) -> list[Any]:
        first = ted.grad(lambda g: value(g, outside, corners))
        return [first(g), ted.grad(lambda g: ted.sum(first(g)))(g)]

    ends = {True: np.array([-1.0, 1.0]), False: np.array([-0.8, 0.8])}

    def every(here: Any, there: Any) -> Any:
        cases = ((here, True), (there, False))
        found = [slopes(g, o, c) for o in ("border", "reflection") for g, c in cases]
        return ted.stack([ted.stack(pair) for pair in found])

    np.testing.assert_array_equal(compiled(every, ends[True], ends[False]), np.zeros((4, 2, 2)))


@pytest.mark.parametrize("ends", [{}, {"left": 7.0, "right": 8.0}])
def test_slopes_of_a_line_at_its_points_are_those_of_a_side(ends: dict[str, float]) -> None:
    xp, fp = np.array([-1.0, 0.0, 2.0, 3.0]), np.array([1.0, 4.0, -2.0, 5.0])

    def slopes(x: Any, xp: Any, fp: Any) -> Any:
        return ted.grad(lambda *a: ted.sum(ted.interp(*a, **ends)), argnums=(0, 1, 2))(x, xp, fp)

    of_x, of_xp, of_fp = compiled(slopes, xp, xp, fp)
    np.testing.assert_array_equal(of_x, [3, -3, 7, 7])
    np.testing.assert_array_equal(of_xp, -of_x)
    np.testing.assert_array_equal(of_fp, np.ones(4))


def test_a_line_to_infinity_has_its_points() -> None:
    xp, fp = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, np.inf, 2.0, -np.inf])
    x = np.array([0.0, 0.5, 1.0, 2.0, 2.5, 3.0])
    np.testing.assert_array_equal(compiled(ted.interp, x, xp, fp), np.interp(x, xp, fp))


@pytest.mark.parametrize("xp", [[0.0, 0.0], [0.0, 1.0, 1.0]])
def test_points_twice_leave_no_slope_between_them(xp: list[float]) -> None:
    fp = np.arange(len(xp)) + 1.0
    last = np.array(xp[-1:])
    slope = compiled(ted.grad(lambda x: ted.sum(ted.interp(x, np.array(xp), fp))), last)
    np.testing.assert_array_equal(slope, [0.0])
