"""Operators in 15 lines: values as torch's, derivatives of two orders as differences say."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import twice

import ted
from sweeps import swept
from ted.testing import check_grads

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

CASES = twice.cases()


@pytest.mark.parametrize("name", list(CASES))
def test_each_has_at_most_15_lines(name: str) -> None:
    assert len(inspect.getsource(getattr(twice, name)).splitlines()) <= 15


@swept("name", CASES, ["neighbourhood_attention", "resize"])
def test_derivatives_of_two_orders_equal_differences(name: str) -> None:
    check_grads(*CASES[name], order=2)


def first(x: np.ndarray) -> torch.Tensor:
    """Channels last as channels first."""
    return torch.from_numpy(x).movedim(-1, 1)


@pytest.mark.parametrize("name", ["grid_sample", "resize"])
def test_values_equal_those_of_torch(name: str) -> None:
    operator, arrays = CASES[name]
    expected = {
        "grid_sample": lambda x, grid: functional.grid_sample(
            first(x), torch.from_numpy(grid), align_corners=False
        ),
        "resize": lambda x: functional.interpolate(first(x), (5, 3), mode="bilinear"),
    }[name](*arrays)
    np.testing.assert_allclose(ted.function(operator)(*arrays), expected.movedim(1, -1), atol=1e-14)


def test_a_convolution_that_is_not_deformed_is_one_of_torch() -> None:
    operator, (image, offset, weight) = CASES["deformable_conv"]
    found = ted.function(operator)(image, 0 * offset, weight)
    expected = functional.conv2d(
        first(image), torch.from_numpy(weight).permute(3, 2, 0, 1), padding=1
    )
    np.testing.assert_allclose(found, expected.movedim(1, -1), atol=1e-14)


def test_a_neighbourhood_of_the_whole_image_is_attention() -> None:
    q, k, v = np.random.default_rng(0).standard_normal((3, 1, 3, 3, 2))
    found = ted.function(twice.neighbourhood_attention)(q, k, v)
    flat = (torch.from_numpy(t).flatten(1, 2) for t in (q, k, v))
    expected = functional.scaled_dot_product_attention(*flat)
    np.testing.assert_allclose(found.reshape(1, 9, 2), expected, atol=1e-14)
