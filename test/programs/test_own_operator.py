"""A user's own operator against its definition in numpy, and what it learns."""

from __future__ import annotations

import inspect

import numpy as np
import own_operator
import pytest

import ted


def test_it_has_15_lines_beside_its_docstring() -> None:
    source = inspect.getsource(own_operator.correlation)
    docstring = own_operator.correlation.__doc__ or ""
    assert len(source.splitlines()) - len(docstring.splitlines()) <= 15


def test_it_is_a_product_of_moved_images() -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 2, 5, 4, 3))
    found = ted.function(own_operator.correlation)(x, y)
    wide = np.pad(y, ((0, 0), (2, 2), (2, 2), (0, 0)))
    for k in range(25):
        moved = wide[:, k // 5 : k // 5 + 5, k % 5 : k % 5 + 4]
        np.testing.assert_allclose(found[..., k], np.sum(x * moved, -1), atol=1e-14)


@pytest.mark.slow
def test_it_finds_how_images_were_moved() -> None:
    losses = own_operator.learn(60)
    assert np.mean(losses[-10:]) < 0.1 < 1 < losses[0]
