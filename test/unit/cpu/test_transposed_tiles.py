"""What is written across rows: numbers of loops that some operands do not have."""

from __future__ import annotations

import numpy as np
import pytest

import ted

RNG = np.random.default_rng(0)


@pytest.mark.fast(2)
@pytest.mark.parametrize("target", ["cpu", "cpu:avx2", "cpu:sse2"])
@pytest.mark.parametrize(("rows", "times", "period"), [(4, 2, 2), (32, 4, 16), (40, 3, 20)])
def test_a_loop_of_the_result_alone(target: str, rows: int, times: int, period: int) -> None:
    x, z = ted.placeholder((period,), "float64"), ted.placeholder((rows,), "float64")
    y = ted.compute((rows, times * period), lambda i, j: x[j % period] * z[i])
    w = ted.compute((rows, times * period, 3), lambda i, j, k: x[j % period] * z[i] + k)
    a, b = RNG.normal(size=period), RNG.normal(size=rows)
    found = ted.compile([x, z], [y, w], target=target)(a, b)
    wanted = b[:, None] * np.tile(a, times)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-15)
    np.testing.assert_allclose(found[1], wanted[..., None] + np.arange(3), rtol=1e-15)
