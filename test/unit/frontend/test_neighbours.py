"""`nextafter` against NumPy, bit by bit: all floats of 16 bits, and others at the ends.

Zeros of two signs are equal, so the second is the result; up to NumPy 2.4 float16 has the first.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch

import ted
from ted.errors import FrontendError

KINDS = {"float64": "u8", "float32": "u4", "float16": "u2", "bfloat16": "u2"}


def floats(kind: str) -> np.ndarray:
    dtype = np.dtype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    bits = np.dtype(KINDS[kind])
    if bits.itemsize == 2:
        return np.arange(1 << 16, dtype=bits).view(dtype)
    drawn = np.random.default_rng(0).integers(0, np.iinfo(bits).max, 1 << 16, bits).view(dtype)
    least, most = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    powers = 2.0 ** np.arange(-1074 if kind == "float64" else -149, 127)
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, most, -most, least, -least]
    return np.concatenate([drawn, powers.astype(dtype), np.asarray(ends, dtype)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:(overflow|underflow|invalid|subnormal)")
def test_it_is_that_of_numpy(kind: str) -> None:
    x, bits = floats(kind), KINDS[kind]
    following = ted.function(ted.nextafter)
    for y in (np.full_like(x, np.inf), np.full_like(x, -np.inf), np.roll(x, 1)):
        found, expected = following(x, y), np.nextafter(x, y)
        is_number = ~np.isnan(expected.astype(float))
        assert np.isnan(found[~is_number].astype(float)).all()
        np.testing.assert_array_equal(found[is_number].view(bits), expected[is_number].view(bits))
    zero = np.zeros_like(x)
    found, expected = (f(x, zero).astype(float) for f in (following, np.nextafter))
    np.testing.assert_array_equal(found, expected)
    assert not np.signbit(found[x == 0]).any()  # the zero it goes to


def test_slopes_are_those_of_torch_and_integers_are_refused() -> None:
    x, y = np.array([1.0, -2.0, 3.0, np.inf]), np.array([3.0, -5.0, 3.0, 1.0])
    given = [torch.tensor(v, requires_grad=True) for v in (x, y)]
    expected = torch.autograd.grad(torch.nextafter(*given)[:3].sum(), given)
    found = ted.grad(lambda x, y: ted.sum(ted.nextafter(x, y)[:3]), (0, 1))(x, y)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert ted.nextafter(1.0, 2.0) == np.nextafter(1.0, 2.0)
    with pytest.raises(FrontendError, match="nextafter: takes floats, got int64"):
        ted.function(ted.nextafter)(np.arange(3), np.arange(3))
