"""Tensors without elements: values of torch and NumPy, gradients that are zeros of their shape."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
import ted
from docs.coverage_page import operators
from numeric.empty_shapes import EMPTY, differs, emptied, in_numpy, in_ted, in_torch, text_of
from sweeps import swept
from ted.errors import FrontendError
from unit.frontend.tracing import run

FAST = (
    "bincount", "compress", "cumsum", "diff", "einsum", "gradient", "max",
    "mean", "nn.conv2d", "nn.softmax", "scatter",
    "searchsorted", "sum", "take", "topk", "unravel_index", "var", "where",
)  # fmt: skip
# What is refused where NumPy has NaN with a warning, or torch has an empty result of its own: of
# nothing there is no median and no covariance, arguments that do not fit an empty tensor do not.
OTHER = {
    "linalg.qr",  # signs of columns
    "linalg.svd",  # full matrices, and signs
    "unstack",  # one array of torch's
    "bincount", "cond", "corrcoef", "cov", "dynamic_slice", "median", "poly", "polydiv", "polymul",
    "unique", "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.fractional_max_pool2d",
    "nn.fractional_max_pool3d", "nn.prelu", "linalg.eigh", "linalg.lstsq",
}  # fmt: skip


@swept("name", sorted(operators()), FAST)
def test_results_and_gradients_are_those_of_other_libraries(name: str) -> None:
    text, faults = text_of(name), []
    assert text is not None
    for which in EMPTY:
        known = emptied(which)
        mine = in_ted(name, text, known)
        if name not in OTHER:
            others = in_torch(name, text, known), in_numpy(name, text, known)
            found = (differs(mine, theirs) for theirs in others)
            faults += [f"{name}({text}) without {which}: {fault}" for fault in found if fault]
    assert not faults, "\n".join(faults)


NOTHING = np.zeros((5, 0))
CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "compress fills": (lambda x: ted.compress(x > 0, x, size=3), np.zeros(3)),
    "compress fills with a number": (
        lambda x: ted.compress(x > 0, x, size=2, fill=7), np.full(2, 7.0)),
    "compress along a dim": (
        lambda x: ted.compress(x[0] > 0, x, axis=1, size=2, fill=4), np.full((5, 2), 4.0)),
    "compress of rows": (
        lambda x: ted.compress(x.T[:, 0] > 0, x.T, axis=0, size=1), np.zeros((1, 5))),
    "where gives indices of nothing": (
        lambda x: list(ted.where(x != 0, size=0)), [np.zeros(0, int)] * 2),
    "where fills": (lambda x: list(ted.where(x != 0, size=2, fill=9)), [np.full(2, 9)] * 2),
    "unravel_index of nothing": (
        lambda x: list(ted.unravel_index(ted.cast(x[0], "int64"), (5, 0))), [np.zeros(0, int)] * 2),
    "unravel_index of nothing in something": (
        lambda x: list(ted.unravel_index(ted.cast(x[0], "int64"), (5, 2))), [np.zeros(0, int)] * 2),
    "ravel_multi_index of nothing": (
        lambda x: ted.ravel_multi_index([ted.cast(x[0], "int64")] * 2, (5, 0)), np.zeros(0, int)),
    "unique of nothing": (lambda x: ted.unique(x, 2, fill=4), np.full(2, 4.0)),
    "take of nothing": (
        lambda x: ted.take(x, np.zeros(0, int), axis=1, mode="clip"), np.zeros((5, 0))),
    "resize": (lambda x: ted.resize(x, (2, 2)), np.zeros((2, 2))),
    "pad with a number": (lambda x: ted.pad(x, 1, value=2), np.full((7, 2), 2.0)),
    "roll": (lambda x: ted.roll(x, 3, 1), NOTHING),
    "flip": (lambda x: ted.flip(x), NOTHING),
    "searchsorted in nothing": (
        lambda x: ted.searchsorted(x[0], ted.full((2,), 1.0, "float64")), np.zeros(2, int)),
    "histogram": (lambda x: ted.histogram(x, 2, 0.0, 1.0), np.zeros(2, int)),
    "segment_sum": (
        lambda x: ted.segment_sum(x[0], ted.cast(x[0], "int64"), 3), np.zeros(3)),
    "nanquantile": (lambda x: ted.nanquantile(x, 0.5, axis=1), np.full(5, np.nan)),
    "kron": (lambda x: ted.kron(x, ted.ones((2, 2), "float64")), np.zeros((10, 0))),
    "grid": (lambda x: ted.meshgrid(x[0], x[:, :0].reshape(-1)), [np.zeros((0, 0))] * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_arithmetic_of_indices_where_there_are_none(name: str) -> None:
    function, wanted = CASES[name]
    found = run(function, NOTHING)
    for a, b in zip(*((v if isinstance(v, list) else [v]) for v in (found, wanted)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_needs_an_element_is_refused() -> None:
    x = ted.placeholder((5, 0), "float64", name="x")
    for call, message in (
        (lambda: ted.unravel_index(np.array([1]), (5, 0)), "unravel_index: a shape with elements"),
        (lambda: ted.unique(x, 2), "unique: takes at least one element, got none; fill="),
    ):
        with pytest.raises(FrontendError, match=re.escape(message)):
            call()
