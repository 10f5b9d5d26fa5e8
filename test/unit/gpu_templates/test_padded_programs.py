"""Convolutions with padding and their gradients on the emulated GPU, against the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ted
import ted.testing
from strategy_names import strategy_names
from sweeps import swept

KINDS = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float64": np.float64}
# Relative to the largest result: sums of some hundred products, and one rounding.
TOLERANCES = {"float32": 1e-5, "bfloat16": 2e-2, "float64": 1e-13}


@dataclass(frozen=True)
class Case:
    """A convolution: extents of the input and of the weight, and what else it is given."""

    convolve: Callable[..., ted.Tensor]
    image: tuple[int, ...]
    weight: tuple[int, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def program(self, what: str, dtype: str) -> tuple[list[ted.Tensor], list[ted.Tensor]]:
        """Inputs and results of the layer 'y', or of one of its gradients 'dx' and 'dw'."""
        x, w = ted.placeholder(self.image, dtype, "x"), ted.placeholder(self.weight, dtype, "w")
        if what == "y":
            b = ted.placeholder(self.weight[-1:], dtype, "b")
            return [x, w, b], [ted.relu(self.convolve(x, w, b, **self.options))]
        y = self.convolve(x, w, **self.options)
        head = ted.placeholder(y.shape, dtype, "head")
        return [x, w, head], list(ted.differentiate(y, [x if what == "dx" else w], head))


def compare(case: Case, what: str, dtype: str, chip: str) -> list[str]:
    """Run on both, compare, and return the strategies, be there an epilogue or not."""
    inputs, outputs = case.program(what, dtype)
    generator = np.random.default_rng(0)
    values = [generator.standard_normal(p.shape).astype(KINDS[dtype]) for p in inputs]
    expected = np.asarray(ted.compile(inputs, outputs)(*values)[0], np.float64)
    with ted.testing.emulated_gpu(chip):
        function = ted.compile(inputs, outputs, target=f"cuda:{chip}")
        (result,) = function(*map(ted.cuda.asarray, values))
        actual = result.numpy().astype(np.float64)
    worst = np.abs(actual - expected).max() / np.abs(expected).max()
    assert worst < TOLERANCES[dtype]
    return [name.removesuffix("_with_epilogue") for name in strategy_names(function)]


IMAGES = ((2, 9, 11, 16), (3, 3, 16, 24))
CASES = {
    "3 x 3": Case(ted.nn.conv2d, *IMAGES, {"padding": 1}),
    "wide": Case(ted.nn.conv2d, (2, 8, 7, 16), (5, 3, 16, 24), {"padding": (4, 1)}),
    "one side": Case(ted.nn.conv2d, *IMAGES, {"padding": ((0, 2), (1, 0))}),
    "dilated": Case(ted.nn.conv2d, *IMAGES, {"padding": 2, "dilation": 2}),
    "groups": Case(
        ted.nn.conv2d, (2, 9, 11, 32), (3, 3, 16, 32), {"padding": 1, "groups": 2}
    ),
    "1d": Case(ted.nn.conv1d, (4, 41, 16), (3, 16, 24), {"padding": 1}),
    "3d": Case(ted.nn.conv3d, (1, 5, 4, 6, 16), (3, 3, 3, 16, 16), {"padding": 1}),
}  # fmt: skip
THREE = ("y", "dx", "dw")
STRIDED = {
    "stride 2": Case(ted.nn.conv2d, (2, 16, 16, 16), (3, 3, 16, 32), {"padding": 1, "stride": 2}),
    "odd": Case(ted.nn.conv2d, (3, 15, 17, 16), (3, 3, 16, 32), {"padding": 1, "stride": 2}),
    "dilated": Case(
        ted.nn.conv2d, (3, 15, 17, 16), (3, 3, 16, 32),
        {"padding": 2, "stride": 2, "dilation": 2},
    ),
}  # fmt: skip


def pairs(cases: dict[str, Case]) -> list[tuple[str, str]]:
    return [(name, dtype) for name in cases for dtype in ("float32", "bfloat16")]


@pytest.mark.fast(1)
@swept(
    ("name", "dtype"),
    pairs(CASES),
    fast=[("3 x 3", "bfloat16"), ("1d", "float32"), ("groups", "float32")],
)
def test_each_of_the_three_is_one_kernel(name: str, dtype: str) -> None:
    for what in THREE:
        kernels = compare(CASES[name], what, dtype, "sm_80")
        assert kernels == ["contraction"], what


def test_copies_stay_where_elements_pass_through_registers_one_by_one() -> None:
    few = Case(ted.nn.conv2d, (2, 16, 17, 3), (3, 3, 3, 16), {"padding": 1})
    assert compare(few, "y", "float32", "sm_80") == ["contraction"]
    assert compare(few, "y", "bfloat16", "sm_80")[-1] == "contraction"
    assert len(compare(few, "y", "bfloat16", "sm_80")) > 1


@pytest.mark.slow
def test_channels_first() -> None:
    first = Case(ted.nn.conv2d, (2, 16, 9, 11), (24, 16, 3, 3), {"padding": 1, "layout": "NCHW"})
    for what in ("dx", "dw"):
        kernels = compare(first, what, "float32", "sm_80")
        assert kernels[-1] == "contraction"
        assert len(kernels) <= 2  # weights in reverse are no runs any more


WARPGROUPS = [(name, what) for name in ("3 x 3", "dilated", "groups", "3d") for what in THREE]


@swept(("name", "what"), WARPGROUPS, fast=WARPGROUPS[:3])
def test_warpgroups(name: str, what: str) -> None:
    compare(CASES[name], what, "bfloat16", "sm_90a")


@pytest.mark.fast(1)
@swept(("name", "dtype"), pairs(STRIDED), fast=[("stride 2", "bfloat16"), ("dilated", "float32")])
def test_strides(name: str, dtype: str) -> None:
    assert compare(STRIDED[name], "y", dtype, "sm_80") == ["contraction"]
    assert len(compare(STRIDED[name], "dw", dtype, "sm_80")) <= 2
    kernels = compare(STRIDED[name], "dx", dtype, "sm_80")
    if name == "dilated":  # the taps reach one residue class, what is left is filled with zeros
        assert kernels.count("contraction") == 1
    else:  # one for each residue class, and nothing else
        assert kernels == ["contraction"] * 4


@pytest.mark.slow
@pytest.mark.fast(1)
@pytest.mark.parametrize("is_donated", [False, True])
def test_residue_classes_are_finished_in_their_kernels(is_donated: bool) -> None:
    x, w = ted.placeholder((3, 15, 17, 16), name="x"), ted.placeholder((3, 3, 16, 32), name="w")
    b = ted.placeholder((16,), name="b")
    y = ted.nn.conv2d(x, w, padding=1, stride=2)
    head = ted.placeholder(y.shape, name="head")
    (dx,) = ted.differentiate(y, [x], head)
    inputs = [x, w, head, b]
    outputs = [ted.relu(dx + b) * x]
    generator = np.random.default_rng(1)
    values = [generator.standard_normal(p.shape).astype(np.float32) for p in inputs]
    (expected,) = ted.compile(inputs, outputs)(*values)
    with ted.testing.emulated_gpu("sm_80", order="random"):
        donated = [x] if is_donated else []
        function = ted.compile(inputs, outputs, target="cuda:sm_80", donate=donated)
        (result,) = function(*map(ted.cuda.asarray, values))
        np.testing.assert_allclose(result.numpy(), expected, atol=1e-3, rtol=1e-4)
    # What is read where the result goes is worked on behind them, all at once.
    kernels = [*["contraction"] * 4, "points"] if is_donated else ["contraction_with_epilogue"] * 4
    assert strategy_names(function) == kernels
    assert len(function.manifest.kernels) == len(kernels)
    assert len(function.manifest.buffers) == is_donated


@pytest.mark.slow
def test_doubles() -> None:
    for what in ("y", "dx", "dw"):
        assert compare(CASES["3 x 3"], what, "float64", "sm_80") == ["contraction"]
