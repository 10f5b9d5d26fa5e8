"""Numbers of groups that are copied along the channels of a group: the same results as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted

Program = Callable[[Any, Any], Any]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(2, 10, 9, 16)).astype("f4")
M = RNG.normal(size=(2, 4)).astype("f4")
ALONG = (1, 2, 4)


def _parts(x: Any) -> Any:
    return x.reshape(2, 10, 9, 4, 4)


PROGRAMS: dict[str, Program] = {
    "map": lambda x, m: _parts(x) - m[:, None, None, :, None],
    "inner": lambda x, m: _parts(x) * m[:, None, None, None, :],
    "total": lambda x, m: ((_parts(x) - m[:, None, None, :, None]) ** 2).sum(ALONG),
    "outer total": lambda x, m: (_parts(x) * m[:, None, None, :, None]).sum((1, 2, 3)),
    "largest": lambda x, m: (_parts(x) * m[:, None, None, :, None]).max(ALONG),
    "product": lambda x, m: (_parts(x)[:, :2] * m[:, None, None, :, None]).prod(ALONG),
    "everything": lambda x, m: (_parts(x) * m[:, None, None, :, None]).sum(),
    "over samples": lambda x, m: (_parts(x) * m[:, None, None, :, None]).sum((0, 1, 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", ["f4", "f8", "i4"])
def test_groups_have_the_numbers_of_numpy(name: str, kind: str) -> None:
    x, m = (X, M) if kind != "i4" else (np.rint(X * 3), np.rint(M * 3))
    x, m = x.astype(kind), m.astype(kind)
    got = ted.function(PROGRAMS[name])(x, m)
    expected = PROGRAMS[name](x.astype("f8"), m.astype("f8"))
    np.testing.assert_allclose(got, expected, rtol=1e-4 if kind == "f4" else 1e-12, atol=1e-4)


@pytest.mark.parametrize("name", ["map", "total"])
def test_groups_are_copied_along_their_channels(name: str) -> None:
    compiled = ted.function(PROGRAMS[name], target="cpu:avx2").compiled(X, M)
    assert "memref.alloca() {alignment = 64 : i64} : memref<2x4x4xf32>" in compiled.ir("loops")


def test_means_of_groups_in_a_scan_are_of_the_step() -> None:
    def step(state: Any, x: Any) -> Any:
        parts = (state + x).reshape(9, 4, 4)
        return (parts - parts.mean((0, 2))[None, :, None]).reshape(9, 16)

    rows = X[0].astype("f8")
    got = ted.function(lambda rows: ted.scan(lambda s, x: (step(s, x),) * 2, rows[0], rows)[1])(
        rows
    )
    state = rows[0]
    for k, row in enumerate(rows):
        state = step(state, row)
        np.testing.assert_allclose(got[k], state, rtol=1e-10, atol=1e-10)


def test_rows_that_a_subscript_counts_with_their_columns_go_together() -> None:
    rows = 403  # not a multiple of anything
    x, y = RNG.normal(size=(rows, 9)), RNG.normal(size=rows * 9)
    r = ted.reduce_axis(rows, "r")

    def program(x: Any, y: Any) -> Any:
        return ted.compute(9, lambda c: ted.max(ted.abs(x[r, c]) + y[9 * r + c], axis=r))

    text = ted.function(program, target="cpu:avx2").compiled(x, y).ir("loops")
    assert "memref.expand_shape" in text
    got = ted.function(program)(x, y)
    np.testing.assert_array_equal(got, (np.abs(x) + y.reshape(rows, 9)).max(0))
